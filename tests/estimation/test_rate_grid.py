"""Distributions of change rates: against brute force, a second solver, and how often they are right."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammainc
from scipy.stats import norm

from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.estimation.history import extended
from scrapy_freshness.estimation.rate_grid import (
    LOG_RATES,
    N_RATES,
    RATES,
    bells,
    broad,
    filtered,
    interval,
    matched_rate,
)

DAY = 86400.0
STEP = LOG_RATES[1] - LOG_RATES[0]
seconds = st.floats(1e-2, 1e9)
visits = st.lists(st.tuples(seconds, st.booleans()), max_size=12)


def history_of(seen: list[tuple[float, bool]]) -> bytes:
    history = b""
    for elapsed, changed in seen:
        history = extended(history, elapsed, changed)
    return history


def likelihood(elapsed: float, changed: bool) -> np.ndarray:
    return -np.expm1(-RATES * elapsed) if changed else np.exp(-RATES * elapsed)


def believed(seen: list[tuple[float, bool]], forgetting: float = 0.0) -> np.ndarray:
    return filtered(broad()[None], [history_of(seen)], forgetting)[0]


def concentrated(rate: float) -> np.ndarray:
    distribution = np.zeros((1, N_RATES))
    distribution[0, np.abs(LOG_RATES - np.log(rate)).argmin()] = 1
    return distribution


@given(seen=visits)
def test_without_forgetting_it_is_the_theorem_of_bayes(seen: list[tuple[float, bool]]) -> None:
    expected = np.log(broad())
    for elapsed, changed in seen:
        expected += np.log(np.maximum(likelihood(np.float32(elapsed), changed), np.exp(-300)))
    expected = np.exp(expected - expected.max())

    assert believed(seen) == pytest.approx(expected / expected.sum(), rel=1e-3, abs=1e-6)


def test_forgetting_is_the_sum_over_all_times_at_which_the_page_may_have_begun_anew() -> None:
    seen = [(DAY, True), (10 * DAY, False), (DAY, True), (DAY / 10, True), (90 * DAY, False)]
    epsilon, total = 0.2, np.zeros(N_RATES)
    for anew in product([False, True], repeat=len(seen)):
        weight, current = 1.0, broad()
        for (elapsed, changed), begins in zip(seen, anew, strict=True):
            if begins:
                weight, current = weight * current.sum(), broad()
            weight *= epsilon if begins else 1 - epsilon
            current = current * likelihood(elapsed, changed)
        total += weight * current

    assert believed(seen, epsilon) == pytest.approx(total / total.sum(), rel=1e-6)


def test_a_page_that_fell_silent_is_believed_to_be_slow_sooner_if_the_past_is_forgotten() -> None:
    burst_then_silence = [(3600.0, True)] * 30 + [(30 * DAY, False)]

    forgetful, faithful = (np.exp(believed(burst_then_silence, f) @ LOG_RATES) for f in (0.03, 0.0))

    assert forgetful < 1 / (5 * DAY)
    assert faithful > 1 / (5 * DAY)


@given(seen=visits, elapsed=seconds, forgetting=st.sampled_from([0.0, 0.03, 0.5]))
def test_a_change_more_makes_every_faster_rate_likelier(
    seen: list[tuple[float, bool]], elapsed: float, forgetting: float
) -> None:
    """The chance of being slower than any bound falls with a change and grows without one."""
    before = (1 - forgetting) * believed(seen, forgetting) + forgetting * broad()
    changed = np.cumsum(believed([*seen, (elapsed, True)], forgetting))
    unchanged_last = seen and not seen[-1][1]

    assert np.all(changed <= np.cumsum(before) + 1e-9)
    if not unchanged_last:  # else the two are one observation
        assert np.all(np.cumsum(believed([*seen, (elapsed, False)], forgetting)) >= np.cumsum(before) - 1e-9)


@given(seen=st.lists(st.tuples(st.floats(0, 1e30), st.booleans()), max_size=80))
def test_distributions_stay_distributions_whatever_was_seen(seen: list[tuple[float, bool]]) -> None:
    distribution = believed(seen, 0.03)

    assert np.all(np.isfinite(distribution))
    assert distribution.sum() == pytest.approx(1)


def test_pages_are_filtered_each_alone() -> None:
    rng = np.random.default_rng(3)
    histories = [
        history_of([(float(rng.exponential(DAY)), bool(rng.random() < 0.5)) for _ in range(n)])
        for n in (0, 1, 40, 7)
    ]
    together = filtered(np.tile(broad(), (4, 1)), histories, 0.03)

    for row, history in zip(together, histories, strict=True):
        assert row == pytest.approx(filtered(broad()[None], [history], 0.03)[0])


def test_nine_of_ten_intervals_contain_the_rate_that_was_drawn_from_the_prior() -> None:
    rng = np.random.default_rng(5)
    pages = 2000
    # Each value of the grid stands for its step.
    rates = np.exp(rng.choice(LOG_RATES, pages, p=broad()) + rng.uniform(-STEP / 2, STEP / 2, pages))
    histories = []
    for rate in rates:
        waits = rng.exponential(10 * DAY, 8)
        seen = rng.random(8) < -np.expm1(-rate * waits)
        histories.append(history_of(list(zip(waits.tolist(), seen.tolist(), strict=True))))
    low, high = interval(filtered(np.tile(broad(), (pages, 1)), histories, 0.0))

    covered = np.mean((low <= rates) & (rates <= high))
    assert covered == pytest.approx(0.9, abs=3 * np.sqrt(0.09 / pages) + 0.005)


def r1(x: np.ndarray) -> np.ndarray:
    value: np.ndarray = gammainc(2, x)
    return value


@given(seen=visits, elapsed=st.floats(1e-3, 1e10))
def test_the_matched_rate_is_worth_what_the_distribution_is_expected_to_be(
    seen: list[tuple[float, bool]], elapsed: float
) -> None:
    distribution = believed(seen, 0.03)
    expected = float(distribution @ (r1(RATES * elapsed) / RATES))

    matched = matched_rate(distribution[None], np.array([elapsed]))[0]
    median = RATES[np.searchsorted(np.cumsum(distribution), 0.5)]

    assert r1(matched * elapsed) / matched == pytest.approx(expected, rel=1e-4)
    # Near the maximum, any rate has nearly the same value.
    assert matched * elapsed >= 1.7 if median * elapsed > 1.7933 else matched * elapsed <= 1.8


@given(index=st.integers(0, N_RATES - 1), expected_changes=st.floats(1e-9, 1.5))
def test_the_matched_rate_of_a_known_rate_is_that_rate(index: int, expected_changes: float) -> None:
    known = concentrated(RATES[index])

    matched = matched_rate(known, np.array([expected_changes / RATES[index]]))[0]

    assert matched == pytest.approx(RATES[index], rel=1e-3)


def test_bells_have_the_interval_that_they_are_made_from() -> None:
    low, high = np.array([1e-6, 1e-5, 0.0]), np.array([1e-4, 1.2e-5, 0.0])
    drawn = bells(RateEstimate(low, low, high))

    inside = (low[0] < RATES) & (high[0] > RATES)
    assert drawn[0][inside].sum() == pytest.approx(0.9, abs=0.05)
    assert np.exp(drawn[0] @ LOG_RATES) == pytest.approx(1e-5, rel=1e-6)
    assert drawn[0, 10] / drawn[0, 20] == pytest.approx(
        norm.pdf(LOG_RATES[10], np.log(1e-5), np.log(10) / 1.6449)
        / norm.pdf(LOG_RATES[20], np.log(1e-5), np.log(10) / 1.6449),
        rel=1e-3,
    )
    assert drawn.sum(axis=1) == pytest.approx([1, 1, 0])
