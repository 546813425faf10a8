"""How fresh the copies are, found out once a minute while the crawl goes on."""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import asdict

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.crawl.journal import Journal
from scrapy_freshness.crawl.vitals import Vitals
from scrapy_freshness.model import FreshnessRecord
from scrapy_freshness.planning.assessment import Assessment, Visiting
from scrapy_freshness.planning.planner import Planner

logger = logging.getLogger(__name__)

#: Minutes from which it is told how many visits a crawl makes, and the seconds that are enough for it.
_MINUTES, _ENOUGH_SECONDS = 10, 60.0


class Assessing:
    """Asks the planner in a thread, and tells the journal and the vitals.

    Parameters
    ----------
    started_at : when the crawl began
    budget_per_second : visits, as long as it is not known how many there are
    delay_seconds : tells how much time is between two requests to a host at least
    in_background : runs what takes long in a thread
    """

    def __init__(
        self,
        planner: Planner,
        journal: Journal,
        vitals: Vitals,
        *,
        started_at: float,
        budget_per_second: float,
        delay_seconds: Callable[[float], float],
        in_background: "Callable[[Callable[[], Assessment | None]], Deferred[Assessment | None]]",
    ) -> None:
        self._planner = planner
        self._journal = journal
        self._vitals = vitals
        self._budget_per_second = budget_per_second
        self._delay_seconds = delay_seconds
        self._in_background = in_background
        #: Times, and how many visits that every page would have a share of had been made by then.
        self._made: deque[tuple[float, int]] = deque([(started_at, 0)], maxlen=_MINUTES + 1)
        self._first_copies = 0  #: that had been made when this was asked last
        self._had_many_new = False
        self._first_counted = 0  #: first copies among the visits that count
        self._assessed_minute = 0  #: the last one in which it was asked how fresh the copies are

    def assess(self, now: float) -> None:
        """Begin to find out how fresh the copies are, unless that was done in this minute."""
        minute = int(now // 60)
        if minute == self._assessed_minute or len(self._planner) == 0:
            return
        self._assessed_minute = minute
        price = self._planner.going_price

        def note(found: Assessment | None) -> None:
            if found is not None:
                record = FreshnessRecord(minute=minute, price=price, **asdict(found))
                self._vitals.assessed = record
                self._journal.note_freshness(record)

        assessment = self._planner.assessment(now, self._visiting(now))
        self._in_background(assessment).addCallbacks(note, self._not_assessed)

    def _visiting(self, now: float) -> Visiting:
        """The visits of late: who visits pages in turn has no more, and the same hosts."""
        self._made.append((now, self._visits()))
        (since, before), (_, made) = self._made[0], self._made[-1]
        seconds, delay = now - since, self._delay_seconds(now)
        return Visiting(
            visits_per_second=(made - before) / seconds
            if seconds >= _ENOUGH_SECONDS
            else self._budget_per_second,
            host_visits_per_second=1 / delay if delay > 0 else float("inf"),
        )

    def _visits(self) -> int:
        """Visits so far that every page would have a share of.

        While many pages are new, first copies take the visits that copies will have afterwards, so they
        count. Later they are for pages that are found as time goes on, whoever visits the others.
        """
        first, has_many_new = self._planner.first_copies, self._planner.known.has_many_new
        if has_many_new or self._had_many_new:
            self._first_counted += first - self._first_copies
        self._first_copies, self._had_many_new = first, has_many_new
        return self._planner.refreshed + self._first_counted

    def _not_assessed(self, failure: Failure) -> None:
        logger.error("How fresh the copies are could not be told: %s", failure.getErrorMessage())
