"""ECHO's schedule against known numbers, other solvers, and the laws of its budget."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from scrapy_freshness.pacing.schedule import Schedule, poll_intervals, scheduled_price, solve_schedule
from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.echo_policies import EchoNewPages

HOUR = 3600.0
Sources = tuple[FloatArray, FloatArray, FloatArray]

n_sources = st.integers(1, 12)
budgets = st.floats(-2, 3).map(lambda power: 10**power)  # in units of all links that appear


def drawn(count: int, seed: int, spread: float = 1.5) -> Sources:
    """Link rates, profits and decays, per second."""
    rng = np.random.default_rng(seed)
    rates, profits, decays = np.exp(spread * rng.standard_normal((3, count)))
    return rates / HOUR, profits, decays / (24 * HOUR)


def pages_fetched(sources: Sources, solved: Schedule, budget: float) -> FloatArray:
    """Pages per second of each source: all that it shows; the one that joins last takes what is left."""
    link_rate, profit, decay = sources
    polled = np.isfinite(solved.intervals)
    pages = np.where(polled, link_rate, 0.0)
    over = float(np.sum(1 / solved.intervals) + np.sum(pages)) - budget
    if over > 1e-9 * budget:
        worth = profit * np.exp(-decay * solved.intervals)
        last = int(np.argmin(np.where(polled, np.abs(worth - solved.price), np.inf)))
        pages[last] -= over
    return pages


def earned(sources: Sources, intervals: FloatArray, pages: FloatArray | None = None) -> float:
    """Profit per second."""
    link_rate, profit, decay = sources
    x = decay * intervals
    return float(np.sum((link_rate if pages is None else pages) * profit * -np.expm1(-x) / x))


def upper_bound(sources: Sources, budget: float, price: float) -> float:
    """Lagrange: nobody earns more than budget * price and what sources earn above it, at any price."""
    surplus = 0.0
    for rate, gain, fade in zip(*sources, strict=True):
        if price * fade < rate * gain:
            bound = rate * gain / fade
            x = brentq(lambda x, k=bound: k * (-np.expm1(-x) - x * np.exp(-x)) - price, 1e-12, 700)
            surplus += max(rate * (gain * np.exp(-x) - price), 0.0)
    return budget * price + surplus


def best_of_all_subsets(sources: Sources, budget: float) -> float:
    """The most that is earned if every page of a polled source is fetched, over all sets of sources."""
    best = 0.0
    for chosen in product((False, True), repeat=len(sources[0])):
        some = np.array(chosen)
        part = (sources[0][some], sources[1][some], sources[2][some])
        polls = budget - float(np.sum(part[0]))
        if some.any() and polls > 0:
            best = max(best, earned(part, poll_intervals(*part, polls).intervals))
    return best


def test_the_spot_value() -> None:
    rate, decay = 1 / 3600, 1 / 86400
    budget = rate + decay / 0.13500757

    solved = solve_schedule(np.array([rate]), np.ones(1), np.array([decay]), budget)

    assert solved.price == pytest.approx(0.2, abs=1e-7)
    assert decay * solved.intervals[0] == pytest.approx(0.13500757, abs=1e-8)


@pytest.mark.parametrize("participation", [True, False])
@given(count=n_sources, seed=st.integers(0, 1000), budget=budgets, spread=st.floats(0, 3))
def test_the_whole_budget_is_spent(
    participation: bool, count: int, seed: int, budget: float, spread: float
) -> None:
    """By polls and pages; never by polls alone, and never by an empty schedule."""
    sources = drawn(count, seed, spread)
    budget *= float(sources[0].sum())

    solved = solve_schedule(*sources, budget, participation=participation)
    pages = pages_fetched(sources, solved, budget)

    assert np.all(solved.intervals > 0)
    assert solved.price > 0
    assert np.all(pages >= 0)
    assert np.sum(pages) > 0
    assert np.sum(1 / solved.intervals) + np.sum(pages) == pytest.approx(budget, rel=1e-9)
    if not participation and np.isfinite(solved.intervals).sum() > 1:
        assert np.all((pages == 0) | (pages == sources[0]))


@given(count=n_sources, seed=st.integers(0, 1000), budget=budgets)
def test_nothing_can_earn_much_more(count: int, seed: int, budget: float) -> None:
    """The upper bound at the price found; inside a jump the polls of one source may be missing to it."""
    sources = drawn(count, seed)
    budget *= float(sources[0].sum())
    solved = solve_schedule(*sources, budget)

    bound = upper_bound(sources, budget, solved.price)
    gained = earned(sources, solved.intervals, pages_fetched(sources, solved, budget))

    assert gained <= bound * (1 + 1e-9)
    assert gained >= 0.5 * bound or np.isfinite(solved.intervals).sum() == 1
    if budget > 1.5 * sources[0].sum():
        assert gained == pytest.approx(bound)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("budget", [0.3, 0.7, 1.1, 2.0, 10.0])
def test_no_choice_of_whole_sources_earns_more(seed: int, budget: float) -> None:
    sources = drawn(7, seed)
    budget *= float(sources[0].sum())

    solved = solve_schedule(*sources, budget)
    gained = earned(sources, solved.intervals, pages_fetched(sources, solved, budget))

    assert gained >= 0.99 * best_of_all_subsets(sources, budget)


def test_a_general_optimiser_finds_nothing_better() -> None:
    sources = drawn(6, 3)
    budget = 4 * float(sources[0].sum())
    solved = solve_schedule(*sources, budget)
    polls = budget - float(sources[0].sum())

    def lost(shares: FloatArray) -> float:
        rates = polls * np.exp(shares) / np.sum(np.exp(shares))
        return -earned(sources, 1 / rates) * HOUR

    found = minimize(lost, np.zeros(6), method="BFGS", options={"gtol": 1e-8})

    assert earned(sources, solved.intervals) * HOUR == pytest.approx(-found.fun, rel=1e-6)


def test_a_source_takes_part_only_if_its_average_page_pays_for_its_fetch() -> None:
    """The fast source's pages earn little: the paper polls it, participation spends on the other one."""
    link_rate, profit, decay = np.array([10.0, 0.1]) / HOUR, np.array([0.05, 1.0]), np.full(2, 1 / HOUR)
    budget = 0.55 / HOUR

    with_condition = solve_schedule(link_rate, profit, decay, budget)
    without = solve_schedule(link_rate, profit, decay, budget, participation=False)

    assert np.isinf(with_condition.intervals[0])
    assert np.isfinite(without.intervals[0]), "lambda P/mu is larger"
    x = decay[1] * with_condition.intervals[1]
    assert profit[1] * np.exp(-x) >= with_condition.price
    sources = (link_rate, profit, decay)
    assert earned(sources, with_condition.intervals) > 2 * earned(
        sources, without.intervals, pages_fetched(sources, without, budget)
    )


@given(seed=st.integers(0, 1000), budget=budgets)
def test_intervals_are_where_the_value_of_a_poll_is_the_same_for_all(seed: int, budget: float) -> None:
    sources = drawn(30, seed)
    solved = solve_schedule(*sources, budget * float(sources[0].sum()))
    polled = np.isfinite(solved.intervals)
    link_rate, profit, decay = (column[polled] for column in sources)
    x = decay * solved.intervals[polled]

    values = link_rate * profit / decay * (np.exp(x) - 1 - x) * np.exp(-x)

    assert values == pytest.approx(values[0], rel=1e-3)
    assert values[0] <= solved.price * (1 + 1e-3) or polled.sum() == 1
    assert np.all(profit * np.exp(-x) >= values[0] * (1 - 1e-3)) or polled.sum() == 1


def test_identical_sources_share_a_budget_that_is_too_small_for_all() -> None:
    sources = (np.full(10, 1 / HOUR), np.ones(10), np.full(10, 1 / (24 * HOUR)))
    solved = solve_schedule(*sources, 3.5 / HOUR)

    assert np.count_nonzero(np.isfinite(solved.intervals)) in (3, 4)
    assert np.sum(pages_fetched(sources, solved, 3.5 / HOUR)) >= 3 / HOUR * (1 - 1e-9)
    assert 0 < solved.price < 1, "some page is worth a fetch"


@pytest.mark.parametrize("participation", [True, False])
@pytest.mark.parametrize("budget", [1e-6, 1e-3, 0.1, 1.0, 4.999])
def test_a_source_with_more_links_than_fetches_is_polled_all_the_same(
    participation: bool, budget: float
) -> None:
    solved = solve_schedule(np.array([5.0]), np.ones(1), np.array([0.1]), budget, participation=participation)

    def gained(interval: float) -> float:
        return (budget - 1 / interval) * -np.expm1(-0.1 * interval) / (0.1 * interval)

    interval = float(solved.intervals[0])
    assert budget / 2 >= 1 / interval * (1 - 1e-9), "no more polls than pages"
    assert gained(interval) > max(gained(0.98 * interval), gained(1.02 * interval)) > 0
    assert 0 < solved.price < 1


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_rate_just_above_the_links_of_the_only_source_is_spent_on_all_its_pages(share: float) -> None:
    """From its links alone to its links and the polls with which it joins (e^x - 1 - x = mu/lambda)."""
    sources = (np.array([5.0]), np.ones(1), np.array([0.1]))
    x = brentq(lambda x: np.exp(x) - 1 - x - 0.1 / 5.0, 1e-3, 10.0)
    budget = 5.0 + share * 0.1 / x

    solved = solve_schedule(*sources, budget)

    assert 1 / solved.intervals[0] + 5.0 >= budget * (1 - 1e-12)
    assert np.sum(1 / solved.intervals + pages_fetched(sources, solved, budget)) == pytest.approx(budget)


@given(count=n_sources, seed=st.integers(0, 1000), budget=budgets, more=st.floats(1.01, 10))
def test_a_larger_budget_earns_more_and_makes_a_fetch_cheaper(
    count: int, seed: int, budget: float, more: float
) -> None:
    sources = drawn(count, seed)
    budget *= float(sources[0].sum())
    small, large = (solve_schedule(*sources, each) for each in (budget, budget * more))
    gains = [
        earned(sources, solved.intervals, pages_fetched(sources, solved, each))
        for solved, each in ((small, budget), (large, budget * more))
    ]

    polled = np.isfinite(small.intervals)
    if np.sum(1 / small.intervals[polled] + sources[0][polled]) <= budget * (1 + 1e-9):
        # Not so where the budget does not pay for all pages of the only source that is polled.
        assert large.price <= small.price * (1 + 1e-9)
    assert gains[1] >= gains[0] * (1 - 1e-9)


@given(seed=st.integers(0, 100), time=st.floats(-6, 6), money=st.floats(-6, 6))
def test_units_of_time_and_profit_do_not_matter(seed: int, time: float, money: float) -> None:
    link_rate, profit, decay = drawn(8, seed)
    budget = 2 * float(link_rate.sum())
    plain = solve_schedule(link_rate, profit, decay, budget)
    other = solve_schedule(link_rate * 10**time, profit * 10**money, decay * 10**time, budget * 10**time)

    assert other.intervals * 10**time == pytest.approx(plain.intervals, rel=1e-6)
    assert other.price == pytest.approx(plain.price * 10**money, rel=1e-6)


def test_sources_without_links_or_profit_are_never_polled() -> None:
    solved = solve_schedule(np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), np.ones(3), 5.0)

    assert np.isfinite(solved.intervals).tolist() == [False, False, True]


@pytest.mark.parametrize("count", [0, 3])
def test_nothing_that_earns_is_an_empty_schedule(count: int) -> None:
    nothing, something = np.zeros(count), np.ones(count)

    for solved in (
        solve_schedule(nothing, something, something, 1.0),
        solve_schedule(nothing, something, something, 1.0, participation=False),
        poll_intervals(nothing, something, something, 1.0),
    ):
        assert solved.intervals.tolist() == [np.inf] * count
        assert solved.price == 0


@pytest.mark.parametrize(
    ("link_rate", "profit", "decay", "budget"),
    [(-1.0, 1.0, 1.0, 1.0), (1.0, -1.0, 1.0, 1.0), (1.0, 1.0, 0.0, 1.0), (1.0, 1.0, 1.0, 0.0)],
)
def test_impossible_numbers_are_refused(link_rate: float, profit: float, decay: float, budget: float) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        solve_schedule(np.array([link_rate]), np.array([profit]), np.array([decay]), budget)


@given(polls=st.floats(-9, 6).map(lambda power: 10**power), seed=st.integers(0, 200))
def test_so_many_polls_are_made_as_were_asked_for(polls: float, seed: int) -> None:
    """From polls so rare that only the best source gets one, to any number."""
    sources = drawn(9, seed)
    polls *= float(sources[2].mean())

    intervals = poll_intervals(*sources, polls).intervals

    assert np.sum(1 / intervals) == pytest.approx(polls, rel=1e-9)


@given(rate=st.floats(-12, 6), gain=st.floats(-9, 9), fade=st.floats(-12, 6), budget=st.floats(-12, 6))
def test_extreme_numbers_have_a_schedule(rate: float, gain: float, fade: float, budget: float) -> None:
    powers = 10.0 ** np.array([[rate, -6.0], [gain, 0.0], [fade, -5.0]])
    for participation in (True, False):
        solved = solve_schedule(*powers, 10.0**budget, participation=participation)
        assert np.any(np.isfinite(solved.intervals))
        assert np.all(solved.intervals > 0)
        assert 0 < solved.price < np.inf


def test_a_simulation_earns_what_is_promised() -> None:
    """One source polled at its interval, every page fetched at once."""
    rng = np.random.default_rng(17)
    rate, gain, fade = 2.0, 3.0, 0.5
    solved = solve_schedule(np.array([rate]), np.array([gain]), np.array([fade]), 3.0)
    interval = float(solved.intervals[0])
    horizon = 20_000 * interval
    born = rng.uniform(0, horizon, rng.poisson(rate * horizon))
    profits = gain * np.exp(-fade * (np.ceil(born / interval) * interval - born))

    assert len(born) / horizon + 1 / interval == pytest.approx(3.0, rel=0.01)
    promised = earned((np.array([rate]), np.array([gain]), np.array([fade])), solved.intervals)
    assert profits.sum() / horizon == pytest.approx(promised, rel=0.015)


@given(n_sources, st.integers(0, 10**6), budgets)
def test_who_goes_by_the_price_alone_polls_what_the_schedule_polls(
    count: int, seed: int, share: float
) -> None:
    link_rate, profit, decay = sources = drawn(count, seed)
    budget = share * float(link_rate.sum())
    ones = np.ones(count)
    pages = Beliefs(
        importance=ones,
        change_rate=ones,
        is_source=ones,
        link_rate=link_rate,
        profit=profit,
        decay=decay,
        age=0 * ones,
    )

    price = scheduled_price(pages, budget)

    polled = np.isfinite(EchoNewPages().interval(replace(pages, price=np.full(count, price))))
    assert np.all(polled[np.isfinite(solve_schedule(*sources, budget).intervals)])
