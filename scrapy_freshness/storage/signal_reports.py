"""Who says what about pages, and was it true?  For commands and the dashboard."""

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import func, select

from scrapy_freshness.model import Outcome, PageKind, PageStatus, SignalSource
from scrapy_freshness.storage.schema import host, page, signal, signal_count, signal_source, spider, visit
from scrapy_freshness.storage.signal_rows import source_from
from scrapy_freshness.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """One source of signals; fields as in `SourceRecord`."""

    page_id: int
    spider: str
    host: str
    url: str
    kind: PageKind
    status: PageStatus
    found: str
    found_on: str
    is_pinned: bool
    format: str
    verdict: str
    entries: int
    polls: int
    new_pages: int
    signals: int
    barren: int
    last_poll_at: float | None
    last_yield: float
    oddities: dict[str, int]
    hub: str | None
    topic: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalCounts:
    """What became of all signals of one kind for the pages of one host."""

    spider: str
    host: str
    source: SignalSource
    heard: int
    answered: int  #: by a visit
    confirmed: int  #: by a visit that found a change


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSignal:
    """One signal for a page."""

    source: SignalSource
    told_by: str | None  #: URL of the sitemap or feed
    heard_at: float
    claimed_at: float | None
    answered_at: float | None
    changed: bool | None


_SOURCE_FIELDS = [each.name for each in fields(SourceReport)]
_source_query = (
    select(
        *(column for column in signal_source.c if column.name in _SOURCE_FIELDS),
        page.c.url,
        page.c.kind,
        page.c.status,
        spider.c.name.label("spider"),
        host.c.name.label("host"),
    )
    .join_from(signal_source, page, page.c.page_id == signal_source.c.page_id)
    .join(spider, spider.c.id == page.c.spider_id)
    .join(host, host.c.id == page.c.host_id)
)


def sources(store: Store) -> list[SourceReport]:
    """All sources of signals, those that brought most first."""
    brought = signal_source.c.signals + signal_source.c.new_pages
    with store.reading() as connection:
        rows = connection.execute(_source_query.order_by(brought.desc(), page.c.url)).mappings().all()
    return [SourceReport(**{**source_from(row), "status": PageStatus(row["status"])}) for row in rows]


def polls_since(store: Store, since: float) -> dict[int, int]:
    """How often each source was fetched after a time, by page id, as far as the log of visits reaches."""
    is_polled = page.c.kind.in_([int(kind) for kind in PageKind if kind.is_polled])
    # What a hub has pushed has no latency.
    was_fetched = visit.c.latency_seconds.is_not(None) | (visit.c.outcome == int(Outcome.FAILED))
    query = (
        select(visit.c.page_id, func.count())
        .join_from(visit, signal_source, signal_source.c.page_id == visit.c.page_id)
        .join(page, page.c.page_id == visit.c.page_id)
        .where(visit.c.at > since, was_fetched, is_polled)
        .group_by(visit.c.page_id)
    )
    with store.reading() as connection:
        return dict(connection.execute(query).all())


def signal_counts(store: Store) -> list[SignalCounts]:
    """How many signals were heard, answered and confirmed, by host and kind of source."""
    columns = [column for column in signal_count.c if not column.name.endswith("_id")]
    query = (
        select(spider.c.name.label("spider"), host.c.name.label("host"), *columns)
        .join_from(signal_count, spider, spider.c.id == signal_count.c.spider_id)
        .join(host, host.c.id == signal_count.c.host_id)
        .order_by(spider.c.name, host.c.name, signal_count.c.source)
    )
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return [SignalCounts(**{**row, "source": SignalSource(row["source"])}) for row in rows]


def page_signals(store: Store, page_id: int, limit: int = 100) -> list[PageSignal]:
    """The last signals for a page, newest first."""
    teller: Any = page.alias("teller")
    columns = [signal.c[each.name] for each in fields(PageSignal) if each.name != "told_by"]
    query = (
        select(*columns, teller.c.url.label("told_by"))
        .outerjoin_from(signal, teller, teller.c.page_id == signal.c.told_by)
        .where(signal.c.page_id == page_id)
        .order_by(signal.c.heard_at.desc(), signal.c.id.desc())
        .limit(limit)
    )
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return [PageSignal(**{**row, "source": SignalSource(row["source"])}) for row in rows]
