"""Bounds on what a refresh would gain: every divergence that was possible lies between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.estimation.bounds import Bounds, bounds, longest_period, next_period

Profile = tuple[np.ndarray, np.ndarray]


def drawn_curve(seed: int, jumps: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Times of the jumps of a monotone divergence curve on [0, 1], and its values after them."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.random(jumps)), np.sort(rng.random(jumps))


def divergence(curve: tuple[np.ndarray, np.ndarray], times: np.ndarray) -> np.ndarray:
    jumps, values = curve
    return np.append(0.0, values)[np.searchsorted(jumps, times, side="right")]


def area(curve: tuple[np.ndarray, np.ndarray], end: float) -> float:
    jumps, _ = curve
    edges = np.concatenate([[0.0], jumps[jumps < end], [end]])
    return float(np.diff(edges) @ divergence(curve, edges[:-1]))


@given(seed=st.integers(0, 10**6), visits=st.integers(1, 12))
def test_the_true_area_and_utility_lie_between_the_bounds(seed: int, visits: int) -> None:
    curve = drawn_curve(seed)
    times = np.linspace(0, 1, visits + 1)[1:]
    found = bounds([(times, divergence(curve, times))], 1.0)
    true_utility = divergence(curve, np.ones(1))[0] - area(curve, 1.0)

    assert found.least_area - 1e-12 <= area(curve, 1.0) <= found.most_area + 1e-12
    assert found.least_utility - 1e-12 <= true_utility <= found.most_utility + 1e-12


def test_more_visits_make_the_bounds_narrower() -> None:
    curve = drawn_curve(3)
    gaps = []
    for visits in (1, 2, 4, 8, 16):
        times = np.linspace(0, 1, visits + 1)[1:]
        found = bounds([(times, divergence(curve, times))], 1.0)
        gaps.append(found.most_area - found.least_area)

    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == pytest.approx(divergence(curve, np.ones(1))[0])


def test_profiles_are_averaged() -> None:
    one = np.array([1.0, 2.0]), np.array([0.5, 0.6])
    other = np.array([2.0]), np.array([0.2])
    alone, also, both = bounds([one], 2.0), bounds([other], 2.0), bounds([one, other], 2.0)

    for mean, *each in zip(both, alone, also, strict=True):
        assert mean == pytest.approx(sum(each) / 2)


def test_the_inside_of_a_plateau_may_be_forgotten() -> None:
    every_visit = np.arange(1.0, 9.0), np.array([0, 0, 0.3, 0.3, 0.3, 0.3, 0.7, 0.7])
    kept = np.array([1, 2, 3, 6, 7, 8]) - 1
    ends = every_visit[0][kept], every_visit[1][kept]

    for seconds in (3.0, 5.0, 8.0):
        assert bounds([ends], seconds) == pytest.approx(bounds([every_visit], seconds))


def test_what_was_not_observed_may_be_anything_from_the_last_divergence_to_one() -> None:
    observed = np.array([1.0]), np.array([0.4])

    found = bounds([observed], 3.0)

    assert found.least_area == pytest.approx(2 * 0.4)
    assert found.most_area == pytest.approx(0.4 + 2 * 1.0)
    assert bounds([], 2.0) == pytest.approx(Bounds(0.0, 2.0, 0.0, 0.0))


def test_fragments_that_come_back_do_not_turn_the_bounds_around() -> None:
    falling = np.array([1.0, 2.0, 3.0]), np.array([0.6, 0.2, 0.5])

    found = bounds([falling], 3.0)

    assert found.least_area == pytest.approx(0 + 0.2 + 0.2)
    assert found.most_area == pytest.approx(0.6 + 0.6 + 0.5)


def test_profiles_in_single_precision_are_observed_at_their_own_times() -> None:
    times = np.array([0.1, 0.7], np.float32)
    found = bounds([(times, np.array([0.1, 0.3], np.float32))], float(times[-1]))

    assert found.least_utility == pytest.approx(0.7 * 0.3 - (0.1 * 0.1 + 0.6 * 0.3), abs=1e-6)
    assert found.most_utility == pytest.approx(0.7 * 0.3 - 0.6 * 0.1, abs=1e-6)


@pytest.mark.parametrize("rate", [0.05, 0.25, 1.0])
def test_the_period_settles_around_the_one_whose_utility_is_the_threshold(rate: float) -> None:
    """A page whose divergence is known exactly, D = 1 - exp(-rate t), and visits at the rule's periods."""
    threshold, period, reference, now = 0.3 / rate, 1.0, 0.0, 0.0
    visits, periods = [0.0], []
    for _ in range(300):
        now += period
        visits.append(now)
        ages = np.array([at - reference for at in visits if at > reference])
        found = bounds([(ages, -np.expm1(-rate * ages))], now - reference)
        waited = now - reference
        period, starts_anew = next_period(found, threshold, waited, period)
        if starts_anew:
            reference = now
            periods.append(waited)

    fine = np.linspace(0, 20 / rate, 20_001)
    utility = 1 / rate * (1 - (1 + rate * fine) * np.exp(-rate * fine))
    best = fine[np.searchsorted(utility, threshold)]
    assert best / 3 < np.median(periods[5:]) < 3 * best


@given(threshold=st.floats(1e-3, 1e9), risk=st.floats(1, 1e3))
def test_no_wait_costs_more_than_the_risk_allows(threshold: float, risk: float) -> None:
    assert longest_period(threshold, risk) * 1.0 == pytest.approx(risk * threshold)
