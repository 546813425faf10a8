"""How does the crawl do? Spiders and hosts, for commands and the dashboard."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Subquery,
    Table,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    select,
    table,
    text,
)

from scrapy_freshness.model import CrawlState, Outcome, PageStatus
from scrapy_freshness.storage import migrations
from scrapy_freshness.storage.bulk import BulkSelect
from scrapy_freshness.storage.database import Database
from scrapy_freshness.storage.failures import our_errors
from scrapy_freshness.storage.locks import _HOLDERS, is_locked
from scrapy_freshness.storage.page_reports import PageFilter
from scrapy_freshness.storage.reading import load_states
from scrapy_freshness.storage.rows import clean
from scrapy_freshness.storage.schema import (
    URL_INDEXED,
    fetch_count,
    host,
    page,
    page_detail,
    spider,
    url_start,
    visit,
    visit_count,
)
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.views import VIEWS

HOUR_SECONDS = 3600.0
DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a spider did in a span of time."""

    visits: dict[Outcome, int]
    fetches: dict[str, int]  #: by kind of fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiderReport:
    """How the crawl of one spider does."""

    spider: str
    pages: dict[PageStatus, int]
    last_hour: Activity
    last_day: Activity
    state: CrawlState | None


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


#: What hosts can be sorted by.
HOST_ORDERS = ("host", "pages", "visits", "changes", "blocked_until", "failures", "false_not_modified")


def spiders(store: Store, now: float) -> list[SpiderReport]:
    """How the crawl of every spider does."""
    with store.reading() as connection:
        states = {state.spider: state for state in load_states(connection)}
        last_hour, last_day = (_Minutes(connection, now - span) for span in (HOUR_SECONDS, DAY_SECONDS))
        numbers = connection.execute(select(spider.c.id, spider.c.name).order_by(spider.c.name)).all()
        return [
            SpiderReport(
                spider=name,
                pages=_pages_by_status(connection, number),
                last_hour=last_hour.activity(number),
                last_day=last_day.activity(number),
                state=states.get(name),
            )
            for number, name in numbers
        ]


def hosts(
    store: Store, *, order: str = "pages", descending: bool = True, limit: int = 50, offset: int = 0
) -> list[HostReport]:
    """Some hosts, in an order of `HOST_ORDERS`."""
    with store.reading() as connection:
        # First which hosts, then the sums over their pages: most orders need no look at all pages.
        chosen = list(connection.scalars(_host_order(order, descending).limit(limit).offset(offset)))
        kept = {row.id: row for row in _select_hosts(connection, chosen)}
        sums = {row.host_id: row for row in _select_sums(connection, chosen)}
    return [
        HostReport(
            host=kept[number].name,
            pages=sums[number].pages if number in sums else 0,
            visits=int(sums[number].visits) if number in sums else 0,
            changes=int(sums[number].changes) if number in sums else 0,
            blocked_until=kept[number].blocked_until,
            failures=kept[number].failures,
            audits=kept[number].audits,
            false_not_modified=kept[number].false_not_modified,
        )
        for number in chosen
    ]


_select_hosts = BulkSelect(select(host), host.c.id)
_select_sums = BulkSelect(
    select(
        page.c.host_id,
        func.count().label("pages"),
        func.sum(page.c.visits).label("visits"),
        func.sum(page.c.changes).label("changes"),
    ).group_by(page.c.host_id),
    page.c.host_id,
)


def _total(count: ColumnElement[Any], by: ColumnElement[Any]) -> Subquery:
    return select(by.label("host_id"), count.label("total")).group_by(by).subquery()


# By a cast: along the index on the bare column, SQLite would look up the pages one by one.
_PER_HOST = {
    "pages": _total(func.count(), page.c.host_id),
    "visits": _total(func.sum(page.c.visits), cast(page.c.host_id, Integer)),
    "changes": _total(func.sum(page.c.changes), cast(page.c.host_id, Integer)),
}


def _host_order(order: str, descending: bool) -> Select[Any]:
    query = select(host.c.id)
    key: ColumnElement[Any] = host.c.get(order, host.c.name)
    if order in _PER_HOST:
        per_host = _PER_HOST[order]
        query = query.outerjoin_from(host, per_host, per_host.c.host_id == host.c.id)
        key = func.coalesce(per_host.c.total, 0)
    elif order not in HOST_ORDERS:
        raise ValueError(f"hosts can be sorted by {', '.join(HOST_ORDERS)}, not by {order}")
    return query.order_by(key.desc() if descending else key, host.c.name)


def _pages_by_status(connection: Connection, spider_id: int) -> dict[PageStatus, int]:
    # One pass over the pages; GROUP BY would sort them first.
    counts = [func.count().filter(page.c.status == int(status)) for status in PageStatus]
    row = connection.execute(select(*counts).where(page.c.spider_id == spider_id)).one()
    return {status: count for status, count in zip(PageStatus, row, strict=True) if count}


class _Minutes:
    """The counts of the minutes since a time, of all spiders."""

    def __init__(self, connection: Connection, since: float) -> None:
        minute = {"minute": int(since // 60)}
        self._visits = connection.execute(_sums(visit_count, visit_count.c.outcome, "visits"), minute).all()
        self._fetches = connection.execute(_sums(fetch_count, fetch_count.c.kind, "fetches"), minute).all()

    def activity(self, spider_id: int) -> Activity:
        """What one spider did."""
        return Activity(
            visits={Outcome(key): int(count) for owner, key, count in self._visits if owner == spider_id},
            fetches={key: int(count) for owner, key, count in self._fetches if owner == spider_id},
        )


def _sums(table: Table, by: ColumnElement[Any], count: str) -> Select[Any]:
    recent = table.c.minute > bindparam("minute")
    return (
        select(table.c.spider_id, by, func.sum(table.c[count])).where(recent).group_by(table.c.spider_id, by)
    )


# For the commands: what a person asks of the database itself.


def activity_since(store: Store, since: float) -> dict[str, Activity]:
    """What every spider did in the minutes that began after a time."""
    with store.reading() as connection:
        minutes = _Minutes(connection, since)
        numbers = connection.execute(select(spider.c.id, spider.c.name)).all()
        return {name: minutes.activity(number) for number, name in numbers}


def crawling(store: Store) -> set[str]:
    """Spiders that crawl now; the lock of SQLite has no name, there it is the one that wrote last."""
    with store.reading() as connection:
        if not is_locked(store.database, connection):
            return set()
        if store.database.is_sqlite:
            states = sorted(load_states(connection), key=lambda state: state.updated_at)
            return {state.spider for state in states[-1:]}
        numbers = connection.execute(select(spider.c.id, spider.c.name)).all()
        return {
            name for number, name in numbers if connection.execute(_HOLDERS, {"objects": [number]}).first()
        }


def size_bytes(store: Store) -> int:
    """How much room the database takes on disk."""
    path = store.database.path
    if path is not None:
        files = (path, path.with_name(f"{path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())
    with store.reading() as connection:
        if store.database.is_sqlite:
            return 0
        return connection.scalar(select(func.pg_database_size(func.current_database()))) or 0


def revision(url: str) -> str | None:
    """The revision of a database's schema; None if there is no database or it has no tables of ours."""
    database = Database(url)
    if database.path is not None and not database.path.exists():
        return None
    engine = database.engine(read_only=True)
    try:
        with our_errors(database), engine.connect() as connection:
            return migrations.current_revision(connection)
    finally:
        engine.dispose()


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


def integrity_errors(store: Store) -> list[str]:
    """What SQLite finds wrong with its file; PostgreSQL has no such check."""
    if not store.database.is_sqlite:
        return []
    with store.reading() as connection:
        return [line for line in connection.scalars(text("PRAGMA integrity_check(10)")) if line != "ok"]


def strays(store: Store) -> dict[str, int]:
    """Rows that refer to something that does not exist, by what they are; all counts are 0 if all is well."""
    pairs = {
        "pages without details": (page.c.page_id, page_detail.c.page_id),
        "details without a page": (page_detail.c.page_id, page.c.page_id),
        "pages of an unknown host": (page.c.host_id, host.c.id),
        "pages of an unknown spider": (page.c.spider_id, spider.c.id),
        "visits of an unknown page": (visit.c.page_id, page.c.page_id),
    }
    with store.reading() as connection:
        return {what: connection.scalar(_count_strays(*pair)) or 0 for what, pair in pairs.items()}


def _count_strays(reference: Column[Any], key: Column[Any]) -> Select[Any]:
    return select(func.count()).select_from(reference.table).where(~exists().where(key == reference))
