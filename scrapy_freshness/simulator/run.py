"""Let the planner crawl a web on a manual clock: the very planner that a live crawl has."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import Outcome, PageKind, PageRecord
from scrapy_freshness.planning.link_learner import inherited_beliefs
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.visits import Report, Visit
from scrapy_freshness.planning.young_links import YoungLinks
from scrapy_freshness.simulator.streams import EventStream
from scrapy_freshness.simulator.web import Fetches, FloatArray, Look, Web

#: Called after each tick of a run with the number of ticks made.
Progress = Callable[[int], None]


def crawl(
    web: Web,
    planner: Planner,
    ticks: FloatArray,
    *,
    start: float | None = None,
    signals: EventStream | None = None,
    progress: Progress | None = None,
    reprice_seconds: float = 1800.0,
) -> Fetches:
    """Make one visit at each of *ticks*, as far as there is a page to visit; returns the fetches.

    A page is discovered when it appears, or when a source shows a link to it. With *start*, what has appeared
    by then was visited at that very time, and what appears later when it appears, which is not among the
    fetches. The planner sees of the web only
    what a fetch sees, and the signals up to the tick. What a fetch is worth by the schedule of all sources
    is found anew every *reprice_seconds*.
    """
    run = _Run(web, planner, signals)
    if start is not None:
        run.first_copies(start)
    reprice_at = -np.inf
    for number, now in enumerate(ticks.tolist(), 1):
        run.notice(now)
        if now >= reprice_at:
            run.reprice()
            reprice_at = now + reprice_seconds
        run.visit(now)
        if progress is not None:
            progress(number)
    return run.fetches()


def crawl_when_due(
    web: Web,
    planner: Planner,
    *,
    start: float,
    end: float,
    signals: EventStream | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Fetches:
    """Visit every page when it is worth the threshold of the planner's policy: no rate binds.

    What has appeared by the start was visited then, and what appears later when it appears, which is not
    among the fetches. After *limit* fetches the run is cut short. Visits are learned from some at a time,
    as in a crawl: of many pages, the one that was just visited is not due again before all others.
    """
    run = _Run(web, planner, signals)
    run.first_copies(start)
    planner.settle(start)
    now = earliest = start
    while limit is None or len(run.pages) < limit:
        due = planner.next_due(now)
        if due > end and planner.settle(now):
            due = planner.next_due(now)
        now = min(max(due, earliest), run.next_notice_at)
        if now > end:
            break
        run.notice(now)
        # What is due and at hand may have to rest: its host may not be free yet.
        earliest = now if run.visit(now) else planner.next_at(now)
        if progress is not None:
            progress(len(run.pages))
    return run.fetches()


class _Run:
    """Records of the pages of one run, as a live crawl has them in its database."""

    def __init__(self, web: Web, planner: Planner, signals: EventStream | None) -> None:
        self.pages: list[int] = []
        self.times: list[float] = []
        self._web = web
        self._planner = planner
        self._arrivals = _in_order(signals)
        self._appearing = deque(sorted((web.appears_at(page), page) for page in range(len(web.addresses))))
        self._records: dict[int, PageRecord] = {}
        self._row_of = np.full(len(web.addresses), -1, np.intp)
        self._seen_links: set[int] = set()
        self._young_links = YoungLinks()
        self._gives_copies = False

    def first_copies(self, start: float) -> None:
        """What has appeared by the start is visited at that very time, the others when they appear."""
        self._gives_copies = True
        self._planner.expect_pages(sum(appears_at <= start for appears_at, _ in self._appearing))
        while self._appearing and self._appearing[0][0] <= start:
            self._give_copy(self._appearing.popleft()[1], start)

    def _give_copy(self, page: int, now: float) -> None:
        look = self._web.look(page, now)
        self._seen_links.update(look.links)
        self._planner.first_seen(self._found(page), _report(look, None, now))
        self._note_row(page)

    def notice(self, now: float) -> None:
        """Discover what has appeared, and hear the signals that have come."""
        while self._appearing and self._appearing[0][0] <= now:
            appeared_at, page = self._appearing.popleft()
            if self._gives_copies:
                self._give_copy(page, appeared_at)
            else:
                self._discover(page, now)
        if self._arrivals.next_at <= now:
            pages, sources = self._arrivals.up_to(now)
            rows = self._row_of[pages]
            if self._appearing or self._web.first_linked is not None:
                is_known = rows >= 0
                rows, sources = rows[is_known], sources[is_known]
            self._planner.news.signal(rows, now, sources)

    @property
    def next_notice_at(self) -> float:
        """When there is something to notice next."""
        appears_at = self._appearing[0][0] if self._appearing else np.inf
        return min(appears_at, self._arrivals.next_at)

    def reprice(self) -> None:
        """Find out what a fetch is worth by the schedule of all sources, if there is one."""
        problem = self._planner.price_problem()
        if problem is not None:
            self._planner.take_fetch_price(problem())

    def visit(self, now: float) -> bool:
        """Open the best visit and close it at once; False if no page may be visited."""
        visit = self._begin(now)
        if visit is None:
            return False
        page = visit.record.fingerprint
        look = self._web.look(page, now)
        self.pages.append(page)
        self.times.append(now)
        report = _report(look, visit.record.content_hash, now)
        new = self._follow(look.links, visit.record, now)
        report.new_links = len(new)
        if visit.record.kind is PageKind.SOURCE:
            report.staying = self._young_links.polled(page, look.links, new)
        self._planner.end_visit(visit, report)
        return True

    def _follow(self, links: Sequence[int], source: PageRecord, now: float) -> list[int]:
        """Discover the pages behind links that were never seen; returns these links."""
        unseen = [link for link in links if link not in self._seen_links]
        self._seen_links.update(unseen)
        if self._web.first_linked is not None:
            for link in unseen:
                self._discover(self._web.first_linked + link, now, inherited_beliefs(source))
        return unseen

    def fetches(self) -> Fetches:
        """What was fetched so far."""
        return Fetches(np.array(self.pages, np.int64), np.array(self.times, np.float64))

    def _discover(self, page: int, now: float, beliefs: Mapping[str, float] | None = None) -> None:
        record = self._planner.discover(replace(self._found(page), beliefs=dict(beliefs or {})), now)
        self._records[record.page_id] = record
        self._note_row(page)

    def _begin(self, now: float) -> Visit | None:
        # The frontier may need several calls until it has worked its way to a page.
        while True:
            wanted = self._planner.wanted(now)
            if wanted:
                self._remember()
                records = (self._records[page_id] for page_id in wanted)
                # A page whose record is missing is forgotten, as one that was removed from the database.
                there = [record for record in records if not self._has_left(record, now)]
                self._planner.supply(wanted, there)
            visit = self._planner.begin_visit(now, _always_free)
            if visit is not None or (not wanted and self._planner.next_at(now) > now):
                return visit

    def _has_left(self, record: PageRecord, now: float) -> bool:
        return now > self._web.addresses[record.fingerprint].leaves_at

    def _remember(self) -> None:
        for record in self._planner.take_updates()[0]:
            self._records[record.page_id] = record

    def _found(self, page: int) -> PageRecord:
        address = self._web.addresses[page]
        return PageRecord(
            page_id=0,
            fingerprint=page,
            url=address.url,
            host=address.host,
            kind=address.kind,
            importance=self._planner.policy.usual_importance(address.kind) * address.importance,
        )

    def _note_row(self, page: int) -> None:
        row = self._planner.known.row_of(page)
        assert row is not None
        self._row_of[page] = row


class _Arrivals:
    """Signals of all pages in the order of time."""

    def __init__(self, times: FloatArray, pages: NDArray[np.int64], sources: NDArray[np.int64]) -> None:
        self._times = times.tolist()
        self._pages = pages
        self._sources = sources
        self._next = 0
        self.next_at = self._time_of_next()  #: when the next signal comes; inf if none does

    def up_to(self, now: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pages and sources of the signals that have come since the last call."""
        begin = self._next
        self._next = bisect_right(self._times, now, begin)
        self.next_at = self._time_of_next()
        return self._pages[begin : self._next], self._sources[begin : self._next]

    def _time_of_next(self) -> float:
        return self._times[self._next] if self._next < len(self._times) else np.inf


def _in_order(signals: EventStream | None) -> _Arrivals:
    if signals is None:
        return _Arrivals(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
    order = np.argsort(signals.times, kind="stable")
    sources = np.zeros(len(order), np.int64) if signals.kinds is None else signals.kinds
    return _Arrivals(signals.times[order], signals.owners[order], sources[order])


def _report(look: Look, copy: int | None, now: float) -> Report:
    if look.is_gone:
        return Report(outcome=Outcome.GONE, at=now)
    outcome = Outcome.FIRST
    if copy is not None:
        outcome = Outcome.UNCHANGED if copy == look.content_hash else Outcome.CHANGED
    return Report(
        outcome=outcome,
        at=now,
        measurement=look,
        page_quality=look.page_quality,
        quality_gain=look.quality_gain,
        poll=look.poll,
    )


def _always_free(host: str, now: float) -> float:
    return now


def ticks_at(per_second: float, start: float, end: float) -> FloatArray:
    """Times of visits at a constant rate, the first one a whole gap after the start.

    >>> ticks_at(2.0, 10.0, 11.6)
    array([10.5, 11. , 11.5])
    """
    return start + np.arange(1, int((end - start) * per_second * (1 + 1e-12)) + 1) / per_second
