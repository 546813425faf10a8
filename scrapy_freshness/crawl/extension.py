"""The composition root: builds the parts of a crawl, opens and closes them, keeps the books."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from twisted.internet.defer import Deferred, DeferredList, maybeDeferred
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock, SystemClock
from scrapy_freshness.config import Config, unknown_settings
from scrapy_freshness.content.measure import Measurement
from scrapy_freshness.crawl.addon import is_crawl
from scrapy_freshness.crawl.assessing import Assessing
from scrapy_freshness.crawl.configured import content_options, new_planner, scoring_of
from scrapy_freshness.crawl.errands import Errands
from scrapy_freshness.crawl.fetches import Fetches
from scrapy_freshness.crawl.garbage import rare_collection
from scrapy_freshness.crawl.guarded import guarded, guarded_loop
from scrapy_freshness.crawl.hub_parts import new_hubs
from scrapy_freshness.crawl.journal import Journal, Loaded
from scrapy_freshness.crawl.lessons import Lessons
from scrapy_freshness.crawl.listening import Listening
from scrapy_freshness.crawl.metrics import Metrics
from scrapy_freshness.crawl.pings import Pings
from scrapy_freshness.crawl.refusing import refusals_logged
from scrapy_freshness.crawl.repricing import Repricing
from scrapy_freshness.crawl.saving import Saving
from scrapy_freshness.crawl.searchers import Searchers
from scrapy_freshness.crawl.slots import DownloadSlots
from scrapy_freshness.crawl.threads import in_thread
from scrapy_freshness.crawl.tracking import Tracker
from scrapy_freshness.crawl.unasked import UnaskedRequests
from scrapy_freshness.crawl.visiting import PageVisit, Visits, visit_of
from scrapy_freshness.crawl.vitals import Vitals
from scrapy_freshness.crawl.wishes import Wishes
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.after_visit import longest_pauses
from scrapy_freshness.planning.comparing import compared
from scrapy_freshness.planning.visits import Upkeep

logger = logging.getLogger(__name__)

T = TypeVar("T")

_HOUSEKEEPING_SECONDS = 60.0


class Freshness:
    """Owns config, clock, planner, pace and journal of a crawl; other components ask for it."""

    def __init__(self, crawler: Crawler, config: Config, clock: Clock) -> None:
        self.crawler = crawler
        self.config = config
        self.clock = clock
        self.started_at = clock.now()
        self.content = content_options(config)
        self._upkeep = Upkeep.of(config)
        self.journal = Journal(config.database_url, crawler.spidercls.name, config.cache_pages)
        self.searchers = Searchers(
            crawler, clock, self.journal, scoring_of(config), in_background=self.at_leisure
        )
        self.planner = new_planner(config, self._upkeep, self.searchers.settle)
        slots = DownloadSlots(crawler)
        self.errands = Errands(self.planner.finish, self.fingerprint)
        self.visits = Visits(crawler, self.planner, clock, self.errands, self.searchers.measure)
        assert crawler.spider is not None  # Scrapy makes it before the extensions
        self.tracker = Tracker(config, crawler.spider)
        unasked = UnaskedRequests(config, crawler.spider)
        self.listening = Listening(
            crawler,
            config,
            self.planner,
            self.visits,
            unasked,
            fingerprint=self.fingerprint,
            discover=lambda page: self.discover(page, clock.now()),
            in_background=self.in_background,
            read_seen=lambda page_id: self.saving.read_seen(page_id),
            wake=lambda: self.wake(),
        )
        self.hubs = new_hubs(
            crawler,
            config,
            clock,
            self.planner,
            self.visits,
            self.listening,
            unasked,
            fingerprint=self.fingerprint,
            discover=lambda page: self.discover(page, clock.now()),
            cached=self.journal.cached,
            read_links=lambda host: self.saving.read_links(host),
            in_background=self.in_background,
            wake=lambda: self.wake(),
        )
        self.visits.hubs = self.hubs
        self.saving = Saving(
            crawler,
            config,
            clock,
            self.planner,
            self.journal,
            self.errands,
            self.listening,
            self.hubs,
            started_at=self.started_at,
            delay_seconds=slots.delay_seconds,
        )
        self.wake: Callable[[], None] = lambda: None  #: tells the scheduler that a page may be due
        self.wishes = Wishes(
            self.planner,
            self.journal,
            clock,
            crawler.stats,
            note_updates=self.saving.note_updates,
            forget=(self.listening.forget, self.hubs.forget),
            wake=lambda: self.wake(),
        )
        self.visits.ended = self.wishes.visited
        self.vitals = Vitals(
            config,
            clock,
            self.planner,
            self.journal,
            crawler.stats,
            spider=crawler.spidercls.name,
            started_at=self.started_at,
        )
        self._metrics = Metrics(self.vitals, config.metrics_listen) if config.metrics_listen else None
        self.pings = self._new_pings() if config.ping_listen is not None else None
        self.fetches = Fetches(
            crawler,
            clock,
            self.errands,
            self.journal,
            self.vitals,
            self.pings,
            slots,
            budget_per_second=config.budget_per_second,
        )
        # A thread for each: Python runs one at a time, and the crawl is to have its share.
        self._background = ThreadPoolExecutor(1, thread_name_prefix="freshness-background")
        self._leisure = ThreadPoolExecutor(1, thread_name_prefix="freshness-leisure")
        self._assessing = Assessing(
            self.planner,
            self.journal,
            self.vitals,
            started_at=self.started_at,
            budget_per_second=config.budget_per_second,
            delay_seconds=slots.delay_seconds,
            in_background=self.at_leisure,
        )
        self.lessons = Lessons(config, crawler.spidercls.name, self.planner, self.at_leisure)
        self._repricing = Repricing(
            self.planner,
            clock,
            crawler.stats,
            longest_seconds=config.reprice_seconds,
            in_background=self.at_leisure,
        )
        #: Writes what was learned since the last flush, and looks for wishes.
        self._flushing = guarded_loop(
            crawler.stats,
            lambda: self.saving.flush(clock.now()),
            lambda: self._assessing.assess(clock.now()),
            self.wishes.look,
        )
        self._housekeeping = guarded_loop(
            crawler.stats,
            lambda: self.journal.note_groups(self.planner.take_groups()),
            self.searchers.look_for_queries,
            lambda: self.lessons.ask(clock.now()),
            lambda: self.visits.fail_lost(clock.now()),
            lambda: self.saving.prune(clock.now()),
        )
        #: Id of an item or request on its way from the callback -> its visit; weak, as others may drop it.
        self.owners: WeakValueDictionary[int, PageVisit] = WeakValueDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        with refusals_logged():
            config = Config.from_settings(crawler.settings)
        if not config.enabled:
            raise NotConfigured("FRESHNESS_ENABLED is off")
        if not is_crawl(crawler):
            raise NotConfigured("only crawls are kept fresh")
        for name in unknown_settings(list(crawler.settings)):
            logger.warning("%s is not a setting of scrapy-freshness; see `scrapy freshness settings`", name)
        with refusals_logged():
            extension = cls(crawler, config, SystemClock())
            extension.check()
        connect = crawler.signals.connect
        connect(extension.fetches.reached_downloader, signal=signals.request_reached_downloader)
        connect(extension.item_done, signal=signals.item_scraped)
        connect(extension.item_done, signal=signals.item_dropped)
        connect(extension.item_failed, signal=signals.item_error)
        return extension

    @classmethod
    def of(cls, crawler: Crawler) -> "Freshness":
        """The crawl's Freshness; raises NotConfigured if the extension is not installed."""
        extension: Freshness | None = crawler.get_extension(cls)
        if extension is None:
            raise NotConfigured(
                f"{cls.__module__}.{cls.__qualname__} is missing from EXTENSIONS; "
                'use ADDONS = {"scrapy_freshness.Addon": 500} or add it'
            )
        return extension

    def check(self) -> None:
        """See that database and ports can be had; raises FreshnessError if not.

        They are taken by `open`: should another component refuse to be built, Scrapy tells nobody to close.
        """
        for endpoint in self._endpoints:
            endpoint.check()
        self.journal.check()

    def open(self) -> "Deferred[None]":
        """Take the ports, and over what is known from the database; called by the scheduler."""
        opened = maybeDeferred(self._listen)
        opened.addCallback(lambda _: self.journal.open(self._take_over, self.clock))
        return opened.addCallbacks(self._opened, self._not_opened)

    def close(self) -> "Deferred[None]":
        """Write everything and close the database; called by the scheduler."""
        rare_collection.end(self)
        self.listening.close()
        self.hubs.close()
        self.searchers.close()
        self.lessons.close()
        self.vitals.is_open = False
        unheard = DeferredList([endpoint.close() for endpoint in self._endpoints])
        for loop in (self._flushing, self._housekeeping):
            if loop.running:
                loop.stop()
        self._repricing.close()
        now = self.clock.now()
        guarded(self.crawler.stats, self.visits.close_waiting)
        guarded(self.crawler.stats, lambda: self._abandon_visits(now))
        closed = self.saving.close(unheard, now)
        self._background.shutdown(wait=False)
        self._leisure.shutdown(wait=False)
        return closed

    def in_background(self, work: Callable[[], T]) -> "Deferred[T]":
        """Run in a thread what takes part of a second, as an answer waits for it.

        The Deferred fires on the reactor's thread.
        """
        return in_thread(self._background, work)

    def at_leisure(self, work: Callable[[], T]) -> "Deferred[T]":
        """Run in another thread what may take minutes, or wait for the database: no answer waits for it."""
        return in_thread(self._leisure, work)

    def item_done(self, item: object, response: Response | None, spider: Spider) -> None:
        """An item has left the pipelines."""
        page = visit_of(response.request) if isinstance(response, Response) else None
        if page is not None:
            page.unfinished_items -= 1
            self.visits.close_if_done(page)

    def item_failed(self, item: object, response: Response | None, spider: Spider) -> None:
        """A pipeline raised: the item is lost, so the spider is to make it again."""
        page = visit_of(response.request) if isinstance(response, Response) else None
        if page is not None and page.report is not None:
            page.report.callback_failed = True
        self.item_done(item, response, spider)

    def discover(self, page: PageRecord, now: float) -> PageRecord:
        """Add a page to those that are kept fresh."""
        # A page that is fetched for its links only has an importance of 0.
        page.importance *= self.lessons.importances.of(page.fingerprint, page.url, page.host)
        record = self.planner.discover(page, now)
        self.journal.remember(record)
        return record

    def compared(self, record: PageRecord, measurement: Measurement) -> tuple[bool, float | None]:
        """Whether content is another than that of the page's copy, and its divergence if known."""
        return compared(
            record, measurement, min_divergence=self.config.min_divergence, size=self.config.sketch_size
        )

    def fingerprint(self, request: Request) -> int:
        """64 bits of Scrapy's fingerprint of a request, by which pages are known."""
        digest = self.crawler.request_fingerprinter.fingerprint(request)
        return int.from_bytes(digest[:8], "big", signed=True)

    @property
    def _endpoints(self) -> list[Pings | Metrics]:
        return [endpoint for endpoint in (self.pings, self._metrics) if endpoint is not None]

    def _listen(self) -> None:
        for endpoint in self._endpoints:
            endpoint.listen()

    def _new_pings(self) -> Pings:
        pings = Pings(
            self.crawler,
            self.config,
            self.clock,
            self.planner,
            self.listening.announcements,
            fingerprint=self.fingerprint,
            in_background=self.in_background,
            note=self.journal.note_subscription,
            wake=lambda: self.wake(),
        )
        self.listening.polls.advertised = pings.advertised
        return pings

    def _take_over(self, loaded: Loaded) -> None:
        """Fill the planner; on the database's thread, before anything else uses it."""
        now = self.clock.now()
        self._shorten_pauses(loaded, now)
        self.searchers.load(loaded)
        self.listening.know_sources(loaded)
        self.hubs.know(loaded)
        self.lessons.know(loaded)
        self.planner.hosts.load(loaded.hosts)
        in_future = self.planner.load(loaded.pages, loaded.next_page_id, now, loaded.groups)
        known_price = (
            loaded.state.price if loaded.state and loaded.state.policy == self.config.policy else None
        )
        self.planner.start(now, price=known_price, once=self.config.stop_when == "idle")
        self.listening.hear_again(loaded, now)
        if in_future:
            logger.warning(
                "%d pages have visits in the future (the clock was set back); taken as visited now", in_future
            )

    def _opened(self, loaded: Loaded) -> None:
        self.saving.open()
        self.vitals.is_open = True
        rare_collection.begin(self)
        if len(self.planner) == 0 and loaded.other_spiders:
            logger.warning(
                "No pages of spider %r are known, but there are some of %s; if it was renamed, run"
                " `scrapy freshness db adopt OLD NEW`",
                self.crawler.spidercls.name,
                ", ".join(map(repr, loaded.other_spiders)),
            )
        self.wishes.take(loaded.wishes)
        self.crawler.stats.set_value("freshness/pages", len(self.planner))
        logger.info(
            "Keeping %d pages fresh at %g fetches a second (%s)",
            len(self.planner),
            self.config.budget_per_second,
            self.config.policy,
        )
        if self.pings is not None:
            self.pings.open(loaded.subscriptions)
        self._flushing.start(self.config.flush_seconds, now=False)
        self._housekeeping.start(_HOUSEKEEPING_SECONDS, now=False)
        self._repricing.open()
        self.searchers.open()
        if not self.searchers.is_on and (
            self.config.policy.startswith("user-centric") or self.config.query_importance
        ):
            logger.warning(
                "No queries are known, so that all pages are alike to searchers: run"
                " `scrapy freshness import queries FILE`"
            )

    def _shorten_pauses(self, loaded: Loaded, now: float) -> None:
        """No pause lasts longer than it may from now on: the clock or the settings may have been others."""
        for host in loaded.hosts:
            host.blocked_until = min(host.blocked_until, now + self.config.backoff_max_seconds)
        latest = now + longest_pauses(loaded.pages, self._upkeep)
        np.minimum(loaded.pages.not_before, latest, out=loaded.pages.not_before)

    def _not_opened(self, failure: Failure) -> Failure:
        logger.error("The crawl cannot start: %s", failure.getErrorMessage())
        return failure

    def _abandon_visits(self, now: float) -> None:
        for visit in self.planner.open_visits:
            self.planner.abandon(visit, now)
            self.crawler.stats.inc_value("freshness/visits/abandoned")
