"""Changes that searchers notice: recovered from gains, never believed to be none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.estimation.query_impact import GainPool, NoticedChanges, RefreshSums, noticed_changes


def sums_of(gains: list[float], seconds: float) -> RefreshSums:
    found = np.array(gains)
    return RefreshSums(
        *(np.array([each]) for each in (len(found), len(found) * seconds, found.sum(), (found**2).sum()))
    )


def noticed(gains: list[float], seconds: float, kappa: float = 0.5, expected: float = 1.0) -> NoticedChanges:
    return noticed_changes(
        sums_of(gains, seconds), np.array([expected]), np.array([0.01]), prior_refreshes=kappa
    )


@pytest.mark.parametrize(("size", "rate"), [(0.3, 0.002), (7.0, 0.01), (1e-5, 0.03)])
def test_size_and_rate_of_changes_are_recovered(size: float, rate: float) -> None:
    """A refresh every 100 s finds a change or none."""
    rng = np.random.default_rng(3)
    gains = size * (rng.random(4000) < -np.expm1(-rate * 100))
    found = noticed(gains.tolist(), 100.0, expected=size)

    assert found.size[0] == pytest.approx(size, rel=0.01)
    assert found.rate[0] == pytest.approx(rate, rel=0.1)
    assert found.gain[0] == pytest.approx(size * rate, rel=0.1)


def test_small_changes_between_large_ones_do_not_count() -> None:
    """A clock ticks between all refreshes; every tenth finds that the page was rewritten."""
    alone = noticed(([0.0] * 9 + [1.0]) * 50, 100.0, kappa=1e-9)
    with_clock = noticed(([0.001] * 9 + [1.0]) * 50, 100.0, kappa=1e-9)

    assert with_clock.rate[0] == pytest.approx(alone.rate[0], rel=0.05)
    assert with_clock.size[0] == pytest.approx(alone.size[0], rel=0.05)


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e3)), max_size=30), st.floats(1.0, 1e7))
def test_beliefs_are_finite_and_above_nothing(gains: list[float], seconds: float) -> None:
    found = noticed(gains, seconds)

    for column in (found.size, found.rate, found.gain):
        assert 0 < column[0] < np.inf
    if gains:
        assert found.size[0] <= max(*gains, 1.0) * (1 + 1e-9)


@given(st.integers(1, 50))
def test_a_page_that_gains_nothing_is_believed_to_gain_less_and_less(count: int) -> None:
    before, after = (noticed([0.0] * number, 100.0).gain[0] for number in (count - 1, count))

    assert 0 < after < before


def test_before_the_first_refresh_all_is_as_expected() -> None:
    found = noticed([], 1.0, kappa=0.5, expected=3.0)

    assert found.size[0] == 3.0
    assert 0.005 < found.rate[0] < 0.02, "about the change rate"


def test_at_first_everything_may_be_lost() -> None:
    assert GainPool().expected(np.array([0.5, 2.0, np.nan])).tolist() == [0.5, 2.0, 1.0]


def test_the_pool_learns_how_gains_go_with_quality() -> None:
    """On good pages changes cost a hundredth, on bad ones a tenth of the quality."""
    rng = np.random.default_rng(9)
    pool = GainPool()
    quality = 2.0 ** rng.uniform(-6, 2, 20_000)
    share = np.where(quality > 0.5, 0.01, 0.1)
    for part in np.split(np.arange(20_000), 200):
        pool.add(quality[part], quality[part] * share[part], np.ones(len(part)))

    assert pool.expected(np.array([3.0, 0.15])) == pytest.approx([0.03, 0.015], rel=0.1)


def test_a_page_on_which_nothing_is_found_is_expected_to_gain_something() -> None:
    pool = GainPool()
    pool.add(np.array([1.0, 0.0]), np.array([0.1, 0.0]), np.ones(2))

    assert pool.expected(np.zeros(1))[0] > 0
    assert np.all(np.isfinite(pool.expected(np.array([0.0, 1e-300, 1e300, np.nan]))))


def test_the_first_gains_do_not_decide() -> None:
    """Large gains are rare: after a few small ones the pool still expects more than their mean."""
    pool = GainPool()
    pool.add(np.ones(5), np.full(5, 1e-6), np.ones(5))
    few = pool.expected(np.array([16.0]))[0]
    pool.add(np.ones(5000), np.full(5000, 1e-6), np.ones(5000))

    assert few > 1.0
    assert pool.expected(np.array([16.0]))[0] < 0.1
