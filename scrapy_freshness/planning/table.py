"""The numbers of all known pages, as columns: about 45 bytes a page.

URLs, histories and sketches stay in the database and are read for the pages about to be visited.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import PageColumns, PageRecord, PageStatus
from scrapy_freshness.value.contract import Beliefs

_COLUMNS = {
    "page_id": np.int64,
    "host": np.int32,  #: index into `hosts`
    "status": np.uint8,
    "kind": np.uint8,
    "importance": np.float32,
    "first_factor": np.float32,  #: weight of the first visit, by the request's priority
    "change_rate": np.float32,
    "last_visit": np.float64,  #: unix seconds; nan if never visited
    "wake": np.float64,  #: when the page may be worth a crawl; see frontier.py
    "taken": np.bool_,  #: chosen for a visit that has not ended
    "resting": np.bool_,  #: not before `wake` in any case: failures, tombstones, suspended and moved pages
}


class PageTable:
    """Growing columns with one row a page; row numbers never change."""

    page_id: NDArray[np.int64]
    host: NDArray[np.int32]
    status: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    importance: NDArray[np.float32]
    first_factor: NDArray[np.float32]
    change_rate: NDArray[np.float32]
    last_visit: NDArray[np.float64]
    wake: NDArray[np.float64]
    taken: NDArray[np.bool_]
    resting: NDArray[np.bool_]

    def __init__(self) -> None:
        self.size = 0
        self.hosts: list[str] = []
        self._host_index: dict[str, int] = {}
        for name, dtype in _COLUMNS.items():
            setattr(self, name, np.empty(0, dtype))
        self._grow()

    def __len__(self) -> int:
        return self.size

    def load(self, pages: PageColumns, now: float) -> int:
        """Fill an empty table; returns how many pages claimed to have been visited in the future."""
        self.size = len(pages.page_id)
        for name, dtype in _COLUMNS.items():
            setattr(self, name, np.zeros(self.size, dtype))
        self._grow()
        self._set_hosts(pages.hosts)
        rows = slice(self.size)
        self.page_id[rows] = pages.page_id
        self.host[rows] = pages.host
        self.status[rows] = pages.status
        self.kind[rows] = pages.kind
        self.importance[rows] = pages.importance
        self.first_factor[rows] = priority_factor(pages.priority)
        self.change_rate[rows] = pages.change_rate
        self.last_visit[rows] = np.minimum(pages.last_visit_at, now)
        self.wake[rows] = pages.not_before
        self.resting[rows] = (pages.not_before > now) | (pages.status > PageStatus.ACTIVE)
        return int(np.count_nonzero(pages.last_visit_at > now))

    def add(self, record: PageRecord, change_rate: float, now: float) -> int:
        """Append a page that was just discovered; returns its row."""
        if self.size == self._room:
            self._grow()
        row = self.size
        self.size += 1
        self.page_id[row] = record.page_id
        self.host[row] = self._host_number(record.host)
        self.status[row] = record.status
        self.kind[row] = record.kind
        self.importance[row] = record.importance
        self.first_factor[row] = priority_factor(np.array(record.priority))
        self.change_rate[row] = change_rate
        self.last_visit[row] = np.nan
        self.wake[row] = now
        self.taken[row] = self.resting[row] = False
        return row

    def host_numbers(self, hosts: Iterable[str]) -> list[int]:
        """Numbers of those of these hosts that have pages."""
        return [self._host_index[host] for host in hosts if host in self._host_index]

    def beliefs(self, rows: NDArray[np.intp] | slice) -> Beliefs:
        """What is believed of the pages in these rows."""
        return Beliefs(self.importance[rows].astype(np.float64), self.change_rate[rows].astype(np.float64))

    def slices(self, length: int) -> Iterator[slice]:
        """Cut the rows into slices of at most *length*."""
        for start in range(0, self.size, length):
            yield slice(start, min(start + length, self.size))

    def _host_number(self, host: str) -> int:
        """Number of a host; a new one gets the next."""
        number = self._host_index.get(host)
        if number is None:
            number = self._host_index[host] = len(self.hosts)
            self.hosts.append(host)
        return number

    def _set_hosts(self, hosts: list[str]) -> None:
        self.hosts = list(hosts)
        self._host_index = {host: index for index, host in enumerate(self.hosts)}

    def _grow(self) -> None:
        """Copy the columns that are full into longer ones.

        Each gets another length, so that later no call has to copy them all. Memory that was not
        written to is not used yet.
        """
        for number, (name, dtype) in enumerate(_COLUMNS.items()):
            column = getattr(self, name)
            if len(column) == self.size:
                longer: NDArray[Any] = np.empty(int(self.size * (1.2 + number / 50)) + 256 + number, dtype)
                longer[: self.size] = column
                setattr(self, name, longer)
        self._room = min(len(getattr(self, name)) for name in _COLUMNS)


def priority_factor(priority: NDArray[np.int32]) -> NDArray[np.float64]:
    """How much more the first visit of each page is worth for its request's priority.

    >>> priority_factor(np.array([0, 100])).round(3)
    array([1.   , 2.718])
    """
    factor: NDArray[np.float64] = np.exp(np.clip(priority, -5000, 5000) / 100)
    return factor
