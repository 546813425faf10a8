"""GREEDY's value: known numbers, a simulation of what it means, and both ends of the scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.greedy import Greedy

MODEL = Greedy()


def page(importance: float, rate: float) -> Beliefs:
    return Beliefs(importance=np.array([importance]), change_rate=np.array([rate]))


def value(importance: float, rate: float, elapsed: float) -> float:
    return float(MODEL.value(page(importance, rate), np.array([elapsed]))[0])


def test_the_spot_value() -> None:
    assert value(1.0, 0.5, 3.0) == pytest.approx(0.88434920, abs=1e-8)


@pytest.mark.parametrize(
    ("importance", "rate", "elapsed"), [(4.0, 0.5, 1.0), (1.0, 0.1, 12.0), (2.0, 3.0, 1.0)]
)
def test_it_is_the_gain_in_requests_met_fresh_of_one_crawl_more(
    importance: float, rate: float, elapsed: float
) -> None:
    """Simulated: requests per second that meet a fresh copy, as a function of crawls per second."""
    rng = np.random.default_rng(8)
    short, long = elapsed * 0.97, elapsed * 1.03  # intervals between crawls
    until_change = rng.exponential(1 / rate, 2_000_000)
    met_short = rng.poisson(importance * np.minimum(until_change, short))
    met_long = met_short + rng.poisson(
        importance * (np.minimum(until_change, long) - np.minimum(until_change, short))
    )
    gains = (met_short / short - met_long / long) / (1 / short - 1 / long)

    standard_error = gains.std() / np.sqrt(len(gains))
    assert gains.mean() == pytest.approx(value(importance, rate, elapsed), abs=3 * standard_error)
    assert standard_error < 0.05 * value(importance, rate, elapsed)


@given(
    importance=st.floats(1e-9, 1e9),
    rate=st.floats(1e-9, 1e6),
    changes=st.floats(min_value=1e-100, max_value=25.0),
)
def test_the_time_at_which_a_value_is_reached_is_found_again(
    importance: float, rate: float, changes: float
) -> None:
    """Over 100 decades of changes expected since the last visit; beyond 25 the value hardly grows."""
    elapsed = changes / rate

    found = MODEL.elapsed_at(page(importance, rate), value(importance, rate, elapsed))[0]

    assert found == pytest.approx(elapsed, rel=1e-5)


@given(changes=st.floats(1e-300, 1e-5))
def test_just_after_a_visit_the_value_grows_with_the_square_of_time(changes: float) -> None:
    assert value(1.0, 1.0, changes) == pytest.approx(changes**2 / 2, rel=1e-4, abs=1e-307)


@given(rate=st.floats(1e-9, 1e6), changes=st.floats(60, 1e6))
def test_a_copy_that_is_surely_stale_is_worth_as_much_as_none(rate: float, changes: float) -> None:
    beliefs = page(2.0, rate)

    assert value(2.0, rate, changes / rate) == pytest.approx(2.0 / rate, rel=1e-12)
    assert MODEL.first_value(beliefs)[0] == 2.0 / rate


def test_a_page_is_never_worth_more_than_its_bound() -> None:
    never = MODEL.elapsed_at(page(1.0, 0.5), 2.0)
    at_last = MODEL.elapsed_at(page(1.0, 0.5), 1.999)

    assert never[0] == np.inf
    assert at_last[0] == pytest.approx(19.8, abs=1)


def test_importance_is_a_matter_of_scale() -> None:
    beliefs, elapsed = page(1.0, 0.3), np.array([4.0])
    larger = page(1000.0, 0.3)

    assert MODEL.value(larger, elapsed)[0] == pytest.approx(1000 * MODEL.value(beliefs, elapsed)[0])
    assert MODEL.elapsed_at(larger, 500.0)[0] == pytest.approx(MODEL.elapsed_at(beliefs, 0.5)[0])
