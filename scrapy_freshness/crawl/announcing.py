"""URLs that others say have changed: known pages get a signal, others are counted."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scrapy import Request
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import call_later

from scrapy_freshness.model import SignalSource
from scrapy_freshness.planning.planner import Planner

#: URLs that are looked up at once; more would hold up the crawl.
_AT_ONCE = 200


class Announced(NamedTuple):
    """A URL that is said to have changed."""

    url: str
    claimed_at: float | None  #: when, as far as it was said


class Announcements:
    """Attributes announcements to pages."""

    def __init__(
        self, planner: Planner, fingerprint: Callable[[Request], int], stats: StatsCollector
    ) -> None:
        self._planner = planner
        self._fingerprint = fingerprint
        self._stats = stats

    def take(
        self, entries: Sequence[Announced], source: SignalSource, *, told_by: int | None, now: float
    ) -> None:
        """Signal the pages among these that are known and were not seen since; some at a time."""
        some, rest = entries[:_AT_ONCE], entries[_AT_ONCE:]
        rows = []
        for entry in some:
            row = self._planner.row_of(self._fingerprint(Request(entry.url)))
            if row is None:
                self._stats.inc_value("freshness/announced_unknown")
                continue
            seen_at = self._planner.last_visit_of(row)
            if entry.claimed_at is None or seen_at is None or entry.claimed_at > seen_at:
                rows.append(row)
        if rows:
            self._stats.inc_value("freshness/announced", len(rows))
            self._planner.signal(np.array(rows, np.intp), now, source)
        if rest:
            call_later(0, lambda: self.take(rest, source, told_by=told_by, now=now))
