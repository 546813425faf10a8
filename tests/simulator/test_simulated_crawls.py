"""Whole crawls on a manual clock: reproducible, complete, and fresher than visiting all pages in turn."""

from functools import partial

import numpy as np
import pytest

from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learning import RateLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.run import crawl, ticks_at
from scrapy_freshness.simulator.streams import event_stream, poisson_events
from scrapy_freshness.simulator.web import Fetches

SECONDS = 600.0
N_PAGES = 40


def simulate(policy: str, seed: int) -> tuple[ChangingWeb, Fetches]:
    """Seven of ten pages hardly ever change, the others every 20 s; as many visits as changes."""
    rng = np.random.default_rng(seed)
    rates = np.where(rng.random(N_PAGES) < 0.7, 1e-4, 0.05)
    web = ChangingWeb(poisson_events(rates, SECONDS, rng), numbered(np.ones(N_PAGES), hosts=5))
    budget = float(rates.sum())
    learner = RateLearner(partial(estimate_change_rates, prior=PriorPoints(1.0, 57.0)))
    planner = Planner(policy_named(policy), Hosts(5.0, 60.0), learner, crawls_per_second=budget)
    return web, crawl(web, planner, ticks_at(budget, 0.0, SECONDS))


def freshness(policy: str, seed: int) -> float:
    web, fetches = simulate(policy, seed)
    return web.freshness(fetches, SECONDS / 3, SECONDS)


def test_greedy_learns_to_be_fresher_than_uniform() -> None:
    """Which pages change is learned on the way; the difference is beyond doubt."""
    gains = [freshness("greedy", seed) - freshness("uniform", seed) for seed in range(5)]

    standard_error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) > 3 * standard_error
    assert np.mean(gains) > 0.02


@pytest.mark.parametrize("policy", ["greedy", "uniform"])
def test_a_run_is_reproducible_from_its_seed(policy: str) -> None:
    one, same, other = (simulate(policy, seed)[1] for seed in (1, 1, 2))

    assert np.array_equal(one.pages, same.pages)
    assert np.array_equal(one.times, same.times)
    assert not np.array_equal(one.pages, other.pages)


@pytest.mark.parametrize("policy", ["greedy", "uniform"])
def test_the_whole_budget_is_spent_and_every_page_is_fetched(policy: str) -> None:
    _, fetches = simulate(policy, 3)

    assert set(fetches.pages.tolist()) == set(range(N_PAGES))
    assert np.diff(fetches.times) == pytest.approx(fetches.times[0]), "no tick was missed"
    assert fetches.times[-1] == pytest.approx(SECONDS, rel=0.01)


def test_uniform_visits_all_pages_equally_often() -> None:
    counts = np.bincount(simulate("uniform", 4)[1].pages)

    assert max(counts) - min(counts) <= 1


def test_important_pages_count_for_more() -> None:
    web = ChangingWeb(event_stream([np.empty(0), np.empty(0)]), numbered(np.array([9.0, 1.0])))

    assert web.freshness(Fetches(np.array([0]), np.array([0.0])), 0.0, 10.0) == pytest.approx(0.9)
