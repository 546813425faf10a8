"""Which pages become hubs, how many are fetched only to see how old they are; which come back, or move."""

import asyncio
from email.utils import formatdate

import numpy as np
import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector
from scrapy.utils.request import fingerprint
from twisted.internet.defer import succeed

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.config import Config
from scrapy_freshness.crawl.hub_parts import rules_of
from scrapy_freshness.crawl.hub_search import HubSearch
from scrapy_freshness.crawl.hubs import Hubs
from scrapy_freshness.crawl.known_hubs import KnownHubs
from scrapy_freshness.crawl.seen_on_hosts import SeenOnHosts
from scrapy_freshness.crawl.visiting import PageVisit
from scrapy_freshness.model import UNSEEN, HubRecord, HubState, Outcome, PageKind, PageRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.planning.visits import Report, Visit
from scrapy_freshness.sources.links import LinkReader, Shown
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
        self.discovered: list[PageRecord] = []
        self.search = HubSearch(
            config,
            self.planner,
            StatsCollector(Crawler(Spider)),
            self.known,
            rules_of(config),
            Polls(),
            fingerprint=lambda request: int.from_bytes(fingerprint(request)[:8], "big", signed=True),
            discover=self.discover,
            discover_unasked=lambda request, beliefs: None,
            cached=lambda page_ids: [],
            dates_of=lambda host, urls: succeed(
                {"sitemap": np.array([self.dates.get(url, 0.0) for url in urls])}
            ),
        )

    def discover(self, page: PageRecord) -> PageRecord:
        """Add a page to those that are known."""
        self.discovered.append(self.planner.discover(page, 0.0))
        return self.discovered[-1]

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


def http_date(days_ago: float, now: float) -> str:
    return formatdate(now - days_ago * DAY, usegmt=True)


def test_a_page_that_was_fetched_to_see_how_old_it_is_becomes_a_hub_if_it_is_old() -> None:
    found, now = Search(), 100 * DAY
    found.look("/section", "/story/1", "/story/2", now=now)
    section, story, silent = found.discovered
    for page, said in ((section, http_date(5, now)), (story, http_date(1, now)), (silent, None)):
        assert found.search.is_looking_at(page.page_id)
        found.search.looked_at(page, said, now)
        found.search.looked_at(page, http_date(5, now), now)  # the next visit is one like others

    (hub,) = (hub for hub in found.known if hub.url != ROOT.url)
    assert (hub.url, hub.found_on, hub.evidence) == (section.url, ROOT.url, "last-modified")
    assert hub.is_unseen
    assert not any(found.search.is_looking_at(page.page_id) for page in found.discovered)


def test_a_hub_that_has_moved_is_one_where_it_is() -> None:
    found, now = Search(), 10 * DAY
    found.dates["http://a.example/section"] = 1.0
    found.look("/section", now=now)
    (hub,) = (hub for hub in found.known if hub.url != ROOT.url)
    new_place, elsewhere = (
        found.discover(PageRecord(page_id=0, fingerprint=number, url=url, host=url.split("/")[2]))
        for number, url in ((1, "http://a.example/sections/"), (2, "http://b.example/section"))
    )

    found.search.follow(hub, elsewhere, now)
    assert found.known.get(elsewhere.page_id) is None
    found.search.follow(hub, new_place, now)
    moved = found.known.get(new_place.page_id)
    assert moved is not None
    assert (moved.url, moved.found, moved.found_on, moved.evidence, moved.polls) == (
        *(new_place.url, "link", ROOT.url, hub.evidence, 0),
    )
    assert found.planner.known.row_of(new_place.fingerprint) in found.planner.wished.urgent


def test_a_host_has_only_so_many_hubs() -> None:
    found = Search(FRESHNESS_HUBS_PER_HOST=3)
    sections = [f"/section/{number}" for number in range(5)]
    found.dates = {f"http://a.example{path}": 1.0 for path in sections}

    found.look(*sections, now=10 * DAY)

    assert len(list(found.known)) == 3


async def hubs_of(found: Search) -> Hubs:
    """The books of hubs, for visits that have been made."""
    config = Config.from_settings({"FRESHNESS_HUBS": True})
    return Hubs(
        config,
        found.planner,
        None,  # type: ignore[arg-type]  # no visit is closed
        ManualClock(0.0),
        StatsCollector(Crawler(Spider)),
        found.known,
        SeenOnHosts(lambda host: succeed(SeenLinks())),
        found.search,
        None,  # type: ignore[arg-type]  # the links have been looked at
        rules=rules_of(config),
        reader=LinkReader(),
        in_background=lambda work: succeed(work()),
    )


def test_due_hubs_are_looked_at_in_turn_and_those_that_rest_are_not() -> None:
    found, now = Search(), 100 * DAY
    planner = found.planner
    pages = [
        found.discover(PageRecord(page_id=0, fingerprint=number, url=f"http://{number}.example/", host="h"))
        for number in range(250)
    ]
    planner.start(0.0)
    for number, page in enumerate(pages):
        found.known.put(
            HubRecord(page_id=page.page_id, url=page.url, found="root", next_look_at=now - number)
        )
    (dead,) = planner.wanted(0.0)
    planner.give_up_loading([dead], now + 1)

    looks = []
    for _ in range(4):
        before = set(planner.wished.urgent)
        found.search.look_around(now)
        looks.append(sorted(set(planner.wished.urgent) - before))

    rows = [planner.known.row_of(number) for number in range(250) if pages[number].page_id != dead]
    assert looks == [rows[149:], rows[49:149], rows[:49], []]


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.FAILED, Outcome.IGNORED, Outcome.CHANGED])
def test_a_main_page_that_shows_no_links_is_looked_at_again_when_it_is_time(outcome: Outcome) -> None:
    found, now = Search(), 10 * DAY
    hubs = asyncio.run(hubs_of(found))
    page = found.discover(PageRecord(page_id=0, fingerprint=1, url="http://b.example/", host="b.example"))
    root = HubRecord(page_id=page.page_id, url=page.url, found="root", polls=3, next_look_at=now)
    found.known.put(root)
    visit = Visit(row=0, record=page, opened_at=now, value=1.0)

    hubs.ending(PageVisit(visit, "b.example", shown=[]), Report(outcome=outcome, at=now))

    after = found.known.get(page.page_id)
    assert after is not None
    assert after.next_look_at == now + DAY


@pytest.mark.parametrize("kind", [PageKind.PAGE, PageKind.UNASKED], ids=lambda kind: kind.name)
def test_a_retired_hub_is_a_page_again_until_a_visit_finds_a_new_link(kind: PageKind) -> None:
    found = Search()
    hubs = asyncio.run(hubs_of(found))
    request = UNSEEN if kind is PageKind.UNASKED else None
    page = found.discover(
        PageRecord(page_id=0, fingerprint=1, url="http://a.example/tags", host="a.example", request=request)
    )
    found.known.put(
        HubRecord(page_id=page.page_id, url=page.url, found="link", state=HubState.ACTIVE, polls=1)
    )

    def visited(days: float, new_links: int) -> tuple[HubState, PageKind | None]:
        visit = Visit(row=0, record=page, opened_at=days * DAY, value=1.0)
        report = Report(outcome=Outcome.CHANGED, at=days * DAY)
        hubs.ending(PageVisit(visit, "a.example", found_links=new_links, shown=[]), report)
        hub = found.known.get(page.page_id)
        assert hub is not None
        return hub.state, report.kind

    assert [visited(day, 0)[0] for day in range(9)][-1] is HubState.ACTIVE
    assert visited(9, 0) == (HubState.RETIRED, kind)
    assert visited(10, 0) == (HubState.RETIRED, kind)
    assert visited(11, 2) == (HubState.ACTIVE, PageKind.SOURCE)
