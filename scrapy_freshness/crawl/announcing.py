"""Somebody says that pages have changed, or that there are new ones: sitemaps, feeds, pings.

Whatever is said goes through `Announcements.take`, a little at a time: the crawl goes on meanwhile, and the
budget decides what is visited when.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scrapy import Request
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred, DeferredLock

from scrapy_freshness.crawl.rows import row_of_url
from scrapy_freshness.crawl.unasked import UnaskedRequests
from scrapy_freshness.model import PageRecord, PageStatus, SignalRecord, SignalSource, VisitRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.signals.polled import Said

#: What is announced: a URL, and the time at which it is said to have changed.
Announced = Said

#: How long a turn of the reactor may take; longer ones would delay answers and timers.
_TURN_SECONDS = 0.002
#: Pages that are looked up before the clock is looked at.
_FEW = 32


@dataclass(slots=True)
class TakenIn:
    """What came of some announcements; each is counted once."""

    heard: int = 0  #: signals for known pages
    no_news: int = 0  #: known pages that were visited since, or wait for a visit anyway
    new: int = 0  #: pages that are known from now on
    refused: int = 0  #: pages that the spider would not take
    worth: float = 0.0  #: of all this, in prices of a visit


class Announcements:
    """Tells the planner what is said about pages, and keeps the log of signals until it is written.

    Parameters
    ----------
    fingerprint : by which a request's page is known
    discover : takes a page that is not known, from the request for it and the page id of who told of it, None
        if it was no page; None if it cannot be kept
    wake : called when there is something new to be visited
    """

    def __init__(
        self,
        planner: Planner,
        stats: StatsCollector,
        unasked: UnaskedRequests,
        *,
        fingerprint: Callable[[Request], int],
        discover: Callable[[Request, int | None], PageRecord | None],
        wake: Callable[[], None],
    ) -> None:
        self._planner = planner
        self._stats = stats
        self._fingerprint = fingerprint
        self._discover = discover
        self._wake = wake
        self._unasked = unasked
        self._log: list[SignalRecord] = []
        self._shown: list[tuple[int, float]] = []
        self._waiting: set[int] = set()  #: ids of pages with signals that no visit has answered
        self._turn = DeferredLock()  #: whoever has it may work in this turn of the reactor
        self.is_closed = False

    def take(
        self,
        entries: Sequence[Announced],
        source: SignalSource,
        *,
        told_by: int | None = None,
        now: float,
        new_only: bool = False,
    ) -> "Deferred[TakenIn]":
        """Take what is said: known pages get a signal, others become known if the spider would take them.

        Fires when all of it is taken in.

        Parameters
        ----------
        told_by : page id of the sitemap or feed that says so, None if it was no page
        now : unix seconds, when it was said
        new_only : whether known pages are left alone, because what is said of them cannot be believed
        """
        return deferred_from_coro(self._taken_in(entries, source, told_by, now, new_only))

    async def _taken_in(
        self,
        entries: Sequence[Announced],
        source: SignalSource,
        told_by: int | None,
        now: float,
        new_only: bool,
    ) -> TakenIn:
        taken = TakenIn()
        place = 0
        while place < len(entries) and not self.is_closed:
            await maybe_deferred_to_future(self._turn.acquire())
            try:
                ends_at = time.perf_counter() + _TURN_SECONDS
                while place < len(entries) and time.perf_counter() < ends_at:
                    few = entries[place : place + _FEW]
                    place += len(few)
                    self._take_few(few, source, told_by, now, new_only, taken)
                await next_turn()
            finally:
                self._turn.release()
        for name in ("heard", "no_news", "new", "refused"):
            self._stats.inc_value(f"freshness/signals/{name}", getattr(taken, name))
        if taken.heard or taken.new:
            self._wake()
        return taken

    def is_page(self, url: str) -> bool:
        """Whether a URL is that of a known page that is there, and not polled itself."""
        row, known = self._row_of(url), self._planner.known
        if row is None or known.is_polled(row):
            return False
        return known.status_of(row) in (PageStatus.NEW, PageStatus.ACTIVE)

    def restore(self, page_ids: Sequence[int]) -> None:
        """Be told of pages whose signals were heard by an earlier run and have no answer yet."""
        self._waiting.update(page_ids)

    def take_log(self) -> list[SignalRecord]:
        """Signals heard since the last call, for the writer."""
        log, self._log = self._log, []
        return log

    def take_shown(self) -> list[tuple[int, float]]:
        """Pages that feeds have shown for the first time since the last call, and when, for the writer."""
        shown, self._shown = self._shown, []
        return shown

    def answer(self, visits: Sequence[VisitRecord]) -> None:
        """Mark those visits that answer signals."""
        if not self._waiting:
            return
        for visit in visits:
            if visit.page_id in self._waiting and visit.outcome.saw_content:
                self._waiting.discard(visit.page_id)
                visit.answers_signals = True

    def _take_few(
        self,
        entries: Sequence[Announced],
        source: SignalSource,
        told_by: int | None,
        now: float,
        new_only: bool,
        taken: TakenIn,
    ) -> None:
        known: dict[int, float] = {}
        new: list[int] = []
        for url, claimed_at, is_new in entries:
            row, is_known = self._row_of(url), True
            if row is None:
                row, is_known = self._row_of_new(url, told_by)
            if row is None:
                taken.refused += 1
                continue
            if not is_known:
                new.append(row)
            elif not new_only:
                known[row] = np.nan if claimed_at is None else claimed_at
            if is_new and source is SignalSource.FEED:
                shown_at = now if claimed_at is None else min(claimed_at, now)
                self._shown.append((self._planner.known.page_id_of(row), shown_at))
        news = self._planner.news
        if new:
            taken.new += len(new)
            taken.worth += news.worth_of_first_visits(np.array(new), now)
        if known:
            claims = np.array(list(known.values()), np.float64)
            heard = news.hear(np.array(list(known)), claims, now, source)
            taken.heard += len(heard.rows)
            taken.no_news += len(known) - len(heard.rows)
            taken.worth += heard.worth
            for row in heard.rows.tolist():
                self._note(row, source, told_by, now, known[row])

    def _note(self, row: int, source: SignalSource, told_by: int | None, now: float, claimed: float) -> None:
        page_id = self._planner.known.page_id_of(row)
        self._waiting.add(page_id)
        self._log.append(
            SignalRecord(
                page_id=page_id,
                source=source,
                told_by=told_by,
                heard_at=now,
                claimed_at=None if np.isnan(claimed) else claimed,
            )
        )

    def _row_of(self, url: str) -> int | None:
        return row_of_url(url, self._planner, self._fingerprint)

    def _row_of_new(self, url: str, told_by: int | None) -> tuple[int | None, bool]:
        """Row of a page that is known from now on, or was under the address that the spider gives it.

        None if the spider would not take it.
        """
        try:
            request = self._unasked.request_for_new(url)
        except ValueError:
            return None, False
        if request is None:
            return None, False
        row = self._planner.known.row_of(self._fingerprint(request))
        if row is not None:
            return row, True
        record = self._discover(request, told_by)
        return None if record is None else self._planner.known.row_of(record.fingerprint), False


async def next_turn() -> None:
    """Let the reactor do what else there is to do."""
    turn: Deferred[None] = Deferred()
    call_later(0, turn.callback, None)
    await maybe_deferred_to_future(turn)
