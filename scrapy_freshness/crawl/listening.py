"""All that listens to what sites say about their pages: what is known, found, polled and announced."""

from collections.abc import Callable

import numpy as np
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from twisted.internet.defer import Deferred

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.announcing import Announcements
from scrapy_freshness.crawl.finding import SourceFinder
from scrapy_freshness.crawl.journal import Journal, Loaded
from scrapy_freshness.crawl.known_sources import KnownSources
from scrapy_freshness.crawl.polling import Polls
from scrapy_freshness.crawl.requests import NotPersistableError, request_to_json
from scrapy_freshness.crawl.slots import slot_of
from scrapy_freshness.crawl.tracking import kind_of
from scrapy_freshness.crawl.unasked import UnaskedRequests
from scrapy_freshness.crawl.visiting import Visits
from scrapy_freshness.model import PageKind, PageRecord, VisitRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.signals.polled import Polled


class Listening:
    """Builds the parts that listen, and stands between them and the rest of the crawl.

    Parameters
    ----------
    fingerprint : by which a request's page is known
    discover : adds a page to those that are known; returns its record with its page id
    in_background : runs what takes long in a thread
    read_seen : what a source said at its last poll, from the database
    """

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        planner: Planner,
        visits: Visits,
        *,
        fingerprint: Callable[[Request], int],
        discover: Callable[[PageRecord], PageRecord],
        in_background: "Callable[[Callable[[], Polled]], Deferred[Polled]]",
        read_seen: "Callable[[int], Deferred[bytes]]",
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._planner = planner
        self._fingerprint = fingerprint
        self._discover = discover
        self._wake: Callable[[], None] = lambda: None
        self._sources = KnownSources()
        self.finder = SourceFinder(config, planner, self._sources, fingerprint=fingerprint, discover=discover)
        self.announcements = Announcements(
            planner,
            crawler.stats,
            fingerprint=fingerprint,
            discover=self._discover_unasked,
            wake=lambda: self._wake(),
        )
        self.polls = Polls(
            crawler,
            visits,
            self._sources,
            self.finder,
            self.announcements,
            in_background=in_background,
            read_seen=read_seen,
        )

    def know_sources(self, loaded: Loaded) -> None:
        """Know sources again; those that the settings do not want any more are not polled."""
        self._sources.load(loaded.sources)
        silenced = [source.page_id for source in loaded.sources if self.finder.is_silenced(source)]
        if silenced:
            is_polled = (loaded.pages.kind >= PageKind.SITEMAP) & np.isin(loaded.pages.page_id, silenced)
            loaded.pages.not_before[is_polled] = np.inf
        for source in loaded.sources:
            source.is_pinned = self.finder.is_pinned(source)

    def hear_again(self, loaded: Loaded, now: float) -> None:
        """Signals that an earlier run has heard and no visit has answered still count."""
        self._planner.news.restore(loaded.waiting.page_id, loaded.waiting.source, now)
        self.announcements.restore(loaded.waiting.page_id.tolist())

    def open(self, spider: Spider, wake: Callable[[], None]) -> None:
        """The spider is there, and pages are known; *wake* is called when there is something to visit."""
        self._wake = wake
        self.announcements.unasked = UnaskedRequests(self._config, spider)
        self.finder.add_pinned()

    def close(self) -> None:
        """Whatever is being taken in ends; it is said again at the next poll."""
        self.announcements.is_closed = True

    def note(self, visits: list[VisitRecord], journal: Journal) -> None:
        """Hand what was heard and learned to the journal; *visits* may answer signals."""
        self.announcements.answer(visits)
        journal.note_signals(self._sources.take_changed(), self.announcements.take_log())

    def _discover_unasked(self, request: Request) -> PageRecord | None:
        """Add a page that somebody else than the spider has named; None if it cannot be kept."""
        assert self._crawler.spider is not None
        try:
            described = request_to_json(request, self._crawler.spider, self._config.meta_keys)
        except NotPersistableError:
            self._crawler.stats.inc_value("freshness/not_persistable")
            return None
        self._crawler.stats.inc_value("freshness/discovered")
        page = PageRecord(
            page_id=0,
            fingerprint=self._fingerprint(request),
            url=request.url,
            host=slot_of(request),
            request=described,
            kind=kind_of(request),
            priority=request.priority,
        )
        return self._discover(page)
