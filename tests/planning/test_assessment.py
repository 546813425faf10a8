"""What the crawl says about the freshness of its copies, against other ways to compute it."""

import numpy as np
import pytest
from planning_world import KnownRates, columns_of, known_pages, new_planner
from scipy.integrate import quad

from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.long_run import mean_freshness
from scrapy_freshness.value.longevity import Longevity


def test_the_mean_over_an_interval_is_the_integral() -> None:
    rng = np.random.default_rng(3)
    rate, interval = 10 ** rng.uniform(-6, 0, 40), 10 ** rng.uniform(0, 6, 40)
    pages = Beliefs(importance=np.ones(40), change_rate=rate)

    found = mean_freshness(Greedy(), pages, interval)

    assert found == pytest.approx(-np.expm1(-rate * interval) / (rate * interval), rel=2e-3, abs=2e-5)


def test_fragments_that_scroll_are_averaged_too() -> None:
    page = Beliefs(
        importance=np.ones(1), change_rate=np.array([0.5]), plateau=np.array([0.6]), stages=np.array([8.0])
    )
    exact = quad(lambda t: Longevity().freshness(page, np.array([t]))[0], 0, 30)[0] / 30

    assert mean_freshness(Longevity(), page, np.array([30.0]))[0] == pytest.approx(exact, abs=1e-3)


def test_a_planner_assesses_its_copies() -> None:
    rates, importance = np.array([0.01, 0.5, 0.001]), np.array([1.0, 2.0, 4.0])
    planner = new_planner(estimator=KnownRates(rates), rate=0.25)
    planner.load(columns_of(known_pages(importance, rates)), 4, now=20.0)
    planner.start(20.0)

    found = planner.assessment(20.0)()

    assert found is not None
    assert found.pages == 3
    assert found.freshness == pytest.approx(np.average(np.exp(-20 * rates), weights=importance), rel=1e-4)
    in_turn = -np.expm1(-12 * rates) / (12 * rates)
    assert found.uniform_freshness == pytest.approx(np.average(in_turn, weights=importance), rel=1e-3)


def test_without_copies_there_is_nothing_to_assess() -> None:
    planner = new_planner()
    planner.start(0.0)

    assert planner.assessment(0.0)() is None
