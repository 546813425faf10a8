"""What people ask: how does the crawl do, which pages are there, what happened to this one?"""

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, bindparam, func, select, true

from scrapy_freshness.model import CrawlState, Outcome, PageKind, PageStatus, VisitRecord
from scrapy_freshness.storage.reading import has_url, load_states, number_of
from scrapy_freshness.storage.rows import clean, host_name, visits_from
from scrapy_freshness.storage.schema import fetch_count, host, page, spider, url_start, visit, visit_count
from scrapy_freshness.storage.store import Store

HOUR = 3600.0
DAY = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a spider did in a span of time."""

    visits: dict[Outcome, int]
    fetches: dict[str, int]  #: by kind of fetch

    @property
    def changes(self) -> int:
        """Visits that found a change."""
        return self.visits.get(Outcome.CHANGED, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiderReport:
    """How the crawl of one spider does."""

    spider: str
    pages: dict[PageStatus, int]
    last_hour: Activity
    last_day: Activity
    state: CrawlState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReport:
    """The numbers of one page; fields as in `PageRecord`."""

    page_id: int
    spider: str
    host: str
    url: str
    status: PageStatus
    kind: PageKind
    priority: int
    importance: float
    discovered_at: float
    last_visit_at: float | None
    last_change_at: float | None
    not_before: float
    visits: int
    changes: int
    failures: int
    change_rate: float
    change_rate_low: float
    change_rate_high: float
    http_status: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """One host: its pages together, and what is kept about it."""

    host: str
    pages: int
    visits: int
    changes: int
    blocked_until: float
    failures: int
    audits: int
    false_not_modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """Which pages; None means any."""

    spider: str | None = None
    host: str | None = None
    status: PageStatus | None = None
    url_contains: str | None = None  #: upper and lower case are the same

    def condition(self) -> ColumnElement[bool]:
        """The filter in SQL."""
        conditions: list[ColumnElement[bool]] = [true()]
        if self.spider is not None:
            conditions.append(page.c.spider_id == number_of(spider, clean(self.spider)))
        if self.host is not None:
            conditions.append(page.c.host_id == number_of(host, host_name(self.host)))
        if self.status is not None:
            conditions.append(page.c.status == int(self.status))
        if self.url_contains is not None:
            conditions.append(page.c.url.icontains(clean(self.url_contains), autoescape=True))
        return and_(*conditions)


ANY_PAGE = PageFilter()

#: What pages can be sorted by.
PAGE_ORDERS: dict[str, ColumnElement[Any]] = {
    "url": url_start,  # as much of it as the index has
    "host": host.c.name,
    **{
        column.name: column
        for column in page.c
        if column.name not in ("page_id", "fingerprint", "spider_id", "host_id", "last_visit_id", "url")
    },
}

#: What hosts can be sorted by.
HOST_ORDERS = ("host", "pages", "visits", "changes", "blocked_until", "failures", "false_not_modified")


def spiders(store: Store, now: float) -> list[SpiderReport]:
    """How the crawl of every spider does."""
    with store.reading() as connection:
        states = {state.spider: state for state in load_states(connection)}
        pages = connection.execute(
            select(page.c.spider_id, page.c.status, func.count()).group_by(page.c.spider_id, page.c.status)
        ).all()
        last_hour, last_day = (_Minutes(connection, now - span) for span in (HOUR, DAY))
        return [
            SpiderReport(
                spider=name,
                pages={PageStatus(status): count for owner, status, count in pages if owner == number},
                last_hour=last_hour.activity(number),
                last_day=last_day.activity(number),
                state=states.get(name),
            )
            for number, name in connection.execute(select(spider.c.id, spider.c.name).order_by(spider.c.name))
        ]


def pages(
    store: Store,
    which: PageFilter = ANY_PAGE,
    *,
    order: str = "url",
    descending: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> list[PageReport]:
    """Some pages, in an order of `PAGE_ORDERS`; where the value is missing they come last."""
    key = PAGE_ORDERS[order]
    query = _page_query().where(which.condition()).limit(limit).offset(offset)
    if order == "url":
        query = query.order_by(key.desc() if descending else key)
    else:
        query = query.order_by((key.desc() if descending else key).nulls_last(), page.c.page_id)
    with store.reading() as connection:
        return _page_reports(connection, query)


def count_pages(store: Store, which: PageFilter = ANY_PAGE) -> int:
    """How many pages there are."""
    with store.reading() as connection:
        return connection.scalar(select(func.count()).select_from(page).where(which.condition())) or 0


def find_pages(store: Store, url: str) -> list[PageReport]:
    """The pages with exactly this URL: none, one, or one for each spider and variant of the request."""
    with store.reading() as connection:
        return _page_reports(connection, _page_query().where(has_url(url)).order_by(page.c.page_id))


def page_visits(store: Store, page_id: int, limit: int = 100) -> list[VisitRecord]:
    """The last visits of a page, newest first."""
    # From the last visit back along the list. Links point to lower ids of the same page unless the log was
    # pruned: then they point to nothing, or to an id that was given out again.
    head = select(page.c.last_visit_id).where(page.c.page_id == page_id).scalar_subquery()
    chain = select(visit).where(visit.c.id == head, visit.c.page_id == page_id).cte("chain", recursive=True)
    before = select(visit).where(
        visit.c.id == chain.c.previous_id, visit.c.id < chain.c.id, visit.c.page_id == page_id
    )
    chain = chain.union_all(before)
    with store.reading() as connection:
        return visits_from(connection.execute(select(chain).limit(limit)).mappings())


def hosts(
    store: Store, *, order: str = "pages", descending: bool = True, limit: int | None = None, offset: int = 0
) -> list[HostReport]:
    """The hosts, in an order of `HOST_ORDERS`."""
    if order not in HOST_ORDERS:
        raise KeyError(order)
    total = (
        select(
            page.c.host_id,
            func.count().label("pages"),
            func.sum(page.c.visits).label("visits"),
            func.sum(page.c.changes).label("changes"),
        )
        .group_by(page.c.host_id)
        .subquery()
    )
    query = select(
        host.c.name.label("host"),
        *(func.coalesce(total.c[name], 0).label(name) for name in ("pages", "visits", "changes")),
        *(host.c[name] for name in ("blocked_until", "failures", "audits", "false_not_modified")),
    ).select_from(host.outerjoin(total, total.c.host_id == host.c.id))
    key = query.selected_columns[order]
    query = query.order_by(key.desc() if descending else key, host.c.name).limit(limit).offset(offset)
    with store.reading() as connection:
        return [HostReport(**row) for row in connection.execute(query).mappings()]


class _Minutes:
    """The counts of the minutes since a time, of all spiders."""

    def __init__(self, connection: Connection, since: float) -> None:
        minute = int(since // 60)
        self._visits = connection.execute(_sums(visit_count, "outcome", "visits"), {"minute": minute}).all()
        self._fetches = connection.execute(_sums(fetch_count, "kind", "fetches"), {"minute": minute}).all()

    def activity(self, spider_id: int) -> Activity:
        return Activity(
            visits={Outcome(key): int(count) for owner, key, count in self._visits if owner == spider_id},
            fetches={key: int(count) for owner, key, count in self._fetches if owner == spider_id},
        )


def _sums(table: Table, by: str, count: str) -> Select[Any]:
    return (
        select(table.c.spider_id, table.c[by], func.sum(table.c[count]))
        .where(table.c.minute > bindparam("minute"))
        .group_by(table.c.spider_id, table.c[by])
    )


def _page_query() -> Select[Any]:
    numbers = [page.c[field.name] for field in fields(PageReport) if field.name not in ("spider", "host")]
    return (
        select(*numbers, spider.c.name.label("spider"), host.c.name.label("host"))
        .join_from(page, spider, spider.c.id == page.c.spider_id)
        .join(host, host.c.id == page.c.host_id)
    )


def _page_reports(connection: Connection, query: Select[Any]) -> list[PageReport]:
    return [
        PageReport(**{**row, "status": PageStatus(row["status"]), "kind": PageKind(row["kind"])})
        for row in connection.execute(query).mappings()
    ]
