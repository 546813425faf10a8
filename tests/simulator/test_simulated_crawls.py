"""Whole crawls on a manual clock: reproducible, complete, and fresher than visiting all pages in turn."""

from functools import partial

import numpy as np
import pytest

from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.simulator.run import Run, crawl_world
from scrapy_freshness.simulator.world import WorldPage, poisson_world

SECONDS = 600.0
N_PAGES = 40


def simulate(policy: str, seed: int) -> Run:
    """Seven of ten pages hardly ever change, the others every 20 s; as many visits as changes."""
    rng = np.random.default_rng(seed)
    rates = np.where(rng.random(N_PAGES) < 0.7, 1e-4, 0.05)
    world = poisson_world(rates.tolist(), SECONDS, rng, hosts=5)
    budget = rates.sum()
    planner = Planner(
        policy_named(policy),
        Hosts(5.0, 60.0),
        partial(estimate_change_rates, prior=PriorPoints(1.0, 57.0)),
        crawls_per_second=budget,
    )
    return crawl_world(world, planner, np.arange(1, int(SECONDS * budget)) / budget)


def test_greedy_learns_to_be_fresher_than_uniform() -> None:
    """Which pages change is learned on the way; the difference is beyond doubt."""
    gains = [
        simulate("greedy", seed).freshness(SECONDS / 3, SECONDS)
        - simulate("uniform", seed).freshness(SECONDS / 3, SECONDS)
        for seed in range(5)
    ]

    standard_error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) > 3 * standard_error
    assert np.mean(gains) > 0.02


@pytest.mark.parametrize("policy", ["greedy", "uniform"])
def test_a_run_is_reproducible_from_its_seed(policy: str) -> None:
    one, same, other = (simulate(policy, seed) for seed in (1, 1, 2))

    assert all(np.array_equal(a, b) for a, b in zip(one.visit_times, same.visit_times, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one.visit_times, other.visit_times, strict=True))


@pytest.mark.parametrize("policy", ["greedy", "uniform"])
def test_the_whole_budget_is_spent_and_every_page_is_fetched(policy: str) -> None:
    run = simulate(policy, 3)

    assert all(len(times) for times in run.visit_times)
    ticks = np.sort(np.concatenate(run.visit_times))
    assert run.visits == len(ticks)
    assert ticks == pytest.approx(ticks[0] * np.arange(1, len(ticks) + 1)), "no tick was missed"
    assert ticks[-1] == pytest.approx(SECONDS, rel=0.01)


def test_uniform_visits_all_pages_equally_often() -> None:
    counts = [len(times) for times in simulate("uniform", 4).visit_times]

    assert max(counts) - min(counts) <= 1


def test_a_world_has_the_changes_it_was_made_with() -> None:
    world = poisson_world([0.0, 0.5, 5.0], 2000.0, np.random.default_rng(9), hosts=2)

    assert [page.host for page in world] == ["host0.example", "host1.example", "host0.example"]
    counts = [len(page.change_times) for page in world]
    assert counts[0] == 0
    assert counts[1] == pytest.approx(1000, abs=4 * np.sqrt(1000))
    assert counts[2] == pytest.approx(10_000, abs=4 * np.sqrt(10_000))
    assert all(np.all(np.diff(page.change_times) >= 0) for page in world)


def test_important_pages_count_for_more() -> None:
    pages = [
        WorldPage("http://a/1", "a", 9.0, np.empty(0)),
        WorldPage("http://a/2", "a", 1.0, np.empty(0)),
    ]
    run = Run(pages, [np.array([0.0]), np.empty(0)])

    assert run.freshness(0.0, 10.0) == pytest.approx(0.9)
