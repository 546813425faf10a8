"""The lazy arg max against the exact one, and against the numbers of an independent implementation."""

import numpy as np
import pytest
from planning_world import accuracy, brute_force_sequence, crawl_sequence

NUMBERS = np.arange(100)
#: An instance without random numbers, whose optimum an independent implementation has computed.
IMPORTANCE = np.modf(0.6180339887498949 * (NUMBERS + 1))[0]
RATES = (NUMBERS + 0.5) / 100


@pytest.mark.parametrize("price", [None, 0.0, 1e-9, 0.09, 1e6])
def test_the_deterministic_instance_is_crawled_as_published(price: float | None) -> None:
    """Whatever price is known from an earlier run: it may save work but never changes the choice."""
    chosen = crawl_sequence(IMPORTANCE, RATES, rate=100.0, count=2000, price=price)

    assert chosen[:10] == [96, 99, 91, 83, 75, 94, 96, 86, 78, 70]
    assert sum(chosen) == 117393


@pytest.mark.parametrize("scale", [2.0**-70, 2.0**-30, 2.0**30])
def test_the_unit_of_importance_does_not_matter(scale: float) -> None:
    chosen = crawl_sequence(IMPORTANCE * scale, RATES, rate=100.0, count=300)

    assert chosen == brute_force_sequence(IMPORTANCE, RATES, rate=100.0, count=300)


@pytest.mark.parametrize("time_scale", [2.0**-10, 2.0**17])
def test_the_unit_of_time_does_not_matter(time_scale: float) -> None:
    chosen = crawl_sequence(IMPORTANCE, RATES / time_scale, rate=100.0 / time_scale, count=300)

    assert chosen == brute_force_sequence(IMPORTANCE, RATES, rate=100.0, count=300)


@pytest.mark.parametrize(("n_pages", "rate", "count"), [(1000, 100.0, 4000), (5000, 500.0, 5000)])
def test_next_to_nothing_is_lost_against_the_exact_arg_max(n_pages: int, rate: float, count: int) -> None:
    rng = np.random.default_rng(n_pages)
    importance, rates = rng.uniform(0, 1, n_pages), rng.uniform(0.001, 1, n_pages)
    lazy = accuracy(crawl_sequence(importance, rates, rate, count), importance, rates, rate)
    exact = accuracy(brute_force_sequence(importance, rates, rate, count), importance, rates, rate)

    assert exact - lazy <= 1e-4


def test_a_hundredfold_budget_is_spent_at_once() -> None:
    """The price of the earlier run is far too high; the way down must be short."""
    rng = np.random.default_rng(7)
    importance, rates = rng.uniform(0, 1, 3000), rng.uniform(0.001, 1, 3000)

    chosen = crawl_sequence(importance, rates, rate=1000.0, count=1000, price=1e9)

    assert -1 not in chosen
    assert len(set(chosen)) > 500
