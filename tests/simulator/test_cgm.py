"""CGM: the rule learns the interval of the true rate, by which pages are freshest."""

import numpy as np
import pytest
from scipy.optimize import brentq

from scrapy_freshness.simulator.cgm import Cgm

DAY = 86400.0


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
