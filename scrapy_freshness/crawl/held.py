"""Requests that wait for their host: retries, redirects, and untracked requests from the plain scheduler."""

import heapq
from collections import deque
from collections.abc import Iterator
from math import inf

from scrapy import Request

from scrapy_freshness.crawl.slots import DownloadSlots, slot_of
from scrapy_freshness.crawl.visiting import META_KEY, visit_of
from scrapy_freshness.planning.hosts import Hosts

#: Requests to hosts that are busy for the moment, at the most; more stay with the plain scheduler.
_MAX_BUSY = 64
#: Requests to hosts in their back-off that are taken from a queue on the disk, at the most: some 3 kB of
#: memory each. More stay there.
MAX_FROM_DISK = 10_000


class HeldRequests:
    """Serves requests in the order in which they came, as far as their hosts are free.

    A host may be in its back-off for an hour, so its requests are set aside, and those of other hosts pass
    them: as long as there are not so many that they are better left on the disk.
    """

    def __init__(self, slots: DownloadSlots, hosts: Hosts, *, max_aside: float = inf) -> None:
        self._max_aside = max_aside
        self._slots = slots
        self._hosts = hosts
        self._busy: deque[Request] = deque()
        self._aside: dict[str, deque[Request]] = {}  #: by slot
        self._ends: list[tuple[float, str]] = []  #: heap of when each of these slots may be free
        self._n_aside = 0

    def __len__(self) -> int:
        return len(self._busy) + self._n_aside

    def __iter__(self) -> Iterator[Request]:
        yield from self._busy
        for requests in self._aside.values():
            yield from requests

    @property
    def has_room(self) -> bool:
        """Whether more untracked requests may be added."""
        return len(self._busy) < _MAX_BUSY and self._n_aside < self._max_aside

    def free_at(self, slot: str, now: float) -> float:
        """When the next request to a slot may start; *now* or earlier means at once."""
        return max(self._slots.free_at(slot, now), self._hosts.blocked_until(slot))

    def add(self, request: Request, now: float) -> None:
        slot = slot_of(request)
        if self._hosts.blocked_until(slot) > now:
            if slot not in self._aside:
                self._aside[slot] = deque()
                heapq.heappush(self._ends, (self.free_at(slot, now), slot))
            self._aside[slot].append(request)
            self._n_aside += 1
        else:
            self._busy.append(request)

    def take(self, now: float) -> Request | None:
        """Remove and return a request whose host is free, None if there is none."""
        for _ in range(len(self._busy)):
            request = self._busy.popleft()
            if _has_ended(request):
                continue
            if self.free_at(slot_of(request), now) <= now:
                return request
            self.add(request, now)
        return self._take_aside(now)

    def next_at(self, now: float) -> float:
        """When `take` may return something; inf if nothing is held."""
        times = [self.free_at(slot, now) for slot in {slot_of(request) for request in self._busy}]
        while self._ends and self._ends[0][1] not in self._aside:
            heapq.heappop(self._ends)
        return min((*times, *(at for at, _ in self._ends[:1])), default=inf)

    def _take_aside(self, now: float) -> Request | None:
        """A request to a host whose back-off is over: those are looked at that should be, and one in turn."""
        if self._aside:  # a back-off may end sooner than it was meant to
            slot = next(iter(self._aside))
            self._aside[slot] = self._aside.pop(slot)
            if self.free_at(slot, now) <= now and (request := self._first_of(slot)):
                return request
        while self._ends and self._ends[0][0] <= now:
            _, slot = heapq.heappop(self._ends)
            if slot not in self._aside:
                continue
            request = self._first_of(slot) if self.free_at(slot, now) <= now else None
            if slot in self._aside:
                heapq.heappush(self._ends, (self.free_at(slot, now), slot))
            if request is not None:
                return request
        return None

    def _first_of(self, slot: str) -> Request | None:
        """Remove and return the first request set aside for a slot that is still wanted."""
        requests = self._aside[slot]
        first: Request | None = None
        while requests and first is None:
            request = requests.popleft()
            self._n_aside -= 1
            first = None if _has_ended(request) else request
        if not requests:
            del self._aside[slot]
        return first


def _has_ended(request: Request) -> bool:
    """Whether a request belongs to a visit that was closed while it waited."""
    return META_KEY in request.meta and visit_of(request) is None
