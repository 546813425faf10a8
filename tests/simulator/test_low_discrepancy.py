"""The low-discrepancy schedule: never a whole visit off, at any time, for any page."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.pacing.budget import price_for_rate
from scrapy_freshness.simulator.instances import drawn_instance
from scrapy_freshness.simulator.lds import low_discrepancy
from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.greedy import Greedy

rates = st.lists(
    st.one_of(st.floats(1e-6, 1e6), st.integers(0, 5).map(float)), min_size=1, max_size=25
).filter(lambda each: sum(each) > 0)


def visits(each: list[float] | np.ndarray, ticks: int) -> np.ndarray:
    return np.fromiter(islice(low_discrepancy(np.array(each)), ticks), int)


@given(each=rates)
def test_no_page_is_ever_a_whole_visit_ahead_or_behind(each: list[float]) -> None:
    """Tijdeman's bound, which is the best possible."""
    ticks = 300
    sequence = visits(each, ticks)
    made = np.cumsum(sequence[:, None] == np.arange(len(each)), axis=0)
    share = np.array(each) / sum(each)
    n_visited = np.count_nonzero(share)
    bound = 1 - 0.5 / (n_visited - 1) if n_visited > 1 else 0.0

    off = np.abs(made - share * np.arange(1, ticks + 1)[:, None])
    assert off.max() <= bound + 1e-6


@given(n_pages=st.integers(1, 40))
def test_equal_pages_take_turns(n_pages: int) -> None:
    sequence = visits(np.ones(n_pages), 3 * n_pages)

    for turn in np.split(sequence, 3):
        assert sorted(turn) == list(range(n_pages))


def test_visits_of_a_page_are_nearly_equally_far_apart() -> None:
    """Two visits of a page are at most two periods apart, whatever the others need."""
    share = np.random.default_rng(4).dirichlet(np.full(200, 0.5))
    sequence = visits(share, 100_000)

    for page in np.argsort(-share)[:100].tolist():
        gaps = np.diff(np.flatnonzero(sequence == page))
        assert gaps.max() <= 2 / share[page] + 1
        assert gaps.mean() == pytest.approx(1 / share[page], rel=0.02)


def test_pages_without_a_rate_are_not_visited() -> None:
    assert 1 not in visits([1.0, 0.0, 2.0], 300)


@pytest.mark.parametrize("bad", [[], [0.0, 0.0], [1.0, -1.0], [np.inf], [np.nan]])
def test_rates_that_make_no_schedule_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="rates must be finite"):
        next(low_discrepancy(np.array(bad)))


def test_the_rates_of_the_optimum_lose_next_to_nothing_as_a_schedule() -> None:
    """Against the continuous optimum; the run starts fresh, so it may be a little better."""
    web = drawn_instance(300, "none", np.random.default_rng(21))
    beliefs = Beliefs(importance=web.importance, change_rate=web.change_rate)
    per_second, horizon = 100.0, 400.0
    best = 1 / Greedy().elapsed_at(beliefs, price_for_rate(Greedy(), beliefs, per_second))
    sequence = visits(best, int(per_second * horizon))

    fresh = np.empty(300)
    for page, delta in enumerate(web.change_rate.tolist()):
        at = (np.flatnonzero(sequence == page) + 1) / per_second
        gaps = np.diff(np.concatenate([[0.0], at, [horizon]]))
        fresh[page] = np.sum(-np.expm1(-delta * gaps)) / delta / horizon
    x = web.change_rate / np.maximum(best, 1e-300)
    ideal = np.average(-np.expm1(-x) / x, weights=web.importance)

    assert np.average(fresh, weights=web.importance) == pytest.approx(ideal, abs=0.003)
