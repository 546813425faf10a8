"""A history keeps what the estimate needs, in four bytes an observation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.estimation.history import MAX_OBSERVATIONS, extended, n_observations, observations

seconds = st.floats(0.01, 1e7)
visits = st.lists(st.tuples(seconds, st.booleans()), max_size=MAX_OBSERVATIONS)


def history_of(seen: list[tuple[float, bool]]) -> bytes:
    history = b""
    for elapsed, changed in seen:
        history = extended(history, elapsed, changed)
    return history


def log_likelihood(rate: float, intervals: np.ndarray) -> float:
    """Of seconds with (negative) and without a change, under a Poisson process."""
    changed, unchanged = -intervals[intervals < 0], intervals[intervals > 0]
    return float(np.log(-np.expm1(-rate * changed)).sum() - rate * unchanged.sum())


@given(seen=visits, rate=st.floats(1e-7, 1e-2))
def test_adding_up_unchanged_intervals_loses_nothing_for_the_likelihood(
    seen: list[tuple[float, bool]], rate: float
) -> None:
    every_visit = np.array([-elapsed if changed else elapsed for elapsed, changed in seen])
    kept = observations(history_of(seen)).astype(float)

    expected = log_likelihood(rate, every_visit)
    assert log_likelihood(rate, kept) == pytest.approx(expected, rel=1e-5, abs=1e-5)


@given(seen=visits)
def test_changes_are_kept_in_order_and_unchanged_runs_as_their_sum(seen: list[tuple[float, bool]]) -> None:
    expected: list[float] = []
    for elapsed, changed in seen:
        if changed:
            expected.append(-elapsed)
        elif expected and expected[-1] > 0:
            expected[-1] += elapsed
        else:
            expected.append(elapsed)

    kept = observations(history_of(seen))

    assert kept.tolist() == pytest.approx(expected, rel=1e-5)
    assert n_observations(history_of(seen)) == len(expected)


@given(st.lists(st.tuples(seconds, st.booleans()), min_size=MAX_OBSERVATIONS, max_size=80))
def test_a_history_is_bounded_and_forgets_the_oldest_first(seen: list[tuple[float, bool]]) -> None:
    history = history_of(seen)
    longer = extended(history, 123.0, changed=True)

    assert len(longer) <= 4 * MAX_OBSERVATIONS
    assert observations(longer)[-1] == -123.0
    assert observations(longer)[:-1].tolist() == observations(history)[-(MAX_OBSERVATIONS - 1) :].tolist()


@pytest.mark.parametrize("changed", [True, False])
@pytest.mark.parametrize("elapsed", [0.0, -3600.0, 1e-9])
def test_no_time_or_less_counts_as_a_moment(elapsed: float, changed: bool) -> None:
    """The machine's clock was set back between two runs."""
    (kept,) = observations(extended(b"", elapsed, changed))

    assert 0 < abs(kept) <= 0.01
    assert (kept < 0) == changed


def test_a_history_that_is_not_a_whole_number_of_observations_is_not_read() -> None:
    with pytest.raises(ValueError, match="7 bytes"):
        observations(b"1234567")
    with pytest.raises(ValueError, match="7 bytes"):
        n_observations(b"1234567")


@pytest.mark.parametrize("damaged", [b"1", b"12345", b"1234567"])
@pytest.mark.parametrize("changed", [True, False])
def test_a_damaged_history_begins_anew(damaged: bytes, changed: bool) -> None:
    assert extended(damaged, 60.0, changed) == extended(b"", 60.0, changed)


def test_a_page_watched_every_minute_for_years_is_believed_to_be_static() -> None:
    """Sums of 32-bit floats must not get stuck at a length that visits really have."""
    history = extended(b"", 10 * 365 * 86400.0, changed=False)
    for _ in range(1000):
        history = extended(history, 60.0, changed=False)

    (kept,) = observations(history)
    assert kept == pytest.approx(10 * 365 * 86400.0 + 60_000.0, rel=1e-4)
