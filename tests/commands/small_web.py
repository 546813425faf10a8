"""A small web with a page of every sort, as a crawl would have left it in the database."""

from typing import Any

import numpy as np
from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_freshness.content.profiles import Profile, pack
from scrapy_freshness.estimation.history import extended
from scrapy_freshness.model import (
    Batch,
    CrawlState,
    HostRecord,
    Outcome,
    PageKind,
    PageRecord,
    PageStatus,
    SignalRecord,
    SignalSource,
    SourceRecord,
    VisitRecord,
)
from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.search.touched import pack_touched
from scrapy_freshness.storage.query_rows import add_frequencies
from scrapy_freshness.storage.store import Store

HOUR = 3600.0
#: Half-way through a minute of the clock.
NOW = 1_800_000_030.0
PRICE = 2000.0

#: Everything that a terminal could obey or rich could take for markup.
HOSTILE = "http://evil.example/[bold red]x[/]\x1b[2J\x07\r\n\u202e:smile:"

SLOW = "http://a.example/slow"
FAST = "http://a.example/fast"
OLD = "http://a.example/old?b=2&a=1"
NEW = "http://a.example/new"
GONE = "http://b.example/gone"
SUSPENDED = "http://b.example/suspended"
MOVED = "http://b.example/moved"
FAILING = "http://b.example/failing"
WAITING = "http://paused.example/waiting"
LIED_TO = "http://liar.example/"
SHARED = "http://a.example/shared"


def number_of(url: str) -> int:
    """The fingerprint as the crawl keeps it."""
    return int.from_bytes(fingerprint(Request(url))[:8], "big", signed=True)


def page(url: str, every: float, visited: float | None, **fields: Any) -> PageRecord:
    """A page that changes every so many seconds and was visited so many seconds ago."""
    given: dict[str, Any] = {
        "page_id": 0,
        "fingerprint": number_of(url),
        "url": url,
        "host": url.split("/")[2],
        "status": PageStatus.ACTIVE,
        "discovered_at": NOW - 100 * HOUR,
        "last_visit_at": None if visited is None else NOW - visited,
        "last_change_at": None if visited is None else NOW - 50 * HOUR,
        "visits": 12,
        "changes": 3,
        "change_rate": 1 / every,
        "change_rate_low": 0.5 / every,
        "change_rate_high": 2 / every,
        "http_status": 200,
        "history": extended(extended(b"", 9 * HOUR, False), 2 * HOUR, True),
    }
    return PageRecord(**{**given, **fields})


def news_pages() -> list[PageRecord]:
    """The pages of spider ``news``, which crawls at the price `PRICE`."""
    never = {"visits": 0, "changes": 0, "change_rate": 0.0, "change_rate_low": 0.0, "change_rate_high": 0.0}
    profile = Profile(
        NOW - 60 * HOUR,
        np.array([1, 2, 3], np.uint32),
        64,
        np.array([3600.0, 7200.0], np.float32),
        np.array([0.25, 0.5], np.float32),
    )
    pages = [
        page(
            SLOW,
            30 * HOUR,
            2 * HOUR,
            etag='"abc"',
            last_modified="Mon, 16 Nov 2026 15:00:00 GMT",
            content_hash=17,
            profiles=pack((profile,)),
            request='{"callback":"parse_story","cb_kwargs":{"section":"home"},"meta":{"depth":2}}',
        ),
        page(FAST, 1000.0, 4 * HOUR),
        page(OLD, 20 * HOUR, 40 * HOUR, importance=2.0, last_change_at=NOW - 60 * HOUR, visits=20, changes=9),
        page(NEW, 1.0, None, status=PageStatus.NEW, http_status=None, history=b"", **never),
        page(GONE, 20 * HOUR, 30 * HOUR, status=PageStatus.GONE, http_status=404, not_before=NOW + 24 * HOUR),
        page(SUSPENDED, 20 * HOUR, 30 * HOUR, status=PageStatus.SUSPENDED),
        page(MOVED, 20 * HOUR, None, status=PageStatus.MOVED, http_status=301, not_before=NOW + 12 * HOUR),
        page(FAILING, 20 * HOUR, 50 * HOUR, failures=3, http_status=500, not_before=NOW + 600),
        page(WAITING, 20 * HOUR, 50 * HOUR),
        page(LIED_TO, 20 * HOUR, 50 * HOUR, history=b"", visits=1, changes=0),
        page(SHARED, 20 * HOUR, HOUR),
        page(HOSTILE, 20 * HOUR, HOUR, host="evil.example\x1b[31m", fingerprint=1, run_callback=True),
    ]
    for number, each in enumerate(pages, start=1):
        each.page_id = number
        each.discovered_at += number
    return pages


def _ask(store: Store, pages: list[PageRecord]) -> None:
    """Searchers ask for something that is on two pages, and noticed a change of the first."""
    with store.writing() as connection:
        add_frequencies(connection, {"rain": 3.0, "tokyo": 1.0})
    asked = AskedTerms.of(store.load_queries())
    for record, text in zip(pages, ("rain in tokyo", "rain"), strict=False):
        record.terms = asked.kept(asked.workload.terms_in(text))
    pages[0].beliefs = {"page_quality": 0.5}
    pages[0].touched = pack_touched([NOW - HOUR], np.zeros(1, np.intp), np.array([1]), np.array([0.25]))[0]


def fill(url: str) -> None:
    """Put the small web into a database."""
    pages = news_pages()
    minute = int(NOW // 60)
    with Store.open(url) as store:
        _ask(store, pages)
        store.save(
            "news",
            Batch(
                pages=pages,
                hosts=[
                    HostRecord(host="paused.example", blocked_until=NOW + 180, failures=4),
                    HostRecord(host="liar.example", audits=10, false_not_modified=3),
                ],
                visits=[
                    VisitRecord(
                        page_id=pages[0].page_id,
                        at=NOW - 50 * HOUR,
                        outcome=Outcome.CHANGED,
                        http_status=200,
                        divergence=0.3,
                        body_bytes=2048,
                        latency_seconds=0.2,
                    ),
                    VisitRecord(
                        page_id=pages[0].page_id,
                        at=NOW - 2 * HOUR,
                        outcome=Outcome.NOT_MODIFIED,
                        http_status=304,
                        answers_signals=True,
                    ),
                    VisitRecord(
                        page_id=pages[7].page_id,
                        at=NOW - 100,
                        outcome=Outcome.FAILED,
                        http_status=500,
                        reason="status 500",
                    ),
                ],
                sources=[
                    SourceRecord(
                        page_id=pages[0].page_id,
                        url=SLOW,
                        kind=PageKind.PAGE,
                        found="page",
                        hub="http://hub.example/",
                        topic=SLOW,
                        oddities={"bad_url": 2},
                    )
                ],
                signals=[
                    SignalRecord(
                        page_id=pages[0].page_id,
                        source=SignalSource.FEED,
                        told_by=pages[1].page_id,
                        heard_at=heard_at,
                        claimed_at=claimed_at,
                    )
                    for heard_at, claimed_at in ((NOW - 3 * HOUR, NOW - 4 * HOUR), (NOW - HOUR, None))
                ],
                fetches={(minute, "page"): 10, (minute - 1, "page"): 40, (minute - 30, "robots"): 2},
                state=CrawlState(
                    spider="news",
                    policy="greedy",
                    budget_per_second=1.0,
                    started_at=NOW - HOUR,
                    updated_at=NOW - 5,
                    price=PRICE,
                ),
            ),
        )
        first = store.next_page_id("shop")
        store.save("shop", Batch(pages=[page(SHARED, HOUR, 60.0, page_id=first)]))
