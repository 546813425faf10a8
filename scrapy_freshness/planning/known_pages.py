"""Which pages are known, and where do they stand?  Pages have rows; a forgotten page is not found."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import PageKind, PageStatus
from scrapy_freshness.planning.fingerprints import FingerprintIndex
from scrapy_freshness.planning.table import PageTable

_UNASKED = int(PageKind.UNASKED)
#: Share of the known pages.
_MANY_NEW = 0.05


class KnownPages:
    """Finds the rows of pages in the table, and reads off it what others want to know of them."""

    def __init__(self, table: PageTable) -> None:
        self._table = table
        self._index = FingerprintIndex()
        self._forgotten: set[int] = set()  #: rows of pages whose records are gone
        self._count: list[int] = []  #: how many pages of each host are known, by its number

    def fill(self, fingerprints: NDArray[np.int64]) -> None:
        """Know the pages of a table that was just loaded, by row."""
        self._index.fill(fingerprints)
        self._count = np.bincount(self._table.host[: len(self._table)]).tolist()

    def add(self, fingerprint: int, row: int) -> None:
        """Know a page; one that was forgotten gets another row."""
        self._index.add(fingerprint, row)
        host = int(self._table.host[row])
        self._count.extend([0] * (host + 1 - len(self._count)))
        self._count[host] += 1

    def forget(self, row: int) -> None:
        """Do not find a page any more."""
        if row not in self._forgotten:
            self._forgotten.add(row)
            self._count[self._table.host[row]] -= 1

    def is_forgotten(self, row: int) -> bool:
        """Whether the page of a row is known no more."""
        return row in self._forgotten

    def row_of(self, fingerprint: int) -> int | None:
        """Row of a known page, None if the page is not known."""
        row = self._index.get(fingerprint)
        return None if row in self._forgotten else row

    def rows_of(self, page_ids: Iterable[int]) -> list[int]:
        """Rows of known pages, in any order; those of pages that are forgotten are left out."""
        wanted = np.array(list(page_ids), np.int64)
        if not len(wanted):
            return []
        rows = np.flatnonzero(np.isin(self._table.page_id[: len(self._table)], wanted))
        return [row for row in rows.tolist() if row not in self._forgotten]

    def rows_of_host(self, host: str) -> list[int]:
        """Rows of all known pages of a host."""
        numbers = self._table.host_numbers([host])
        if not numbers:
            return []
        rows = np.flatnonzero(self._table.host[: len(self._table)] == numbers[0])
        return [row for row in rows.tolist() if row not in self._forgotten]

    def status_of(self, row: int) -> PageStatus:
        """Where a known page stands."""
        return PageStatus(int(self._table.status[row]))

    def page_id_of(self, row: int) -> int:
        """Id of a known page."""
        return int(self._table.page_id[row])

    def is_polled(self, row: int) -> bool:
        """Whether a known page is fetched for what it says about others."""
        return PageKind(int(self._table.kind[row])).is_polled

    def is_unasked(self, row: int) -> bool:
        """Whether a known page is fetched although no callback takes it."""
        return int(self._table.kind[row]) == _UNASKED

    def last_visit_of(self, row: int) -> float | None:
        """When a known page was seen last, None if never."""
        at = float(self._table.last_visit[row])
        return None if np.isnan(at) else at

    def knows_host(self, host: str) -> bool:
        """Whether there are pages of a host (a download slot)."""
        return bool(self._table.host_numbers([host]))

    def count_pages(self, host: str) -> int:
        """How many pages of a host are known."""
        numbers = self._table.host_numbers([host])
        return self._count[numbers[0]] if numbers else 0

    @property
    def has_many_new(self) -> bool:
        """Whether so many pages wait for their first visits that these take most of the budget."""
        return bool(np.count_nonzero(self._table.waits_for_first_visit()) > _MANY_NEW * len(self._table))

    def pages_by_status(self) -> dict[PageStatus, int]:
        """How many pages stand where; those that were forgotten are suspended."""
        counts = np.bincount(self._table.status[: len(self._table)], minlength=len(PageStatus)).tolist()
        counts[PageStatus.SUSPENDED] -= len(self._forgotten)
        return dict(zip(PageStatus, counts, strict=True))
