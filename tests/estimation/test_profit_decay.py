"""Profit and its decay: from simulated clicks, against a second solver, and for sources with few pages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_clicks import fit_profits, mean_cumulative_clicks
from scipy.optimize import curve_fit

from scrapy_freshness.estimation.profit import BIN_SECONDS

AGES = BIN_SECONDS * np.arange(1, 73)


def clicks_of(profit: float, decay: float) -> np.ndarray:
    return profit * -np.expm1(-decay * AGES)


def table(*rows: np.ndarray) -> np.ndarray:
    return np.stack(rows)


def test_simulated_clicks_give_the_profit_and_decay_that_they_were_drawn_with() -> None:
    rng = np.random.default_rng(1)
    profit, decay, pages = 12.0, 1 / 7200, 2000
    n_clicks = rng.poisson(profit, pages)
    owner = np.repeat(np.arange(pages), n_clicks)
    at = rng.exponential(1 / decay, n_clicks.sum())
    ages = rng.uniform(0, 86400, pages)
    is_seen = at < ages[owner]
    clicks, known = mean_cumulative_clicks(ages, owner[is_seen], at[is_seen], len(AGES))

    found = fit_profits(clicks[None], known[None], pooled_pages=1e-6)

    assert found.profit[0] == pytest.approx(profit, rel=4 / np.sqrt(profit * pages))
    assert found.decay[0] == pytest.approx(decay, rel=0.05)


def test_cumulative_clicks_are_means_over_the_pages_that_are_old_enough() -> None:
    ages = np.array([2.5, 1.0, 0.5]) * BIN_SECONDS
    clicked = np.array([0, 0, 0, 1, 2])
    at = np.array([0.1, 1.2, 2.2, 0.9, 0.1]) * BIN_SECONDS

    clicks, pages = mean_cumulative_clicks(ages, clicked, at, n_bins=4)

    assert pages.tolist() == [2, 1, 0, 0]
    assert clicks.tolist() == [1, 2, 0, 0]


def test_the_fit_is_that_of_a_second_solver() -> None:
    rng = np.random.default_rng(2)
    noisy = clicks_of(8, 1 / 20_000) + rng.normal(0, 0.3, len(AGES))
    weight = np.linspace(400, 20, len(AGES))

    found = fit_profits(noisy[None], weight[None], pooled_pages=1e-9)

    (profit, decay), _ = curve_fit(
        lambda age, p, mu: p * -np.expm1(-mu * age), AGES, noisy, p0=[5, 1e-4], sigma=weight**-0.5
    )
    assert found.profit[0] == pytest.approx(profit, rel=1e-4)
    assert found.decay[0] == pytest.approx(decay, rel=1e-4)


@pytest.mark.parametrize("decay", [1e-6, 1e-5, 1e-4, 1e-3])
def test_decays_from_weeks_to_minutes_are_found(decay: float) -> None:
    found = fit_profits(clicks_of(5, decay)[None], np.full((1, 72), 100.0), pooled_pages=1e-9)

    assert found.profit[0] == pytest.approx(5, rel=0.02)
    assert found.decay[0] == pytest.approx(decay, rel=0.02)


def test_a_source_is_believed_more_the_more_pages_it_has() -> None:
    poor, rich = clicks_of(1, 1e-4), clicks_of(20, 1e-4)
    profits = [
        fit_profits(table(poor, rich), np.outer([1000.0, pages], np.ones(72))).profit[1]
        for pages in (0.0, 1.0, 5.0, 50.0, 5000.0)
    ]

    assert profits == sorted(profits)
    assert 0 < profits[0] < 1
    assert profits[-1] == pytest.approx(20, rel=0.02)


def test_a_source_that_is_not_known_is_judged_with_pessimism_but_never_worthless() -> None:
    known, nothing = clicks_of(10, 1e-4), np.zeros(72)
    found = fit_profits(table(known, nothing), np.outer([1e4, 0.0], np.ones(72)), pessimism=0.3)

    assert found.profit[1] == pytest.approx(3, rel=0.02)
    assert found.decay[1] == pytest.approx(1e-4, rel=0.02)


def test_pages_that_nobody_clicks_make_a_source_poor_but_never_worthless() -> None:
    nobody = fit_profits(table(clicks_of(10, 1e-4), np.zeros(72)), np.full((2, 72), 1000.0))
    no_pages = fit_profits(np.zeros((2, 72)), np.zeros((2, 72)), least_profit=0.01)

    assert 0 < nobody.profit[1] < 0.05
    assert np.all(no_pages.profit > 0)
    assert np.all(no_pages.profit <= 0.01)
    assert np.all(no_pages.decay > 0)


@given(
    rows=st.lists(
        st.tuples(st.lists(st.integers(0, 1000), min_size=6, max_size=6), st.integers(0, 10**6)),
        min_size=1,
        max_size=4,
    )
)
def test_profits_are_positive_and_finite_whatever_was_clicked(rows: list[tuple[list[int], int]]) -> None:
    clicks = np.cumsum(np.array([steps for steps, _ in rows], float), axis=1)
    pages = np.outer([float(n) for _, n in rows], np.ones(6))

    found = fit_profits(clicks, pages)

    assert np.all((found.profit > 0) & np.isfinite(found.profit))
    assert np.all((found.decay > 0) & np.isfinite(found.decay))
