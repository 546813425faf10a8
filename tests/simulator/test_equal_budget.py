"""The common factor, or the one price, at which a crawl without a budget makes a given number of fetches."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.simulator.equal_budget import Match, factor_for_fetches, price_for_fetches
from scrapy_freshness.simulator.rivals import RULES, rule_named


def counted(run: Callable[[float], int]) -> tuple[Callable[[float], int], list[float]]:
    asked: list[float] = []

    def noted(factor: float) -> int:
        asked.append(factor)
        return run(factor)

    return noted, asked


@given(scale=st.floats(1e2, 1e9), power=st.floats(0.2, 3), wanted=st.integers(50, 10_000_000))
def test_the_factor_is_found_within_the_tolerance(scale: float, power: float, wanted: int) -> None:
    run, asked = counted(lambda factor: int(min(scale * factor**-power, 1e18)))

    found = factor_for_fetches(run, wanted, tolerance=0.02)

    assert abs(found.fetches - wanted) <= 0.02 * wanted
    assert run(found.factor) == found.fetches
    assert len(asked) <= 41


@given(
    wanted=st.integers(100, 10_000),
    seed=st.integers(0, 10_000),
    jitter=st.floats(0, 0.03),
    step=st.floats(0, 0.2),
)
def test_jitter_and_jumps_do_not_lead_it_astray(wanted: int, seed: int, jitter: float, step: float) -> None:
    """Fetches fall in jumps of the given size, with noise that hangs on every digit of the factor."""

    def run(factor: float) -> int:
        noise = np.random.default_rng([seed, int(np.float64(factor).view(np.uint64))]).normal()
        smooth = 3000 / factor
        stepped = np.exp(step * np.round(np.log(smooth) / step)) if step > 1e-6 else smooth
        return int(stepped * np.exp(jitter * noise))

    found = factor_for_fetches(run, wanted, tolerance=0.001)

    assert found.fetches == pytest.approx(wanted, rel=0.001 + step / 2 + 5 * jitter + 0.03)


def test_the_best_run_is_kept_when_there_is_no_such_factor() -> None:
    """A rule that cannot make more than 500 fetches, or fewer than 20."""
    run, asked = counted(lambda factor: int(np.clip(100 / factor, 20, 500)))

    assert factor_for_fetches(run, 1000).fetches == 500
    assert factor_for_fetches(run, 1).fetches == 20
    assert len(asked) == 80


def test_a_jump_over_the_wanted_number_gives_the_nearer_side() -> None:
    found = factor_for_fetches(lambda factor: 1000 if factor < 3 else 100, 400, tolerance=0.0)

    assert found.fetches == 100
    assert found.factor >= 3


def test_a_good_first_guess_costs_one_run() -> None:
    run, asked = counted(lambda factor: round(250 / factor))

    assert factor_for_fetches(run, 250) == Match(1.0, 250)
    assert asked == [1.0]


def test_no_fetches_are_no_budget() -> None:
    with pytest.raises(ValueError, match="above 0"):
        factor_for_fetches(lambda factor: 1, 0)


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rival_is_brought_to_the_same_budget(name: str) -> None:
    """40 pages over 100 days, half of them changing about every other day: 2,000 fetches."""
    horizon, changes_at = 100.0 * 86400, []
    rng = np.random.default_rng(12)
    for page in range(40):
        gaps = rng.exponential(2 * 86400, 200) if page % 2 else np.full(1, np.inf)
        changes_at.append(np.cumsum(gaps))

    def run(factor: float) -> int:
        rule, fetches = rule_named(name).scaled(factor), 0
        for changes in changes_at:
            state, before = rule.first(0.0), 0.0
            fetches += 1
            while state.next_at < horizon and fetches < 100_000:
                now = state.next_at
                changed = bool(np.diff(np.searchsorted(changes, (before, now)))[0])
                state, before = rule.after(state, now, changed), now
                fetches += 1
        return fetches

    assert factor_for_fetches(run, 2000, tolerance=0.02).fetches == pytest.approx(2000, rel=0.02)


@given(
    scale=st.floats(1e2, 1e6),
    power=st.floats(0.2, 2.5),
    wanted=st.integers(50, 100_000),
    guess=st.floats(-2, 2),
)
def test_the_price_is_found_in_a_few_runs(scale: float, power: float, wanted: int, guess: float) -> None:
    """From a guess that is wrong by up to a hundred times."""
    right = (scale / wanted) ** (1 / power)
    run, asked = counted(lambda price: int(min(scale * price**-power, 1e18)))

    found = price_for_fetches(run, wanted, right * 10**guess, tolerance=0.02)

    assert abs(found.fetches - wanted) <= 0.02 * wanted
    assert run(found.price) == found.fetches
    assert len(asked) <= 21


@given(wanted=st.integers(100, 10_000), seed=st.integers(0, 10_000), jitter=st.floats(0, 0.03))
def test_jitter_does_not_lead_the_price_astray(wanted: int, seed: int, jitter: float) -> None:
    def run(price: float) -> int:
        noise = np.random.default_rng([seed, int(np.float64(price).view(np.uint64))]).normal()
        return int(3000 * price**-0.5 * np.exp(jitter * noise))

    found = price_for_fetches(run, wanted, 1.0)

    assert found.fetches == pytest.approx(wanted, rel=0.01 + 5 * jitter)


def test_the_best_price_is_kept_when_there_is_no_right_one() -> None:
    assert price_for_fetches(lambda price: 500 if price < 3 else 100, 400, 1.0, max_runs=6).fetches == 500


def test_no_fetches_have_no_price() -> None:
    with pytest.raises(ValueError, match="above 0"):
        price_for_fetches(lambda price: 1, 0, 1.0)
