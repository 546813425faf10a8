"""Values that are lines: the measured gain, mended so that it flattens, and the intervals of rules."""

import numpy as np
import pytest
from believed import page, value
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from scrapy_freshness.value.gain import Gain, SaturatingGain
from scrapy_freshness.value.interval import Interval


@given(gain=st.floats(1e-9, 1e6), elapsed=st.floats(0, 1e9))
def test_the_priority_is_the_gain_per_second_times_the_time_waited(gain: float, elapsed: float) -> None:
    assert value(Gain(), elapsed, gain=gain) == gain * elapsed


def test_a_page_that_gained_nothing_is_never_worth_it() -> None:
    for model in (Gain(), SaturatingGain()):
        assert model.elapsed_at(page(gain=0.0, noticed_rate=1.0), 1e-12)[0] == np.inf


@pytest.mark.parametrize("elapsed", [0.01, 1.0, 7.0, 60.0])
def test_the_mended_value_is_the_utility_of_the_quality_lost(elapsed: float) -> None:
    gain, rate = 0.3, 0.4

    def lost(t: float) -> float:
        return float(-gain / rate * np.expm1(-rate * t))

    area, _ = quad(lambda t: lost(elapsed) - lost(t), 0, elapsed, epsrel=1e-11)

    assert value(SaturatingGain(), elapsed, gain=gain, noticed_rate=rate) == pytest.approx(area, rel=1e-9)


def test_the_mended_value_flattens() -> None:
    day, year = (value(SaturatingGain(), t, gain=1.0, noticed_rate=1.0) for t in (20.0, 7300.0))

    assert day == pytest.approx(year, rel=1e-6)


def test_a_page_is_due_after_its_interval() -> None:
    hourly = page(interval=3600.0)

    assert value(Interval(), 1800.0, interval=3600.0) == 0.5
    assert Interval().elapsed_at(hourly, 1.0)[0] == 3600


def test_a_page_without_an_interval_is_never_due() -> None:
    never = page(interval=np.inf)

    assert value(Interval(), 1e12, interval=np.inf) == 0
    assert Interval().elapsed_at(never, 1.0)[0] == np.inf
    assert Interval().first_value(never)[0] == 0
