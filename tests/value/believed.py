"""Beliefs for the tests of value models: one page, many pages, and any page that hypothesis can think of."""

import numpy as np
from hypothesis import strategies as st

from scrapy_freshness.value.contract import Beliefs, FloatArray, ValueModel

rates = st.floats(1e-12, 1e6)
shares = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-9, 1 - 1e-9]))


def page(**columns: float) -> Beliefs:
    """One page; importance and change rate are 1 unless they are given."""
    return Beliefs(
        **{
            name: np.array([float(each)])
            for name, each in ({"importance": 1, "change_rate": 1} | columns).items()
        }
    )


def value(model: ValueModel, elapsed: float, **columns: float) -> float:
    """Value of crawling one page."""
    return float(model.value(page(**columns), np.array([elapsed]))[0])


def any_page() -> st.SearchStrategy[Beliefs]:
    """A page about which everything is believed that a model may need."""
    return st.builds(
        page,
        importance=st.floats(1e-12, 1e12),
        change_rate=rates,
        mean_rate=rates,
        doubt=st.one_of(st.just(0.0), st.floats(1e-6, 100.0)),
        recall=shares,
        false_rate=st.one_of(rates, st.just(0.0)),
        signals=st.one_of(st.integers(0, 20), st.floats(0, 3), st.just(1000)),
        pace=st.floats(0.02, 50.0),
        plateau=shares,
        stages=st.one_of(st.integers(1, 12), st.floats(1, 200)),
        patience=st.one_of(st.floats(1, 1e6), st.just(np.inf)),
        gain=st.floats(1e-12, 1e6),
        query_weight=st.floats(1e-3, 1e3),
        noticed_rate=rates,
        decay=rates,
        link_rate=rates,
        leaving=st.one_of(rates, st.just(0.0)),
        profit=st.floats(1e-6, 1e6),
        interval=st.floats(1e-3, 1e10),
        is_source=st.sampled_from([0.0, 1.0]),
        age=st.floats(0, 1e10),
        price=st.one_of(st.just(0.0), st.floats(1e-9, 1e6)),
        poll_bound=st.one_of(st.just(np.nan), st.just(0.0), st.floats(1e-9, 1e9)),
        usual_wait=st.floats(1e-3, 1e9),
        pinned=st.just(np.nan),
    )


def many_pages(count: int = 300) -> tuple[Beliefs, FloatArray]:
    """Pages of all kinds, and times since their last visits."""
    rng = np.random.default_rng(11)

    def spread(low: float, high: float) -> FloatArray:
        return 10 ** rng.uniform(low, high, count)

    change_rate = spread(-9, 2)
    beliefs = Beliefs(
        importance=spread(-6, 6),
        change_rate=change_rate,
        mean_rate=change_rate,
        doubt=spread(-3, 1) * (rng.random(count) < 0.9),
        recall=rng.beta(0.25, 0.25, count),
        false_rate=change_rate * spread(-2, 2) * (rng.random(count) < 0.9),
        signals=rng.poisson(2, count).astype(float),
        pace=np.where(rng.random(count) < 0.5, 1.0, spread(-1, 1)),
        plateau=rng.random(count),
        stages=np.where(rng.random(count) < 0.5, 1.0, rng.uniform(1, 100, count)),
        patience=np.where(rng.random(count) < 0.5, spread(0, 3), np.inf),
        gain=spread(-6, 3),
        query_weight=spread(-3, 3),
        noticed_rate=spread(-9, 2),
        decay=spread(-9, 2),
        link_rate=spread(-9, 2),
        leaving=spread(-9, 2) * (rng.random(count) < 0.5),
        poll_bound=np.where(rng.random(count) < 0.9, np.nan, 1.0),
        usual_wait=spread(0, 6),
        pinned=np.full(count, np.nan),
        profit=spread(-3, 3),
        interval=spread(0, 7),
        is_source=(rng.random(count) < 0.5).astype(float),
        age=spread(-2, 7),
        price=np.full(count, 1e-3),
    )
    return beliefs, spread(-2, 2) / change_rate


def noisy_pages(count: int, seed: int = 1) -> tuple[Beliefs, FloatArray]:
    """Pages of section 6 of the noisy-signals paper with a few signals each, and times since their visits."""
    rng = np.random.default_rng(seed)
    beliefs = Beliefs(
        importance=rng.random(count),
        change_rate=rng.random(count),
        recall=rng.beta(0.25, 0.25, count),
        false_rate=rng.uniform(0.1, 0.6, count),
        signals=rng.poisson(1, count).astype(float),
    )
    return beliefs, rng.uniform(0, 10, count)
