"""The censored maximum-likelihood estimate against a second solver, a closed form and known rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from scrapy_freshness.estimation.change_rate import PriorPoints, censored_mle, estimate_change_rates
from scrapy_freshness.estimation.history import extended, observations

HOUR = 3600.0
PRIOR = PriorPoints()
intervals = st.floats(1e-2, 1e9)
histories = st.lists(st.tuples(intervals, st.booleans()), max_size=60)


def history_of(seen: list[tuple[float, bool]]) -> bytes:
    history = b""
    for elapsed, changed in seen:
        history = extended(history, elapsed, changed)
    return history


def log_likelihood(rate: float, changed: np.ndarray, unchanged_seconds: float) -> float:
    return float(np.log(-np.expm1(-rate * changed)).sum() - rate * unchanged_seconds)


def observed(history: bytes, prior: PriorPoints) -> tuple[np.ndarray, float]:
    """Intervals with a change, and the sum of those without, prior points included."""
    seen = observations(history).astype(float)
    changed = np.append(-seen[seen < 0], prior.changed_after_seconds)
    return changed, float(seen[seen > 0].sum() + prior.unchanged_after_seconds)


def root_of_the_score(changed: np.ndarray, unchanged_seconds: float) -> float:
    """The estimate by bracketing the equation on a logarithmic scale."""

    def excess(log_rate: float) -> float:
        x = np.exp(log_rate) * changed
        return float(np.sum(changed / np.expm1(np.minimum(x, 700)))) / unchanged_seconds - 1

    return float(np.exp(brentq(excess, -40, 40, xtol=1e-13, rtol=1e-14)))


@given(seen=histories, prior=st.builds(PriorPoints, intervals, intervals))
def test_the_estimate_is_that_of_a_second_solver(seen: list[tuple[float, bool]], prior: PriorPoints) -> None:
    history = history_of(seen)

    estimate = estimate_change_rates([history], prior)

    expected = root_of_the_score(*observed(history, prior))
    assert estimate.rate[0] == pytest.approx(expected, rel=1e-8)


@given(seen=histories)
def test_no_other_rate_is_likelier(seen: list[tuple[float, bool]]) -> None:
    changed, unchanged_seconds = observed(history_of(seen), PRIOR)

    def unlikelihood(log_rate: float) -> float:
        return -log_likelihood(np.exp(log_rate), changed, unchanged_seconds)

    best = minimize_scalar(unlikelihood, bounds=(-30, 10), method="bounded", options={"xatol": 1e-9})
    estimate = estimate_change_rates([history_of(seen)], PRIOR)
    found = log_likelihood(estimate.rate[0], changed, unchanged_seconds)

    assert found >= -best.fun - 1e-9 * abs(best.fun)


@pytest.mark.parametrize(("changes", "visits"), [(1, 2), (1, 100), (30, 40), (99, 100), (500, 1000)])
@pytest.mark.parametrize("interval", [0.5, 3600.0, 1e8])
def test_regular_visits_have_the_closed_form_of_the_paper(changes: int, visits: int, interval: float) -> None:
    estimate = censored_mle(
        np.full(changes, interval), np.zeros(changes, np.int64), np.array([(visits - changes) * interval])
    )

    assert estimate.rate[0] == pytest.approx(-np.log(1 - changes / visits) / interval, rel=1e-9)


def test_the_prior_points_are_two_visits_more() -> None:
    """With both prior points at the visits' interval, c of n changes become c + 1 of n + 2."""
    prior = PriorPoints(60.0, 60.0)
    history = history_of([(60.0, number % 3 == 0) for number in range(30)])

    estimate = estimate_change_rates([history], prior)

    assert estimate.rate[0] == pytest.approx(-np.log(1 - 11 / 32) / 60, rel=1e-6)


def test_a_page_never_compared_changes_at_the_prior_rate() -> None:
    assert PRIOR.rate == pytest.approx(np.log1p(1 / 57) / HOUR, rel=1e-9)
    assert PriorPoints(1.0, 57.0).rate == pytest.approx(np.log1p(1 / 57), rel=1e-9)


@pytest.mark.parametrize("rate", [1e-6, 1e-4, 1e-2, 1.0])
def test_known_rates_are_found_within_three_standard_errors(rate: float) -> None:
    rng = np.random.default_rng(20)
    waits = rng.exponential(1 / rate, 5000) * rng.choice([0.2, 1, 3], 5000)
    changed = rng.random(5000) < -np.expm1(-rate * waits)
    estimate = censored_mle(
        waits[changed], np.zeros(np.count_nonzero(changed), np.int64), np.array([waits[~changed].sum()])
    )

    standard_error = np.log(estimate.high[0] / estimate.low[0]) / 2 / 1.6448536
    assert abs(np.log(estimate.rate[0] / rate)) <= 3 * standard_error
    assert standard_error < 0.03


def test_the_interval_contains_the_true_rate_in_nine_of_ten_cases() -> None:
    rng = np.random.default_rng(3)
    n_pages, visits = 3000, 50
    rates = 10 ** rng.uniform(-6, -2, n_pages)
    waits = rng.exponential(1 / rates[:, None], (n_pages, visits))
    changed = rng.random(waits.shape) < -np.expm1(-rates[:, None] * waits)
    owner = np.broadcast_to(np.arange(n_pages)[:, None], waits.shape)

    estimate = censored_mle(waits[changed], owner[changed], np.where(changed, 0, waits).sum(axis=1))

    covered = np.mean((estimate.low <= rates) & (rates <= estimate.high))
    assert abs(covered - 0.9) <= 3 * np.sqrt(0.9 * 0.1 / n_pages)


def test_many_pages_at_once_are_each_estimated_alone() -> None:
    rng = np.random.default_rng(4)
    several = [
        history_of([(float(rng.exponential(1e4)), bool(rng.random() < 0.4)) for _ in range(n)])
        for n in (0, 1, 5, 60, 0, 300)
    ]

    together = estimate_change_rates(several, PRIOR)

    for number, history in enumerate(several):
        alone = estimate_change_rates([history], PRIOR)
        assert together.rate[number] == pytest.approx(alone.rate[0], rel=1e-9)
        assert together.low[number] == pytest.approx(alone.low[0], rel=1e-9)
        assert together.high[number] == pytest.approx(alone.high[0], rel=1e-9)


def test_no_pages_have_no_estimates() -> None:
    estimate = estimate_change_rates([], PRIOR)

    assert len(estimate.rate) == len(estimate.low) == len(estimate.high) == 0


@given(seen=histories, prior=st.builds(PriorPoints, intervals, intervals))
def test_estimates_are_positive_and_finite_whatever_was_seen(
    seen: list[tuple[float, bool]], prior: PriorPoints
) -> None:
    estimate = estimate_change_rates([history_of(seen)], prior)

    assert 0 < estimate.low[0] < estimate.rate[0] < estimate.high[0] < np.inf


@given(seen=histories, elapsed=intervals)
def test_a_change_more_makes_a_page_faster_and_none_makes_it_slower(
    seen: list[tuple[float, bool]], elapsed: float
) -> None:
    before = history_of(seen)
    estimate = estimate_change_rates(
        [extended(before, elapsed, changed=False), before, extended(before, elapsed, changed=True)], PRIOR
    )

    slower, as_before, faster = estimate.rate
    assert slower <= as_before * (1 + 1e-6)
    assert as_before <= faster * (1 + 1e-6)


def test_more_visits_make_the_interval_narrower() -> None:
    widths = []
    for visits in (10, 20, 40, 60):
        estimate = estimate_change_rates([history_of([(HOUR, n % 2 == 0) for n in range(visits)])], PRIOR)
        widths.append(estimate.high[0] / estimate.low[0])

    assert widths == sorted(widths, reverse=True)
