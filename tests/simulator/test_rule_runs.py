"""Crawls by the interval rules of other crawlers, against one that makes fetch after fetch in time."""

import heapq
from typing import Any

import numpy as np
import pytest
from drawn_records import DAY, poisson_page

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.intervals import BatchRule, Finding
from scrapy_freshness.simulator.plain_rules import Fixed, Proportional
from scrapy_freshness.simulator.recorded import RecordedWeb, web_of
from scrapy_freshness.simulator.recorded_web import ReplayedWeb
from scrapy_freshness.simulator.rivals import RULES, rule_named
from scrapy_freshness.simulator.rule_run import crawl_by_matching, crawl_by_rule
from scrapy_freshness.simulator.streams import event_stream, poisson_events
from scrapy_freshness.simulator.trace import Kind, Link, Version


def recorded_web() -> RecordedWeb:
    """Pages of two sources, one of which is recorded for half of the time; one is gone for a while."""
    rng = np.random.default_rng(5)
    pages = [poisson_page(f"a:{n}", rate, 60.0, rng) for n, rate in enumerate((0.1, 1.0, 5.0))]
    pages.append(poisson_page("a:late", 2.0, 60.0, rng, first_day=20.0))
    pages.append(poisson_page("b:short", 2.0, 30.0, rng))
    absent = Version(page="c:gone", at=10 * DAY, kind=Kind.GONE)
    pages.append([*poisson_page("c:gone", 3.0, 9.0, rng), absent])
    pages.append(poisson_page("c:stays", 1.0, 60.0, rng))
    return web_of(version for page in pages for version in page)


def one_by_one(web: ReplayedWeb, rule: Any, start: float, end: float) -> list[tuple[float, int]]:
    """The fetches of a rule in the order of time, each page with what its own fetches found."""
    states: dict[int, Any] = {}
    copies: dict[int, int] = {}
    due = []
    for page in range(len(web.addresses)):
        begin = max(web.appears_at(page), start)
        states[page] = rule.first(begin)
        look = web.look(page, begin)
        copies |= {} if look.is_gone else {page: look.content_hash}
        due.append((states[page].next_at, page))
    heapq.heapify(due)
    made = []
    while due and due[0][0] <= end:
        now, page = heapq.heappop(due)
        if now > web.recorded.pages[page].until:
            continue
        made.append((now, page))
        look = web.look(page, now)
        changed = copies.get(page) != look.content_hash
        states[page] = rule.after(states[page], now, changed, failed=look.is_gone)
        copies |= {} if look.is_gone else {page: look.content_hash}
        heapq.heappush(due, (states[page].next_at, page))
    return made


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_round_of_all_pages_is_the_same_as_one_after_the_other(name: str) -> None:
    web, rule = ReplayedWeb(recorded_web()), rule_named(name).scaled(0.3)
    fetches = crawl_by_rule(web, rule, start=2 * DAY, end=55 * DAY)
    times, pages = zip(*one_by_one(web, rule, 2 * DAY, 55 * DAY), strict=True)

    assert len(pages) > 20
    assert fetches.pages.tolist() == list(pages)
    assert fetches.times.tolist() == pytest.approx(list(times))


def test_many_pages_are_learned_from_as_single_ones() -> None:
    rule, rng = Proportional(), np.random.default_rng(3)
    states = [rule.first(0.0) for _ in range(5)]
    for now in np.cumsum(rng.exponential(DAY, 30)).tolist():
        findings = [
            Finding(now, changed, failed=failed)
            for changed, failed in zip(rng.choice([True, False, None], 5), rng.random(5) < 0.1, strict=True)
        ]
        together = rule.after_all(list(zip(states, findings, strict=True)))
        alone = [rule.after(state, *finding) for state, finding in zip(states, findings, strict=True)]
        assert [state.history for state in together] == [state.history for state in alone]
        assert [state.next_at for state in together] == pytest.approx([state.next_at for state in alone])
        states = together

    assert isinstance(rule, BatchRule)


def test_more_fetches_than_the_limit_are_refused_with_their_number() -> None:
    web = ChangingWeb(event_stream([np.empty(0)] * 20), numbered(np.ones(20)))
    with pytest.raises(ConfigError, match=r"about 2,000 fetches, which are more than 500"):
        crawl_by_rule(web, Fixed(interval_seconds=1.0), start=0.0, end=100.0, limit=500)


@pytest.mark.parametrize("name", ["fixed", "nutch-adaptive", "stormcrawler-adaptive", "proportional"])
@pytest.mark.parametrize("wanted", [300, 20_000])
def test_a_common_factor_makes_the_wanted_number_of_fetches(name: str, wanted: int) -> None:
    rng = np.random.default_rng(8)
    rates = rng.uniform(0.1, 3.0, 50) / DAY
    web = ChangingWeb(poisson_events(rates, 40 * DAY, rng), numbered(np.ones(50)))
    fetches, match = crawl_by_matching(web, rule_named(name).scaled, wanted, start=0.0, end=40 * DAY)

    assert len(fetches) == match.fetches == pytest.approx(wanted, rel=0.1)
    assert np.all(np.diff(fetches.times) >= 0)


@pytest.mark.parametrize("is_dated", [True, False])
@pytest.mark.parametrize("places", [1, 2])
def test_miniflux_counts_the_entries_of_a_feed_not_its_changes(is_dated: bool, places: int) -> None:
    """Four entries a day, which the record sees together at midnight, each in so many places."""

    def entry(number: int) -> Link:
        return Link(f"http://x/{number}", None, None, DAY * number / 4 if is_dated else None)

    feed = web_of(
        Version(
            page="f:1",
            at=DAY * day,
            kind=Kind.CHANGE,
            links=places * tuple(entry(number) for number in range(4 * day, 4 * day - 20, -1) if number > 0),
        )
        for day in range(1, 41)
    )

    fetches = crawl_by_rule(ReplayedWeb(feed), rule_named("miniflux"), start=20 * DAY, end=39 * DAY)

    gaps = np.diff(fetches.times)[-40:] / 3600
    assert np.median(gaps) == pytest.approx(6.0, rel=0.1)
