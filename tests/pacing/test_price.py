"""The price at which a rate of crawls is spent, against the continuous optimum of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.pacing.budget import Budget, price_for_rate
from scrapy_freshness.pacing.contract import Pacing
from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.uniform import Uniform

NUMBERS = np.arange(100)
#: An instance without random numbers, whose optimum an independent implementation has computed.
INSTANCE = Beliefs(
    importance=np.modf(0.6180339887498949 * (NUMBERS + 1))[0], change_rate=(NUMBERS + 0.5) / 100
)


def accuracy(beliefs: Beliefs, intervals: FloatArray) -> float:
    """Share of requests that meet a fresh copy if each page is crawled at its interval."""
    x = beliefs.change_rate * intervals
    fresh = np.where(np.isinf(x), 0.0, -np.expm1(-x) / x)
    return float(np.average(fresh, weights=beliefs.importance))


@pytest.mark.parametrize(
    ("rate", "best", "price"), [(10.0, 0.36498755, 0.91045617), (50.0, 0.71220338, 0.20313125)]
)
def test_the_price_is_that_of_the_continuous_optimum(rate: float, best: float, price: float) -> None:
    found = price_for_rate(Greedy(), INSTANCE, rate)

    assert found == pytest.approx(price, abs=1e-6)
    assert accuracy(INSTANCE, Greedy().elapsed_at(INSTANCE, found)) == pytest.approx(best, abs=1e-6)


def test_no_other_split_of_the_rate_is_fresher() -> None:
    best = 1 / Greedy().elapsed_at(INSTANCE, price_for_rate(Greedy(), INSTANCE, 50.0))
    assert best.sum() == pytest.approx(50.0)

    rng = np.random.default_rng(2)
    for _ in range(300):
        rival = best * np.exp(rng.normal(0, 0.3, len(best))) + 1e-9
        rival *= 50.0 / rival.sum()
        assert accuracy(INSTANCE, 1 / rival) <= accuracy(INSTANCE, 1 / np.maximum(best, 1e-300)) + 1e-12


@given(rate=st.floats(1e-6, 1e4), scale=st.floats(-12, 12))
def test_the_whole_rate_is_spent_whatever_the_unit_of_importance(rate: float, scale: float) -> None:
    beliefs = Beliefs(importance=INSTANCE.importance * 10**scale, change_rate=INSTANCE.change_rate)

    price = price_for_rate(Greedy(), beliefs, rate)

    # Near the bounds of the values the rate hangs on the last digits of the price.
    spent = [float(np.sum(1 / Greedy().elapsed_at(beliefs, price * (1 + e)))) for e in (1e-6, -1e-6)]
    assert spent[0] <= rate <= spent[1]


@given(rate=st.floats(1e-3, 1e3), more=st.floats(1, 100))
def test_a_larger_rate_is_never_dearer(rate: float, more: float) -> None:
    cheap, dear = (price_for_rate(Greedy(), INSTANCE, each) for each in (rate * more, rate))

    assert cheap <= dear * (1 + 1e-6)


def test_uniform_visits_each_page_equally_often() -> None:
    assert price_for_rate(Uniform(), INSTANCE, 5.0) == pytest.approx(20.0, rel=1e-6)


def test_a_rate_that_cannot_be_spent_has_no_price() -> None:
    """100 pages that rest 10 s each take at most 10 crawls a second."""
    assert price_for_rate(Greedy(), INSTANCE, 10.1, min_interval=10.0) == 0
    assert price_for_rate(Greedy(), INSTANCE, 9.9, min_interval=10.0) > 0


def test_no_pages_have_no_price() -> None:
    none = Beliefs(importance=np.empty(0), change_rate=np.empty(0))

    assert price_for_rate(Greedy(), none, 1.0) == 0


def test_a_budget_spends_itself_on_the_best_there_is() -> None:
    pacing: Pacing = Budget()

    assert pacing.floor == 0
