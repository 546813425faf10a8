"""What the crawl says about the freshness of its copies, against other ways to compute it."""

import numpy as np
import pytest
from planning_world import KnownRates, columns_of, known_pages, new_page, new_planner
from scipy.integrate import quad

from scrapy_freshness.planning import assessment
from scrapy_freshness.planning.assessment import Visiting, intervals_in_turn
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


def test_in_turn_means_with_the_visits_that_are_made_and_no_more_of_a_host_than_it_takes() -> None:
    rates = np.full(4, 0.01)
    planner = new_planner(estimator=KnownRates(rates), rate=100.0)
    planner.load(columns_of(known_pages(np.ones(4), rates)), 5, now=20.0)
    planner.start(20.0)

    def in_turn(**visiting: float) -> float:
        found = planner.assessment(20.0, Visiting(**visiting))()
        assert found is not None
        return found.uniform_freshness

    def every(seconds: float) -> float:
        return float(-np.expm1(-0.01 * seconds) / (0.01 * seconds))

    assert in_turn(visits_per_second=0.1) == pytest.approx(every(40.0), rel=1e-3)
    assert in_turn(visits_per_second=0.1, host_visits_per_second=0.05) == pytest.approx(every(80.0), rel=1e-3)


@pytest.mark.parametrize("cap", [0.1, 0.5, 1.0, 3.0, np.inf])
def test_what_a_host_cannot_take_is_for_the_others(cap: float) -> None:
    pages = np.array([1, 50, 7, 0, 200])

    intervals = intervals_in_turn(pages, Visiting(visits_per_second=2.0, host_visits_per_second=cap))

    intervals, pages = intervals[pages > 0], pages[pages > 0]
    visits = pages / intervals
    assert (visits <= cap * (1 + 1e-9)).all()
    assert visits.sum() == pytest.approx(min(2.0, 4 * cap))
    is_free = visits < cap * (1 - 1e-9)
    assert intervals[is_free] == pytest.approx(np.full(is_free.sum(), intervals.min()))


def test_without_copies_there_is_nothing_to_assess() -> None:
    planner = new_planner()
    planner.start(0.0)

    assert planner.assessment(0.0)() is None


def test_hosts_are_counted_in_the_thread_and_only_if_they_set_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = []
    rates = np.full(4, 0.01)
    planner = new_planner(estimator=KnownRates(rates))
    planner.load(columns_of(known_pages(np.ones(4), rates, hosts=2)), 5, now=20.0)
    planner.start(20.0)
    monkeypatch.setattr(assessment.np, "bincount", lambda *_, **__: counted.append(1) or np.array([2, 2]))

    planner.assessment(20.0, Visiting(visits_per_second=1.0))()
    assess = planner.assessment(20.0, Visiting(visits_per_second=1.0, host_visits_per_second=0.1))
    assert counted == []

    assert assess() is not None
    assert counted == [1]


def test_pages_found_while_a_thread_assesses_change_nothing() -> None:
    rates = np.full(4, 0.01)
    planner = new_planner(estimator=KnownRates(rates))
    planner.load(columns_of(known_pages(np.ones(4), rates, hosts=2)), 5, now=20.0)
    planner.start(20.0)
    visiting = Visiting(visits_per_second=1.0, host_visits_per_second=0.1)
    before = planner.assessment(20.0, visiting)()

    assess = planner.assessment(20.0, visiting)
    for number in range(1000):
        planner.discover(new_page(1000 + number, host=f"{number}.example"), 20.0)

    assert assess() == before
    assert planner.assessment(20.0, visiting)() != before
