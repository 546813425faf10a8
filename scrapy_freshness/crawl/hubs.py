"""Hubs of a crawl: found one hop from the main pages of hosts, read for new links at each of their visits.

The links of a page are read off its answer, before the spider sees it, and looked at when the visit ends:
what the spider has asked for itself is known by then.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scrapy.http import HtmlResponse, Response
from scrapy.statscollectors import StatsCollector
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock
from scrapy_freshness.config import Config
from scrapy_freshness.crawl.announcing import next_turn
from scrapy_freshness.crawl.guarded import guarded_loop
from scrapy_freshness.crawl.http import header_text
from scrapy_freshness.crawl.hub_search import HubSearch
from scrapy_freshness.crawl.journal import Journal, Loaded
from scrapy_freshness.crawl.known_hubs import KnownHubs
from scrapy_freshness.crawl.new_links import NewLinks
from scrapy_freshness.crawl.seen_on_hosts import SeenOnHosts
from scrapy_freshness.crawl.visiting import PageVisit, Visits
from scrapy_freshness.model import UNSEEN, HubRecord, HubState, PageKind, PageRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.visits import Report
from scrapy_freshness.planning.young_links import YoungLinks
from scrapy_freshness.signals.addresses import host_of
from scrapy_freshness.sources.keys import link_keys
from scrapy_freshness.sources.links import LinkReader, Shown, says_nofollow
from scrapy_freshness.sources.rules import HubRules, looked_at, polled
from scrapy_freshness.sources.site import site_of

logger = logging.getLogger(__name__)

#: Bodies up to this length are read at once: that takes a millisecond, or some if they are all links.
_SHORT_BYTES = 20_000
#: Links that are looked at in one turn of the reactor.
_FEW = 16
#: How often it is looked for hubs whose time has come, at most and at least.
_SHORTEST_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.5, 60.0


class Hubs:
    """Reads the links of hubs, counts the new ones, and keeps the books of hubs.

    Parameters
    ----------
    in_background : runs what takes long in a thread
    """

    def __init__(
        self,
        config: Config,
        planner: Planner,
        visits: Visits,
        clock: Clock,
        stats: StatsCollector,
        known: KnownHubs,
        seen: SeenOnHosts,
        search: HubSearch,
        new_links: NewLinks,
        *,
        rules: HubRules,
        reader: LinkReader,
        in_background: "Callable[[Callable[[], list[Shown]]], Deferred[list[Shown]]]",
    ) -> None:
        self.is_on = config.hubs
        self.search = search
        self._rules = rules
        self._reader = reader
        self._obeys_nofollow = config.obey_nofollow
        self._same_link = config.link_rules
        self._most_bytes = config.max_body_bytes
        self._planner = planner
        self._visits = visits
        self._clock = clock
        self._known = known
        self._seen = seen
        self._new_links = new_links
        self._in_background = in_background
        self._young = YoungLinks()
        self._looking = guarded_loop(stats, self._look_around)
        self._is_closed = False

    def know(self, loaded: Loaded) -> None:
        """Know hubs again; if none are looked for any more, those are left alone that are no pages."""
        self._known.load(loaded.hubs)
        if not self.is_on:
            unseen = [hub.page_id for hub in loaded.hubs if hub.is_unseen]
            loaded.pages.not_before[np.isin(loaded.pages.page_id, unseen)] = np.inf

    def open(self) -> None:
        """Pages are known: begin to look for hubs, if they are wanted."""
        if self.is_on:
            self.search.add_hosts(self._clock.now())
            often = self._rules.refresh_seconds / 10
            seconds = min(max(often, _SHORTEST_LOOK_SECONDS), _LONGEST_LOOK_SECONDS)
            self._looking.start(seconds, now=False)

    def close(self) -> None:
        """Links that are being looked at are looked at again at the next poll."""
        self._is_closed = True
        if self._looking.running:
            self._looking.stop()

    def is_unseen(self, page_id: int) -> bool:
        """Whether a page is a hub that the spider does not see."""
        hub = self._known.get(page_id)
        return hub is not None and hub.is_unseen

    def is_root(self, page_id: int) -> bool:
        """Whether a page is polled as the main page of its host."""
        hub = self._known.get(page_id) if self.is_on else None
        return hub is not None and hub.is_root

    def show(self, page_id: int) -> None:
        """The spider asks for a hub that it has not seen so far."""
        hub = self._known.get(page_id)
        if hub is not None and hub.is_unseen:
            self._known.put(replace(hub, is_unseen=False))

    def forget(self, page_ids: list[int], host: str | None) -> None:
        """Know nothing of some hubs any more, nor, if it is given, of the links that a host has shown."""
        self._known.forget(page_ids)
        self.search.forget(page_ids, host)
        if host is not None:
            self._seen.forget(host)

    def note(self, journal: Journal) -> None:
        """Hand what is new to the journal."""
        journal.note_hubs(self._known.take_changed(), self._seen.take_segments())

    def wants_links(self, page_id: int) -> bool:
        """Whether the links of a page are looked at even if it has not changed.

        Those of a hub that was not polled yet, and now and then those of a main page: what it links to has
        grown older.
        """
        hub = self._known.get(page_id) if self.is_on else None
        if hub is None:
            return False
        return not hub.polls or (hub.is_root and hub.next_look_at <= self._clock.now())

    async def read(self, page: PageVisit, response: Response) -> None:
        """Read the links off the answer of a hub."""
        record = page.visit.record
        if self.search.is_looking_at(record.page_id):
            self.search.looked_at(record, header_text(response, "Last-Modified"), self._clock.now())
        if not self.is_on or (record.page_id not in self._known and record.kind is not PageKind.SOURCE):
            return
        page.shown = []
        if not isinstance(response, HtmlResponse) or self._is_elsewhere(response, record):
            return
        tags = b",".join(response.headers.getlist("X-Robots-Tag")).decode("latin-1")
        if self._obeys_nofollow and says_nofollow(tags):
            return
        body = response.body[: self._most_bytes]
        read = partial(self._reader.read, body, response.url)
        if len(body) <= _SHORT_BYTES:
            page.shown = read()
        else:
            page.shown = await maybe_deferred_to_future(self._in_background(read))

    def take(self, page: PageVisit, report: Report) -> None:
        """Look at the links that were read, then close the visit."""
        taken = deferred_from_coro(self._take(page, report))
        taken.addErrback(self._failed, page, report)

    def ending(self, page: PageVisit, report: Report) -> None:
        """A visit ends: what was it as a poll, and what is the page from now on?"""
        record = page.visit.record
        hub = self._known.get(record.page_id)
        is_forgotten = self._planner.known.row_of(record.fingerprint) is None
        if hub is None and self.is_on and record.kind is PageKind.SOURCE and not is_forgotten:
            hub = HubRecord(page_id=record.page_id, url=record.url, found="spider")
        if hub is None:
            return
        if not report.outcome.saw_content:
            after = looked_at(hub, report.at, self._rules)
            if after is not hub:
                self._known.put(after)
            return
        if not self.is_on:
            report.kind = record.kind if hub.found == "spider" else _kind_without_links(record)
            return
        # At the first look everything is new to us; what the spider has asked for was new to it.
        report.new_links = page.new_links + (page.found_links if hub.polls else 0)
        is_same = page.shown is None and not page.new_links
        report.staying = self._young.unchanged(record.page_id) if is_same else page.staying
        n_shown = hub.shown if page.shown is None else len(page.shown)
        after = polled(hub, report.new_links, n_shown, report.at, self._rules)
        if after.state is not hub.state and after.state is HubState.RETIRED:
            logger.debug("%s has shown nothing new for %d polls", hub.url, after.barren)
        self._known.put(after)
        is_retired = after.state is HubState.RETIRED
        report.kind = _kind_without_links(record) if is_retired else PageKind.SOURCE

    def moved(self, page: PageVisit) -> None:
        """A hub redirects for good: its target takes its place."""
        hub = self._known.get(page.visit.record.page_id)
        if self.is_on and hub is not None and page.target is not None:
            self.search.follow(hub, page.target, self._clock.now())

    def _look_around(self) -> None:
        """Look at hubs whose time has come."""
        self.search.look_around(self._clock.now())

    async def _take(self, page: PageVisit, report: Report) -> None:
        record, links = page.visit.record, page.shown or []
        host = host_of(record.url) or ""
        seen = await self._seen.of(host)
        content = [link for link in links if not link.is_boilerplate]
        keys = link_keys((link.url for link in content), self._same_link)
        unseen = [
            (link, key)
            for link, key, is_new in zip(content, keys.tolist(), seen.unseen(keys).tolist(), strict=True)
            if is_new
        ]
        met: set[int] = set()
        for start in range(0, len(unseen), _FEW):
            if self._is_closed:
                return
            for link, key in unseen[start : start + _FEW]:
                if key not in met:
                    met.add(key)
                    self._take_link(page, host, link, key)
            await next_turn()
        hub = self._known.get(record.page_id)
        news = met if hub is not None and hub.polls else set()
        page.staying = self._young.polled(record.page_id, set(keys.tolist()), news)
        if hub is not None and hub.is_root and not self._is_closed:
            await self._search(hub, links)
        if not self._is_closed:
            page.is_taking_links = False
            self._visits.close(page, report)

    def _take_link(self, page: PageVisit, host: str, link: Shown, key: int) -> None:
        taken = self._new_links.take(link, page.visit.record, host)
        if taken is None:
            return  # not for this spider; that may change
        self._seen.add(host, [key])
        page.found_links += taken

    async def _search(self, root: HubRecord, links: list[Shown]) -> None:
        now = self._clock.now()
        root = await self.search.look_at(root, links, now)
        if root.page_id in self._known:  # or it was forgotten meanwhile
            self._known.put(replace(root, next_look_at=now + self._rules.refresh_seconds))

    def _is_elsewhere(self, response: Response, record: PageRecord) -> bool:
        """Whether a hub has led to another site, whose links are none of ours."""
        return site_of(host_of(response.url) or "") != site_of(host_of(record.url) or "")

    def _failed(self, failure: Failure, page: PageVisit, report: Report) -> None:
        if page.is_open and not self._is_closed:
            logger.error("Links of %s could not be looked at: %s", page.url, failure.getErrorMessage())
            self._visits.close(page, report)


def _kind_without_links(record: PageRecord) -> PageKind:
    """What a page is fetched for if not for its links."""
    return PageKind.UNASKED if record.request == UNSEEN else PageKind.PAGE
