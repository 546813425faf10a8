"""Gamma distributions in place of whatever is believed of a rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma, lognorm

from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.estimation.doubt import doubtful_estimates, doubtful_rates
from scrapy_freshness.estimation.rate_grid import N_RATES, RATES


def fresh(mean_rate: float, doubt: float, age: float) -> float:
    return float((1 + doubt * mean_rate * age) ** (-1 / doubt))


@given(
    weights=st.lists(st.floats(1e-3, 1.0), min_size=N_RATES, max_size=N_RATES),
    seconds=st.floats(60.0, 1e8),
)
def test_copies_are_as_fresh_as_believed_when_the_next_look_is_likely(
    weights: list[float], seconds: float
) -> None:
    believed = np.array([weights]) / np.sum(weights)

    found = doubtful_rates(believed, np.array([seconds]))

    for age in (seconds / 4, seconds * 4):
        truth = float(believed[0] @ np.exp(-RATES * age))
        assert fresh(found.mean_rate[0], found.doubt[0], age) == pytest.approx(truth, abs=1e-3)


def test_a_gamma_distribution_is_found_again() -> None:
    shape, mean = 2.0, 1e-5
    density = gamma.pdf(RATES, shape, scale=mean / shape) * RATES
    found = doubtful_rates(density[None] / density.sum(), np.array([86400.0]))

    assert found.mean_rate[0] == pytest.approx(mean, rel=0.02)
    assert found.doubt[0] == pytest.approx(1 / shape, rel=0.05)


def test_what_is_certain_has_hardly_any_doubt() -> None:
    believed = np.zeros((1, N_RATES))
    believed[0, 20] = 1.0

    found = doubtful_rates(believed, 1 / RATES[[20]])

    assert found.mean_rate[0] == pytest.approx(RATES[20], rel=1e-3)
    assert found.doubt[0] < 1e-3


@pytest.mark.parametrize("spread", [0.05, 0.5, 2.0])
def test_an_interval_becomes_a_distribution_of_the_same_log_mean_and_width(spread: float) -> None:
    rate = 1e-4
    low, high = lognorm.ppf([0.05, 0.95], spread, scale=rate)
    found = doubtful_estimates(RateEstimate(np.array([rate]), np.array([low]), np.array([high])))
    drawn = np.random.default_rng(1).gamma(1 / found.doubt[0], found.mean_rate[0] * found.doubt[0], 200_000)

    assert np.log(drawn).mean() == pytest.approx(np.log(rate), abs=0.02)
    assert np.log(drawn).std() == pytest.approx(spread, rel=0.02)


def test_nothing_known_is_no_error() -> None:
    unknown = RateEstimate(np.array([1e-6]), np.array([0.0]), np.array([1.0]))

    assert np.isfinite(doubtful_estimates(unknown)).all()
