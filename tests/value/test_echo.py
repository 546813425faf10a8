"""ECHO: known numbers, what polls bring in a simulation, and who pays for its own fetches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.value.contract import FloatArray
from scrapy_freshness.value.echo import participates, remaining_profit
from scrapy_freshness.value.saturation import saturates_at, saturating


def interval_at(price: float, link_rate: float, decay: float) -> FloatArray:
    """When a source whose pages are worth 1 is worth its poll."""
    return saturates_at(np.full(1, link_rate / decay), np.full(1, decay), price)


def test_the_spot_value() -> None:
    assert interval_at(0.2, 1 / 3600, 1 / 86400)[0] / 86400 == pytest.approx(0.13500757, abs=1e-8)


def test_a_source_that_brings_too_little_is_never_polled() -> None:
    """lambda*P/mu = 24."""
    assert interval_at(24.0, 1 / 3600, 1 / 86400)[0] == np.inf
    assert interval_at(23.99, 1 / 3600, 1 / 86400)[0] < np.inf
    assert interval_at(1e-9, 0.0, 1 / 86400)[0] == np.inf


@pytest.mark.parametrize("interval", [0.3, 1.0, 4.0])
def test_it_is_the_gain_in_profit_of_one_poll_more(interval: float) -> None:
    """Links at rate 5, worth 2 when fresh, appear at any time between two polls and decay at rate 0.7."""
    link_rate, profit, decay = 5.0, 2.0, 0.7
    appears = np.random.default_rng(12).random(2_000_000)
    short, long = interval * 0.97, interval * 1.03

    # Profit per second at both intervals, over the difference in polls per second.
    earned = [link_rate * remaining_profit(np.full(1, profit), decay, t * appears) for t in (short, long)]
    gains = (earned[0] - earned[1]) / (1 / short - 1 / long)

    expected = saturating(np.full(1, link_rate * profit / decay), np.full(1, decay), np.full(1, interval))[0]
    error = gains.std() / np.sqrt(len(gains))
    assert gains.mean() == pytest.approx(expected, abs=4 * error + 2e-3 * expected)


def test_a_page_is_worth_fetching_while_its_remaining_profit_is() -> None:
    ages = np.array([0.0, 1.0, 2.0, 1e9])

    assert remaining_profit(np.full(4, 8.0), np.log(2), ages) == pytest.approx([8, 4, 2, 0])


@given(price=st.floats(1e-3, 10), link_rate=st.floats(0.01, 100), decay=st.floats(0.01, 100))
def test_a_source_participates_if_it_earns_more_than_it_costs(
    price: float, link_rate: float, decay: float
) -> None:
    """Earned and spent per second at the interval of the price: polls and pages together."""
    interval = interval_at(price, link_rate, decay)
    if np.isinf(interval[0]) or interval[0] == 0:
        return
    x = decay * interval
    surplus = link_rate * -np.expm1(-x) / x - price * (1 / interval + link_rate)

    found = participates(np.ones(1), np.full(1, decay), interval, price)[0]

    assert found == (surplus[0] >= 0) or abs(surplus[0]) < 1e-9 * price * link_rate
