"""Cost: intervals that cost least, against known numbers, other solvers and a simulation of the risk."""

from decimal import Decimal

import numpy as np
import pytest
from believed import page
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import gammaincinv

from scrapy_freshness.value.cost import Cost, RiskBounded, cheapest_interval, optimal_ratio, riskiest_interval


@pytest.mark.parametrize(
    ("period", "ratio"),
    [
        (1.5, "2.28928141456"),
        (2, "1.67834699002"),
        (24, "0.320788587124"),
        (200, "0.103494546748"),
        (1e6, "0.00141488066"),
        (1e9, "4.47220262e-5"),
    ],
)
def test_the_known_ratios_to_all_their_digits(period: float, ratio: str) -> None:
    found = optimal_ratio(np.array([1 / period]))[0]
    last_digit = 10.0 ** int(Decimal(ratio).as_tuple().exponent)

    assert found == pytest.approx(float(ratio), rel=0, abs=0.501 * last_digit)


@given(z=st.floats(1e-300, 1 - 1e-12))
def test_the_ratio_inverts_the_saturating_shape(z: float) -> None:
    """R1(r) = z, which is P(2, r)."""
    assert optimal_ratio(np.array([z]))[0] == pytest.approx(gammaincinv(2, z), rel=1e-12)


@given(z=st.floats(1e-300, 1e-9))
def test_rare_changes_are_followed_by_the_square_root_law(z: float) -> None:
    assert optimal_ratio(np.array([z]))[0] == pytest.approx(np.sqrt(2 * z), rel=1e-4)


@given(z=st.floats(1, 1e300))
def test_a_page_that_goes_stale_too_quickly_is_never_refreshed(z: float) -> None:
    assert optimal_ratio(np.array([z, np.inf])).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("period", [1.5, 24.0, 5000.0])
@pytest.mark.parametrize("importance", [1.0, 3.0])
def test_no_other_interval_costs_less(period: float, importance: float) -> None:
    """The paper's cost per hour, minimised numerically."""

    def cost(log_interval: float) -> float:
        r = np.exp(log_interval) / period
        return float(importance * (1 + np.expm1(-r) / r) + 1 / (r * period))

    best = minimize_scalar(cost, bounds=(-3, 12), method="bounded", options={"xatol": 1e-10})
    found = Cost().elapsed_at(page(importance=importance, change_rate=1 / period), 1.0)[0]

    assert cost(np.log(found)) <= best.fun * (1 + 1e-12)
    assert found == pytest.approx(np.exp(best.x), rel=1e-5)


@given(rate=st.floats(1e-9, 1e3), share=st.floats(1e-6, 0.999))
def test_the_value_is_the_price_at_the_cheapest_interval(rate: float, share: float) -> None:
    beliefs, price = page(change_rate=rate), share / rate

    interval = Cost().elapsed_at(beliefs, price)

    assert Cost().value(beliefs, interval)[0] == pytest.approx(price, rel=1e-10)


@pytest.mark.parametrize(("rate", "stale", "risk"), [(1 / 24, 8.0, 0.1), (0.5, 1.0, 0.5), (1.0, 0.0, 0.2)])
def test_pages_are_stale_for_long_as_often_as_allowed(rate: float, stale: float, risk: float) -> None:
    interval = riskiest_interval(np.array([rate]), stale, risk)[0]
    until_change = np.random.default_rng(6).exponential(1 / rate, 400_000)

    share = np.mean(interval - until_change > stale)

    assert abs(share - risk) < 4 * np.sqrt(risk * (1 - risk) / len(until_change))


def test_no_risk_means_an_interval_as_long_as_the_staleness_allowed() -> None:
    """The paper's known case: at a fixed interval C no page is stale for longer than C."""
    assert riskiest_interval(np.array([1e-9, 1e3]), 60.0, 0.0).tolist() == [60.0, 60.0]


def test_the_risk_caps_the_cheapest_interval() -> None:
    beliefs = page(change_rate=1 / 24)
    cheapest = cheapest_interval(np.ones(1), np.array([1 / 24]), 1.0)[0]

    assert RiskBounded(100.0, 0.5, crawl_seconds=1.0).interval(beliefs)[0] == cheapest
    assert RiskBounded(2.0, 0.01, crawl_seconds=1.0).interval(beliefs)[0] == pytest.approx(
        2 - 24 * np.log(0.99)
    )
    never = page(change_rate=5.0)
    assert RiskBounded(2.0, 0.01, crawl_seconds=1.0).interval(never)[0] == pytest.approx(2 - np.log(0.99) / 5)


@pytest.mark.parametrize(
    "bad", [(-1.0, 0.1, 1.0), (1.0, 1.0, 1.0), (1.0, -0.1, 1.0), (1.0, 0.1, 0.0), (0.0, 0.0, 1.0)]
)
def test_impossible_bounds_are_refused(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        RiskBounded(*bad)
