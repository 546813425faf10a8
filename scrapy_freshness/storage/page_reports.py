"""Which pages are there, and what happened to this one? For commands and the dashboard."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal_column, select, table, true

from scrapy_freshness.model import PageKind, PageStatus, VisitRecord
from scrapy_freshness.storage.bulk import BulkSelect
from scrapy_freshness.storage.reading import has_url, number_of, visits_of
from scrapy_freshness.storage.rows import beliefs_from, clean, host_name, visits_from
from scrapy_freshness.storage.schema import URL_INDEXED, host, page, spider, url_start, visit
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.views import VIEWS


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
    pinned_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """Which pages; None means any."""

    spider: str | None = None
    host: str | None = None
    status: PageStatus | None = None
    url_contains: str | None = None  #: upper and lower case are the same

    def condition(self, connection: Connection) -> ColumnElement[bool]:
        """The filter in SQL."""
        conditions: list[ColumnElement[bool]] = [true()]
        if self.spider is not None:
            conditions.append(page.c.spider_id == number_of(spider, clean(self.spider)))
        if self.host is not None:
            conditions.append(page.c.host_id == number_of(host, host_name(self.host)))
        if self.status is not None:
            conditions.append(page.c.status == int(self.status))
        if self.url_contains is not None:
            # The plain LIKE of SQLite ignores case already, and twice as fast.
            contains = page.c.url.contains if connection.dialect.name == "sqlite" else page.c.url.icontains
            conditions.append(contains(clean(self.url_contains), autoescape=True))
        return and_(*conditions)


ANY_PAGE = PageFilter()

_NO_ORDER = (
    *("page_id", "fingerprint", "spider_id", "host_id", "last_visit_id", "url", "beliefs"),
    *("found_on", "in_links", "importance_from"),
)
#: What pages can be sorted by.
PAGE_ORDERS: dict[str, ColumnElement[Any]] = {
    "url": url_start,
    "host": host.c.name,
    **{column.name: column for column in page.c if column.name not in _NO_ORDER},
}
_MAY_BE_MISSING = {column.name for column in page.c if column.nullable}


def pages(
    store: Store,
    which: PageFilter = ANY_PAGE,
    *,
    order: str = "url",
    descending: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> list[PageReport]:
    """Some pages, in an order of `PAGE_ORDERS`; those without a value come last."""
    keys = _order(order, descending, indexed=which == ANY_PAGE)
    with store.reading() as connection:
        # First the ids alone: a million of them are sorted five times as fast as whole rows.
        chosen = select(page.c.page_id).where(which.condition(connection)).order_by(*keys)
        if order == "host":
            chosen = chosen.join_from(page, host, host.c.id == page.c.host_id)
        chosen_ids = chosen.limit(limit).offset(offset).subquery()
        query = page_query.join(chosen_ids, chosen_ids.c.page_id == page.c.page_id)
        return _page_reports(connection, query.order_by(*keys))


def count_pages(store: Store, which: PageFilter = ANY_PAGE) -> int:
    """How many pages there are."""
    with store.reading() as connection:
        query = select(func.count()).select_from(page).where(which.condition(connection))
        return connection.scalar(query) or 0


def find_pages(store: Store, url: str) -> list[PageReport]:
    """The pages with exactly this URL: none, one, or one for each spider and variant of the request."""
    with store.reading() as connection:
        return _page_reports(connection, page_query.where(has_url(url)).order_by(page.c.page_id))


def page_visits(store: Store, page_id: int, limit: int = 100) -> list[VisitRecord]:
    """The last visits of a page, newest first."""
    query = select(visits_of(page.c.page_id == page_id)).limit(limit)
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return visits_from(rows)


def last_visits(store: Store, page_ids: Iterable[int]) -> dict[int, VisitRecord]:
    """The last line of the log of some pages, by page id; those without one are left out."""
    with store.reading() as connection:
        rows = _select_last_visits(connection, list(page_ids))
    return {record.page_id: record for record in visits_from(row._mapping for row in rows)}


_select_last_visits = BulkSelect(
    select(visit).join_from(
        page, visit, and_(visit.c.id == page.c.last_visit_id, visit.c.page_id == page.c.page_id)
    ),
    page.c.page_id,
)

page_query = (
    select(
        *(page.c[field.name] for field in fields(PageReport) if field.name not in ("spider", "host")),
        spider.c.name.label("spider"),
        host.c.name.label("host"),
    )
    .join_from(page, spider, spider.c.id == page.c.spider_id)
    .join(host, host.c.id == page.c.host_id)
)


def _order(order: str, descending: bool, *, indexed: bool) -> list[ColumnElement[Any]]:
    if order not in PAGE_ORDERS:
        raise ValueError(f"pages can be sorted by {', '.join(PAGE_ORDERS)}, not by {order}")
    if order == "url" and indexed:
        keys = [url_start, page.c.page_id]
        return [key.desc() for key in keys] if descending else keys  # as the index has them
    # With a filter, walking along the index until enough pages pass may take longer than to sort.
    key = page.c.url if order == "url" else PAGE_ORDERS[order]
    key = key.desc() if descending else key
    return [key.nulls_last() if order in _MAY_BE_MISSING else key, page.c.page_id]


def _page_reports(connection: Connection, query: Select[Any]) -> list[PageReport]:
    return page_reports(connection.execute(query))


def page_reports(rows: Iterable[Any]) -> list[PageReport]:
    """Reports from the rows of `page_query`."""
    return [
        PageReport(**{**row._mapping, "status": PageStatus(row.status), "kind": PageKind(row.kind)})
        for row in rows
    ]


def page_beliefs(store: Store, ids: Iterable[int]) -> dict[int, dict[str, float]]:
    """What is believed of some pages beside their change rates, of those of which anything is."""
    with store.reading() as connection:
        rows = _select_beliefs(connection, list(ids))
    return {row.page_id: beliefs_from(row.beliefs) for row in rows if row.beliefs is not None}


_select_beliefs = BulkSelect(select(page.c.page_id, page.c.beliefs), page.c.page_id)


def page_ids(store: Store, which: PageFilter) -> list[int]:
    """The ids of all pages that pass a filter, in any order."""
    with store.reading() as connection:
        return list(connection.scalars(select(page.c.page_id).where(which.condition(connection))))


def urls_with_fingerprint(store: Store, fingerprint: int) -> list[str]:
    """The URLs of the pages whose requests have this fingerprint, each once."""
    with store.reading() as connection:
        return list(
            connection.scalars(select(page.c.url).where(page.c.fingerprint == fingerprint).distinct())
        )


def neighbours(store: Store, url: str, count: int) -> list[str]:
    """URLs that come just before and after this one in alphabetical order."""
    start = clean(url)[:URL_INDEXED]
    before = select(page.c.url).where(url_start < start).order_by(url_start.desc()).limit(count)
    after = select(page.c.url).where(url_start >= start).order_by(url_start).limit(count)
    with store.reading() as connection:
        return [*connection.scalars(before), *connection.scalars(after)]


def view_rows(store: Store, view: str, after: int, limit: int) -> list[dict[str, Any]]:
    """Rows of ``v_pages`` or ``v_visits`` whose id, the first column, is above *after*, in its order."""
    columns: list[ColumnElement[Any]] = [literal_column(name) for name in VIEWS[view]]
    query = select(*columns).select_from(table(view)).where(columns[0] > after).order_by(columns[0])
    with store.reading() as connection:
        return [dict(row) for row in connection.execute(query.limit(limit)).mappings()]
