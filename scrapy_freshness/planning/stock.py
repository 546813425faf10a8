"""Pages on their way from the frontier to a visit: chosen, then waiting for their records, then ready.

Pages are chosen some at a time, and their records are asked for ahead, so that a visit can begin at once.
"""

import heapq
from collections.abc import Callable, Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.frontier import Frontier
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.ready import AT_ONCE, CROWD, FreeAt, ReadyPage, ReadyPages
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.value.contract import FloatArray

#: New pages that are put before the frontier's choice at once; more wait in the frontier.
_MAX_POOL = 10_000
#: One page in so many is kept ready, its record read ahead: that costs next to no freshness.
_LOOKAHEAD_SHARE = 500
#: One page in so many is chosen at a time, which costs hardly more than to choose one; at most so many.
_CHOSEN_SHARE, _MAX_CHOSEN = 60, 2_000


class Stock:
    """Keeps enough pages at hand, the best of those whose hosts may be asked.

    Parameters
    ----------
    settle : sends pages that were visited lately back to the frontier; False if there are none
    listen : hears signals that wait to be heard together
    """

    def __init__(
        self,
        table: PageTable,
        frontier: Frontier,
        hosts: Hosts,
        *,
        crawls_per_second: float,
        settle: Callable[[float], bool],
        listen: Callable[[], None],
    ) -> None:
        self._table = table
        self._frontier = frontier
        self._hosts = hosts
        self._most_ahead = max(1, 0.5 * crawls_per_second)
        self._settle = settle
        self._listen = listen
        self._pool: list[tuple[float, int]] = []  #: heap of (minus value, row)
        self._turn = 0  #: how often pages were chosen
        self._loading: dict[int, tuple[int, float]] = {}  #: page id -> row and value
        self._ready = ReadyPages()

    @property
    def has_room(self) -> bool:
        """Whether another page may be put before the frontier's choice."""
        return len(self._pool) < _MAX_POOL

    @property
    def is_stirring(self) -> bool:
        """Whether pages are on their way to become ready."""
        return bool(self._pool or self._loading)

    def __len__(self) -> int:
        return len(self._pool) + len(self._loading) + len(self._ready)

    def put(self, row: int, value: float) -> None:
        """Take a page out of the frontier, whatever is chosen there."""
        self._table.taken[row] = True
        self._table.wake[row] = np.inf
        heapq.heappush(self._pool, (-value, row))

    def hurry(self, row: int) -> bool:
        """Let a page that was chosen come before all others; False if it is not here."""
        page_id = int(self._table.page_id[row])
        if page_id in self._loading:
            self._loading[page_id] = row, np.inf
            return True
        for number, (_, pooled) in enumerate(self._pool):
            if pooled == row:
                self._pool[number] = -np.inf, row
                heapq.heapify(self._pool)
                return True
        return self._ready.hurry(row, self._table.hosts[self._table.host[row]])

    def join(self, rows: NDArray[np.intp], values: FloatArray, now: float) -> None:
        """Let pages take the places of those that were chosen before and are worth less."""
        best_first = np.argsort(-values, kind="stable")
        for row, value in zip(rows[best_first].tolist(), values[best_first].tolist(), strict=True):
            least = max(self._pool, default=(-np.inf, row))
            if value <= -least[0]:
                return  # nor is any that follows
            if not self._table.taken[row]:
                self._pool.remove(least)
                heapq.heapify(self._pool)
                self._frontier.rouse(least[1], now)
                self.put(row, value)

    def wanted(self, now: float, urgent: Collection[int]) -> list[int]:
        """Ids of pages whose records are needed now; rows in *urgent* even if their host is crowded.

        None as long as half of the pages that should be at hand are: records are read in batches.
        """
        lookahead = self._lookahead
        missing = lookahead - self._ready.available() - len(self._loading)
        chosen: list[int] = []
        crowded: list[int] = []
        if 2 * missing <= lookahead:
            return chosen
        while missing > len(chosen):
            if not self._pool and not self.refill(now):
                break
            value, row = heapq.heappop(self._pool)
            if row not in urgent and self._is_crowded(row):
                crowded.append(row)
                continue
            page_id = int(self._table.page_id[row])
            self._loading[page_id] = row, -value
            chosen.append(page_id)
        if crowded:
            self._frontier.release(np.array(crowded), now)
        return chosen

    def supply(self, page_ids: Iterable[int], records: Iterable[PageRecord]) -> list[int]:
        """Take in the records of pages that were wanted; returns the rows of those that have none."""
        found = {record.page_id: record for record in records}
        missing: list[int] = []
        for page_id in page_ids:
            row, value = self._loading.pop(page_id)
            record = found.get(page_id)
            if record is None:
                missing.append(row)
            else:
                turn = AT_ONCE if value == np.inf else self._turn
                self._ready.add(ReadyPage(turn, -value, row, record))
        return missing

    def give_up(self, page_ids: Iterable[int]) -> list[int]:
        """Records that were wanted cannot be had; returns the rows of their pages."""
        return [self._loading.pop(page_id)[0] for page_id in page_ids]

    def take(self, now: float, free_at: FreeAt) -> ReadyPage | None:
        """Remove and return the first page whose host is free, None if there is none."""
        return self._ready.take(now, lambda host, at: max(free_at(host, at), self._hosts.blocked_until(host)))

    def host_freed(self, host: str) -> None:
        """A host that was busy has got room."""
        self._ready.freed(host)

    def next_at(self, now: float) -> float:
        """When a page may be ready, or be chosen, again."""
        next_wake = self._frontier.next_wake(now, self._full_hosts(now))
        return min(self._ready.next_at(now), next_wake, self._hosts.next_unblocked(now))

    def refill(self, now: float) -> bool:
        """Choose the best pages; False if there are none."""
        self._listen()
        at_hand = 2 * CROWD * len(self._table.hosts)  # more would only be given back
        # A few sources may be worth more, over and over, than all pages: then none is chosen ahead.
        share = 0 if self._table.fades else len(self._table) // _CHOSEN_SHARE
        count = min(max(self._lookahead, share), _MAX_CHOSEN, max(at_hand, 1))
        full_hosts = self._full_hosts(now)
        rows, values = self._frontier.take_best(now, count, full_hosts)
        if not len(rows) and self._settle(now):
            rows, values = self._frontier.take_best(now, count, full_hosts)
        self._turn += 1
        self._pool = list(zip((-values).tolist(), rows.tolist(), strict=True))
        return bool(self._pool)

    @property
    def _lookahead(self) -> int:
        """Pages kept ready: half a second's worth, but few enough to choose them by their present value."""
        return int(min(self._most_ahead, max(1, len(self._table) / _LOOKAHEAD_SHARE)))

    def _full_hosts(self, now: float) -> NDArray[np.bool_]:
        """By the host's number: whether more pages of it need not be chosen."""
        full = np.zeros(len(self._table.hosts), np.bool_)
        if numbers := self._table.host_numbers((*self._ready.crowded_hosts(), *self._hosts.blocked(now))):
            full[numbers] = True
        return full

    def _is_crowded(self, row: int) -> bool:
        return self._ready.is_crowded(self._table.hosts[self._table.host[row]])
