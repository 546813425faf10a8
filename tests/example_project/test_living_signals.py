"""What the living site announces is what happens in it: read from robots.txt down to the moved dates."""

import pytest
from living_site.answers import Responder
from living_site.model import Document, Host, Hub
from living_site.parameters import Character, WorldParameters
from living_site.wire import Request
from living_site.world import World

from scrapy_freshness.signals.contract import Entry, Relation, Role
from scrapy_freshness.signals.discovery import page_links, robots_sitemaps
from scrapy_freshness.signals.poll import Outcome, Poll, Verdict
from scrapy_freshness.signals.reading import read_source
from scrapy_freshness.signals.seen import Seen

EPOCH = 1_700_000_000.25


@pytest.fixture(scope="module")
def responder() -> Responder:
    return Responder(World(WorldParameters(seed=6, pages_per_host=30)), EPOCH)


def host_of(responder: Responder, character: Character) -> Host:
    return next(host for host in responder.world.hosts if host.character is character)


def body_of(responder: Responder, host: Host, path: str, time: float) -> bytes:
    return responder.answer(Request("GET", path, path, {}, keeps_alive=True), host, time, 0).body


class Watcher:
    """Polls the sources of a host and remembers what they said."""

    def __init__(self, responder: Responder, host: Host) -> None:
        self.responder, self.host = responder, host
        self.stored: dict[str, bytes] = {}

    def poll(self, url: str, time: float) -> tuple[list[Entry], Outcome]:
        path = url.removeprefix(self.host.site_url)
        body = body_of(self.responder, self.host, path, time)
        reading = read_source(body, url, now=EPOCH + time)
        poll = Poll(Seen.unpacked(self.stored.get(url, b"")))
        new = [entry for entries in reading for entry in poll.add(entries)]
        outcome = poll.end(reading.findings, EPOCH + time)
        self.stored[url] = outcome.seen.packed()
        assert not reading.findings.oddities
        return new, outcome


def test_the_dates_that_moved_are_the_pages_that_changed(responder: Responder) -> None:
    world = responder.world
    host = host_of(responder, Character.ANNOUNCING)
    watcher = Watcher(responder, host)
    (index,) = robots_sitemaps(body_of(responder, host, "/robots.txt", 0.0), f"{host.site_url}/robots.txt")
    sitemaps, _ = watcher.poll(index, 100.0)
    assert {entry.role for entry in sitemaps} == {Role.SITEMAP}

    documents = [page for page in world.pages_of(host) if isinstance(page, Document)]
    for sitemap in sitemaps:
        watcher.poll(sitemap.url, 100.0)
    signals = 0
    for start in range(100, 160, 10):
        moved: set[str] = set()
        for sitemap in sitemaps:
            new, outcome = watcher.poll(sitemap.url, start + 10.0)
            assert new == []
            assert outcome.verdict is Verdict.USABLE
            moved |= {entry.url for entry in outcome.moved}
        changed = {page.url for page in documents if world.change_times(page, start, start + 10.0)}
        # Dates are remembered in whole seconds; these changes are seconds apart.
        assert moved == changed
        signals += len(moved)

    assert signals > 10


@pytest.mark.parametrize("name", ["feed.rss", "feed.atom"])
def test_new_entries_of_a_feed_are_the_posts_that_were_born(responder: Responder, name: str) -> None:
    host = host_of(responder, Character.HUB)
    root = f"{host.site_url}/"
    feeds = [
        link.url
        for link in page_links(body_of(responder, host, "/", 0.0), root)
        if link.relation is Relation.FEED
    ]
    url = f"{host.site_url}/{name}"
    assert url in feeds

    hubs = [page for page in responder.world.pages_of(host) if isinstance(page, Hub)]
    watcher = Watcher(responder, host)
    known = {entry.url for entry in watcher.poll(url, 50.0)[0]}
    for time in (51.0, 52.0, 53.0, 60.0):
        new = {entry.url for entry in watcher.poll(url, time)[0]}
        listed = {post.url for hub in hubs for post in responder.world.posts_listed(hub, time)}
        assert new == listed - known
        known |= new
