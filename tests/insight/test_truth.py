"""Who tells the truth is judged by what visits found, and not before enough of them have."""

from typing import Any

import pytest

from scrapy_freshness.insight.truth import Quality, dates_of, honest, is_missing, say_nothing
from scrapy_freshness.model import PageKind, PageStatus, SignalSource
from scrapy_freshness.planning.signal_trust import Share, SourceTrust
from scrapy_freshness.storage.signal_reports import SignalCounts, SourceReport

SITEMAP = ("a.example", SignalSource.SITEMAP)


def quality(
    answered: int,
    confirmed: int,
    precision: tuple[float, float, float] | None = None,
    source: SignalSource = SignalSource.SITEMAP,
) -> Quality:
    counts = SignalCounts(
        spider="news", host="a.example", source=source, heard=answered, answered=answered, confirmed=confirmed
    )
    trust = None
    if precision is not None:
        value, low, high = precision
        share = Share(value=value, low=low, high=high)
        trust = SourceTrust(
            host="a.example",
            source=source,
            precision=share,
            recall=share,
            visits=9,
            signals=9,
            deaf_seconds=0,
        )
    return Quality.of(("a.example", source), counts, trust)


def report(**fields: Any) -> SourceReport:
    usual: dict[str, Any] = {
        "page_id": 1,
        "spider": "news",
        "host": "a.example",
        "url": "http://a.example/sitemap.xml",
        "kind": PageKind.SITEMAP,
        "status": PageStatus.ACTIVE,
        "found": "robots",
        "found_on": "",
        "is_pinned": False,
        "format": "sitemap",
        "verdict": "usable",
        "entries": 20,
        "polls": 5,
        "new_pages": 20,
        "signals": 40,
        "barren": 0,
        "last_poll_at": 1.0,
        "last_yield": 0.0,
        "oddities": {},
        "hub": None,
        "topic": None,
    }
    return SourceReport(**{**usual, **fields})


@pytest.mark.parametrize(
    ("seen", "judgement"),
    [
        (quality(21, 1), "false"),  # 4.8 %
        (quality(63, 37, (0.206, 0.03, 0.351)), "false"),  # pages change that often without a signal
        (quality(161, 161, (0.993, 0.961, 0.999)), "true"),
        (quality(139, 92, (0.503, 0.384, 0.599)), "mixed"),
        (quality(348, 200, (0.36, 0.239, 0.462)), "mixed"),  # 56 % of them were true
        (quality(9, 0, (0.05, 0.0, 0.12)), "early"),
        (quality(75, 53, (0.4, 0.04, 0.61)), "early"),
        (quality(0, 0), "early"),
    ],
)
def test_a_source_is_judged_by_its_precision_and_the_doubt_about_it(seen: Quality, judgement: str) -> None:
    assert seen.judgement == judgement
    assert seen.is_lying == (judgement == "false")


def test_a_feed_does_not_lie_about_pages_that_it_says_nothing_about() -> None:
    feed = quality(18, 0, source=SignalSource.FEED)

    assert (feed.judgement, feed.is_lying, feed.is_useless) == ("false", False, True)


def test_one_poll_is_no_evidence() -> None:
    for verdict in ("same", "now", "early"):
        assert dates_of(report(verdict=verdict, polls=1), {}) == "early"
    assert say_nothing(dates_of(report(verdict="same", polls=2), {}))
    assert say_nothing(dates_of(report(verdict="future", polls=1), {}))


def test_the_dates_of_a_sitemap_are_worth_what_visits_have_found() -> None:
    known = {SITEMAP: quality(21, 1)}

    assert dates_of(report(), known) == "false"
    assert dates_of(report(host="b.example"), known) == "early"
    assert dates_of(report(kind=PageKind.FEED), known) == "early"
    assert dates_of(report(signals=0), known) == "usable"
    assert dates_of(report(verdict="no_dates"), known) == "no_dates"


def test_a_place_that_was_only_looked_at_is_missing() -> None:
    assert is_missing(report(found="usual", polls=0, status=PageStatus.GONE))
    assert not is_missing(report(status=PageStatus.GONE))


def test_honest_sources_are_named_by_their_addresses_where_these_are_known() -> None:
    ping = quality(40, 39, source=SignalSource.PING)
    sources = [(report(), "true"), (report(url="http://a.example/other.xml"), "same")]

    assert honest([quality(40, 39)], sources) == ["http://a.example/sitemap.xml"]
    assert honest([ping, quality(40, 2)], []) == ["a.example, ping"]


def test_pages_that_change_by_themselves_are_told_apart_from_announced_ones() -> None:
    assert quality(112, 42, (0.17, 0.01, 0.3)).changes_by_itself
    assert not quality(112, 25, (0.17, 0.01, 0.3)).changes_by_itself
    assert not quality(112, 42).changes_by_itself
