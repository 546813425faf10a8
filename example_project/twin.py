"""A crawl of the living site's world on a manual clock: no HTTP, no waiting, but the same parts otherwise.

The planner is the one that the settings of a crawl describe. It polls the sitemaps that the site would serve
at the time of the poll, and what is read from them is what a crawl would read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from living_site.announcements import SITEMAP_INDEX, SITEMAPS, announcement
from living_site.model import Document, Host
from living_site.sayings import announcing_hosts
from living_site.world import World
from scrapy.settings import Settings

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.configured import new_planner
from scrapy_freshness.model import PageKind, SignalSource
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.signal_trust import SourceTrust, signal_trust
from scrapy_freshness.planning.visits import PollYield, Upkeep
from scrapy_freshness.signals.polled import Said, read_poll
from scrapy_freshness.simulator.run import crawl, ticks_at
from scrapy_freshness.simulator.web import Address, Fetches, Look

#: Unix time of the world's beginning.
EPOCH = 1_700_000_000.0


@dataclass(frozen=True)
class TwinCrawl:
    """What was fetched when, in seconds of the world, and what was learned of the signals of its hosts."""

    fetches: list[tuple[float, Document]]
    polls: dict[str, list[float]]
    trust: list[SourceTrust]

    def visits(self) -> dict[Document, list[float]]:
        """Times of the visits of each document."""
        found: dict[Document, list[float]] = {}
        for time, page in self.fetches:
            found.setdefault(page, []).append(time)
        return found


def twin_crawl(world: World, settings: Mapping[str, object], per_second: float, end: float) -> TwinCrawl:
    """Let the planner of these settings crawl a world for a while, at so many fetches a second."""
    config = Config.from_settings(Settings({**settings, "FRESHNESS_BUDGET": f"{per_second}/s"}))
    planner = new_planner(config, Upkeep.of(config), before_learning=lambda records: None)
    web = AnnouncedWeb(world, planner, hears=config.signals)
    fetched = crawl(web, planner, EPOCH + ticks_at(per_second, 0.0, end))
    return web.outcome(fetched)


class AnnouncedWeb:
    """The documents of a world and, behind them, the sitemaps of its announcing hosts."""

    first_linked: int | None = None

    def __init__(self, world: World, planner: Planner, *, hears: bool = True) -> None:
        self._world = world
        self._planner = planner
        self._sitemaps: list[tuple[Host, str]] = [
            (host, path) for host in announcing_hosts(world) for path in (SITEMAP_INDEX, *SITEMAPS) if hears
        ]
        pages = [Address(page.url, page.host.address) for page in world.documents]
        polled = [
            Address(f"{host.site_url}{path}", host.address, kind=PageKind.SITEMAP)
            for host, path in self._sitemaps
        ]
        self.addresses = pages + polled
        self._number_of = {address.url: number for number, address in enumerate(self.addresses)}
        self._seen: dict[str, bytes] = {}
        self._bodies: dict[str, bytes] = {}

    def appears_at(self, page: int) -> float:
        """At the very beginning."""
        return EPOCH

    def look(self, page: int, now: float) -> Look:
        """The version of a document; or what a sitemap says, which the planner hears."""
        n_documents = len(self._world.documents)
        if page < n_documents:
            return Look(self._world.version_at(self._world.documents[page], now - EPOCH))
        host, path = self._sitemaps[page - n_documents]
        answer = announcement(self._world, host, path, now - EPOCH, EPOCH)
        assert answer is not None
        url = self.addresses[page].url
        if self._bodies.get(url) == answer.body:  # as its ETag would tell
            return Look(hash(answer.body))
        self._bodies[url] = answer.body
        polled = read_poll(
            answer.body, url, before=self._seen.get(url, b""), now=now, hosts={f"{host.address}:{host.port}"}
        )
        self._seen[url] = polled.seen
        self._hear(polled.sitemaps, now)
        worth = self._hear(polled.signals, now)
        return Look(hash(answer.body), poll=PollYield(worth, is_barren=not worth))

    def _hear(self, said: list[Said], now: float) -> float:
        known = {self._number_of[page.url]: page.claimed_at for page in said if page.url in self._number_of}
        if not known:
            return 0.0
        rows = np.array([self._planner.known.row_of(number) for number in known])
        claims = np.array([np.nan if at is None else at for at in known.values()])
        return self._planner.news.hear(rows, claims, now, SignalSource.SITEMAP).worth

    def outcome(self, fetched: Fetches) -> TwinCrawl:
        """What came of a crawl that has ended."""
        documents = self._world.documents
        fetches: list[tuple[float, Document]] = []
        polls: dict[str, list[float]] = {}
        for page, at in zip(fetched.pages.tolist(), (fetched.times - EPOCH).tolist(), strict=True):
            if page < len(documents):
                fetches.append((at, documents[page]))
            else:
                polls.setdefault(self._sitemaps[page - len(documents)][1], []).append(at)
        self._planner.settle(float(fetched.times[-1]))
        return TwinCrawl(fetches, polls, signal_trust(self._planner.take_groups()))
