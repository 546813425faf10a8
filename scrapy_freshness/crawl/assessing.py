"""How fresh the copies are, found out once a minute while the crawl goes on."""

import logging
import math
from collections import deque
from collections.abc import Callable
from dataclasses import asdict

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.crawl.journal import Journal
from scrapy_freshness.crawl.vitals import Vitals
from scrapy_freshness.model import FreshnessRecord
from scrapy_freshness.planning.assessment import Assessment, Pace
from scrapy_freshness.planning.planner import Planner

logger = logging.getLogger(__name__)

#: Minutes from which it is told how many visits a crawl makes.
_MINUTES = 10


class Assessing:
    """Asks the planner in a thread, and tells the journal and the vitals.

    Parameters
    ----------
    started_at : when the crawl began
    delay_seconds : between two requests to a host at least
    in_background : runs what takes long in a thread
    """

    def __init__(
        self,
        planner: Planner,
        journal: Journal,
        vitals: Vitals,
        *,
        started_at: float,
        delay_seconds: float,
        in_background: "Callable[[Callable[[], Assessment | None]], Deferred[Assessment | None]]",
    ) -> None:
        self._planner = planner
        self._journal = journal
        self._vitals = vitals
        self._delay_seconds = delay_seconds
        self._in_background = in_background
        #: Times, and how many visits had been made by then.
        self._made: deque[tuple[float, int]] = deque([(started_at, 0)], maxlen=_MINUTES + 1)
        self._assessed_minute = 0  #: the last one in which it was asked how fresh the copies are

    def assess(self, now: float) -> None:
        """Begin to find out how fresh the copies are, unless that was done in this minute."""
        minute = int(now // 60)
        if minute == self._assessed_minute or len(self._planner) == 0:
            return
        self._assessed_minute = minute
        price = self._planner.price

        def note(found: Assessment | None) -> None:
            if found is not None:
                record = FreshnessRecord(minute=minute, price=price, **asdict(found))
                self._vitals.assessed = record
                self._journal.note_freshness(record)

        assessment = self._planner.assessment(now, self._pace(now))
        self._in_background(assessment).addCallbacks(note, self._not_assessed)

    def _pace(self, now: float) -> Pace:
        """The visits of late: who visits pages in turn has no more, and the same hosts."""
        self._made.append((now, self._planner.refreshed))
        since, before = self._made[0]
        visits = max(self._planner.refreshed - before, 1)
        per_host = 1 / self._delay_seconds if self._delay_seconds > 0 else math.inf
        return Pace(visits_per_second=visits / max(now - since, 1.0), host_visits_per_second=per_host)

    def _not_assessed(self, failure: Failure) -> None:
        logger.error("How fresh the copies are could not be told: %s", failure.getErrorMessage())
