"""GREEDY-NCIS: the paper's formula in 80 digits, the crawl process, known numbers and all limits."""

from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from believed import noisy_pages, page, value
from crawl_process import crawl_intervals, z_score
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from scrapy_freshness.value.cis import Cis
from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.ncis import Ncis, NcisApprox
from scrapy_freshness.value.signals import Signalled, seconds_to_age

MODEL = Ncis()


def ncis(rate: float, recall: float, nu: float, elapsed: float, n: float = 0.0, model: Ncis = MODEL) -> float:
    return value(model, elapsed, change_rate=rate, recall=recall, false_rate=nu, signals=n)


def residual(i: int, x: Decimal) -> Decimal:
    term = total = Decimal(1)
    for j in range(1, i + 1):
        term *= x / j
        total += term
    return 1 - (-x).exp() * total


def by_the_book(
    rate: float, recall: float, nu: float, elapsed: float, n: float, terms: float = np.inf
) -> tuple[float, float, float]:
    """V/mu, w and psi exactly as printed in Theorem 1 and Lemma 4, with 80 digits."""
    with localcontext() as context:
        context.prec = 80
        delta, recall_, nu_ = Decimal(rate), Decimal(recall), Decimal(nu)
        alpha, gamma = (1 - recall_) * delta, recall_ * delta + nu_
        beta = (gamma / nu_).ln() / alpha
        age = Decimal(elapsed) + beta * Decimal(n)
        w = psi = Decimal(0)
        i = 0
        while i * beta < age and i < terms:
            left = age - i * beta
            w_term = nu_**i / (delta + nu_) ** (i + 1) * residual(i, (alpha + gamma) * left)
            w, psi = w + w_term, psi + residual(i, gamma * left) / gamma
            if i > (alpha + gamma) * left and w_term < Decimal("1e-60") * w:
                break
            i += 1
        return float(w - (-alpha * age).exp() * psi), float(w), float(psi)


@pytest.mark.parametrize(("elapsed", "expected"), [(1, 0.08929912), (5, 0.80988530), (12, 1.64384843)])
def test_the_spot_values(elapsed: float, expected: float) -> None:
    assert ncis(0.5, 0.5, 0.3, elapsed) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("terms", "expected"), [(1, 0.73948880), (2, 0.80988485), (3, 0.80988530)])
def test_the_spot_values_of_the_approximations(terms: int, expected: float) -> None:
    assert ncis(0.5, 0.5, 0.3, 5, model=NcisApprox(terms)) == pytest.approx(expected, abs=1e-8)


def test_the_spot_values_without_silent_changes() -> None:
    """alpha = 0, gamma = .7, nu = .2."""
    values = [ncis(0.5, 1.0, 0.2, 3.0, n) for n in range(5)]

    assert values == pytest.approx([0, 1.020408, 1.603499, 1.853394, 1.948593], abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_all_digits_are_those_of_the_paper_s_formula(seed: int) -> None:
    """Over 18 decades of time and 12 of recall, for values down to 1e-20 of their bound."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        rate = 10 ** rng.uniform(-4, 3)
        recall = rng.choice([rng.beta(0.25, 0.25), 10 ** rng.uniform(-9, 0), 1 - 10 ** rng.uniform(-10, 0)])
        nu = rate * 10 ** rng.uniform(-4, 2)
        elapsed = min(
            10 ** rng.uniform(-8, 2) / rng.choice([rate, nu, (1 - recall) * rate]), 200 / (rate + nu)
        )
        n, terms = rng.choice([0, 0, 1, 2, 7, 30, 0.7]), rng.choice([np.inf, np.inf, 1, 3])
        model = MODEL if np.isinf(terms) else NcisApprox(int(terms))

        expected, _, psi = by_the_book(rate, recall, nu, elapsed, n, terms)

        assert ncis(rate, recall, nu, elapsed, n, model) == pytest.approx(expected, rel=1e-12)
        state = Signalled.of(
            page(change_rate=rate, recall=recall, false_rate=nu, signals=n), np.array([elapsed])
        )
        assert seconds_to_age(state, terms)[0] == pytest.approx(psi, rel=1e-12)


@pytest.mark.parametrize("n", [60, 300])
def test_many_signals_are_no_harder_than_few(n: int) -> None:
    for rate, recall, nu in ((0.01, 0.9, 1.0), (1.0, 0.98, 1000.0), (0.2, 0.5, 0.4), (1e-4, 0.99999, 5.0)):
        expected, _, _ = by_the_book(rate, recall, nu, 3.0 / nu, n)

        assert ncis(rate, recall, nu, 3.0 / nu, n) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("rate", "recall", "nu", "threshold"),
    [(0.5, 0.5, 0.3, 5.0), (1.0, 0.9, 0.2, 30.0), (0.3, 0.1, 2.0, 4.0), (2.0, 0.6, 0.01, 0.5)],
)
def test_the_crawl_process_has_the_fresh_time_and_the_value_of_the_formula(
    rate: float, recall: float, nu: float, threshold: float
) -> None:
    times, fresh = crawl_intervals(np.random.default_rng(5), 200_000, rate, recall, nu, threshold)
    _, w, _ = by_the_book(rate, recall, nu, threshold, 0)

    assert abs(z_score(fresh, w)) < 4
    gained = fresh - np.exp(-(1 - recall) * rate * threshold) * times
    assert abs(z_score(gained, ncis(rate, recall, nu, threshold))) < 4


@pytest.mark.parametrize(("rate", "recall", "nu", "age"), [(0.5, 0.5, 0.3, 5.0), (1.0, 0.2, 3.0, 1.0)])
def test_it_is_the_gain_in_fresh_time_of_one_crawl_more(
    rate: float, recall: float, nu: float, age: float
) -> None:
    """Freshness per second, w/psi, by crawls per second, 1/psi."""
    (_, w, psi), (_, w_later, psi_later) = (
        by_the_book(rate, recall, nu, age * e, 0) for e in (0.9999, 1.0001)
    )

    marginal = (w / psi - w_later / psi_later) / (1 / psi - 1 / psi_later)

    assert ncis(rate, recall, nu, age) == pytest.approx(marginal, rel=1e-6)


@given(recall=st.floats(0.01, 0.99), nu=st.floats(0.01, 10), age=st.floats(0.01, 20))
def test_it_is_the_integral_over_the_time_to_each_age(recall: float, nu: float, age: float) -> None:
    beta = np.log1p(recall / nu) / (1 - recall)

    def integrand(s: float) -> float:
        pages = Signalled.of(page(recall=recall, false_rate=nu, signals=0), np.array([s]))
        return float((pages.alpha * np.exp(-pages.v) * seconds_to_age(pages))[0])

    knots = np.unique(np.append(np.arange(min(age / beta, 4)) * beta, [0, age]))
    expected = sum(quad(integrand, low, high, epsrel=1e-9)[0] for low, high in pairwise(knots))
    assert ncis(1.0, recall, nu, age) == pytest.approx(expected, rel=1e-6)


NUMBERS = np.arange(1, 101)


def part_of(number: float) -> FloatArray:
    return np.modf(number * NUMBERS)[0]


#: An instance without random numbers, whose optimum an independent implementation has computed.
INSTANCE = Beliefs(
    change_rate=(NUMBERS - 0.5) / 100,
    importance=part_of(0.6180339887498949),
    recall=part_of(0.7548776662466927),
    false_rate=0.1 + 0.5 * part_of(0.5698402909980532),
    signals=np.zeros(100),
)


@pytest.mark.parametrize(
    ("rate", "accuracy", "price"), [(10.0, 0.3806361, 0.9835859), (50.0, 0.7796356, 0.2361647)]
)
def test_the_continuous_optimum_of_the_deterministic_instance(
    rate: float, accuracy: float, price: float
) -> None:
    ages = MODEL.elapsed_at(INSTANCE, price)
    crawled = INSTANCE.at(np.isfinite(ages))
    pages = Signalled.of(crawled, ages[np.isfinite(ages)])
    seconds = seconds_to_age(pages)
    fresh = MODEL.value(crawled, pages.elapsed) / crawled.importance + np.exp(-pages.v) * seconds

    assert np.sum(1 / seconds) == pytest.approx(rate, rel=1e-5)
    met = np.sum(crawled.importance * fresh / seconds) / np.sum(INSTANCE.importance)
    assert met == pytest.approx(accuracy, abs=1e-6)


@given(rate=st.floats(1e-9, 1e6), nu=st.floats(1e-12, 1e6), changes=st.floats(1e-9, 50), n=st.integers(0, 50))
def test_worthless_signals_change_nothing(rate: float, nu: float, changes: float, n: int) -> None:
    """lambda = 0, and lambda -> 0: beta = 0."""
    greedy = value(Greedy(), changes / rate, change_rate=rate)

    assert ncis(rate, 0.0, nu, changes / rate, n) == pytest.approx(greedy, rel=1e-12)
    assert ncis(rate, 1e-13, nu, changes / rate) == pytest.approx(greedy, rel=1e-6)
    assert ncis(rate, 0.0, 0.0, changes / rate, n) == pytest.approx(greedy, rel=1e-12)


@given(recall=st.floats(0.001, 1), changes=st.floats(1e-9, 50), n=st.integers(0, 3))
def test_without_false_signals_it_is_greedy_cis(recall: float, changes: float, n: int) -> None:
    """nu = 0, and nu -> 0: beta = infinity."""
    cis = value(Cis(), changes, recall=recall, signals=n)

    assert ncis(1.0, recall, 0.0, changes, n) == cis
    tolerance = 1e-6 if n == 0 else 1e-3
    assert ncis(1.0, recall, 1e-12, changes, n) == pytest.approx(cis, rel=tolerance, abs=1e-12)


@given(nu=st.floats(1e-3, 1e3), n=st.integers(0, 30), elapsed=st.floats(0, 100))
def test_without_silent_changes_only_signals_count(nu: float, n: int, elapsed: float) -> None:
    """alpha = 0, and alpha -> 0: the closed form with q = nu/gamma."""
    gamma, q = 1 + nu, nu / (1 + nu)
    expected = sum(q**i - q**n for i in range(n)) / gamma

    assert ncis(1.0, 1.0, nu, elapsed, n) == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert ncis(1.0, 1 - 1e-12, nu, elapsed, n) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(recall=st.floats(0.001, 0.999), nu=st.floats(0, 1e3), events=st.floats(1e-150, 1e-6))
def test_just_after_a_visit_the_value_grows_with_the_square_of_time(
    recall: float, nu: float, events: float
) -> None:
    """Before a signal would be worth as much time: alpha*t^2*(1/2 - (gamma/6 + alpha/3)*t)."""
    total, alpha, gamma = 1 + nu, 1 - recall, recall + nu
    t = events / total
    if nu and t > np.log1p(recall / nu) / alpha:
        return

    expected = alpha * t**2 * (1 / 2 - (gamma / 6 + alpha / 3) * t)

    assert ncis(1.0, recall, nu, t) == pytest.approx(expected, rel=1e-9, abs=1e-307)


@given(recall=st.floats(0, 1), nu=st.floats(1e-9, 1e6))
def test_very_old_copies_are_worth_as_much_as_none(recall: float, nu: float) -> None:
    if recall < 1:
        assert ncis(1.0, recall, nu, 1e3 / (1 - recall)) == pytest.approx(1.0, rel=1e-12)
    assert MODEL.first_value(page(recall=recall, false_rate=nu, signals=0))[0] == 1


@given(terms=st.integers(1, 50), nu=st.floats(1e-3, 1e3))
def test_an_approximation_saturates_below_the_value(terms: int, nu: float) -> None:
    bound = 1 - (nu / (1 + nu)) ** terms

    assert ncis(1.0, 0.5, nu, 1e4, model=NcisApprox(terms)) == pytest.approx(bound, rel=1e-9)
    assert ncis(1.0, 0.5, nu, 1e4) == pytest.approx(1.0)


def test_an_approximation_with_all_terms_is_exact() -> None:
    beliefs, elapsed = noisy_pages(500)
    beliefs = beliefs.at(beliefs.need("recall") > 0.01)
    elapsed = elapsed[: len(beliefs)]

    assert NcisApprox(400).value(beliefs, elapsed) == pytest.approx(MODEL.value(beliefs, elapsed), rel=1e-12)


def test_an_approximation_without_terms_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 term, not 0"):
        NcisApprox(0)


def test_a_signal_moves_the_crossing_by_its_worth_in_time() -> None:
    """The value depends on the effective age only."""
    beliefs = page(recall=0.5, false_rate=2.0, signals=0)
    beta = np.log1p(0.5 / 2.0) / 0.5
    without = MODEL.elapsed_at(beliefs, 0.6)[0]

    assert without > 2 * beta
    after_two = MODEL.elapsed_at(page(recall=0.5, false_rate=2.0, signals=2), 0.6)[0]
    assert after_two == pytest.approx(without - 2 * beta, rel=1e-9)
