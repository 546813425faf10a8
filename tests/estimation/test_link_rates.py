"""Link rates: known numbers, links that come and go unseen, and hubs about which nothing is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from scrapy_freshness.estimation.links import link_rates
from scrapy_freshness.estimation.polls import extended_polls, poll_columns

HOUR = 3600.0


def test_links_of_the_last_polls_over_the_time_they_span() -> None:
    found = np.array([[100.0, 1, 2, 0, 3, 1, 0, 0]])
    seconds = np.array([[9.0, 10, 10, 20, 10, 10, 10, 30]])

    estimate = link_rates(found, seconds, last_polls=7)

    assert estimate.rate[0] == 7 / 100
    assert estimate.low[0] == pytest.approx(chi2.ppf(0.05, 14) / 2 / 100)
    assert estimate.high[0] == pytest.approx(chi2.ppf(0.95, 16) / 2 / 100)


def test_polls_that_were_not_made_count_for_nothing() -> None:
    short = link_rates(np.array([[2.0, 3.0]]), np.array([[10.0, 10.0]]))
    padded = link_rates(np.array([[0, 0, 0, 0, 0, 2.0, 3.0]]), np.array([[0, 0, 0, 0, 0, 10.0, 10.0]]))

    assert padded.rate == short.rate
    assert padded.high == short.high


def test_a_clock_that_was_set_back_makes_no_link_rate_negative() -> None:
    """Neither by the poll that comes too early, nor by one that an earlier version has stored."""
    stored = np.array([10.0, 1.0, -500.0, 2.0], "<f4").tobytes()
    polls = extended_polls(extended_polls(stored, -300.0, 4), 10.0, 2)

    found, seconds = poll_columns([polls])
    estimate = link_rates(found, seconds)

    assert estimate.rate[0] == pytest.approx(3 / 20)
    assert np.frombuffer(polls, "<f4")[::2].tolist() == [10, -500, 0, 10]


def test_links_that_left_before_the_poll_are_counted_in() -> None:
    """Simulated: links stay for exponential times, and polls every two mean stays see what is there."""
    rng = np.random.default_rng(1)
    rate, stay, step, polls = 5 / HOUR, HOUR, 2 * HOUR, 200_000
    born = rng.uniform(0, step, rng.poisson(rate * step * polls))
    there = born + rng.exponential(stay, len(born)) > step
    found = np.full((1, 1), float(there.sum()))
    seconds = np.full((1, polls), step)

    estimate = link_rates(
        np.concatenate([np.zeros((1, polls - 1)), found], axis=1),
        seconds,
        last_polls=polls,
        stay_seconds=stay,
    )

    assert estimate.rate[0] == pytest.approx(rate, rel=3 / np.sqrt(there.sum()))
    assert there.mean() < 0.5


def test_links_that_stay_for_long_need_no_correction() -> None:
    found, seconds = np.full((1, 7), 2.0), np.full((1, 7), HOUR)

    corrected = link_rates(found, seconds, stay_seconds=1e12)

    assert corrected.rate == pytest.approx(link_rates(found, seconds).rate)


def test_nine_of_ten_intervals_contain_the_rate() -> None:
    rng = np.random.default_rng(2)
    seconds = rng.exponential(HOUR, (5000, 7))
    estimate = link_rates(rng.poisson(seconds * 2 / HOUR).astype(float), seconds)

    assert np.mean((estimate.low <= 2 / HOUR) & (estimate.high >= 2 / HOUR)) >= 0.9
    assert estimate.rate.mean() == pytest.approx(2 / HOUR, rel=0.08)


def test_a_hub_without_links_or_polls_is_not_given_up() -> None:
    nothing_found = link_rates(np.zeros((1, 7)), np.full((1, 7), HOUR), unknown_rate=0.5 / HOUR)
    never_polled = link_rates(np.zeros((1, 7)), np.zeros((1, 7)), unknown_rate=1e-5)
    no_columns = link_rates(np.zeros((2, 0)), np.zeros((2, 0)), unknown_rate=1e-5)

    assert 0 < nothing_found.rate[0] == 0.5 / (8 * HOUR) < nothing_found.high[0]
    assert never_polled.rate[0] == pytest.approx(1e-5)
    assert no_columns.rate == pytest.approx([1e-5, 1e-5])


@given(
    polls=st.lists(st.tuples(st.integers(0, 10**6), st.floats(1, 1e8)), min_size=1, max_size=10),
    stay_seconds=st.one_of(st.just(np.inf), st.floats(1, 1e9)),
)
def test_rates_are_positive_and_in_order(polls: list[tuple[int, float]], stay_seconds: float) -> None:
    found, seconds = np.array(polls, float).T

    estimate = link_rates(found[None], seconds[None], stay_seconds=stay_seconds)

    assert 0 <= estimate.low[0] <= estimate.rate[0] <= estimate.high[0] < np.inf
    assert estimate.rate[0] > 0
