"""Read what the crawl needs: columns for planning at the start, records for the visits about to begin."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sqlalchemy import CTE, ColumnElement, Connection, ScalarSelect, Table, and_, func, select

from scrapy_freshness.model import CrawlState, HostRecord, PageColumns, PageRecord, Subscription
from scrapy_freshness.storage.bulk import BulkSelect
from scrapy_freshness.storage.rows import beliefs_from, clean, host_name, record_query, records_from
from scrapy_freshness.storage.schema import (
    PAGE_IDS_PER_SPIDER,
    URL_INDEXED,
    crawl,
    host,
    page,
    page_group,
    spider,
    subscription,
    url_start,
    visit,
)

#: Rows that exist as Python objects at a time while columns are read.
CHUNK = 10_000

COLUMNS: dict[str, DTypeLike] = {
    "page_id": np.int64,
    "fingerprint": np.int64,
    "host_id": np.int32,
    "status": np.uint8,
    "kind": np.uint8,
    "priority": np.int32,
    "importance": np.float32,
    "discovered_at": np.float64,
    "last_visit_at": np.float64,
    "not_before": np.float64,
    "failures": np.int32,
    "change_rate": np.float32,
}

_select_names = BulkSelect(select(host.c.id, host.c.name), host.c.id)
_select_records = BulkSelect(record_query, page.c.page_id)


def load_pages(connection: Connection, spider_name: str) -> PageColumns:
    """The numbers of all pages of a spider; never more than a chunk of them as Python objects."""
    own = page.c.spider_id == number_of(spider, clean(spider_name))
    query = select(*(page.c[name] for name in COLUMNS), page.c.beliefs, page.c.pinned_seconds).where(own)
    beliefs, pins = SparseColumns(), SparseColumns()
    chunks: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, dtype)] for name, dtype in COLUMNS.items()}
    with connection.execute(query.execution_options(yield_per=CHUNK)) as result, np.errstate(over="ignore"):
        for rows in result.partitions():
            # Whole columns at a time: an array of rows takes ten times as long.
            *numbers, texts, pinned = zip(*rows, strict=True)
            for (name, dtype), values in zip(COLUMNS.items(), numbers, strict=True):
                chunks[name].append(np.array(values, dtype))
            beliefs.add([None if text is None else beliefs_from(text) for text in texts])
            pins.add([None if seconds is None else {"seconds": seconds} for seconds in pinned])
    # One column after the other, so that the chunks of only one are there twice.
    columns = {name: np.concatenate(chunks.pop(name)) for name in COLUMNS}
    host_ids, positions = np.unique(columns.pop("host_id"), return_inverse=True)
    names = dict(_select_names(connection, host_ids.tolist()))
    return PageColumns(
        hosts=[names[number] for number in host_ids.tolist()],
        host=positions.astype(np.int32),
        beliefs=beliefs.columns(np.float32),
        pinned_seconds=pins.columns(np.float64).get("seconds"),
        **columns,
    )


class SparseColumns:
    """Gathers numbers that most pages do not have, by name; a column for those that any page has."""

    def __init__(self) -> None:
        self._size = 0
        self._rows: dict[str, list[int]] = {}
        self._values: dict[str, list[float]] = {}

    def add(self, pages: Sequence[Mapping[str, float] | None]) -> None:
        for row, numbers in enumerate(pages, self._size):
            if numbers is not None:
                for name, value in numbers.items():
                    self._rows.setdefault(name, []).append(row)
                    self._values.setdefault(name, []).append(value)
        self._size += len(pages)

    def columns(self, dtype: DTypeLike) -> dict[str, NDArray[Any]]:
        columns = {name: np.full(self._size, np.nan, dtype) for name in self._rows}
        for name, column in columns.items():
            column[self._rows[name]] = self._values[name]
        return columns


def load_records(connection: Connection, page_ids: Iterable[int]) -> list[PageRecord]:
    """Everything about some pages, in any order; pages that do not exist are left out."""
    return records_from(_select_records(connection, map(int, page_ids)))


def load_hosts(connection: Connection, only: str | None = None) -> list[HostRecord]:
    """What is kept about hosts, or about one; those of which only the name is known are left out."""
    is_special = (host.c.blocked_until > 0) | (host.c.failures > 0) | (host.c.audits > 0)
    query = select(host.c.name.label("host"), *list(host.c)[2:]).where(is_special)
    if only is not None:
        query = query.where(host.c.name == host_name(only))
    return [HostRecord(**row) for row in connection.execute(query).mappings()]


def has_host(connection: Connection, name: str) -> bool:
    """Whether anything is kept about a host."""
    return connection.scalar(select(number_of(host, host_name(name)))) is not None


def load_groups(connection: Connection, spider_name: str, beginning: str = "") -> dict[str, bytes]:
    """What was learned of the groups of a spider's pages whose names begin so, by the name of the group."""
    own = page_group.c.spider_id == number_of(spider, clean(spider_name))
    if beginning:
        own &= page_group.c.name.startswith(beginning, autoescape=True)
    rows = connection.execute(select(page_group.c.name, page_group.c.state).where(own))
    return {name: bytes(state) for name, state in rows}


def load_subscriptions(connection: Connection, spider_name: str) -> list[Subscription]:
    """What hubs were asked to send to the crawl of a spider."""
    columns = [column for column in subscription.c if column.name != "spider_id"]
    own = subscription.c.spider_id == number_of(spider, clean(spider_name))
    return [Subscription(**row) for row in connection.execute(select(*columns).where(own)).mappings()]


def load_states(connection: Connection) -> list[CrawlState]:
    """What the last crawl of every spider said about itself."""
    query = select(spider.c.name.label("spider"), *list(crawl.c)[1:]).join_from(
        crawl, spider, crawl.c.spider_id == spider.c.id
    )
    return [CrawlState(**row) for row in connection.execute(query.order_by(spider.c.name)).mappings()]


def spider_names(connection: Connection) -> list[str]:
    """All spiders that ever crawled with the database."""
    return list(connection.scalars(select(spider.c.name).order_by(spider.c.name)))


def page_count(connection: Connection, spider_name: str) -> int:
    """How many pages of a spider are known."""
    own = page.c.spider_id == number_of(spider, clean(spider_name))
    return connection.scalar(select(func.count()).select_from(page).where(own)) or 0


def next_page_id(connection: Connection, spider_id: int) -> int:
    """The lowest id that no page has, of the ids that belong to a spider."""
    first = (spider_id - 1) * PAGE_IDS_PER_SPIDER + 1
    own = page.c.page_id.between(first, first + PAGE_IDS_PER_SPIDER - 1)
    highest = connection.scalar(select(func.max(page.c.page_id)).where(own))
    return first if highest is None else highest + 1


def visits_of(condition: ColumnElement[bool]) -> CTE:
    """The visits of the pages for which a condition holds: from each one's last visit back, link by link.

    After the log was pruned a link may point to nothing, or to an id that was given out again; it then leads
    to another page or forwards.
    """
    is_last = (visit.c.id == page.c.last_visit_id) & (visit.c.page_id == page.c.page_id)
    chain = select(visit).join_from(page, visit, is_last).where(condition).cte("chain", recursive=True)
    is_same = (visit.c.id == chain.c.previous_id) & (visit.c.page_id == chain.c.page_id)
    return chain.union_all(select(visit).where(is_same, visit.c.id < chain.c.id))


def has_url(url: str) -> ColumnElement[bool]:
    """The condition that a page has exactly this URL, in the form that the index on URLs answers."""
    url = clean(url)
    # Concatenated, because from "url = x" SQLite would compute the start of it, and not use the index.
    return and_(url_start == url[:URL_INDEXED], page.c.url.concat("") == url)


def number_of(table: Table, name: str) -> ScalarSelect[int]:
    """The id of a host or a spider; NULL, which equals nothing, if there is none of that name."""
    return select(table.c.id).where(table.c.name == name).scalar_subquery()
