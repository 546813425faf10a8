"""Rhythms: found where there are any, not found where there are none, and operational time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from scrapy_freshness.estimation.rhythm import (
    DAY,
    HOUR,
    Rhythm,
    bin_seconds,
    fit_rhythm,
    operational_seconds,
)

DAYTIME = 1 + 0.9 * np.sin(2 * np.pi * (np.arange(24) - 5.5) / 24)
RATE = 1 / (6 * HOUR)


def visits(rng: np.random.Generator, mean_wait: float, count: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    times = 1e9 + np.cumsum(rng.exponential(mean_wait, count + 1))
    return times[:-1], times[1:]


def changed(rng: np.random.Generator, relative: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    expected = RATE * operational_seconds(Rhythm(relative, 0.0, 1.0), start, end)
    return rng.random(len(start)) < -np.expm1(-expected)


@pytest.mark.parametrize("mean_wait", [HOUR, 3 * HOUR, 8 * HOUR])
def test_a_daily_rhythm_is_found(mean_wait: float) -> None:
    rng = np.random.default_rng(1)
    start, end = visits(rng, mean_wait)

    found = fit_rhythm(start, end, changed(rng, DAYTIME, start, end), RATE)

    assert found.is_real()
    assert found.relative.mean() == pytest.approx(1)
    assert np.corrcoef(found.relative, DAYTIME)[0, 1] > 0.8
    assert np.abs(found.relative - DAYTIME).mean() < np.abs(1 - DAYTIME).mean() / 1.5


@pytest.mark.parametrize("mean_wait", [HOUR, 8 * HOUR, 40 * HOUR])
def test_no_rhythm_is_found_where_there_is_none(mean_wait: float) -> None:
    rng = np.random.default_rng(2)
    chances = []
    for _ in range(60):
        start, end = visits(rng, mean_wait, 400)
        found = fit_rhythm(start, end, changed(rng, np.ones(24), start, end), RATE)
        chances.append(found.chance)

    assert min(chances) > 1e-4
    assert np.mean(np.array(chances) < 0.1) <= 0.1 + 3 * np.sqrt(0.09 / 60)


def test_visits_once_in_two_days_cannot_tell_the_hour() -> None:
    """Intervals of whole periods spend the same time in every bin."""
    start = 2 * DAY * np.arange(500.0)
    found = fit_rhythm(start, start + 2 * DAY, np.arange(500) % 3 == 0, 0.2 / DAY)

    assert found.statistic == pytest.approx(0, abs=1e-6)
    assert found.relative == pytest.approx(np.ones(24))
    assert not found.is_real()


def test_a_wrong_change_rate_is_no_rhythm() -> None:
    rng = np.random.default_rng(3)
    start, end = visits(rng, 2 * HOUR)
    seen = changed(rng, np.ones(24), start, end)

    right, wrong = (fit_rhythm(start, end, seen, rate) for rate in (RATE, 5 * RATE))

    assert wrong.statistic == pytest.approx(right.statistic, abs=0.1)
    assert wrong.relative == pytest.approx(right.relative, abs=0.02)


def test_pages_of_different_rates_share_a_rhythm() -> None:
    rng = np.random.default_rng(4)
    start, end = visits(rng, 2 * HOUR, 3000)
    speed = np.where(np.arange(3000) % 2, 0.2, 3.0)
    operational = operational_seconds(Rhythm(DAYTIME, 0.0, 1.0), start, end)
    seen = rng.random(3000) < -np.expm1(-RATE * speed * operational)

    found = fit_rhythm(start, end, seen, RATE * speed)

    assert found.is_real()
    assert np.corrcoef(found.relative, DAYTIME)[0, 1] > 0.8


def test_few_changes_are_shrunk_towards_flat() -> None:
    start = HOUR * np.arange(24.0)
    seen = np.arange(24) == 7

    few = fit_rhythm(start, start + HOUR, seen, 1 / DAY)

    assert few.relative.argmax() == 7
    assert few.relative.max() < 1.5
    assert few.relative.min() > 0.8


@given(start=st.floats(0, 2e9), length=st.floats(0, 40 * DAY))
def test_every_second_is_in_one_bin(start: float, length: float) -> None:
    spent = bin_seconds(np.array([start]), np.array([start + length]))

    assert spent.sum() == pytest.approx(length, abs=1e-3)
    assert np.all(spent >= -1e-3)


@given(start=st.floats(0, 10 * DAY), hours=st.floats(0.1, 60))
def test_operational_time_is_the_integral_of_the_intensity(start: float, hours: float) -> None:
    rhythm = Rhythm(DAYTIME, 0.0, 1.0)
    end = start + hours * HOUR

    found = operational_seconds(rhythm, np.array([start]), np.array([end]))[0]

    edges = np.concatenate([[start], np.arange(start // HOUR + 1, end / HOUR) * HOUR, [end]])
    expected = sum(
        quad(lambda t: DAYTIME[int(t % DAY // HOUR)], low, high)[0] for low, high in pairwise(edges)
    )
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-3)
