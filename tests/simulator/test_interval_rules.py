"""The interval rules of other crawlers: known sequences, limits, and what scaling does to them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.estimation.history import extended
from scrapy_freshness.simulator.intervals import IntervalRule, IntervalState
from scrapy_freshness.simulator.miniflux import Miniflux
from scrapy_freshness.simulator.nutch import NutchAdaptive
from scrapy_freshness.simulator.plain_rules import Proportional
from scrapy_freshness.simulator.rivals import RULES, rule_named
from scrapy_freshness.simulator.stormcrawler import NewsCrawl, StormCrawlerAdaptive

DAY, HOUR, MINUTE = 86400.0, 3600.0, 60.0
#: What fetches find: changed, unchanged, not compared, failed.
findings = st.lists(
    st.sampled_from([(True, False), (False, False), (None, False), (None, True)]), max_size=30
)


def fetch_times(rule: IntervalRule[Any], found: list[tuple[bool | None, bool]]) -> list[float]:
    """Times of the fetches of a page first fetched at 0, each finding what is told."""
    state = rule.first(0.0)
    times = [0.0]
    for changed, failed in found:
        times.append(state.next_at)
        state = rule.after(state, state.next_at, changed, failed)
    return times


def intervals(rule: IntervalRule[Any], changed: bool, count: int) -> list[float]:
    state, made = rule.first(0.0), []
    for _ in range(count):
        made.append(state.interval_seconds)
        state = rule.after(state, state.next_at, changed)
    return made


def test_the_names_are_those_of_the_rivals() -> None:
    assert set(RULES) == {
        "fixed",
        "miniflux",
        "news-crawl",
        "nutch-adaptive",
        "proportional",
        "stormcrawler-adaptive",
    }
    with pytest.raises(ConfigError, match=r"no rival 'heritrix'.*nutch-adaptive"):
        rule_named("heritrix")


def test_nutch_fetches_a_page_that_never_changes_on_the_known_days() -> None:
    days = np.array(fetch_times(NutchAdaptive(), [(False, False)] * 7)) / DAY

    assert days == pytest.approx([0, 30, 63, 107.1, 182.07, 263.07, 352.17, 433.17], abs=1e-6)


def test_nutch_shortens_the_interval_of_a_page_that_always_changes_by_a_fifth() -> None:
    days = np.array(intervals(NutchAdaptive(), True, 4)) / DAY

    assert days == pytest.approx([30, 24, 19.2, 15.36])
    assert intervals(NutchAdaptive(), True, 100)[-1] == 60.0


def test_nutch_does_not_compare_after_an_interval_of_more_than_90_days() -> None:
    """Whatever the page did meanwhile, the fetch of day 182.07 leaves the interval at 81 days."""
    for changed in (True, False):
        times = fetch_times(NutchAdaptive(), [(False, False)] * 3 + [(changed, False)] + [(False, False)])
        assert times[-1] / DAY == pytest.approx(263.07)


def test_nutch_keeps_to_its_interval_when_nothing_was_compared() -> None:
    """Only the time since the last change that was seen moves the next fetch."""
    times = fetch_times(NutchAdaptive(), [(None, False)] * 2)

    assert times[2] / DAY == pytest.approx(30 - 9 + 30)


def test_nutch_tries_again_after_a_day() -> None:
    times = np.array(fetch_times(NutchAdaptive(), [(None, True), (None, True), (False, False)])) / DAY

    assert times == pytest.approx([0, 30, 31, 32])


def test_stormcrawler_has_the_known_sequences() -> None:
    unchanged = [1440, 2160, 3240, 4860, 7290, 10935, 16402, 20160, 20160]
    changed = [1440, 750, 405, 232, 146, 103, 81, 70, 65, 62, 61, 60, 60]

    assert intervals(StormCrawlerAdaptive(), False, 9) == [60 * minutes for minutes in unchanged]
    assert intervals(StormCrawlerAdaptive(), True, 13) == [60 * minutes for minutes in changed]


def test_stormcrawler_forgets_a_page_that_failed() -> None:
    rule = StormCrawlerAdaptive()
    state = rule.first(0.0)
    for _ in range(5):
        state = rule.after(state, state.next_at, False)
    failed = rule.after(state, state.next_at, None, failed=True)
    again = rule.after(failed, failed.next_at, True)

    assert failed.next_at - state.next_at == 120 * MINUTE
    assert again.interval_seconds == rule.first(0.0).interval_seconds


def test_news_crawl_is_stormcrawler_with_other_numbers() -> None:
    unchanged = [minutes * MINUTE for minutes in (1440, 2160, 3240, 4860, 7290, 10935, 16402, 24603)]
    changed = [minutes * MINUTE for minutes in (1440, 1170, 954, 781, 642, 531, 442)]

    assert intervals(NewsCrawl(), False, 8) == unchanged
    assert intervals(NewsCrawl(), True, 7) == changed
    assert intervals(NewsCrawl(), False, 30)[-1] == 129600 * MINUTE
    # Truncated minutes: from 94 on the way down comes to rest.
    assert 90 <= intervals(NewsCrawl(), True, 200)[-1] / MINUTE <= 94


@pytest.mark.parametrize(
    ("gap", "count", "expected"),
    [
        (6 * HOUR, 20, 6 * HOUR),
        (5 * HOUR, 30, 168 / 34 * HOUR),  # 33.6 a week are 34
        (MINUTE, 50, 5 * MINUTE),  # not more often than every 5 minutes
        (50 * HOUR, 3, 24 * HOUR),  # at least once a day
    ],
)
def test_miniflux_polls_as_often_as_a_feed_publishes(gap: float, count: int, expected: float) -> None:
    rule, now = Miniflux(), 100 * DAY
    entries = now - HOUR - gap * np.arange(count)
    state = rule.noted(rule.first(0.0), entries[::-1].tolist())

    assert rule.after(state, now, None).interval_seconds == pytest.approx(expected)


def test_miniflux_looks_at_the_last_week_only() -> None:
    rule = Miniflux()
    state = rule.noted(rule.first(0.0), (HOUR * np.arange(100)).tolist())

    assert rule.after(state, 99 * HOUR, None).interval_seconds == HOUR
    assert rule.after(state, 99 * HOUR + 7 * DAY, None).interval_seconds == DAY, "one entry has no gap"
    assert len(rule.after(state, 99 * HOUR + 8 * DAY, None).entries_at) == 0


def test_miniflux_takes_a_change_for_an_entry() -> None:
    rule = Miniflux()
    state = rule.first(0.0)
    for at in (10 * HOUR, 13 * HOUR, 16 * HOUR):
        state = rule.after(state, at, True)
    failed = rule.after(state, 17 * HOUR, True, failed=True)

    assert state.interval_seconds == 3 * HOUR
    assert failed.interval_seconds == 3 * HOUR, "a failed fetch has found nothing"


def test_proportional_waits_for_one_change() -> None:
    prior = PriorPoints(HOUR, 57 * HOUR)
    rule = Proportional(prior=prior, changes_per_fetch=0.5)
    state, history = rule.first(0.0), b""
    rng = np.random.default_rng(3)
    for _ in range(40):
        at, changed = state.next_at, bool(rng.random() < 0.5)
        history = extended(history, state.interval_seconds, changed)
        state = rule.after(state, at, changed)

    rate = estimate_change_rates([history], prior).rate[0]
    assert state.interval_seconds == pytest.approx(0.5 / rate, rel=1e-4)


def test_proportional_counts_from_the_last_copy() -> None:
    """Fetches that failed bring nothing to compare; the time runs on."""
    rule = Proportional()
    state = rule.first(0.0)
    late = rule.after(rule.after(state, 5 * DAY, None, failed=True), 9 * DAY, True)

    assert late.interval_seconds == rule.after(state, 9 * DAY, True).interval_seconds


@pytest.mark.parametrize("name", sorted(RULES))
@given(found=findings)
def test_every_rule_goes_on_for_ever(name: str, found: list[tuple[bool | None, bool]]) -> None:
    times = fetch_times(rule_named(name), found)

    assert np.all(np.diff(times) > 0)
    assert np.all(np.isfinite(times))


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_state_is_not_touched_by_what_comes_after(name: str) -> None:
    rule = rule_named(name)
    state = rule.first(0.0)
    one, same = (rule.after(state, state.next_at, True) for _ in range(2))

    assert isinstance(state, IntervalState)
    assert one == same
    assert hash(one) == hash(same)


@pytest.mark.parametrize("name", sorted(set(RULES) - {"proportional", "miniflux"}))
@given(found=findings, factor=st.floats(1e-4, 1e4))
def test_a_scaled_rule_does_the_same_in_stretched_time(
    name: str, found: list[tuple[bool | None, bool]], factor: float
) -> None:
    rule = rule_named(name)

    assert fetch_times(rule.scaled(factor), found) == pytest.approx(
        [factor * time for time in fetch_times(rule, found)]
    )


@pytest.mark.parametrize("name", ["proportional", "miniflux"])
@pytest.mark.parametrize("factor", [0.1, 3.0, 20.0])
def test_a_rule_that_measures_rates_is_scaled_against_the_same_page(name: str, factor: float) -> None:
    """What is known of the page does not change, the interval that follows from it does."""
    rule = rule_named(name)
    state, scaled = rule.first(0.0), rule.scaled(factor).first(0.0)
    for at in np.arange(1, 25) * 5 * HOUR:
        state, scaled = (
            each.after(before, float(at), True)
            for each, before in ((rule, state), (rule.scaled(factor), scaled))
        )

    assert scaled.interval_seconds == pytest.approx(factor * state.interval_seconds)
