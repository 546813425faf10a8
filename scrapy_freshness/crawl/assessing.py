"""How fresh the copies are, found out once a minute while the crawl goes on."""

import logging
from collections.abc import Callable
from dataclasses import asdict

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.crawl.journal import Journal
from scrapy_freshness.crawl.vitals import Vitals
from scrapy_freshness.model import FreshnessRecord
from scrapy_freshness.planning.assessment import Assessment
from scrapy_freshness.planning.planner import Planner

logger = logging.getLogger(__name__)


class Assessing:
    """Asks the planner in a thread, and tells the journal and the vitals.

    Parameters
    ----------
    in_background : runs what takes long in a thread
    """

    def __init__(
        self,
        planner: Planner,
        journal: Journal,
        vitals: Vitals,
        *,
        in_background: "Callable[[Callable[[], Assessment | None]], Deferred[Assessment | None]]",
    ) -> None:
        self._planner = planner
        self._journal = journal
        self._vitals = vitals
        self._in_background = in_background
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

        self._in_background(self._planner.assessment(now)).addCallbacks(note, self._not_assessed)

    def _not_assessed(self, failure: Failure) -> None:
        logger.error("How fresh the copies are could not be told: %s", failure.getErrorMessage())
