"""The planner: knows all pages as numbers, opens the visit that is worth most, learns from its end.

A page goes round like this::

    discover -> [asleep in the frontier] -> pool -> wanted -> supply -> ready -> begin_visit
                         ^                                                          |
                         +---------------- settle <----- end_visit <----------------+

The planner does no I/O and never looks at a clock: records are asked for through `wanted` and handed
in through `supply`; the time is an argument.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.model import Outcome, PageColumns, PageRecord, PageStatus, VisitRecord
from scrapy_freshness.pacing.budget import price_for_rate
from scrapy_freshness.planning.fingerprints import FingerprintIndex
from scrapy_freshness.planning.frontier import Frontier
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.policy import Policy
from scrapy_freshness.planning.ready import CROWD, FreeAt, ReadyPage, ReadyPages
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.planning.visits import Report, Upkeep, Visit, updated_record, visit_record

#: Estimates change rates from the histories of some pages.
Estimator = Callable[[Sequence[bytes]], RateEstimate]

#: New pages that are put before the frontier's choice at once; more wait in the frontier.
_MAX_POOL = 10_000
#: Pages chosen at a time, at the most.
_MAX_CHOSEN = 2_000
#: Pages from which the price of a crawl is computed at the start.
_PRICE_SAMPLE = 5_000


class Planner:
    """Chooses visits by value, politely, over all known pages of one crawl."""

    def __init__(
        self,
        policy: Policy,
        hosts: Hosts,
        estimator: Estimator,
        *,
        upkeep: Upkeep | None = None,
        crawls_per_second: float = 1.0,
        min_interval: float = 0.0,
    ) -> None:
        self.hosts = hosts
        self.policy = policy
        self._estimate = estimator
        self._upkeep = upkeep or Upkeep()
        self._crawls_per_second = crawls_per_second
        self._min_interval = min_interval
        self._prior_rate = float(estimator([b""]).rate[0])
        self._table = PageTable()
        self._index = FingerprintIndex()
        self._frontier = Frontier(self._table, policy.model, policy.pacing.floor, min_interval)
        self._pool: list[tuple[float, int]] = []  #: heap of (minus value, row)
        self._loading: dict[int, tuple[int, float]] = {}  #: page id -> row and value
        self._renewed: dict[int, str | None] = {}  #: row -> request that replaces the stored one
        self._forgotten: set[int] = set()  #: rows of pages whose records are gone
        self._ready = ReadyPages()
        self._open: dict[int, Visit] = {}  #: row -> visit
        self._closed: list[tuple[int, PageRecord]] = []  #: rows and records whose rates are not settled
        self._updates: dict[int, PageRecord] = {}
        self._log: list[VisitRecord] = []
        self._next_page_id = 1
        self._once = False

    def __len__(self) -> int:
        return len(self._table)

    @property
    def price(self) -> float:
        """Mean value of the visits opened lately: what a page must be worth to be next."""
        return self._frontier.price

    @property
    def open_visits(self) -> list[Visit]:
        """Visits that have begun and not ended."""
        return list(self._open.values())

    def load(self, pages: PageColumns, next_page_id: int, now: float) -> int:
        """Take over all pages known from earlier; returns how many had times in the future.

        `start` must follow.
        """
        in_future = self._table.load(pages, now)
        rates = self._table.change_rate[: len(self._table)]
        rates[rates <= 0] = self._prior_rate
        self._index.fill(pages.fingerprint)
        self._next_page_id = next_page_id
        return in_future

    def start(self, now: float, *, price: float | None = None, once: bool = False) -> None:
        """Begin to choose; *price* is that of an earlier run.

        With *once*, a page is chosen only if it is due by the price at which the rate is spent in
        the long run, and not a second time, so that there is an end to it.
        """
        self._once = once
        if price is None or once:
            price = self._long_run_price()
        self._frontier.start(price, now, floor=price if once else self.policy.pacing.floor)

    def row_of(self, fingerprint: int) -> int | None:
        """Row of a known page, None if the page is not known."""
        row = self._index.get(fingerprint)
        return None if row in self._forgotten else row

    def status_of(self, row: int) -> PageStatus:
        """Where a known page stands."""
        return PageStatus(int(self._table.status[row]))

    def discover(self, page: PageRecord, now: float) -> PageRecord:
        """Add a page that is not known yet; returns its record with the page id that it got."""
        row, record = self._add(page, now)
        self._updates[record.page_id] = record
        if len(self._pool) < _MAX_POOL:
            self._take(row, float(self._frontier.values(np.array([row]), now)[0]))
        return record

    def first_seen(self, page: PageRecord, report: Report) -> None:
        """Add a page that is not known yet together with its first visit: the target of a redirect."""
        row, record = self._add(page, report.at)
        self._table.taken[row] = True
        self._close(row, record, report)

    def ask_for(self, row: int, request: str | None) -> None:
        """Visit a known page next, with a request that replaces the one it is stored with.

        A page whose visit is under way is not visited once more, but later with the new request.
        """
        self._renewed[row] = request
        if not self._table.taken[row]:
            self._take(row, float("inf"))

    def wanted(self, now: float) -> list[int]:
        """Ids of pages whose records are needed now, so that visits can go on without waiting.

        None as long as half of the pages that should be at hand are: records are read in batches.
        """
        lookahead = self._lookahead
        missing = lookahead - self._ready.available() - len(self._loading)
        chosen: list[int] = []
        crowded: list[int] = []
        if 2 * missing <= lookahead:
            return chosen
        while missing > len(chosen):
            if not self._pool and not self._refill(now):
                break
            value, row = heapq.heappop(self._pool)
            if row not in self._renewed and self._is_crowded(row):
                crowded.append(row)
                continue
            page_id = int(self._table.page_id[row])
            self._loading[page_id] = row, -value
            chosen.append(page_id)
        if crowded:
            self._frontier.release(np.array(crowded), now)
        return chosen

    def supply(self, page_ids: Iterable[int], records: Iterable[PageRecord]) -> None:
        """Hand in the records of pages that were wanted; pages without one are forgotten."""
        found = {record.page_id: record for record in records}
        for page_id in page_ids:
            row, value = self._loading.pop(page_id)
            record = found.get(page_id)
            if record is None:
                self._forgotten.add(row)
                self._renewed.pop(row, None)
                self._frontier.rest(row, np.inf)
            else:
                self._ready.add(ReadyPage(-value, row, record))

    def give_up_loading(self, page_ids: Iterable[int], until: float) -> None:
        """Records that were wanted cannot be had: try these pages again later."""
        for page_id in page_ids:
            row, _ = self._loading.pop(page_id)
            self._frontier.rest(row, until)

    def begin_visit(self, now: float, free_at: FreeAt) -> Visit | None:
        """Open the visit that is worth most among the pages at hand whose hosts are free."""

        def free(host: str, now: float) -> float:
            return max(free_at(host, now), self.hosts.blocked_until(host))

        page = self._ready.take(now, free)
        if page is None:
            return None
        record = page.record
        if page.row in self._renewed:
            record = self._with_request(record, self._renewed.pop(page.row))
            self._table.status[page.row] = record.status
        if record.last_visit_at is not None and record.status is PageStatus.ACTIVE and page.rank > -np.inf:
            self._frontier.chosen(page.value)
        visit = Visit(row=page.row, record=record, opened_at=now, value=page.value)
        self._open[page.row] = visit
        return visit

    def next_at(self, now: float) -> float:
        """When `wanted` or `begin_visit` may have something again, as far as known now."""
        if self._pool or self._loading or self._closed or not self._frontier.is_exhausted:
            return now
        times = [self._ready.next_at(now), self._frontier.next_wake(self._full_hosts(now))]
        times += [self.hosts.blocked_until(host) for host in self.hosts.blocked(now)]
        return min(times)

    def is_idle(self, now: float) -> bool:
        """Whether no visit is open and none is due."""
        if self._open or self._pool or self._loading or len(self._ready):
            return False
        self.settle(now)
        return not self._refill(now) and self._frontier.is_exhausted

    def end_visit(self, visit: Visit, report: Report) -> bool:
        """Close a visit with what it saw; False if it was closed before."""
        if not visit.is_open:
            return False
        visit.is_open = False
        del self._open[visit.row]
        self._close(visit.row, visit.record, report)
        return True

    def abandon(self, visit: Visit, now: float) -> None:
        """Close a visit as if it had not begun."""
        if visit.is_open:
            visit.is_open = False
            del self._open[visit.row]
            self._frontier.release(np.array([visit.row]), now)

    def suspend(self, visit: Visit) -> None:
        """Close a visit whose page cannot be processed until the spider yields it again."""
        visit.is_open = False
        del self._open[visit.row]
        record = replace(visit.record, status=PageStatus.SUSPENDED)
        self._updates[record.page_id] = record
        self._table.status[visit.row] = record.status
        self._frontier.rest(visit.row, np.inf)

    def settle(self, now: float) -> None:
        """Estimate the change rates of the pages visited lately and send them to sleep."""
        if not self._closed:
            return
        rows = np.array([row for row, _ in self._closed])
        estimate = self._estimate([record.history for _, record in self._closed])
        self._table.change_rate[rows] = estimate.rate
        columns = zip(estimate.rate.tolist(), estimate.low.tolist(), estimate.high.tolist(), strict=True)
        for (_, record), (rate, low, high) in zip(self._closed, columns, strict=True):
            record.change_rate, record.change_rate_low, record.change_rate_high = rate, low, high
            self._updates[record.page_id] = record
        self._closed.clear()
        self._frontier.release(rows, now)
        if self._once:
            for row in rows.tolist():
                self._frontier.rest(row, np.inf)

    def take_updates(self) -> tuple[list[PageRecord], list[VisitRecord]]:
        """Records and visits that are new since the last call, for the writer."""
        pages, visits = list(self._updates.values()), self._log
        self._updates, self._log = {}, []
        return pages, visits

    def _long_run_price(self) -> float:
        """Price at which the rate is spent, from a sample of the pages that have a copy."""
        active = np.flatnonzero(self._table.status[: len(self._table)] == PageStatus.ACTIVE)
        sample = active[:: max(1, len(active) // _PRICE_SAMPLE)]
        if len(sample) == 0:
            return 0.0
        return price_for_rate(
            self.policy.model,
            self._table.beliefs(sample),
            self._crawls_per_second * len(sample) / len(active),
            min_interval=self._min_interval,
        )

    @property
    def _lookahead(self) -> int:
        """Pages kept ready: half a second's worth, but few enough to choose them by their present value."""
        return int(min(max(1, 0.5 * self._crawls_per_second), max(1, len(self._table) / 1000)))

    def _add(self, page: PageRecord, now: float) -> tuple[int, PageRecord]:
        record = replace(page, page_id=self._next_page_id, discovered_at=now)
        self._next_page_id += 1
        row = self._table.add(record, self._prior_rate, now)
        self._index.add(record.fingerprint, row)
        return row, record

    def _take(self, row: int, value: float) -> None:
        self._table.taken[row] = True
        self._table.wake[row] = np.inf
        heapq.heappush(self._pool, (-value, row))

    def _refill(self, now: float) -> bool:
        """Put the best pages into the pool; False if there are none."""
        at_hand = CROWD * len(self._table.hosts)  # more would only be given back
        count = min(max(self._lookahead, len(self._table) // 1000), _MAX_CHOSEN, max(at_hand, 1))
        full_hosts = self._full_hosts(now)
        rows, values = self._frontier.take_best(now, count, full_hosts)
        if not len(rows) and self._closed:
            self.settle(now)
            rows, values = self._frontier.take_best(now, count, full_hosts)
        self._pool = list(zip((-values).tolist(), rows.tolist(), strict=True))
        return bool(self._pool)

    def _full_hosts(self, now: float) -> NDArray[np.bool_]:
        """By the host's number: whether more pages of it need not be chosen."""
        full = np.zeros(len(self._table.hosts), np.bool_)
        full[self._table.host_numbers((*self._ready.crowded_hosts(), *self.hosts.blocked(now)))] = True
        return full

    def _is_crowded(self, row: int) -> bool:
        return self._ready.is_crowded(self._table.hosts[self._table.host[row]])

    def _with_request(self, record: PageRecord, request: str | None) -> PageRecord:
        status = record.status
        if status is PageStatus.SUSPENDED:
            status = PageStatus.NEW if record.last_visit_at is None else PageStatus.ACTIVE
        changed = replace(record, request=request, status=status)
        if changed != record:
            self._updates[record.page_id] = changed
        return changed

    def _close(self, row: int, record: PageRecord, report: Report) -> None:
        after = updated_record(record, report, self._upkeep)
        if report.outcome is not Outcome.IGNORED:
            self._log.append(visit_record(record, report))
        table = self._table
        table.status[row] = after.status
        if report.outcome.saw_content:
            table.last_visit[row] = report.at
            self._closed.append((row, after))
            # Pages just visited are worth least: some of them may wait to be settled together.
            if len(self._closed) >= min(64, max(1, len(table) // 32)):
                self.settle(report.at)
            return
        self._updates[after.page_id] = after
        not_again = self._once or after.status is PageStatus.MOVED
        self._frontier.rest(row, np.inf if not_again else after.not_before)
