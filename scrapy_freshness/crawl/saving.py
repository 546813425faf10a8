"""What the crawl has learned goes to the journal: at every flush, before it is read again, and at the end."""

import logging
from collections.abc import Callable
from typing import Any

from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock
from scrapy_freshness.config import Config
from scrapy_freshness.crawl.errands import Errands
from scrapy_freshness.crawl.guarded import guarded
from scrapy_freshness.crawl.hubs import Hubs
from scrapy_freshness.crawl.journal import Journal
from scrapy_freshness.crawl.listening import Listening
from scrapy_freshness.model import CrawlState, PageRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.sources.seen import SeenLinks

logger = logging.getLogger(__name__)

#: Flush intervals after which failing flushes end the crawl: it would learn nothing any more.
_MAX_FAILING_INTERVALS = 60


class Saving:
    """Hands what planner, listening and hubs know to the journal; ends the crawl if that fails for long."""

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        clock: Clock,
        planner: Planner,
        journal: Journal,
        errands: Errands,
        listening: Listening,
        hubs: Hubs,
        *,
        started_at: float,
        delay_seconds: Callable[[float], float],
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._clock = clock
        self._planner = planner
        self._journal = journal
        self._errands = errands
        self._listening = listening
        self._hubs = hubs
        self._started_at = started_at
        self._delay_seconds = delay_seconds
        self._is_open = False

    def open(self) -> None:
        """The crawl goes on from what the database knows."""
        self._is_open = True

    def flush(self, now: float) -> None:
        """Begin to write what was learned since the last flush."""
        self.settle(now)
        done = self._journal.flush(self._state(now), now)
        if done is not None:
            done.addErrback(self._not_flushed)

    def close(self, after: "Deferred[Any]", now: float) -> "Deferred[None]":
        """Write everything and close the database, when something else has ended."""
        stats = self._crawler.stats
        guarded(stats, lambda: self._planner.settle(now))
        guarded(stats, self.note_updates)
        self._count()
        guarded(stats, lambda: self._journal.note_groups(self._planner.take_groups()))
        state = self._state(now) if self._is_open else None
        closed = after.addCallback(lambda _: self._show_again())
        closed.addErrback(self._not_noted)
        closed.addCallback(lambda _: self._journal.close(state, now))
        self._is_open = False
        closed.addErrback(self._lost)
        return closed

    def settle(self, now: float) -> None:
        """Learn from all visits that have ended, and note it: what is written is a state of all there was."""
        self._planner.settle(now)
        self.note_updates()
        self._count()

    def note_updates(self) -> None:
        """Hand what the planner has learned to the journal, whose records are then up to date."""
        pages, visits = self._planner.take_updates()
        self._journal.note(pages, visits, self._planner.hosts.take_changed())
        self._listening.note(visits, self._journal)
        self._hubs.note(self._journal)

    def read_seen(self, page_id: int) -> "Deferred[bytes]":
        """What a source has shown so far, once all that is known is written."""
        self.settle(self._clock.now())
        return self._journal.read_seen(page_id)

    def read_links(self, host: str) -> "Deferred[SeenLinks]":
        """The links that were seen on a host, once all that is known is written."""
        self.settle(self._clock.now())
        return self._journal.read_links(host)

    def prune(self, now: float) -> None:
        """Begin to shorten the log of visits, if it is to have an end."""
        if self._config.visit_log_seconds:
            self._journal.prune(now - self._config.visit_log_seconds).addErrback(self._not_pruned)

    def _not_flushed(self, failure: Failure) -> None:
        """Something could not be written; it is kept, and tried again at the next flush."""
        self._crawler.stats.inc_value("freshness/flush_failed")
        logger.error(
            "%d visits could not be written and are kept: %s",
            self._journal.unsaved_visits,
            failure.getErrorMessage(),
        )
        since, longest = self._journal.failing_since, _MAX_FAILING_INTERVALS * self._config.flush_seconds
        if self._is_open and since is not None and self._clock.now() - since > longest:
            self._is_open = False
            logger.error("The database has failed for %g s: closing the crawl", longest)
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="freshness_database_failed"))

    def _not_pruned(self, failure: Failure) -> None:
        self._crawler.stats.inc_value("freshness/prune_failed")
        message = failure.getErrorMessage()
        logger.error("The log of visits could not be shortened; that is tried again: %s", message)

    def _not_noted(self, failure: Failure) -> None:
        """Pages whose records cannot be read are made known to the spider again when they change."""
        logger.error(
            "The spider may not be shown %d pages again, whose requests end here: %s",
            len(self._errands.page_ids),
            failure.getErrorMessage(),
        )

    def _lost(self, failure: Failure) -> None:
        """The last flush has failed, and there is no other one."""
        self._crawler.stats.inc_value("freshness/flush_failed")
        logger.error(
            "%d visits are lost and will be made again, as they could not be written: %s",
            self._journal.unsaved_visits,
            failure.getErrorMessage(),
        )

    def _count(self) -> None:
        self._crawler.stats.set_value("freshness/pages", len(self._planner))
        if self._planner.not_learned:
            self._crawler.stats.set_value("freshness/not_learned", self._planner.not_learned)

    def _state(self, now: float) -> CrawlState:
        """What the crawl says about itself."""
        return CrawlState(
            spider=self._crawler.spidercls.name,
            policy=self._config.policy,
            budget_per_second=self._config.budget_per_second,
            started_at=self._started_at,
            updated_at=now,
            price=self._planner.going_price,
            delay_seconds=self._delay_seconds(now),
        )

    def _show_again(self) -> "Deferred[None]":
        """The spider is to see pages again whose requests end with this process."""
        page_ids = self._errands.page_ids
        if not page_ids:
            return succeed(None)

        def note(records: list[PageRecord]) -> None:
            for record in records:
                record.run_callback = True
            self._journal.note(records, [], [])

        return self._journal.read(page_ids).addCallback(note)
