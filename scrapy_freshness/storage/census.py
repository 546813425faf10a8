"""All pages of a spider in memory, for the dashboard: read once, then kept up to date with little reading.

What has changed since the last look is known from the log of visits, whose ids grow, and from the ids of
pages, which grow too. Ids of one spider, that is: its crawl writes one batch after the other, while a batch
of another crawl may have got its ids before and be written later. Addresses are bytes in a row, a line each,
so that a search goes through them at once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sqlalchemy import Connection, Select, select

from scrapy_freshness.model import PageColumns
from scrapy_freshness.storage.bulk import BulkSelect
from scrapy_freshness.storage.reading import CHUNK, COLUMNS, SparseColumns, number_of
from scrapy_freshness.storage.rows import beliefs_from, clean
from scrapy_freshness.storage.schema import PAGE_IDS_PER_SPIDER, host, page, spider, visit
from scrapy_freshness.storage.store import Store

_MORE: dict[str, DTypeLike] = {
    "visits": np.int64,
    "changes": np.int64,
    "http_status": np.float32,  # nan before the first answer
    "last_change_at": np.float64,
    "change_rate_low": np.float32,
    "change_rate_high": np.float32,
    "pinned_seconds": np.float64,  # nan where it is not pinned
}
_ALL = COLUMNS | _MORE
_query = select(*(page.c[name] for name in _ALL), page.c.url, page.c.beliefs, page.c.last_visit_id)
_select_pages = BulkSelect(_query, page.c.page_id)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Census:
    """The numbers and addresses of all pages of a spider, in the order of their ids."""

    spider: str
    hosts: list[str]
    columns: dict[str, NDArray[Any]]  #: by name, one element a page; "host" is an index into `hosts`
    beliefs: dict[str, NDArray[np.float32]]
    urls: bytes  #: a line each
    url_starts: NDArray[np.int64]  #: where each line begins, and where the last one ends
    last_visit_id: int  #: visits of the spider up to this one are in it

    def __len__(self) -> int:
        return len(self.columns["page_id"])

    def url(self, row: int) -> bytes:
        """The address of a page, on one line."""
        return self.urls[self.url_starts[row] : self.url_starts[row + 1] - 1]

    def planning_columns(self) -> PageColumns:
        """What a policy looks at."""
        chosen = {name: self.columns[name] for name in COLUMNS if name != "host_id"}
        pinned = self.columns["pinned_seconds"]
        return PageColumns(
            hosts=self.hosts,
            host=self.columns["host"],
            beliefs=self.beliefs,
            pinned_seconds=None if np.isnan(pinned).all() else pinned,
            **chosen,
        )


def take_census(store: Store, spider_name: str, go_on: Callable[[], object] = lambda: None) -> Census:
    """Read all pages of a spider; *go_on* is called now and then, and may raise an error to end it."""
    own = page.c.spider_id == number_of(spider, clean(spider_name))
    with store.reading() as connection:
        part = _Part()
        query = _query.where(own).execution_options(yield_per=CHUNK)
        with connection.execute(query) as result:
            for rows in result.partitions():
                go_on()
                part.add(rows)
        hosts = _host_names(connection)
    return part.census(spider_name, hosts)


def brought_up_to_date(store: Store, census: Census) -> Census:
    """The census with the pages that were visited or found since."""
    with store.reading() as connection:
        own = page.c.spider_id == number_of(spider, clean(census.spider))
        visited = select(visit.c.page_id).join(page, page.c.page_id == visit.c.page_id)
        visited = visited.where(visit.c.id > census.last_visit_id, own).distinct()
        changed = [number for number in connection.scalars(visited) if census_has(census, number)]
        part = _Part()
        part.add(_select_pages(connection, changed))
        part.add(connection.execute(_found_since(connection, census)).all())
        if not len(part):
            return census
        hosts = _host_names(connection)
    return _merged(census, part.census(census.spider, hosts))


def census_has(census: Census, page_id: int) -> bool:
    """Whether a page is in the census."""
    return row_of(census, page_id) is not None


def row_of(census: Census, page_id: int) -> int | None:
    """Where a page is in the census."""
    ids = census.columns["page_id"]
    row = int(np.searchsorted(ids, page_id))
    return row if row < len(ids) and ids[row] == page_id else None


def _found_since(connection: Connection, census: Census) -> Select[Any]:
    number = connection.scalar(select(spider.c.id).where(spider.c.name == clean(census.spider))) or 0
    first = (number - 1) * PAGE_IDS_PER_SPIDER + 1
    newest = int(census.columns["page_id"][-1]) if len(census) else first - 1
    # Ids of adopted pages are another spider's; what is found after that is in the next full census.
    last = max(first, newest // PAGE_IDS_PER_SPIDER * PAGE_IDS_PER_SPIDER + 1) + PAGE_IDS_PER_SPIDER - 1
    own = page.c.spider_id == number
    return _query.where(own, page.c.page_id.between(newest + 1, last)).order_by(page.c.page_id)


def _host_names(connection: Connection) -> dict[int, str]:
    return {row.id: row.name for row in connection.execute(select(host.c.id, host.c.name))}


class _Part:
    """Pages on their way from rows to columns; never more than a chunk of them as Python objects."""

    def __init__(self) -> None:
        self._chunks: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, t)] for name, t in _ALL.items()}
        self._beliefs = SparseColumns()
        self._urls: list[bytes] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._last_visit_id = 0

    def __len__(self) -> int:
        return sum(map(len, self._chunks["page_id"]))

    def add(self, rows: Iterable[Any]) -> None:
        rows = list(rows)
        if not rows:
            return
        *numbers, urls, beliefs, visits = zip(*rows, strict=True)
        self._last_visit_id = max(self._last_visit_id, *(visit_id or 0 for visit_id in visits))
        with np.errstate(over="ignore"):
            for (name, dtype), values in zip(_ALL.items(), numbers, strict=True):
                self._chunks[name].append(np.array(values, dtype))
        self._beliefs.add([None if text is None else beliefs_from(text) for text in beliefs])
        lines = [url.replace("\n", "%0A").encode("utf-8", "replace") for url in urls]
        self._lengths.append(np.array([len(line) + 1 for line in lines], np.int64))
        self._urls.append(b"\n".join(lines) + b"\n")

    def census(self, spider_name: str, hosts: dict[int, str]) -> Census:
        columns = {name: np.concatenate(chunks) for name, chunks in self._chunks.items()}
        numbers = np.array(sorted(hosts), np.int64)
        columns["host"] = np.searchsorted(numbers, columns.pop("host_id")).astype(np.int32)
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        found = Census(
            spider=spider_name,
            hosts=[hosts[number] for number in numbers.tolist()],
            columns=columns,
            beliefs=self._beliefs.columns(np.float32),
            urls=b"".join(self._urls),
            url_starts=np.cumsum(lengths),
            last_visit_id=self._last_visit_id,
        )
        ids = columns["page_id"]
        return found if (ids[1:] > ids[:-1]).all() else _sorted(found)


def _sorted(census: Census) -> Census:
    order = np.argsort(census.columns["page_id"], kind="stable")
    lines = [census.url(row) for row in order.tolist()]
    lengths = np.array([0, *(len(line) + 1 for line in lines)], np.int64)
    return Census(
        spider=census.spider,
        hosts=census.hosts,
        columns={name: column[order] for name, column in census.columns.items()},
        beliefs={name: column[order] for name, column in census.beliefs.items()},
        urls=b"".join(line + b"\n" for line in lines),
        url_starts=np.cumsum(lengths),
        last_visit_id=census.last_visit_id,
    )


def _merged(old: Census, new: Census) -> Census:
    """Both together; where they have the same page, the new one counts. Hosts may only have become more."""
    ids, places = old.columns["page_id"], np.searchsorted(old.columns["page_id"], new.columns["page_id"])
    known = places < len(ids)
    known[known] = ids[places[known]] == new.columns["page_id"][known]
    more = int(np.count_nonzero(~known))
    columns = {}
    for name, column in old.columns.items():
        grown = np.concatenate([column, new.columns[name][~known]])
        grown[places[known]] = new.columns[name][known]
        columns[name] = grown
    if old.hosts != new.hosts:  # the numbers of hosts only grow, but their places are those of their numbers
        place_of = {name: place for place, name in enumerate(new.hosts)}
        moved = np.array([place_of.get(name, 0) for name in old.hosts], np.int32)
        fresh = columns["host"].copy()
        is_old = np.ones(len(fresh), np.bool_)
        is_old[places[known]] = False
        is_old[len(ids) :] = False
        fresh[is_old] = moved[fresh[is_old]]
        columns["host"] = fresh
    beliefs = {}
    for name in old.beliefs.keys() | new.beliefs.keys():
        unknown = np.full(len(old), np.nan, np.float32), np.full(len(new), np.nan, np.float32)
        before, after = old.beliefs.get(name, unknown[0]), new.beliefs.get(name, unknown[1])
        grown = np.concatenate([before, after[~known]])
        grown[places[known]] = after[known]
        beliefs[name] = grown
    urls, starts = old.urls, old.url_starts
    if more:
        lines = [new.url(row) for row in np.flatnonzero(~known).tolist()]
        lengths = np.array([len(line) + 1 for line in lines], np.int64)
        urls = old.urls + b"".join(line + b"\n" for line in lines)
        starts = np.concatenate([old.url_starts, old.url_starts[-1] + np.cumsum(lengths)])
    return Census(
        spider=old.spider,
        hosts=new.hosts,
        columns=columns,
        beliefs=beliefs,
        urls=urls,
        url_starts=starts,
        last_visit_id=max(old.last_visit_id, new.last_visit_id),
    )
