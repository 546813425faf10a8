"""What happened lately, and minute by minute: cheap enough to be asked by somebody who watches."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from scrapy_freshness.model import Outcome
from scrapy_freshness.storage.bulk import BulkSelect
from scrapy_freshness.storage.page_reports import PageReport, page_query, page_reports
from scrapy_freshness.storage.reading import number_of
from scrapy_freshness.storage.rows import clean
from scrapy_freshness.storage.schema import (
    fetch_count,
    freshness_minute,
    host,
    page,
    page_group,
    spider,
    visit,
    visit_count,
)
from scrapy_freshness.storage.store import Store

#: Lines of the log that are looked at for the latest visits: of all spiders, as none has a log of its own.
LOOKED_AT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestVisit:
    """One of the last lines of the log."""

    at: float
    spider: str
    host: str
    page_id: int
    url: str
    outcome: Outcome
    http_status: int | None
    divergence: float | None
    body_bytes: int
    latency_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessPoint:
    """How fresh the copies were in a span of time, on average."""

    at: float  #: start of the span
    freshness: float
    uniform_freshness: float
    price: float


def latest_visits(store: Store, spider_name: str | None = None) -> list[LatestVisit]:
    """The last visits, newest first: of all spiders, or those of one that are among them."""
    last = select(visit).order_by(visit.c.id.desc()).limit(LOOKED_AT).subquery()
    own = [last.c[each.name] for each in fields(LatestVisit) if each.name in last.c]
    query = (
        select(*own, spider.c.name.label("spider"), host.c.name.label("host"), page.c.url)
        .join_from(last, page, page.c.page_id == last.c.page_id)
        .join(spider, spider.c.id == page.c.spider_id)
        .join(host, host.c.id == page.c.host_id)
        .order_by(last.c.id.desc())
    )
    if spider_name is not None:
        query = query.where(spider.c.name == clean(spider_name))
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return [LatestVisit(**{**row, "outcome": Outcome(row["outcome"])}) for row in rows]


def visits_of_host(store: Store, spider_name: str, host_name: str, since: float) -> int:
    """How many visits of the pages of a host have been made since a time, which is not long ago.

    Requests that were stopped before they were sent are none.
    """
    of_host = (page.c.host_id == number_of(host, host_name)) & (
        page.c.spider_id == number_of(spider, clean(spider_name))
    )
    query = (
        select(func.count())
        .select_from(visit)
        .join(page, page.c.page_id == visit.c.page_id)
        .where(visit.c.at > since, visit.c.outcome != int(Outcome.IGNORED), of_host)
    )
    with store.reading() as connection:
        return connection.scalar(query) or 0


def first_visit_at(store: Store, spider_name: str) -> float | None:
    """When a spider made its first visit, to the minute; None if it has made none."""
    own = visit_count.c.spider_id == number_of(spider, clean(spider_name))
    with store.reading() as connection:
        minute = connection.scalar(select(func.min(visit_count.c.minute)).where(own))
    return None if minute is None else 60.0 * minute


def freshness_history(
    store: Store, spider_name: str, since: float, span_minutes: int
) -> list[FreshnessPoint]:
    """How fresh the copies were since a time, by spans of so many minutes."""
    table = freshness_minute
    start = _span(table.c.minute, span_minutes)
    query = (
        select(
            start.label("at"),
            func.avg(table.c.freshness).label("freshness"),
            func.avg(table.c.uniform_freshness).label("uniform_freshness"),
            func.avg(table.c.price).label("price"),
        )
        .where(*_recent(table, spider_name, since))
        .group_by(start)
        .order_by(start)
    )
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return [FreshnessPoint(**{**row, "at": float(row["at"])}) for row in rows]


def outcome_history(
    store: Store, spider_name: str, since: float, span_minutes: int
) -> dict[float, dict[Outcome, int]]:
    """How visits ended since a time, by spans of so many minutes."""
    found: dict[float, dict[Outcome, int]] = {}
    for at, outcome, count in _history(
        store, spider_name, since, span_minutes, visit_count, "outcome", "visits"
    ):
        found.setdefault(float(at), {})[Outcome(outcome)] = int(count)
    return found


def fetch_history(
    store: Store, spider_name: str, since: float, span_minutes: int
) -> dict[float, dict[str, int]]:
    """What was fetched since a time, by spans of so many minutes."""
    found: dict[float, dict[str, int]] = {}
    for at, kind, count in _history(store, spider_name, since, span_minutes, fetch_count, "kind", "fetches"):
        found.setdefault(float(at), {})[kind] = int(count)
    return found


def pages_with_ids(store: Store, page_ids: Iterable[int]) -> list[PageReport]:
    """The pages with these ids, in their order; those that do not exist are left out."""
    wanted = list(page_ids)
    with store.reading() as connection:
        found = {report.page_id: report for report in page_reports(_select_reports(connection, wanted))}
    return [found[page_id] for page_id in wanted if page_id in found]


def some_groups(store: Store, spider_name: str, names: Iterable[str]) -> dict[str, bytes]:
    """What was learned of the groups of these names."""
    wanted = list(names)
    own = page_group.c.spider_id == number_of(spider, clean(spider_name))
    query = select(page_group.c.name, page_group.c.state).where(own, page_group.c.name.in_(wanted))
    with store.reading() as connection:
        return {name: bytes(state) for name, state in connection.execute(query)}


_select_reports = BulkSelect(page_query, page.c.page_id)


def _history(
    store: Store, spider_name: str, since: float, span_minutes: int, table: Any, by: str, count: str
) -> list[Any]:
    start = _span(table.c.minute, span_minutes)
    query: Select[Any] = (
        select(start, table.c[by], func.sum(table.c[count]))
        .where(*_recent(table, spider_name, since))
        .group_by(start, table.c[by])
        .order_by(start)
    )
    with store.reading() as connection:
        return list(connection.execute(query).all())


def _recent(table: Any, spider_name: str, since: float) -> tuple[ColumnElement[bool], ...]:
    return (
        table.c.spider_id == number_of(spider, clean(spider_name)),
        table.c.minute >= int(since // 60),
    )


def _span(minute: ColumnElement[int], span_minutes: int) -> ColumnElement[int]:
    """Unix seconds at which the span of a minute begins; whole numbers divide without a rest in SQL."""
    return (minute - minute % span_minutes) * 60
