"""The continuous optimum: known numbers, a second solver, and nothing that does better."""

import math
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import gammainc

from scrapy_freshness.simulator.instances import (
    Instance,
    Signals,
    deterministic_instance,
    drawn_events,
    drawn_instance,
)
from scrapy_freshness.simulator.optimum import optimum
from scrapy_freshness.value.contract import Beliefs

WEB = deterministic_instance()


def blind(web: Instance) -> Beliefs:
    """What is believed if nobody listens to signals."""
    return Beliefs(importance=web.importance, change_rate=web.change_rate)


def renewal(web: Instance, page: int, age: float) -> tuple[float, float, float]:
    """psi, w and V of one page by the paper's sums, for nu > 0 and 0 < lambda < 1."""
    delta, recall, nu = web.change_rate[page], web.recall[page], web.false_rate[page]
    alpha, gamma = (1 - recall) * delta, recall * delta + nu
    beta = math.log(gamma / nu) / alpha
    psi = w = 0.0
    for i in count():
        left = age - i * beta
        if left <= 0 or (i > gamma * left and gammainc(i + 1, gamma * left) < 1e-15):
            break
        psi += gammainc(i + 1, gamma * left) / gamma
        w += (nu / (delta + nu)) ** i / (delta + nu) * gammainc(i + 1, (alpha + gamma) * left)
    return psi, w, web.importance[page] * (w - math.exp(-alpha * age) * psi)


def second_solver(web: Instance, rate: float) -> tuple[float, float]:
    """Accuracy and price by bisection in bisection, page by page."""

    def crawled(price: float) -> tuple[float, float]:
        total = fresh = 0.0
        for page in range(len(web.importance)):
            if web.importance[page] / web.change_rate[page] * (1 - 1e-9) <= price:
                continue

            def missing(age: float, page: int = page) -> float:
                return renewal(web, page, age)[2] - price

            upper = 1.0
            while missing(upper) < 0:
                upper *= 2
            psi, w, _ = renewal(web, page, brentq(missing, 1e-9, upper, xtol=1e-10))
            total += 1 / psi
            fresh += web.importance[page] * w / psi
        return total, fresh / web.importance.sum()

    price = brentq(lambda price: crawled(price)[0] - rate, 1e-3, 50.0, xtol=1e-9)
    return crawled(price)[1], price


@pytest.mark.parametrize(
    ("rate", "accuracy", "price"), [(10.0, 0.36498755, 0.91045617), (50.0, 0.71220338, 0.20313125)]
)
def test_without_signals_it_is_as_known(rate: float, accuracy: float, price: float) -> None:
    best = optimum(blind(WEB), rate)

    assert (best.accuracy, best.price) == pytest.approx((accuracy, price), abs=1e-6)
    assert best.rates.sum() == pytest.approx(rate)


@pytest.mark.parametrize(
    ("rate", "accuracy", "price"), [(10.0, 0.3806361, 0.9835859), (50.0, 0.7796356, 0.2361647)]
)
def test_with_noisy_signals_it_is_as_known(rate: float, accuracy: float, price: float) -> None:
    best = optimum(WEB.beliefs, rate)

    assert (best.accuracy, best.price) == pytest.approx((accuracy, price), abs=1e-6)
    assert best.rates.sum() == pytest.approx(rate)


def test_a_second_solver_agrees() -> None:
    some = slice(3, 90, 9)
    web = Instance(WEB.importance[some], WEB.change_rate[some], WEB.recall[some], WEB.false_rate[some])

    best = optimum(web.beliefs, 3.0)

    assert (best.accuracy, best.price) == pytest.approx(second_solver(web, 3.0), abs=1e-6)


@pytest.mark.parametrize(
    ("signals", "pages", "mean", "error"),
    [
        ("none", 100, 0.8322, 0.0042),
        ("none", 500, 0.5055, 0.0032),
        ("none", 1000, 0.3664, 0.0027),
        ("partial", 100, 0.9225, 0.0034),
        ("partial", 500, 0.6111, 0.0040),
        ("partial", 1000, 0.4391, 0.0031),
        ("noisy", 100, 0.9112, 0.0037),
        ("noisy", 500, 0.5414, 0.0036),
        ("noisy", 1000, 0.3844, 0.0029),
    ],
)
def test_random_webs_of_the_paper_have_the_known_mean(
    signals: Signals, pages: int, mean: float, error: float
) -> None:
    """Errors are of the means over 12 webs of the reference, and over 4 webs here.

    With partial signals the reference has GREEDY-CIS, which is the best that can be done with them.
    """
    webs = [drawn_instance(pages, signals, np.random.default_rng([7, seed])) for seed in range(4)]
    found = np.mean([optimum(web.beliefs, 100.0).accuracy for web in webs])

    assert found == pytest.approx(mean, abs=3 * error * np.sqrt(1 + 12 / 4))


@given(rate=st.floats(0.1, 500), seed=st.integers(0, 200))
def test_no_other_split_of_the_rate_is_fresher(rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    best = optimum(blind(WEB), rate)

    def accuracy(rates: np.ndarray) -> float:
        x = WEB.change_rate / np.maximum(rates, 1e-300)
        return float(np.average(-np.expm1(-x) / x, weights=WEB.importance))

    assert best.rates.sum() == pytest.approx(rate, rel=1e-9)
    assert best.accuracy == pytest.approx(accuracy(best.rates), abs=1e-9)
    rival = best.rates * np.exp(rng.normal(0, 0.3, 100)) + 1e-9
    assert accuracy(rival * rate / rival.sum()) <= best.accuracy + 1e-9


@pytest.mark.parametrize("rate", [0.5, 10.0, 100.0, 2000.0])
def test_signals_never_do_harm_and_a_larger_rate_is_fresher_and_cheaper(rate: float) -> None:
    best, more = optimum(WEB.beliefs, rate), optimum(WEB.beliefs, 1.2 * rate)

    assert optimum(blind(WEB), rate).accuracy <= best.accuracy <= more.accuracy <= 1
    assert more.price < best.price


def test_signals_that_say_nothing_change_nothing() -> None:
    deaf = Instance(WEB.importance, WEB.change_rate, np.zeros(100), WEB.false_rate)

    assert optimum(deaf.beliefs, 20.0).accuracy == pytest.approx(optimum(blind(WEB), 20.0).accuracy)


def test_perfect_signals_are_followed_one_by_one() -> None:
    """Each change announced, no false signal: with a crawl for each change all is fresh at all times."""
    perfect = Instance(np.ones(10), np.full(10, 0.5), np.ones(10), np.zeros(10))

    assert optimum(perfect.beliefs, 5.0).accuracy == pytest.approx(1.0, abs=1e-6)
    half = optimum(perfect.beliefs, 2.5)
    assert half.rates.sum() == pytest.approx(2.5)
    assert half.accuracy == pytest.approx(0.5, abs=1e-6), "every other page is given up"


def test_signals_for_every_change_among_false_ones_are_counted() -> None:
    """No silent changes: crawl after n signals; a rate between two n is spent by taking turns."""
    web = Instance(np.ones(1), np.array([0.5]), np.ones(1), np.array([0.2]))
    gamma, q = 0.7, 0.2 / 0.7

    def fresh_after(n: int) -> float:
        """Fresh share if the page is crawled after every n-th signal."""
        return (1 - q**n) / (1 - q) / n

    for n in (1, 2, 3):
        best = optimum(web.beliefs, gamma / n * (1 - 1e-9))
        assert best.accuracy == pytest.approx(fresh_after(n), abs=1e-5)
    between = optimum(web.beliefs, gamma * 0.75)
    assert between.accuracy == pytest.approx((fresh_after(1) + fresh_after(2)) / 2, abs=1e-5)


def test_a_simulated_crawl_at_the_thresholds_is_as_fresh_as_promised() -> None:
    """One page: crawl when the effective age reaches the threshold; fresh share and rate are as computed."""
    web = Instance(np.ones(1), np.array([0.5]), np.array([0.5]), np.array([0.3]))
    rate, horizon = 0.4, 60_000.0
    best = optimum(web.beliefs, rate)
    alpha, beta = 0.25, math.log(0.55 / 0.3) / 0.25
    threshold = brentq(lambda age: renewal(web, 0, age)[2] - best.price, 1e-6, 100.0)
    events = drawn_events(web, horizon, np.random.default_rng(5))
    changes, signals = events.changes.of(0), events.signals.of(0)
    now, crawls, fresh = 0.0, 0, 0.0
    while now < horizon:
        at, n = np.searchsorted(signals, now, side="right"), 0
        while at < len(signals) and signals[at] < now + threshold - beta * n:
            at, n = at + 1, n + 1
        due = now + threshold - beta * n
        if n and due < signals[at - 1]:
            due = signals[at - 1]
        change = np.searchsorted(changes, now, side="right")
        fresh += min(changes[change] if change < len(changes) else horizon, due) - now
        now, crawls = due, crawls + 1

    assert alpha == (1 - web.recall[0]) * web.change_rate[0]
    assert crawls / horizon == pytest.approx(rate, rel=0.02)
    assert fresh / horizon == pytest.approx(best.accuracy, abs=0.01)


@pytest.mark.parametrize(("importance", "rate"), [([0.0, 0.0], 1.0), ([], 1.0), ([1.0], 0.0), ([1.0], -1.0)])
def test_there_is_no_optimum_of_nothing(importance: list[float], rate: float) -> None:
    pages = Beliefs(importance=np.array(importance), change_rate=np.ones(len(importance)))

    with pytest.raises(ValueError, match="an optimum needs"):
        optimum(pages, rate)
