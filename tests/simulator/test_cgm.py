"""CGM: the estimate recovers known rates, the intervals are the freshest, the rule learns them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from scrapy_freshness.simulator.cgm import Cgm, freshest_intervals, regular_interval_rate

DAY = 86400.0


@pytest.mark.parametrize("rate", [0.05, 0.3, 1.0])
def test_the_estimate_is_nearly_unbiased(rate: float) -> None:
    rng = np.random.default_rng(5)
    changes = rng.binomial(50, -np.expm1(-rate), 200_000).astype(float)

    estimates = regular_interval_rate(np.full(200_000, 50.0), changes, np.ones(200_000))

    assert estimates.mean() == pytest.approx(rate, rel=0.02)
    naive = changes.mean() / 50
    assert abs(estimates.mean() - rate) < abs(naive - rate)


def test_pages_that_always_and_never_changed_have_finite_rates() -> None:
    rates = regular_interval_rate(np.array([7.0, 7.0, 0.0]), np.array([0.0, 7.0, 0.0]), np.ones(3))

    assert rates == pytest.approx([0, np.log(15), 0])


@given(seed=st.integers(0, 500), per_second=st.floats(0.1, 50))
def test_the_budget_is_spent_and_no_other_split_is_fresher(seed: int, per_second: float) -> None:
    rng = np.random.default_rng(seed)
    change_rate = np.exp(rng.normal(0, 1.5, 20))

    def fresh(rates: np.ndarray) -> float:
        x = change_rate / np.maximum(rates, 1e-300)
        return float(np.mean(-np.expm1(-x) / x))

    best = 1 / freshest_intervals(change_rate, per_second)
    assert best.sum() == pytest.approx(per_second, rel=1e-6)
    for _ in range(20):
        rival = best * np.exp(rng.normal(0, 0.3, 20)) + 1e-9
        assert fresh(rival * best.sum() / rival.sum()) <= fresh(best) + 1e-12


def test_the_rule_learns_the_interval_of_the_true_rate() -> None:
    """Changes once in 10 days, threshold 2 days: the interval at which (1/rate) R1(rate t) is 2 days.

    An early mistake makes for one long interval, which stays in the mean, so that some runs end 9 % above.
    """
    rule = Cgm(threshold_seconds=2 * DAY, warm_up_seconds=DAY)
    found = []
    for seed in range(7):
        rng, state = np.random.default_rng(seed), rule.first(0.0)
        for _ in range(600):
            changed = bool(rng.random() < -np.expm1(-state.interval_seconds / (10 * DAY)))
            state = rule.after(state, state.next_at, changed)
        found.append(state.interval_seconds / DAY)

    best = brentq(lambda t: 10 * (1 - (1 + t / 10) * np.exp(-t / 10)) - 2, 1.0, 20.0)
    assert np.median(found) == pytest.approx(best, rel=0.05)


def test_it_warms_up_and_then_gives_up_on_what_changes_all_the_time_or_never() -> None:
    rule = Cgm(threshold_seconds=DAY, warm_up_seconds=0.1 * DAY, warm_up_visits=4)
    for changed in (True, False):
        state, days = rule.first(0.0), []
        for _ in range(4):
            days.append(round(state.interval_seconds / DAY, 6))
            state = rule.after(state, state.next_at, changed)
        assert days == [0.1, 0.2, 0.3, 0.4]
        assert state.interval_seconds > 3650 * DAY


def test_a_fetch_that_failed_or_was_not_compared_counts_for_nothing() -> None:
    rule = Cgm(threshold_seconds=DAY, warm_up_seconds=DAY)
    state = rule.after(rule.first(0.0), DAY, True)
    failed = rule.after(state, 3 * DAY, None, failed=True)
    later = rule.after(failed, 5 * DAY, False)

    assert (failed.visits, failed.seen_at, failed.next_at) == (1, DAY, 5 * DAY)
    assert later.observed_seconds == 5 * DAY
    assert rule.after(state, 3 * DAY, None).visits == 1
    assert rule.after(state, 3 * DAY, None).seen_at == 3 * DAY


def test_scaling_stretches_every_interval() -> None:
    rule = Cgm(threshold_seconds=DAY, warm_up_seconds=DAY, warm_up_visits=2)
    state = scaled = rule.scaled(1.0).first(0.0)
    for at, changed in ((DAY, True), (3 * DAY, False), (6 * DAY, False)):
        state, scaled = rule.after(state, at, changed), rule.scaled(5.0).after(scaled, at, changed)
        assert scaled.interval_seconds == pytest.approx(5 * state.interval_seconds)
