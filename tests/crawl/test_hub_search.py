"""Which links of a main page become hubs, and how many are fetched only to see how old their pages are."""

import asyncio

import numpy as np
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector
from scrapy.utils.request import fingerprint
from twisted.internet.defer import succeed

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.hub_parts import rules_of
from scrapy_freshness.crawl.hub_search import HubSearch
from scrapy_freshness.crawl.known_hubs import KnownHubs
from scrapy_freshness.crawl.seen_on_hosts import SeenOnHosts
from scrapy_freshness.model import HubRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.sources.links import Shown
from scrapy_freshness.sources.seen import SeenLinks

DAY = 86400.0
ROOT = HubRecord(page_id=999, url="http://a.example/", found="root")


class Polls:
    """Wants none of the pages, but lets all be polled."""

    def may_poll(self, url: str, *, is_root: bool) -> bool:
        return True

    def request_for(self, url: str) -> None:
        return None


class Search:
    """A search without a crawl around it."""

    def __init__(self, **settings: object) -> None:
        config = Config.from_settings({"FRESHNESS_HUBS": True, **settings})
        policy = policy_named("holistic")
        self.planner = Planner(policy, Hosts(5.0, 60.0), learner_for(policy))
        self.known = KnownHubs()
        self.known.put(ROOT)
        self.dates: dict[str, float] = {}
        self.search = HubSearch(
            config,
            self.planner,
            StatsCollector(Crawler(Spider)),
            self.known,
            rules_of(config),
            fingerprint=lambda request: int.from_bytes(fingerprint(request)[:8], "big", signed=True),
            discover=lambda page: self.planner.discover(page, 0.0),
            discover_unasked=lambda request, beliefs: None,
            cached=lambda page_ids: [],
            dates_of=lambda host, urls: succeed(
                {"sitemap": np.array([self.dates.get(url, 0.0) for url in urls])}
            ),
        )
        self.search.unasked = Polls()

    def look(self, *paths: str, now: float) -> int:
        """Look at a main page that links to these; returns how many pages became known."""
        before = len(self.planner)
        links = [Shown(f"http://a.example{path}", "a.example", False) for path in paths]
        root = self.known.get(ROOT.page_id) or ROOT
        self.known.put(asyncio.run(self.search.look_at(root, links, now)))
        return len(self.planner) - before


def stories(day: int, count: int = 30) -> list[str]:
    return [f"/story/{day}-{number}" for number in range(count)]


def test_hubs_are_found_however_many_young_pages_were_looked_at_before() -> None:
    found = Search(FRESHNESS_HUBS_PER_HOST=40)
    for day in range(10):
        found.look(*stories(day), now=day * DAY)
    found.dates["http://a.example/section"] = 1.0
    found.look("/section", now=10 * DAY)

    assert {hub.url for hub in found.known} == {ROOT.url, "http://a.example/section"}


def test_so_many_pages_are_looked_at_only_to_see_how_old_they_are() -> None:
    """As many as a host may have hubs, in the time after which a link is old by itself."""
    found = Search(FRESHNESS_HUBS_PER_HOST=40, FRESHNESS_HUB_AGE="3d")

    assert [found.look(*stories(day), now=day * DAY) for day in range(7)] == [30, 10, 0, 30, 10, 0, 30]


def test_hubs_of_a_host_that_was_forgotten_are_found_again() -> None:
    found = Search(FRESHNESS_HUBS_PER_HOST=3)
    sections = [f"/section/{number}" for number in range(5)]
    found.dates = {f"http://a.example{path}": 1.0 for path in sections}
    found.look(*sections, now=10 * DAY)

    for row in found.planner.known.rows_of_host("a.example"):
        found.planner.forget(row)
    page_ids = [hub.page_id for hub in found.known]
    found.known.forget(page_ids)
    found.search.forget(page_ids, "a.example")

    assert (list(found.known), found.known.count("a.example"), found.known.hosts) == ([], 0, set())
    assert found.known.take_changed() == []
    found.known.put(ROOT)
    found.look(*sections, now=10 * DAY)
    assert len(list(found.known)) == 3


def test_links_of_a_host_that_was_forgotten_are_new_again() -> None:
    async def seen() -> tuple[int, int]:
        links = SeenOnHosts(lambda host: succeed(SeenLinks()))
        for host in ("a.example", "a.example:8000", "b.example"):
            await links.of(host)
            links.add(host, [1, 2, 3])
        links.take_segments()
        links.forget("a.example")
        links.add("a.example:8000", [7])  # they were being looked at
        return len(await links.of("a.example:8000")), len(await links.of("b.example"))

    assert asyncio.run(seen()) == (1, 3)


def test_a_host_has_only_so_many_hubs() -> None:
    found = Search(FRESHNESS_HUBS_PER_HOST=3)
    sections = [f"/section/{number}" for number in range(5)]
    found.dates = {f"http://a.example{path}": 1.0 for path in sections}

    found.look(*sections, now=10 * DAY)

    assert len(list(found.known)) == 3
