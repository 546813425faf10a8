"""What a fetch is worth by the schedule of all sources, found out anew as the crawl learns."""

import logging
from collections.abc import Callable

from scrapy.statscollectors import StatsCollector
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl.guarded import guarded_loop
from scrapy_freshness.planning.pauses import doubled
from scrapy_freshness.planning.planner import Planner

logger = logging.getLogger(__name__)

#: How soon the schedule of the sources is made anew at first; then ever more rarely.
_FIRST_REPRICE_SECONDS = 1.0


class Repricing:
    """Makes the schedule in a thread, at first often.

    Parameters
    ----------
    longest_seconds : time between two schedules in the long run
    in_background : runs what takes long in a thread
    """

    def __init__(
        self,
        planner: Planner,
        clock: Clock,
        stats: StatsCollector,
        *,
        longest_seconds: float,
        in_background: "Callable[[Callable[[], float]], Deferred[float]]",
    ) -> None:
        self._planner = planner
        self._clock = clock
        self._longest_seconds = longest_seconds
        self._in_background = in_background
        self._loop = guarded_loop(stats, self._reprice)
        self._repriced, self._reprice_at = 0, 0.0  #: how often so far, and when again

    def open(self) -> None:
        """Begin, if the policy has a schedule."""
        if self._planner.policy.solve_price is not None:
            self._loop.start(_FIRST_REPRICE_SECONDS, now=True)

    def close(self) -> None:
        """Make no more schedules."""
        if self._loop.running:
            self._loop.stop()

    def _reprice(self) -> None:
        now = self._clock.now()
        problem = self._planner.price_problem() if now >= self._reprice_at else None
        if problem is not None:
            wait = doubled(_FIRST_REPRICE_SECONDS, self._repriced, self._longest_seconds)
            self._repriced, self._reprice_at = self._repriced + 1, now + wait
            self._in_background(problem).addCallbacks(self._planner.take_fetch_price, self._not_repriced)

    def _not_repriced(self, failure: Failure) -> None:
        logger.error("The schedule of the sources could not be made: %s", failure.getErrorMessage())
