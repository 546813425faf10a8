"""Pages whose records are at hand, waiting for their host: the first of a host that is free comes first.

What was chosen earlier comes earlier, and of what was chosen together the best. The values of pages that wait
grow, and those of the pages that are chosen later are larger for that alone: by value, a page that once had
to wait would wait for ever.
"""

import heapq
import math
from collections.abc import Callable
from typing import NamedTuple

from scrapy_freshness.model import PageRecord

#: Ready pages of a busy host that are enough.
CROWD = 8

#: When the next request to a host may start; the time asked about, or earlier, means at once.
FreeAt = Callable[[str, float], float]


#: Turn and rank of a page.
Place = tuple[int, float]
#: The turn of pages that are not to wait for others.
AT_ONCE = -1


class ReadyPage(NamedTuple):
    """A page that could be visited as soon as its host is free; pages sort by turn, then best first."""

    turn: int  #: with which choice it came
    rank: float  #: minus the value
    row: int
    record: PageRecord

    @property
    def value(self) -> float:
        return -self.rank

    @property
    def place(self) -> Place:
        """Where it stands among all pages."""
        return self.turn, self.rank


class ReadyPages:
    """Heaps of ready pages, one a host, and the hosts by their first page."""

    def __init__(self) -> None:
        self._pages: dict[str, list[ReadyPage]] = {}
        self._free: list[tuple[Place, str]] = []  #: heap of (place of first page, host); may be out of date
        self._waiting: list[tuple[float, str]] = []  #: heap of (time to look again, host); may be out of date
        self._look_at: dict[str, float] = {}  #: host that is busy -> time to look again
        self._size = 0
        self._size_waiting = 0  #: pages of hosts that wait

    def __len__(self) -> int:
        return self._size

    def available(self) -> int:
        """How many pages belong to hosts that are not known to be busy."""
        return self._size - self._size_waiting

    def is_crowded(self, host: str) -> bool:
        """Whether a busy host has so many ready pages that more of them need not be chosen."""
        return host in self._look_at and len(self._pages[host]) >= CROWD

    def crowded_hosts(self) -> list[str]:
        """All hosts that are crowded."""
        return [host for host in self._look_at if len(self._pages[host]) >= CROWD]

    def add(self, page: ReadyPage) -> None:
        host = page.record.host
        pages = self._pages.setdefault(host, [])
        heapq.heappush(pages, page)
        self._size += 1
        if host in self._look_at:
            self._size_waiting += 1
        elif pages[0] is page:
            heapq.heappush(self._free, (page.place, host))

    def hurry(self, row: int, host: str) -> bool:
        """Let a page come before all that are not in a hurry; False if it is not here."""
        pages = self._pages.get(host, [])
        for number, page in enumerate(pages):
            if page.row == row:
                pages[number] = page._replace(turn=AT_ONCE, rank=-math.inf)
                heapq.heapify(pages)
                heapq.heappush(self._free, (pages[0].place, host))
                return True
        return False

    def take(self, now: float, free_at: FreeAt) -> ReadyPage | None:
        """Remove and return the first page whose host is free, None if there is none."""
        self._end_waits(now)
        while self._free:
            place, host = heapq.heappop(self._free)
            pages = self._pages.get(host)
            if not pages or pages[0].place != place or host in self._look_at:
                continue
            free = free_at(host, now)
            if free > now:
                heapq.heappush(self._waiting, (free, host))
                self._look_at[host] = free
                self._size_waiting += len(pages)
                continue
            page = heapq.heappop(pages)
            self._size -= 1
            if pages:
                heapq.heappush(self._free, (pages[0].place, host))
            else:
                del self._pages[host]
            return page
        return None

    def freed(self, host: str) -> None:
        """A host that was busy has got room: it is looked at again before its time."""
        if host in self._look_at:
            self._end_wait(host)

    def next_at(self, now: float) -> float:
        """When `take` may find a page again; inf if nothing is ready."""
        if self.available():
            return now
        self._drop_ended()
        return self._waiting[0][0] if self._waiting else float("inf")

    def _end_waits(self, now: float) -> None:
        while self._waiting and self._waiting[0][0] <= now:
            until, host = heapq.heappop(self._waiting)
            if self._look_at.get(host) == until:
                self._end_wait(host)

    def _end_wait(self, host: str) -> None:
        del self._look_at[host]
        pages = self._pages[host]
        self._size_waiting -= len(pages)
        heapq.heappush(self._free, (pages[0].place, host))

    def _drop_ended(self) -> None:
        """Remove what is out of date from the head of the heap of hosts that wait."""
        while self._waiting and self._look_at.get(self._waiting[0][1]) != self._waiting[0][0]:
            heapq.heappop(self._waiting)
