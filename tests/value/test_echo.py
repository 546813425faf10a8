"""ECHO: known numbers, what polls bring in a simulation, and who pays for its own fetches."""

import numpy as np
import pytest
from believed import page, value
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.value.echo import ContentSource, GreedySource, participates, remaining_profit

HUB = {"link_rate": 1 / 3600, "profit": 1.0, "decay": 1 / 86400}


def test_the_spot_value() -> None:
    assert ContentSource().elapsed_at(page(**HUB), 0.2)[0] / 86400 == pytest.approx(0.13500757, abs=1e-8)


def test_a_source_that_brings_too_little_is_never_polled() -> None:
    """lambda*P/mu = 24."""
    assert ContentSource().elapsed_at(page(**HUB), 24.0)[0] == np.inf
    assert ContentSource().elapsed_at(page(**HUB), 23.99)[0] < np.inf
    assert GreedySource().elapsed_at(page(link_rate=0.0, profit=1.0), 1e-9)[0] == np.inf


@pytest.mark.parametrize("interval", [0.3, 1.0, 4.0])
def test_it_is_the_gain_in_profit_of_one_poll_more(interval: float) -> None:
    """Links at rate 5, worth 2 when fresh, appear at any time between two polls and decay at rate 0.7."""
    link_rate, profit, decay = 5.0, 2.0, 0.7
    appears = np.random.default_rng(12).random(2_000_000)
    short, long = interval * 0.97, interval * 1.03

    # Profit per second at both intervals, over the difference in polls per second.
    earned = [link_rate * remaining_profit(np.full(1, profit), decay, t * appears) for t in (short, long)]
    gains = (earned[0] - earned[1]) / (1 / short - 1 / long)

    expected = value(ContentSource(), interval, link_rate=link_rate, profit=profit, decay=decay)
    error = gains.std() / np.sqrt(len(gains))
    assert gains.mean() == pytest.approx(expected, abs=4 * error + 2e-3 * expected)


@given(link_rate=st.floats(1e-9, 1e3), profit=st.floats(1e-6, 1e6), elapsed=st.floats(0, 1e9))
def test_the_greedy_variant_counts_all_links_as_fresh(
    link_rate: float, profit: float, elapsed: float
) -> None:
    found = value(GreedySource(), elapsed, link_rate=link_rate, profit=profit)

    assert found == pytest.approx(link_rate * profit * elapsed)


def test_a_page_is_worth_fetching_while_its_remaining_profit_is() -> None:
    ages = np.array([0.0, 1.0, 2.0, 1e9])

    assert remaining_profit(np.full(4, 8.0), np.log(2), ages) == pytest.approx([8, 4, 2, 0])


@given(price=st.floats(1e-3, 10), link_rate=st.floats(0.01, 100), decay=st.floats(0.01, 100))
def test_a_source_participates_if_it_earns_more_than_it_costs(
    price: float, link_rate: float, decay: float
) -> None:
    """Earned and spent per second at the interval of the price: polls and pages together."""
    interval = ContentSource().elapsed_at(page(link_rate=link_rate, profit=1.0, decay=decay), price)
    if np.isinf(interval[0]) or interval[0] == 0:
        return
    x = decay * interval
    surplus = link_rate * -np.expm1(-x) / x - price * (1 / interval + link_rate)

    found = participates(np.ones(1), np.full(1, decay), interval, price)[0]

    assert found == (surplus[0] >= 0) or abs(surplus[0]) < 1e-9 * price * link_rate
