"""Effective age: the crawl process, the straight line that psi becomes, and both ends of all scales."""

import numpy as np
import pytest
from believed import page
from crawl_process import crawl_intervals, z_score
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammainc

from scrapy_freshness.value.contract import FloatArray
from scrapy_freshness.value.signals import Signalled, seconds_to_age


def pages_of(rate: float, recall: float, nu: float, elapsed: float, signals: float = 0.0) -> Signalled:
    beliefs = page(change_rate=rate, recall=recall, false_rate=nu, signals=signals)
    return Signalled.of(beliefs, np.array([elapsed]))


def psi(rate: float, recall: float, nu: float, elapsed: float, signals: float = 0.0) -> float:
    return float(seconds_to_age(pages_of(rate, recall, nu, elapsed, signals))[0])


def psi_by_the_sum(rate: float, recall: float, nu: float, age: FloatArray) -> FloatArray:
    """All terms of the paper's sum, for many effective ages."""
    gamma, beta = recall * rate + nu, np.log1p(recall * rate / nu) / ((1 - recall) * rate)
    number = np.arange(np.ceil(age.max() / beta))[:, None]
    left = age - number * beta
    return np.sum(np.where(left > 0, gammainc(number + 1, gamma * np.maximum(left, 0)), 0.0), axis=0) / gamma


@pytest.mark.parametrize(
    ("rate", "recall", "nu", "threshold"),
    [(0.5, 0.5, 0.3, 5.0), (1.0, 0.9, 0.2, 30.0), (0.3, 0.1, 2.0, 4.0), (2.0, 0.6, 0.01, 0.5)],
)
def test_psi_is_the_mean_time_between_crawls(rate: float, recall: float, nu: float, threshold: float) -> None:
    times, _ = crawl_intervals(np.random.default_rng(21), 200_000, rate, recall, nu, threshold)

    assert abs(z_score(times, psi(rate, recall, nu, threshold))) < 4


@given(
    recall=st.floats(0.001, 0.99),
    noise=st.floats(0.01, 100),
    steps=st.floats(0.01, 80),
    rate=st.floats(1e-9, 1e6),
)
def test_the_line_and_the_sum_agree(recall: float, noise: float, steps: float, rate: float) -> None:
    """Whichever of the two is used, over 80 signals' worth of time."""
    nu = noise * rate
    beta = np.log1p(recall * rate / nu) / ((1 - recall) * rate)
    age = steps * beta

    expected = psi_by_the_sum(rate, recall, nu, np.array([age]))[0]

    assert psi(rate, recall, nu, age) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("c", [1e-4, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
def test_the_line_begins_where_the_slowest_wave_has_died(c: float) -> None:
    """p*beta = W_1(c*e^c) - c with Lambert's W, which solves w + log(w) = log(c) + c + 2*pi*i."""
    goal = np.log(c) + c + 2j * np.pi
    w = goal - np.log(goal)
    for _ in range(60):
        w -= (w + np.log(w) - goal) / (1 + 1 / w)
    recall, nu = 0.5, 1.0
    # c = gamma*b/alpha rises with the recall: find the recall that gives it.
    low, high = 0.0, 1.0
    for _ in range(200):
        recall = (low + high) / 2
        found = pages_of(1.0, recall, nu, 1.0)
        low, high = (recall, high) if (found.rho * found.eta)[0] < c else (low, recall)
    line_from = pages_of(1.0, recall, nu, 1.0).line_from[0]

    assert abs(2 / (1 + w)) * np.exp((w.real - c) * line_from) < 3e-15
    assert line_from < 36 / (c - w.real) * 1.7 + 4


@given(
    rate=st.floats(1e-12, 1e6),
    recall=st.floats(0, 1),
    nu=st.floats(1e-12, 1e6),
    elapsed=st.floats(0, 1e12, allow_subnormal=False),
)
def test_signals_never_make_the_crawler_wait_longer(
    rate: float, recall: float, nu: float, elapsed: float
) -> None:
    assert 0 <= psi(rate, recall, nu, elapsed) <= elapsed * (1 + 1e-12)


@given(elapsed=st.floats(1e-9, 1e9))
def test_without_signals_the_effective_age_is_the_age(elapsed: float) -> None:
    assert psi(1.0, 0.0, 0.0, elapsed) == elapsed
    assert psi(1.0, 0.0, 5.0, elapsed, signals=7.0) == pytest.approx(elapsed, rel=1e-12)
    assert psi(1.0, 1e-12, 5.0, elapsed) == pytest.approx(elapsed, rel=1e-9)


@given(elapsed=st.floats(1e-6, 1e3), nu=st.floats(1e-3, 1e3))
def test_without_silent_changes_a_signal_is_worth_any_time(elapsed: float, nu: float) -> None:
    """alpha = 0, beta = infinity: after n signals the crawler waits for the next one at most."""
    gamma = 1.0 + nu
    for n in (0, 1, 4):
        expected = (n + gammainc(n + 1, gamma * elapsed)) / gamma
        assert psi(1.0, 1.0, nu, elapsed, signals=n) == pytest.approx(expected, rel=1e-12)


def test_a_page_is_fresh_with_the_probability_of_the_paper() -> None:
    pages = pages_of(0.5, 0.5, 0.3, 2.0, signals=3.0)

    assert np.exp(-pages.v)[0] == pytest.approx(np.exp(-0.25 * 2) * (0.3 / 0.55) ** 3)
