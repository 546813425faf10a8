"""Late signals: the age up to which they are better ignored, found from what visits saw after them."""

import numpy as np
import pytest

from scrapy_freshness.estimation.signal_delays import Delays, age_code

MINUTE = 60.0


def told(
    rng: np.random.Generator, count: int, *, median_delay: float, precision: float = 0.8, source: int = 0
) -> Delays:
    """Visits after single signals at ages of up to an hour; those of changes seen before announce nothing."""
    delays = Delays()
    for _ in range(count):
        age, x = float(rng.uniform(1, 60 * MINUTE)), float(rng.exponential(0.3))
        delay = median_delay * float(np.exp(0.4 * rng.standard_normal()))
        announces = rng.random() < precision and delay < age
        changed = bool(announces or rng.random() > np.exp(-0.5 * x))
        code = int(age_code(np.array([source]), np.array([age]))[0])
        delays.add(code, x=x, changed=changed, silent=0.5, precision=np.full(4, precision))
    return delays


@pytest.mark.parametrize("minutes", [5.0, 15.0, 30.0])
def test_signals_are_ignored_up_to_about_the_median_delay(minutes: float) -> None:
    found = [
        told(np.random.default_rng(seed), 400, median_delay=minutes * MINUTE, source=1).deaf_seconds()
        for seed in range(10)
    ]

    windows = np.array(found) / (minutes * MINUTE)
    assert np.all((windows[:, 1] > 0.5) & (windows[:, 1] < 2.0))
    assert not windows[:, [0, 2, 3]].any()


def test_signals_that_are_in_time_are_all_heeded() -> None:
    windows = [told(np.random.default_rng(seed), 300, median_delay=1.0).deaf_seconds() for seed in range(10)]

    assert max(window[0] for window in windows) < 0.1 * 60 * MINUTE
    assert np.median([window[0] for window in windows]) < 10


def test_signals_that_say_nothing_are_not_late() -> None:
    """Their precision is next to nothing, so that it is no use to ignore them."""
    windows = [
        told(np.random.default_rng(seed), 300, median_delay=1.0, precision=0.01).deaf_seconds()[0]
        for seed in range(10)
    ]

    assert np.median(windows) == 0


def test_who_is_in_time_again_is_heeded_again() -> None:
    rng = np.random.default_rng(4)
    delays = told(rng, 300, median_delay=30 * MINUTE)
    late = delays.deaf_seconds()[0]
    for code, helps in told(rng, 3000, median_delay=1.0).heeding_helps.items():
        delays.heeding_helps[code] = delays.heeding_helps.get(code, 0.0) + helps

    assert late > 10 * MINUTE
    assert delays.deaf_seconds()[0] < MINUTE


def test_ages_of_signals_are_told_from_a_second_to_many_years() -> None:
    codes = age_code(np.zeros(4, np.intp), np.array([0.0, 1.0, 100.0, 1e12]))

    assert codes.tolist() == [0, 0, 13, 63]
    assert age_code(np.array([3]), np.array([1e12]))[0] == 255
