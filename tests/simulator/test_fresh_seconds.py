"""Exact freshness against counting on a fine grid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.simulator.freshness import fresh_seconds, mean_freshness

#: On a grid of whole seconds, looked at in the middle of each second.
times = st.lists(st.integers(0, 60), max_size=12, unique=True).map(lambda each: np.array(sorted(each), float))


def counted(changes: np.ndarray, visits: np.ndarray, start: int, end: int) -> float:
    fresh = 0
    for second in range(start, end):
        moment = second + 0.5
        before = visits[visits <= moment]
        if len(before):
            fresh += not np.any((changes > before[-1]) & (changes <= moment))
    return float(fresh)


@given(changes=times, visits=times, start=st.integers(0, 30), length=st.integers(1, 40))
def test_freshness_is_exact(changes: np.ndarray, visits: np.ndarray, start: int, length: int) -> None:
    exact = fresh_seconds(changes, visits, float(start), float(start + length))

    assert exact == counted(changes, visits, start, start + length)


@given(changes=times, visits=times)
def test_the_order_of_visits_does_not_matter(changes: np.ndarray, visits: np.ndarray) -> None:
    assert fresh_seconds(changes, visits[::-1], 0.0, 60.0) == fresh_seconds(changes, visits, 0.0, 60.0)


@given(changes=times, visits=times, another=st.integers(0, 60))
def test_another_visit_never_makes_a_copy_staler(
    changes: np.ndarray, visits: np.ndarray, another: int
) -> None:
    more = np.append(visits, another)

    assert fresh_seconds(changes, more, 0.0, 60.0) >= fresh_seconds(changes, visits, 0.0, 60.0)


def test_without_a_visit_there_is_no_copy() -> None:
    assert fresh_seconds(np.array([5.0]), np.empty(0), 0.0, 10.0) == 0


def test_a_page_that_never_changes_is_fresh_from_its_first_visit() -> None:
    assert fresh_seconds(np.empty(0), np.array([4.0]), 0.0, 10.0) == 6.0


def test_a_change_at_the_time_of_a_visit_is_seen_by_it() -> None:
    assert fresh_seconds(np.array([5.0]), np.array([5.0]), 0.0, 10.0) == 5.0


def test_pages_count_by_their_weight() -> None:
    changes = [np.empty(0), np.array([0.5])]
    visits = [np.array([0.0]), np.array([0.0])]

    assert mean_freshness(changes, visits, 0.0, 10.0) == pytest.approx((1 + 0.05) / 2)
    weighted = mean_freshness(changes, visits, 0.0, 10.0, np.array([1.0, 3.0]))
    assert weighted == pytest.approx((1 + 3 * 0.05) / 4)
