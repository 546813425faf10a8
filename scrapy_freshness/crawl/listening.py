"""All that listens to what sites say about their pages: what is known, found, polled and announced."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
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
from scrapy_freshness.model import UNSEEN, PageKind, PageRecord, SourceRecord, VisitRecord, are_polled
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.signals.contract import SHOWS_NEWS, Entry
from scrapy_freshness.signals.polled import Polled
from scrapy_freshness.signals.seen import key_of, seconds_at

#: When each of some links was changed, unix seconds; 0 or less where nobody says so.
Dates = NDArray[np.float64]
#: Sitemaps and feeds of a host that are asked for dates, the largest first.
_MOST_ASKED = 8


class Listening:
    """Builds the parts that listen, and stands between them and the rest of the crawl.

    Parameters
    ----------
    fingerprint : by which a request's page is known
    discover : adds a page to those that are known; returns its record with its page id
    in_background : runs what takes long in a thread
    read_seen : what a source said at its last poll, from the database
    wake : called when there is something new to be visited
    """

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        planner: Planner,
        visits: Visits,
        unasked: UnaskedRequests,
        *,
        fingerprint: Callable[[Request], int],
        discover: Callable[[PageRecord], PageRecord],
        in_background: "Callable[[Callable[[], Polled]], Deferred[Polled]]",
        read_seen: "Callable[[int], Deferred[bytes]]",
        wake: Callable[[], None],
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._planner = planner
        self._fingerprint = fingerprint
        self._discover = discover
        self._read_seen = read_seen
        self._sources = KnownSources()
        self.finder = SourceFinder(
            config,
            planner,
            self._sources,
            fingerprint=fingerprint,
            discover=discover,
            overhears_robots=crawler.settings.getbool("ROBOTSTXT_OBEY"),
        )
        self.announcements = Announcements(
            planner,
            crawler.stats,
            unasked,
            fingerprint=fingerprint,
            discover=self._discover_announced,
            wake=wake,
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
            is_polled = are_polled(loaded.pages.kind) & np.isin(loaded.pages.page_id, silenced)
            loaded.pages.not_before[is_polled] = np.inf
        for source in loaded.sources:
            source.is_pinned = self.finder.is_pinned(source)

    def forget(self, page_ids: list[int], host: str | None) -> None:
        """Know nothing of some sources any more; if a host is given, look for sources there again."""
        self._sources.forget(page_ids)
        if host is not None:
            self.finder.forget(host)

    def hear_again(self, loaded: Loaded, now: float) -> None:
        """Signals that an earlier run has heard and no visit has answered still count."""
        self._planner.news.restore(loaded.waiting.page_id, loaded.waiting.source, now)
        self.announcements.restore(loaded.waiting.page_id.tolist())

    def open(self) -> None:
        """Pages are known: add the sources that the settings name."""
        self.finder.add_pinned()

    def dates_of(self, host: str, urls: list[str]) -> "Deferred[Mapping[str, Dates]]":
        """What the sitemaps and feeds of a host say about links, by kind."""
        return deferred_from_coro(self._dates_of(host, urls))

    async def _dates_of(self, host: str, urls: list[str]) -> Mapping[str, Dates]:
        keys = np.array([key_of(Entry(url)) for url in urls], np.uint64)
        found: dict[str, Dates] = {}
        for source in self._sources.of_host(host)[:_MOST_ASKED]:
            if source.entries and source.kind.is_polled:
                packed = await maybe_deferred_to_future(self._read_seen(source.page_id))
                dates = seconds_at(packed, keys).astype(np.float64)
                name = source.kind.name.lower()
                found[name] = np.maximum(found.get(name, np.zeros(len(urls))), dates)
        return found

    def close(self) -> None:
        """Whatever is being taken in ends; it is said again at the next poll."""
        self.announcements.is_closed = True

    def note(self, visits: list[VisitRecord], journal: Journal) -> None:
        """Hand what was heard and learned to the journal; *visits* may answer signals."""
        self.announcements.answer(visits)
        sources = self._sources.take_changed()
        journal.note_signals(sources, self.announcements.take_log(), self.announcements.take_shown())

    def _discover_announced(self, request: Request, told_by: int | None) -> PageRecord | None:
        """Add a page that was announced; what shows news is to its pages what a hub is to its new links."""
        source = None if told_by is None else self._sources.get(told_by)
        if source is None or source.format not in SHOWS_NEWS:
            return self.discover_unasked(request)
        is_first_poll = not source.polls  # then everything is new to us
        beliefs = self._planner.beliefs_of_links(_page_of(source)) if self._config.hubs else {}
        return self.discover_unasked(request, beliefs, None if is_first_poll else source.page_id)

    def discover_unasked(
        self,
        request: Request,
        beliefs: Mapping[str, float] = MappingProxyType({}),
        found_on: int | None = None,
        *,
        kind: PageKind | None = None,
    ) -> PageRecord | None:
        """Add a page that somebody else than the spider has named; None if it cannot be kept.

        Parameters
        ----------
        beliefs : what is believed of it because of who has named it
        found_on : page id of the source that has shown it first
        kind : what it is fetched for; None: what the request says
        """
        assert self._crawler.spider is not None
        said = PageKind.UNASKED
        described: str | None = UNSEEN
        if request.callback is not NO_CALLBACK:
            try:
                described = request_to_json(request, self._crawler.spider, self._config.meta_keys)
            except NotPersistableError:
                self._crawler.stats.inc_value("freshness/not_persistable")
                return None
            said = kind_of(request)
        self._crawler.stats.inc_value("freshness/discovered")
        page = PageRecord(
            page_id=0,
            fingerprint=self._fingerprint(request),
            url=request.url,
            host=slot_of(request),
            request=described,
            kind=said if kind is None else kind,
            priority=request.priority,
            beliefs=dict(beliefs),
            found_on=found_on,
        )
        return self._discover(page)


def _page_of(source: SourceRecord) -> PageRecord:
    """The page that a source is."""
    host = slot_of(Request(source.url))
    return PageRecord(page_id=source.page_id, fingerprint=0, url=source.url, host=host, kind=source.kind)
