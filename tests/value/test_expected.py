"""GREEDY in doubt: its value against an integral, Monte Carlo and its limits."""

import numpy as np
import pytest
from believed import page, value
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from scrapy_freshness.value.expected import Expected
from scrapy_freshness.value.greedy import Greedy


def expected(elapsed: float, doubt: float, mean_rate: float = 1.0) -> float:
    return value(Expected(), elapsed, mean_rate=mean_rate, doubt=doubt)


@given(elapsed=st.floats(1e-4, 1e4), doubt=st.floats(1e-3, 50.0))
def test_the_value_is_the_time_for_which_copies_were_fresher_than_now(elapsed: float, doubt: float) -> None:
    def fresh(age: float) -> float:
        return float(np.exp(-np.log1p(doubt * age) / doubt))

    # In log time, because freshness may be lost early and the rest kept for ages.
    area, _ = quad(
        lambda log_age: (fresh(np.exp(log_age)) - fresh(elapsed)) * np.exp(log_age),
        np.log(elapsed) - 30,
        np.log(elapsed),
        epsabs=0,
        epsrel=1e-10,
        limit=500,
    )
    assert expected(elapsed, doubt) == pytest.approx(area, rel=1e-7)


@pytest.mark.parametrize("doubt", [0.2, 1.0, 3.0])
def test_it_is_the_mean_of_what_greedy_says_of_rates_drawn_from_the_gamma_distribution(doubt: float) -> None:
    rates = np.random.default_rng(4).gamma(1 / doubt, doubt, 400_000)
    rates = np.maximum(rates, 1e-30)
    for elapsed in (0.3, 3.0, 30.0):
        drawn = (1 - (1 + rates * elapsed) * np.exp(-rates * elapsed)) / rates
        assert expected(elapsed, doubt) == pytest.approx(
            drawn.mean(), abs=4 * drawn.std() / np.sqrt(len(rates))
        )


@given(elapsed=st.floats(1e-3, 1e3), rate=st.floats(1e-6, 1e3))
def test_without_doubt_it_is_greedy(elapsed: float, rate: float) -> None:
    assert expected(elapsed / rate, 0.0, rate) == pytest.approx(
        value(Greedy(), elapsed / rate, change_rate=rate), rel=1e-6
    )


@pytest.mark.parametrize("elapsed", [0.5, 5.0])
def test_it_is_continuous_where_the_formula_has_a_gap(elapsed: float) -> None:
    around = [expected(elapsed, doubt) for doubt in (1 - 1e-7, 1 - 1e-10, 1.0, 1 + 1e-10, 1 + 1e-7)]
    assert around == pytest.approx([expected(elapsed, 1.0)] * 5, rel=1e-6)


def test_a_page_that_seemed_to_change_all_the_time_is_looked_at_again() -> None:
    """GREEDY never returns to it at a price above 1/rate; who doubts the rate does."""
    fast, price = 24.0, 0.5  # changes a day, days

    assert Greedy().elapsed_at(page(change_rate=fast), price)[0] == np.inf
    assert Expected().elapsed_at(page(mean_rate=fast, doubt=2.0), price)[0] < 20.0
