"""GREEDY-NCIS in doubt: its value against quadrature of the exact sum, Monte Carlo and its limits."""

from dataclasses import replace

import numpy as np
import pytest
from believed import noisy_pages, page
from scipy.integrate import quad
from scipy.special import gammainc

from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.expected import Expected
from scrapy_freshness.value.expected_ncis import ExpectedNcis
from scrapy_freshness.value.ncis import Ncis


def in_doubt(doubt: float, seed: int = 1, count: int = 200) -> tuple[Beliefs, np.ndarray]:
    beliefs, elapsed = noisy_pages(count, seed)
    recall = np.minimum(beliefs.need("recall"), 0.999)
    known = replace(beliefs, recall=recall, mean_rate=beliefs.change_rate, doubt=np.full(count, doubt))
    return known, elapsed


def parameters(beliefs: Beliefs, number: int) -> tuple[float, float, float, float]:
    """m, d, gamma and b of a page, written down a second time."""
    rate, recall, false = (
        float(column[number])
        for column in (beliefs.change_rate, beliefs.need("recall"), beliefs.need("false_rate"))
    )
    gamma = recall * rate + false
    return (1 - recall) * rate, float(beliefs.need("doubt")[number]), gamma, float(np.log(gamma / false))


def seconds_to(age: float, m: float, d: float, gamma: float, b: float) -> float:
    """psi by its sum."""
    total, signals = 0.0, 0
    while age - signals * b > 0 and signals < 500:
        time = np.expm1(d * (age - signals * b)) / (d * m)
        total += float(gammainc(signals + 1, gamma * time))
        signals += 1
    return total / gamma


def test_without_signals_it_is_greedy_in_doubt() -> None:
    beliefs, elapsed = in_doubt(1.5)
    deaf = replace(beliefs, recall=np.zeros(200))

    np.testing.assert_allclose(
        ExpectedNcis().value(deaf, elapsed), Expected().value(deaf, elapsed), rtol=1e-12
    )
    np.testing.assert_allclose(
        ExpectedNcis().elapsed_at(deaf, 0.3), Expected().elapsed_at(deaf, 0.3), rtol=1e-6
    )


def test_without_doubt_it_is_greedy_ncis() -> None:
    beliefs, elapsed = in_doubt(0.0)

    assert np.array_equal(ExpectedNcis().value(beliefs, elapsed), Ncis().value(beliefs, elapsed))
    nearly = replace(beliefs, doubt=np.full(200, 1e-6))
    ratio = ExpectedNcis().value(nearly, elapsed) / Ncis().value(beliefs, elapsed)
    assert abs(ratio.mean() - 1) < 0.01
    assert np.abs(ratio - 1).max() < 0.1


@pytest.mark.parametrize("signals", [0, 2, 30])
def test_a_source_that_chatters_changes_no_more_than_it_should(signals: int) -> None:
    """Pages that change every day to every 30 years, with up to a false signal a minute, of any age."""
    rates, false_rates = [1e-4, 1e-3, 1e-2, 0.1, 1.0], [0.1, 1.0, 24.0, 1440.0]  # a day
    recalls, ages = [0.001, 0.2, 0.8, 0.99, 0.9999], np.geomspace(1e-3, 1e4, 29)
    rate, false_rate, recall, elapsed = map(np.ravel, np.meshgrid(rates, false_rates, recalls, ages))
    beliefs = Beliefs(
        importance=np.ones(len(rate)),
        change_rate=rate,
        mean_rate=rate,
        doubt=np.full(len(rate), 1e-6),
        recall=recall,
        false_rate=false_rate,
        signals=np.full(len(rate), float(signals)),
    )
    values = ExpectedNcis().value(beliefs, elapsed)

    np.testing.assert_allclose(values, Ncis().value(beliefs, elapsed), rtol=0.1)
    for price in (1e-4, 1e-2, 1.0, 100.0):
        waits = ExpectedNcis().elapsed_at(beliefs, price)
        waiting = (np.isfinite(waits) & (waits > 0)).nonzero()[0]
        reached = ExpectedNcis().value(beliefs.at(waiting), waits[waiting])
        np.testing.assert_allclose(reached, price, rtol=1e-5)


@pytest.mark.parametrize("doubt", [0.1, 0.7, 3.0])
def test_it_is_nearly_the_integral_of_freshness_lost_over_the_time_to_reach_it(doubt: float) -> None:
    beliefs, elapsed = in_doubt(doubt, count=25)
    fresh = ExpectedNcis().freshness(beliefs, elapsed)
    told = ExpectedNcis().value(beliefs, elapsed) / beliefs.importance
    errors = []
    for number in range(25):
        known = parameters(beliefs, number)
        age = -np.log(fresh[number])
        jumps = [known[3] * k for k in range(1, 40) if known[3] * k < age]
        exact, _ = quad(
            lambda v, known=known: np.exp(-v) * seconds_to(v, *known), 0, age, points=jumps or None, limit=200
        )
        errors.append(told[number] / exact - 1)

    assert abs(np.mean(errors)) < 0.04
    assert np.abs(errors).max() < 0.12


def test_the_time_to_reach_an_age_is_that_of_drawn_signals() -> None:
    """By Monte Carlo, which knows nothing of the sum: threshold crossings of a copy in doubt with signals."""
    rng = np.random.default_rng(3)
    m, d, gamma, b, age = 0.4, 2.0, 0.7, 0.5, 1.2
    signals = np.cumsum(rng.exponential(1 / gamma, (40_000, 60)), axis=1)
    # After i signals the age is reached at t_i, if the next one does not come before.
    times = np.array([np.expm1(d * max(age - i * b, 0.0)) / (d * m) for i in range(60)])
    before = np.concatenate([np.zeros((40_000, 1)), signals[:, :-1]], axis=1)
    reached = np.where(signals >= times, np.maximum(times, before), np.inf).min(axis=1)

    assert seconds_to(age, m, d, gamma, b) == pytest.approx(
        reached.mean(), abs=4 * reached.std() / np.sqrt(len(reached))
    )


def test_doubt_about_the_rate_is_no_doubt_about_the_signal() -> None:
    sure = page(change_rate=0.5, mean_rate=0.5, doubt=3, recall=0.9, false_rate=0.05, signals=1)

    assert ExpectedNcis().freshness(sure, np.zeros(1))[0] == pytest.approx(0.1)


def test_a_price_is_reached_when_the_value_is() -> None:
    beliefs, _ = in_doubt(1.0, seed=4)
    for price in (1e-3, 0.1, 0.5):
        elapsed = ExpectedNcis().elapsed_at(beliefs, price)
        waits = np.isfinite(elapsed) & (elapsed > 0)
        values = ExpectedNcis().value(beliefs.at(waits), elapsed[waits])
        np.testing.assert_allclose(values, price, rtol=1e-5)
        assert np.all(ExpectedNcis().value(beliefs.at(elapsed == 0), np.zeros(np.sum(elapsed == 0))) >= price)


def test_a_page_that_only_signals_age_is_worth_its_price_after_enough_of_them() -> None:
    """Changes are announced, all but one in a thousand; without a signal nobody need come in a lifetime."""
    day = 86400.0
    known = page(
        change_rate=0.1 / day, mean_rate=0.1 / day, doubt=1.5, recall=0.999, false_rate=0.02 / day, signals=0
    )
    price = 0.5 * ExpectedNcis().first_value(known)[0]
    alone = ExpectedNcis().elapsed_at(known, price)

    assert 1e9 < alone[0] < np.inf
    assert ExpectedNcis().sooner(known, alone, np.ones(1))[0] < 0
    signalled = replace(known, signals=np.ones(1))
    assert ExpectedNcis().value(signalled, np.array([day]))[0] > price


def test_signals_alone_are_worth_what_greedy_ncis_says() -> None:
    """Almost nothing else ages the page: the closed form of the paper's sum for alpha = 0."""
    gamma, nu = 0.7, 0.2
    q = nu / gamma
    for n in range(1, 5):
        alone = page(change_rate=0.5, mean_rate=0.5, doubt=0.5, recall=1 - 1e-7, false_rate=nu, signals=n)
        expected = ((1 - q**n) / (1 - q) - n * q**n) / gamma
        assert ExpectedNcis().value(alone, np.zeros(1))[0] == pytest.approx(expected, rel=1e-3)
