"""What people ask of the crawl while it runs: visits now, pinned intervals, pages and hosts to forget.

Wishes are rows of the database, which any process may add. They are read at every flush, on the database's
thread. A wish for a visit is granted with the log of the next visit that begins; so if the crawl dies, the
next one makes the visit.
"""

import logging
from collections.abc import Callable, Sequence

from scrapy.statscollectors import StatsCollector
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl.journal import Journal
from scrapy_freshness.model import Wish, WishKind
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.visits import Visit

logger = logging.getLogger(__name__)


class Wishes:
    """Takes wishes to the planner, and what came of them to the journal.

    Parameters
    ----------
    note_updates : hands what the planner has learned so far to the journal
    forget : others that know pages, by their ids, and perhaps the host that all of them are of
    wake : tells the scheduler that a page may be due
    """

    def __init__(
        self,
        planner: Planner,
        journal: Journal,
        clock: Clock,
        stats: StatsCollector,
        *,
        note_updates: Callable[[], None],
        forget: Sequence[Callable[[list[int], str | None], None]],
        wake: Callable[[], None],
    ) -> None:
        self._planner = planner
        self._journal = journal
        self._clock = clock
        self._stats = stats
        self._note_updates = note_updates
        self._others = forget
        self._wake = wake
        self._known: set[int] = set()  #: ids of wishes that were taken; the database may not know it yet
        self._visits: dict[int, list[tuple[int, float]]] = {}  #: page id -> wishes for visits, and when
        self._is_reading = False

    def look(self) -> "Deferred[None] | None":
        """Begin to look for new wishes, unless that is under way."""
        if self._is_reading:
            return None
        self._is_reading = True
        return self._journal.read_wishes().addCallbacks(self.take, self._not_read)

    def visited(self, visit: Visit, outcome: str) -> None:
        """A visit has ended: it is what those wished for who asked before it began."""
        later: list[tuple[int, float]] = []
        for wish_id, asked_at in self._visits.pop(visit.record.page_id, ()):
            if asked_at > visit.opened_at:
                later.append((wish_id, asked_at))
            else:
                self._grant(wish_id, outcome)
        if later:
            self._visits[visit.record.page_id] = later

    def take(self, wishes: list[Wish]) -> None:
        """Begin to grant those of these wishes that were not taken before."""
        self._is_reading = False
        new = [wish for wish in wishes if wish.wish_id not in self._known]
        for wish in new:
            self._known.add(wish.wish_id)
            self._stats.inc_value(f"freshness/wishes/{wish.kind.name.lower()}")
        for wish in new:
            if wish.kind is not WishKind.FORGET:
                self._take_page(wish)
        forget = [wish for wish in new if wish.kind is WishKind.FORGET]
        if forget:
            self._forget(forget)

    def _take_page(self, wish: Wish) -> None:
        row = None if wish.fingerprint is None else self._planner.known.row_of(wish.fingerprint)
        if row is None or wish.page_id is None:
            self._grant(wish.wish_id, "unknown")
            return
        now = self._clock.now()
        if wish.kind is WishKind.PIN:
            self._planner.wished.pin(row, wish.seconds, now)
            self._grant(wish.wish_id, "loose" if wish.seconds is None else "pinned")
        elif self._planner.wished.visit_next(row, now):
            self._visits.setdefault(wish.page_id, []).append((wish.wish_id, now))
        else:
            self._grant(wish.wish_id, "suspended")
        self._wake()

    def _forget(self, wishes: list[Wish]) -> None:
        now = self._clock.now()
        self._planner.settle(now)
        self._note_updates()
        self._journal.note_groups(self._planner.take_groups())  # of hosts that are forgotten, too
        known = self._planner.known
        for wish in wishes:
            rows = known.rows_of_host(wish.what) if wish.page_id is None else []
            if wish.fingerprint is not None and (row := known.row_of(wish.fingerprint)) is not None:
                rows = [row]
            page_ids = [known.page_id_of(row) for row in rows]
            for row in rows:
                self._planner.forget(row)
            for page_id in page_ids:
                self._visits.pop(page_id, None)  # the database grants these, too
            host = wish.what if wish.page_id is None else None
            if host is not None:
                self._planner.hosts.forget(host)
            for forget in self._others:
                forget(page_ids, host)
            self._journal.drop(page_ids)
        self._journal.forget(wishes, now).addErrback(self._not_forgotten, wishes)

    def _grant(self, wish_id: int, outcome: str) -> None:
        self._journal.note_wish(wish_id, self._clock.now(), outcome)

    def _not_read(self, failure: Failure) -> None:
        self._is_reading = False
        self._stats.inc_value("freshness/wishes_failed")
        logger.error("Wishes could not be read: %s", failure.getErrorMessage())

    def _not_forgotten(self, failure: Failure, wishes: list[Wish]) -> None:
        """They are tried again at the next look."""
        self._known.difference_update(wish.wish_id for wish in wishes)
        self._stats.inc_value("freshness/wishes_failed")
        logger.error("Pages could not be forgotten: %s", failure.getErrorMessage())
