"""Where hubs are: the main page of each host, and the pages that it links to and that are old enough."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime

import numpy as np
from numpy.typing import NDArray
from scrapy import Request
from scrapy.statscollectors import StatsCollector
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.announcing import next_turn
from scrapy_freshness.crawl.known_hubs import KnownHubs
from scrapy_freshness.crawl.rows import row_of_url
from scrapy_freshness.crawl.slots import slot_of
from scrapy_freshness.crawl.unasked import UnaskedRequests
from scrapy_freshness.model import UNSEEN, HubRecord, PageKind, PageRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.signals.addresses import host_of, is_on_host
from scrapy_freshness.sources.candidates import Candidates
from scrapy_freshness.sources.keys import link_keys
from scrapy_freshness.sources.links import Shown
from scrapy_freshness.sources.rules import HubRules, due_hubs, evidence_of_age
from scrapy_freshness.sources.site import site_of

#: Links of a main page that are looked at in one turn of the reactor.
_FEW = 16
#: Hubs that are looked at again at once: retired ones, and main pages.
_MOST_LOOKS = 100
#: Pages that are fetched to see how old they are, at a time.
_MOST_LOOKING = 10_000
#: What is said about links: by whom -> dates, unix seconds, 0 or less where nothing is said.
Dates = Mapping[str, NDArray[np.float64]]


class HubSearch:
    """Adds hubs to what is known.

    Parameters
    ----------
    fingerprint : by which a request's page is known
    discover : adds a page to those that are known; returns its record with its page id
    discover_unasked : the same for a request that the spider would make; None if it cannot be kept
    cached : records of pages that are in memory
    dates_of : what sitemaps and feeds of a host say about links
    """

    def __init__(
        self,
        config: Config,
        planner: Planner,
        stats: StatsCollector,
        known: KnownHubs,
        rules: HubRules,
        unasked: UnaskedRequests,
        *,
        fingerprint: Callable[[Request], int],
        discover: Callable[[PageRecord], PageRecord],
        discover_unasked: Callable[..., PageRecord | None],
        cached: Callable[[list[int]], list[PageRecord]],
        dates_of: "Callable[[str, list[str]], Deferred[Dates]]",
    ) -> None:
        self._is_on = config.hubs
        self._hosts = config.hosts
        self._deny = config.hubs_deny
        self._per_host = config.hubs_per_host
        self._same_link = config.link_rules
        self._planner = planner
        self._stats = stats
        self._known = known
        self._rules = rules
        self._fingerprint = fingerprint
        self._discover = discover
        self._discover_unasked = discover_unasked
        self._cached = cached
        self._dates_of = dates_of
        self._unasked = unasked
        self._looking: dict[int, str] = {}  #: id of a page that is looked at once -> its main page
        self._looks: Counter[str] = Counter()  #: lately, of a host: pages fetched to see how old they are
        self._looks_since = 0.0
        self._met: set[str] = set()  #: servers whose main pages were looked for

    def add_hosts(self, now: float) -> None:
        """Add the main pages of the hosts that the settings name."""
        if self._is_on:
            for url in self._hosts:
                self._add_root(url, now)

    def met(self, request: Request, now: float) -> None:
        """The spider asks for a page: the hubs of its host are looked for."""
        if not self._is_on or self._hosts:
            return
        parts = urlparse_cached(request)
        server = f"{parts.scheme}://{parts.netloc}/"
        if server not in self._met:
            self._met.add(server)
            self._add_root(server, now)

    def forget(self, page_ids: list[int], host: str | None) -> None:
        """Look for the hubs of a host, if it is given, as if it had never been met; some pages are none."""
        for page_id in page_ids:
            self._looking.pop(page_id, None)
        if host is not None:
            self._met.difference_update(
                [server for server in self._met if is_on_host(host_of(server) or "", host)]
            )
            for name in [name for name in self._looks if is_on_host(name, host)]:
                del self._looks[name]

    def look_around(self, now: float) -> None:
        """Look at hubs whose time has come, whatever a visit is worth: retired ones, and main pages."""
        due, known, count = due_hubs(self._known, now), self._planner.known, 0
        for row in sorted(known.rows_of(due), key=lambda row: due[known.page_id_of(row)]):
            count += self._planner.wished.visit_if_rested(row, now)
            if count == _MOST_LOOKS:
                return

    async def look_at(self, root: HubRecord, links: list[Shown], now: float) -> HubRecord:
        """Look for hubs among the links of a main page; returns what is known of that page."""
        host = host_of(root.url) or ""
        near = [link for link in links if site_of(link.host) == site_of(host)]
        keys = link_keys((link.url for link in near), self._same_link)
        own = link_keys([root.url], self._same_link)[0]
        _, places = np.unique(keys, return_index=True)
        places = np.sort(places[keys[places] != own])
        candidates = Candidates.unpacked(root.candidates).shown(
            keys[places], now, keep_seconds=self._rules.min_age_seconds
        )
        seconds = candidates.seconds_shown(keys[places], now)
        chosen = [near[place] for place in places.tolist()]
        dates = await maybe_deferred_to_future(self._dates_of(host, [link.url for link in chosen]))
        for place, link in enumerate(chosen):
            said = {name: now - float(at[place]) for name, at in dates.items() if at[place] > 0}
            self._consider(link, root, {"history": float(seconds[place])}, said, now)
            if place % _FEW == _FEW - 1:
                await next_turn()
        return replace(self._known.get(root.page_id) or root, candidates=candidates.packed())

    def is_looking_at(self, page_id: int) -> bool:
        """Whether a page is fetched to see how old it is."""
        return page_id in self._looking

    def looked_at(self, record: PageRecord, last_modified: str | None, now: float) -> None:
        """A page has answered that was fetched to see how old it is."""
        found_on = self._looking.pop(record.page_id, None)
        modified = _seconds(last_modified)
        if found_on is None or modified is None or record.page_id in self._known:
            return
        evidence = evidence_of_age({"last-modified": now - modified}, self._rules)
        if evidence:
            self._add(
                HubRecord(
                    page_id=record.page_id,
                    url=record.url,
                    found="link",
                    found_on=found_on,
                    evidence=evidence,
                    is_unseen=record.request == UNSEEN,
                )
            )

    def follow(self, hub: HubRecord, target: PageRecord, now: float) -> None:
        """A hub has moved for good: where it is now, it is one all the same."""
        row = self._planner.known.row_of(target.fingerprint)
        if row is None or site_of(host_of(target.url) or "") != site_of(host_of(hub.url) or ""):
            return
        page_id = self._planner.known.page_id_of(row)
        if page_id not in self._known and not self._planner.known.is_polled(row):
            moved = HubRecord(
                page_id=page_id,
                url=target.url,
                found=hub.found,
                found_on=hub.found_on or hub.url,
                evidence=hub.evidence,
                is_unseen=hub.is_unseen,
                candidates=hub.candidates,
            )
            self._add(moved)
            self._planner.wished.visit_next(row, now)

    def _add_root(self, url: str, now: float) -> None:
        """Add a main page, whether it is known as a page or not."""
        if host_of(url) not in self._known.hosts and self._may_poll(url, is_root=True):
            self._add_page(HubRecord(page_id=0, url=url, found="root"), now)

    def _consider(
        self,
        link: Shown,
        root: HubRecord,
        history: dict[str, float],
        said: Mapping[str, float],
        now: float,
    ) -> None:
        """A main page links to a page: is it a hub?"""
        host = link.host
        row = self._row_of(link.url)
        if row is not None:
            page_id = self._planner.known.page_id_of(row)
            if page_id in self._known or self._planner.known.is_polled(row):
                return
            for record in self._cached([page_id]):
                history["history"] = max(history["history"], now - record.discovered_at)
                modified = _seconds(record.last_modified)
                said = {**said, **({} if modified is None else {"last-modified": now - modified})}
        evidence = evidence_of_age({**history, **said}, self._rules)
        has_room = self._known.count(host) < self._per_host
        if not has_room or (row is not None and not evidence) or not self._may_poll(link.url):
            return
        if evidence:
            hub = HubRecord(page_id=0, url=link.url, found="link", found_on=root.url, evidence=evidence)
            self._add_page(hub, now)
        elif self._may_look(host, now):
            self._look_at_once(link.url, root, now)
            self._looks[host] += 1

    def _add_page(self, hub: HubRecord, now: float) -> None:
        """Make a hub of a page; one that is known is looked at next, to see its links."""
        row = self._row_of(hub.url)
        if row is None:
            self._add_new(hub)
        elif not self._planner.known.is_polled(row):
            hub.page_id = self._planner.known.page_id_of(row)
            hub.is_unseen = self._planner.known.is_unasked(row)
            self._add(hub)
            self._planner.wished.visit_next(row, now)

    def _may_look(self, host: str, now: float) -> bool:
        """Whether pages of a host may be fetched to see how old they are: as many as it may have hubs.

        So many again when the time has passed after which a link is old by itself.
        """
        if now - self._looks_since >= self._rules.min_age_seconds:
            self._looks.clear()
            self._looks_since = now
        return self._looks[host] < self._per_host

    def _look_at_once(self, url: str, root: HubRecord, now: float) -> None:
        """Have a page fetched of which nothing is known: its headers may tell how old it is."""
        record = self._discover(self._unseen_page(url, PageKind.UNASKED, importance=0.0))
        self._looking[record.page_id] = root.url
        if len(self._looking) > _MOST_LOOKING:
            del self._looking[next(iter(self._looking))]  # it has never answered
        row = self._planner.known.row_of(record.fingerprint)
        if row is not None:
            self._planner.wished.visit_next(row, now)

    def _unseen_page(self, url: str, kind: PageKind, importance: float) -> PageRecord:
        request = Request(url)
        return PageRecord(
            page_id=0,
            fingerprint=self._fingerprint(request),
            url=request.url,
            host=slot_of(request),
            request=UNSEEN,
            kind=kind,
            importance=importance,
        )

    def _add_new(self, hub: HubRecord) -> None:
        """Add a page as a hub; without a callback, if the spider would not take it."""
        request = self._unasked.request_for(hub.url)
        record: PageRecord | None = None
        if request is not None:
            if self._planner.known.row_of(self._fingerprint(request)) is not None:
                return
            record = self._discover_unasked(request, {}, kind=PageKind.SOURCE)
        if record is None:
            hub.is_unseen = True
            importance = self._planner.policy.usual_importance(PageKind.SOURCE)
            record = self._discover(self._unseen_page(hub.url, PageKind.SOURCE, importance))
        hub.page_id = record.page_id
        self._add(hub)

    def _add(self, hub: HubRecord) -> None:
        self._stats.inc_value("freshness/hubs/found")
        self._known.put(hub)

    def _may_poll(self, url: str, *, is_root: bool = False) -> bool:
        if any(pattern.search(url) for pattern in self._deny):
            return False
        try:
            return self._unasked.may_poll(url, is_root=is_root)
        except ValueError:
            return False

    def _row_of(self, url: str) -> int | None:
        return row_of_url(url, self._planner, self._fingerprint)


def _seconds(last_modified: str | None) -> float | None:
    """Unix time of a Last-Modified header."""
    if not last_modified:
        return None
    try:
        return parsedate_to_datetime(last_modified).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
