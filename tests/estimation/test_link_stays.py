"""How fast links leave a hub, from those that are gone at the next poll."""

import numpy as np
import pytest

from scrapy_freshness.estimation.stays import COUNTS, counted_stays, leaving_rates

HOUR = 3600.0


def learned(counts: dict[str, float]) -> float:
    return float(leaving_rates(*(np.array([counts.get(name, 0.0)]) for name in COUNTS))[0])


@pytest.mark.parametrize("stay_hours", [1.0, 5.0, 40.0])
def test_the_rate_at_which_links_leave_is_found_from_polls_at_any_interval(stay_hours: float) -> None:
    rng, counts = np.random.default_rng(4), {}
    for _ in range(200):
        seconds = float(rng.uniform(0.5, 1.5)) * HOUR
        young = int(rng.poisson(40))
        left = int(np.count_nonzero(rng.exponential(stay_hours * HOUR, young) < seconds))
        counts = counted_stays(counts, young, left, seconds)

    assert 1 / learned(counts) / HOUR == pytest.approx(stay_hours, rel=0.3)


def test_nothing_is_believed_to_leave_before_anything_was_looked_for_again() -> None:
    assert learned({}) == 0


def test_links_that_are_always_gone_leave_fast_but_not_at_once() -> None:
    rate = learned(counted_stays({}, young=1000, left=1000, seconds=HOUR))

    assert 2 / HOUR < rate < 4 / HOUR


def test_what_was_seen_long_ago_is_forgotten() -> None:
    counts = counted_stays({}, young=100, left=100, seconds=HOUR)
    for _ in range(200):
        counts = counted_stays(counts, young=10, left=0, seconds=HOUR)

    assert learned(counts) < 0.01 / HOUR
