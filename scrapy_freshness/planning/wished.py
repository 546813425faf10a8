"""What the spider and people ask of single pages, whatever those are worth: visits next, pinned intervals."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np

from scrapy_freshness.model import UNSEEN, PageKind, PageRecord, PageStatus
from scrapy_freshness.planning.after_visit import renewed_record
from scrapy_freshness.planning.frontier import Frontier
from scrapy_freshness.planning.stock import Stock
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.planning.visits import Visit


class WishedPages:
    """Puts pages that are asked for before all others, and remembers with which request and how often.

    Parameters
    ----------
    open_visits : row -> visit, of those that are under way
    settle : sends pages that were visited lately back to the frontier
    of_kind : the record of a page that is fetched for something else from now on
    """

    def __init__(
        self,
        table: PageTable,
        frontier: Frontier,
        stock: Stock,
        open_visits: Mapping[int, Visit],
        *,
        settle: Callable[[float], bool],
        of_kind: Callable[[PageRecord, PageKind], PageRecord],
    ) -> None:
        self._table = table
        self._frontier = frontier
        self._stock = stock
        self._open = open_visits
        self._settle = settle
        self._of_kind = of_kind
        #: Row -> request that replaces the stored one, and what the page is fetched for, if that is said.
        self._renewed: dict[int, tuple[str | None, PageKind | None]] = {}
        self._once_more: set[int] = set()  #: rows to visit again when their visits have ended
        self._asked: set[int] = set()  #: rows to visit next, even if pages of their host wait already

    def ask_for(self, row: int, request: str | None, kind: PageKind | None = None) -> None:
        """Visit a known page next, with a request that replaces the one it is stored with.

        A page whose visit is under way is not visited once more, but later with the new request; except if
        the spider does not get to see it by that visit.
        """
        self._renewed[row] = request, kind
        if row in self._open and self._open[row].record.request == UNSEEN:
            self._once_more.add(row)
        if not self._table.taken[row]:
            self._stock.put(row, float("inf"))

    def visit_next(self, row: int, now: float) -> bool:
        """Visit a known page next, whatever it is worth; False if nobody can process it.

        A page whose visit is under way is visited once more: that may have seen it as it was before.
        """
        if self._table.status[row] == PageStatus.SUSPENDED:
            return False
        if row in self._open:
            self._once_more.add(row)
            return True
        if self._table.taken[row]:
            self._settle(now)  # its visit may have ended just now
        if not self._table.taken[row]:
            self._stock.put(row, float("inf"))
            self._asked.add(row)
        elif self._stock.hurry(row):
            self._asked.add(row)
        return True

    def visit_if_rested(self, row: int, now: float) -> bool:
        """Visit a known page next; False if it is to be left alone yet, or will be visited anyway."""
        if row in self._open or row in self._asked or row in self._renewed:
            return False
        table = self._table
        if table.resting[row] and not table.taken[row] and table.wake[row] > now:
            return False
        return self.visit_next(row, now)

    def pin(self, row: int, seconds: float | None, now: float) -> None:
        """Visit a known page at this interval from now on, whatever it is worth; None: by its value again."""
        self._table.pin(row, np.nan if seconds is None else seconds)
        if not (self._table.taken[row] or self._table.resting[row]):
            self._frontier.release(np.array([row]), now)

    def forget(self, row: int) -> None:
        """Nothing is asked of a page any more."""
        self._renewed.pop(row, None)
        self._asked.discard(row)
        self._once_more.discard(row)

    @property
    def urgent(self) -> Collection[int]:
        """Rows that are asked for and whose visits have not begun."""
        return self._asked | self._renewed.keys() if self._asked else self._renewed

    def is_renewed(self, row: int) -> bool:
        """Whether a page is asked for with another request than it is stored with."""
        return row in self._renewed

    def begin(self, row: int, record: PageRecord, now: float) -> PageRecord:
        """The visit of a page begins; returns its record, another one if the spider has asked for it anew."""
        self._asked.discard(row)
        if row not in self._renewed:
            return record
        request, kind = self._renewed.pop(row)
        renewed = self._taken_over(row, renewed_record(record, request), kind, now)
        return record if renewed == record else renewed

    def describe(self, visit: Visit, request: str | None, kind: PageKind | None) -> None:
        """A visit that begins is made with this request, and for this, if that is said."""
        record = replace(visit.record, request=request)
        visit.record = self._taken_over(visit.row, record, kind, visit.opened_at)

    def end(self, row: int, now: float) -> None:
        """The visit of a page has ended; perhaps it was asked for again meanwhile."""
        if row in self._once_more:
            self._once_more.discard(row)
            self.visit_next(row, now)

    def _taken_over(self, row: int, record: PageRecord, kind: PageKind | None, now: float) -> PageRecord:
        """Plan with a record from now on; returns that of the kind which is said, if any is."""
        if kind is not None and kind is not record.kind:
            record = self._of_kind(record, kind)
            self._table.believe(row, record.beliefs)
        self._table.status[row] = record.status
        self._table.set_kind(row, record.kind, now)
        self._table.importance[row] = record.importance
        return record
