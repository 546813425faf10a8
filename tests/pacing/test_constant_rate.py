"""A constant rate: never too many in any time, nothing lost to late timers, no burst after a pause."""

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.pacing.rate import ConstantRate

waits = st.lists(st.floats(0, 10), min_size=1, max_size=150)


def fetches(pace: ConstantRate, looks: list[float]) -> list[float]:
    """Times of fetches if somebody looks at these times and takes all places there are."""
    made = []
    for now in looks:
        while pace.next_at(now) <= now:
            pace.spend(now)
            made.append(now)
    return made


def most_in_any_window(times: list[float], seconds: float) -> int:
    return max(
        (bisect_right(times, start + seconds) - bisect_left(times, start) for start in times), default=0
    )


@given(waits=waits, rate=st.floats(0.05, 50), slack=st.floats(0, 2), window=st.floats(0, 30))
def test_no_window_of_time_has_more_fetches_than_promised(
    waits: list[float], rate: float, slack: float, window: float
) -> None:
    looks = np.cumsum(waits).tolist()
    made = fetches(ConstantRate(rate, 0.0, slack_seconds=slack), looks)

    assert most_in_any_window(made, window) <= rate * (window + slack) + 1 + 1e-6


@given(waits=waits, returned=st.lists(st.booleans(), min_size=150, max_size=150), rate=st.floats(0.05, 50))
def test_places_given_back_do_not_add_up_to_a_burst(
    waits: list[float], returned: list[bool], rate: float
) -> None:
    """A fetch that is not made after all gives its place back, at once or a little later."""
    pace = ConstantRate(rate, 0.0, slack_seconds=0.12)
    made: list[float] = []
    now = 0.0
    for wait, is_returned in zip(waits, returned, strict=False):
        now += wait
        while pace.next_at(now) <= now:
            pace.spend(now)
            made.append(now)
        if is_returned and made:
            made.pop()
            pace.give_back()

    assert most_in_any_window(made, 5.0) <= rate * 5.12 + 1 + 1e-6


def test_somebody_who_always_comes_a_little_late_loses_nothing() -> None:
    pace = ConstantRate(20.0, 0.0)
    rng = np.random.default_rng(6)
    now, made = 0.0, 0
    while now < 300:
        now = pace.next_at(now) + float(rng.uniform(0, 0.1))
        made += len(fetches(pace, [now]))

    assert made == pytest.approx(6000, abs=4)


def test_looking_seldom_costs_what_lies_beyond_the_slack() -> None:
    pace = ConstantRate(10.0, 0.0, slack_seconds=0.45)

    made = fetches(pace, [float(second) for second in range(1, 101)])

    assert len(made) == 100 * 5


@pytest.mark.parametrize("pause", [1.0, 3600.0, 1e9])
def test_a_pause_is_not_made_up_for(pause: float) -> None:
    pace = ConstantRate(10.0, 0.0, slack_seconds=0.12)
    at_once = fetches(pace, [pause])

    assert len(at_once) <= 10 * 0.12 + 1
    assert pace.next_at(pause) > pause


def test_a_place_that_was_given_back_can_be_taken_again() -> None:
    pace = ConstantRate(1.0, 0.0)
    pace.spend(0.0)
    assert pace.next_at(0.5) == 1.0

    pace.give_back()
    assert pace.next_at(0.5) <= 0.5


def test_fetches_without_a_place_are_counted_all_the_same() -> None:
    """robots.txt and media requests go past the scheduler; the others wait for them."""
    pace = ConstantRate(2.0, 0.0, slack_seconds=0.0)
    for _ in range(10):
        pace.spend(0.0)

    assert pace.next_at(0.0) == pytest.approx(5.0)


def test_a_rate_of_one_a_day_is_kept() -> None:
    pace = ConstantRate(1 / 86400, 1000.0)

    assert len(fetches(pace, [1000.0 + hour * 3600 for hour in range(24 * 10)])) == 10
