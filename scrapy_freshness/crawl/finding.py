"""Where sitemaps and feeds are found: settings, robots.txt, heads of pages, Link headers, the usual paths.

Only for hosts of which pages are kept fresh, and only so many for each. What is found becomes a page to be
polled, and costs budget like all others.
"""

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.utils.httpobj import urlparse_cached

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.known_sources import KnownSources
from scrapy_freshness.crawl.rows import row_of_url
from scrapy_freshness.crawl.slots import slot_of
from scrapy_freshness.model import PageKind, PageRecord, SignalSource, SourceRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.signals.addresses import host_of, is_on_host
from scrapy_freshness.signals.contract import Kind, Link, Relation
from scrapy_freshness.signals.discovery import (
    ROBOTS_PATH,
    header_sources,
    page_links,
    robots_sitemaps,
    usual_sitemaps,
)
from scrapy_freshness.signals.polled import Said

#: Sources of each kind that a host may have.
_MOST = {PageKind.SITEMAP: 2000, PageKind.FEED: 10}
#: Sitemap indexes above a sitemap, at the most.
_DEEPEST = 3
#: One of the usual paths is tried for so many known pages of a host, and at so many visits: of a host with a
#: few pages, a sitemap would save less than it costs to look for it.
_PAGES_PER_TRIAL = 20
#: Servers of which the sitemaps in robots.txt are remembered until a page of theirs is visited.
_MOST_ROBOTS = 10_000
#: A first poll goes before the first visits of other pages: it tells of many.
_PRIORITY = 100


class SourceFinder:
    """Adds what is found to the pages that are polled.

    Parameters
    ----------
    fingerprint : by which a request's page is known
    discover : adds a page to those that are known; returns its record with its page id
    overhears_robots : whether Scrapy reads the robots.txt of each server, so that it need not be fetched
    """

    def __init__(
        self,
        config: Config,
        planner: Planner,
        known: KnownSources,
        *,
        fingerprint: Callable[[Request], int],
        discover: Callable[[PageRecord], PageRecord],
        overhears_robots: bool,
    ) -> None:
        self._is_on = config.signals
        self._pinned = config.signal_sources
        self._deny = config.signal_sources_deny
        self._planner = planner
        self._known = known
        self._fingerprint = fingerprint
        self._discover = discover
        self._overhears_robots = overhears_robots
        self._named: dict[
            str, list[str]
        ] = {}  #: server -> sitemaps of its robots.txt, not added yet; oldest first
        self._visits: Counter[str] = Counter()  #: of servers
        self._full: set[str] = set()  #: servers of which no more feeds are looked for
        self._tried: set[str] = set()  #: servers at all of whose usual paths a sitemap was looked for

    def add_pinned(self) -> None:
        """Add the sources that the settings name."""
        for url in self._pinned:
            kind = PageKind.SITEMAP if "sitemap" in url.lower() else PageKind.FEED
            self.add(url, kind, found="setting", is_pinned=True)

    def is_silenced(self, source: SourceRecord) -> bool:
        """Whether a source that is known from earlier is not polled, by the present settings."""
        return not self._is_on or self._is_denied(source.url)

    def is_pinned(self, source: SourceRecord) -> bool:
        """Whether the present settings name a source."""
        return source.url in self._pinned

    def read_robots(self, request: Request, response: Response) -> None:
        """A server's robots.txt was read: what it names is added when a page of the server is visited."""
        sitemaps = robots_sitemaps(response.body, response.url) if response.status == 200 else []
        if self._is_on and sitemaps:
            self._named[_server(request)] = sitemaps
            if len(self._named) > _MOST_ROBOTS:
                del self._named[next(iter(self._named))]

    def forget(self, host: str) -> None:
        """Look for sources of a host as if it had never been met."""
        for servers in (self._named, self._visits):
            for server in [each for each in servers if is_on_host(host_of(each) or "", host)]:
                del servers[server]
        for kept in (self._full, self._tried):
            kept.difference_update([each for each in kept if is_on_host(host_of(each) or "", host)])

    def look_at(self, page: PageRecord, response: Response, *, has_changed: bool) -> None:
        """A page was visited: what does its server name, and what does it name itself?"""
        if not self._is_on:
            return
        server = _server(response)
        self._visits[server] += 1
        for url in self._named.pop(server, ()):
            self.add(url, PageKind.SITEMAP, found="robots", found_on=f"{server}{ROBOTS_PATH}")
        if self._visits[server] % _PAGES_PER_TRIAL == 0:
            self._try_next(server, page.host)
        if not has_changed:
            return
        if "Link" in response.headers:
            values = [value.decode("latin-1") for value in response.headers.getlist("Link")]
            self._add_links(page, header_sources(values, response.url), "header")
        if isinstance(response, HtmlResponse) and server not in self._full:
            self._add_links(page, page_links(response.body, response.url), "page")

    def add_children(self, index: SourceRecord, sitemaps: Iterable[Said], now: float) -> int:
        """Add the sitemaps that an index names, and return how many; those that it dates anew are polled."""
        n_new = 0
        found = "robots" if index.format == Kind.ROBOTS else "index"
        for url, claimed_at, _ in sitemaps:
            row = self._row_of(url)
            if row is not None and self._planner.known.is_polled(row):
                claims = np.array([np.nan if claimed_at is None else claimed_at])
                self._planner.news.hear(np.array([row]), claims, now, SignalSource.SITEMAP)
            elif index.depth < _DEEPEST:
                n_new += self.add(url, PageKind.SITEMAP, found=found, parent=index) is not None
        return n_new

    def add(
        self,
        url: str,
        kind: PageKind,
        *,
        found: str,
        found_on: str = "",
        is_pinned: bool = False,
        parent: SourceRecord | None = None,
    ) -> SourceRecord | None:
        """Add a source to what is polled; None if it is known, not wanted, or one too many."""
        named_by = parent.url if parent else found_on
        host = host_of(url)
        if not self._is_on or host is None or self._is_denied(url):
            return None
        if self._known.count(host, kind) >= _MOST[kind] and not is_pinned:
            return None
        try:
            request = Request(url)
        except ValueError:
            return None
        # Whoever names a source on another host lets it speak for his own (sitemaps.org, cross submits).
        hosts = {*(parent.hosts if parent else ()), host_of(named_by) or host} - {host}
        row = self._planner.known.row_of(self._fingerprint(request))
        if row is not None:
            self._vouch(row, hosts)
            return None
        page = PageRecord(
            page_id=0,
            fingerprint=self._fingerprint(request),
            url=request.url,
            host=slot_of(request),
            kind=kind,
            priority=0 if found == "usual" else _PRIORITY,
        )
        source = SourceRecord(
            page_id=self._discover(page).page_id,
            url=request.url,
            kind=kind,
            found=found,
            found_on=named_by,
            is_pinned=is_pinned,
            depth=parent.depth + 1 if parent else 0,
            hosts=tuple(sorted(hosts)),
        )
        self._known.add(source)
        return source

    def _try_next(self, server: str, host: str) -> None:
        """Try the next of the paths at which a server may have a sitemap, unless one is known."""
        if server in self._tried or self._known.has_sitemap(host_of(server) or ""):
            return
        trials = self._planner.known.count_pages(host) // _PAGES_PER_TRIAL
        usual = usual_sitemaps(server)
        if not self._overhears_robots:
            usual.insert(0, f"{server}{ROBOTS_PATH}")
        for url in usual[:trials]:
            if self._row_of(url) is None:
                self.add(url, PageKind.SITEMAP, found="usual")
                return
        if trials >= len(usual):
            self._tried.add(server)

    def _row_of(self, url: str) -> int | None:
        return row_of_url(url, self._planner, self._fingerprint)

    def _vouch(self, row: int, hosts: set[str]) -> None:
        """Somebody else names a source that is known."""
        source = self._known.get(self._planner.known.page_id_of(row))
        if source is not None and not hosts <= set(source.hosts):
            source.hosts = tuple(sorted({*source.hosts, *hosts}))
            self._known.note(source)

    def _add_links(self, page: PageRecord, links: list[Link], found: str) -> None:
        if not links:
            return
        by_relation: dict[Relation, list[str]] = {}
        for link in links:
            by_relation.setdefault(link.relation, []).append(link.url)
        for relation, kind in ((Relation.FEED, PageKind.FEED), (Relation.SITEMAP, PageKind.SITEMAP)):
            for url in by_relation.get(relation, ()):
                self.add(url, kind, found=found, found_on=page.url)
        if hubs := by_relation.get(Relation.HUB):
            topic = by_relation.get(Relation.SELF, [page.url])[0]
            self._note_hub(page, hubs[0], topic, found)
        host = host_of(page.url) or ""
        if self._known.count(host, PageKind.FEED) >= _MOST[PageKind.FEED]:
            self._full.add(_server(Request(page.url)))

    def _note_hub(self, page: PageRecord, hub: str, topic: str, found: str) -> None:
        source = self._known.get(page.page_id)
        if source is None:
            kind = page.kind
            source = SourceRecord(page_id=page.page_id, url=page.url, kind=kind, found=found)
            self._known.add(source)
        if (source.hub, source.topic) != (hub, topic):
            source.hub, source.topic = hub, topic
            self._known.note(source)

    def _is_denied(self, url: str) -> bool:
        return any(pattern.search(url) for pattern in self._deny)


def _server(message: Request | Response) -> str:
    """Scheme, host and port."""
    parts = urlparse_cached(message)
    return f"{parts.scheme}://{parts.netloc}"
