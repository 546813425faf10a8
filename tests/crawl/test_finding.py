"""Where sources are found, how many, and for whom they may speak."""

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.utils.request import fingerprint

from scrapy_freshness.config import Config
from scrapy_freshness.crawl import finding
from scrapy_freshness.crawl.finding import SourceFinder
from scrapy_freshness.crawl.known_sources import KnownSources
from scrapy_freshness.model import PageKind, PageRecord, SourceRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.signals.polled import Said

HOME = PageRecord(page_id=1, fingerprint=1, url="http://a.example/", host="a.example")


def number_of(request: Request) -> int:
    return int.from_bytes(fingerprint(request)[:8], "big", signed=True)


class Found:
    """A finder without a crawl around it, and what it found."""

    def __init__(self, **settings: object) -> None:
        policy = policy_named("greedy")
        self.planner = Planner(policy, Hosts(5.0, 60.0), learner_for(policy))
        self.known = KnownSources()
        self.finder = SourceFinder(
            Config.from_settings(settings),
            self.planner,
            self.known,
            fingerprint=number_of,
            discover=lambda page: self.planner.discover(page, 0.0),
            overhears_robots=True,
        )

    def sources(self) -> list[SourceRecord]:
        return self.known.take_changed()

    def look_at(self, *tags: str, link: str = "", url: str = HOME.url) -> list[SourceRecord]:
        headers = {"Link": link} if link else {}
        response = HtmlResponse(url, body="".join(tags).encode(), headers=headers)
        self.finder.look_at(HOME, response, has_changed=True)
        return self.sources()


def feed_tag(href: str) -> str:
    return f'<link rel="alternate" type="application/rss+xml" href="{href}">'


def test_feeds_of_a_page_may_speak_for_its_host() -> None:
    own, other = Found().look_at(feed_tag("/feed"), feed_tag("http://feeds.example/a"))

    assert (own.url, own.hosts, own.found_on) == ("http://a.example/feed", (), HOME.url)
    assert (other.url, other.hosts) == ("http://feeds.example/a", ("a.example",))
    assert other.kind is PageKind.FEED


def test_sources_of_a_host_that_was_forgotten_are_found_again() -> None:
    found = Found()
    found.finder.add("http://a.example/map.xml", PageKind.SITEMAP, found="robots")
    tags = [feed_tag(f"/feed/{number}") for number in range(30)]
    first = found.look_at(*tags)
    assert found.known.has_sitemap("a.example")
    assert len(found.known.of_host("a.example")) == 11

    page_ids = [source.page_id for source in first]
    for row in found.planner.known.rows_of_host("a.example"):
        found.planner.forget(row)
    found.known.forget(page_ids)
    found.finder.forget("a.example")

    assert found.known.of_host("a.example") == []
    assert not found.known.has_sitemap("a.example")
    found.known.note(first[0])  # its poll was under way
    assert found.sources() == []
    assert len(found.look_at(*tags)) == 10


def test_a_host_has_only_so_many_feeds() -> None:
    assert len(Found().look_at(*(feed_tag(f"/feed/{number}") for number in range(30)))) == 10


def test_a_page_that_is_unchanged_is_not_looked_at() -> None:
    found = Found()
    response = HtmlResponse(HOME.url, body=feed_tag("/feed").encode())
    found.finder.look_at(HOME, response, has_changed=False)

    assert found.sources() == []


def test_hubs_of_pages_are_remembered_with_their_topics() -> None:
    (source,) = Found().look_at(link='<http://hub.example/>; rel="hub", <http://a.example/>; rel="self"')

    assert (source.page_id, source.kind) == (HOME.page_id, PageKind.PAGE)
    assert (source.hub, source.topic) == ("http://hub.example/", "http://a.example/")


def test_sitemaps_of_robots_txt_are_found_however_many_servers_were_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finding, "_MOST_ROBOTS", 10)
    found = Found()
    for number in range(20):
        body = b"" if number % 2 else f"Sitemap: http://{number}.example/map.xml".encode()
        request = Request(f"http://{number}.example/robots.txt")
        found.finder.read_robots(request, Response(request.url, body=body))
    request = Request("http://a.example/robots.txt")
    found.finder.read_robots(request, Response(request.url, body=b"Sitemap: http://a.example/map.xml"))

    assert [source.url for source in found.look_at()] == ["http://a.example/map.xml"]
    assert not found.look_at(url="http://0.example/"), "the oldest is forgotten"
    assert found.look_at(url="http://2.example/")


def test_sitemaps_of_robots_txt_wait_until_a_page_of_the_server_is_visited() -> None:
    found = Found()
    request = Request("http://a.example/robots.txt")
    body = b"Sitemap: /map.xml\nSitemap: http://cdn.example/map.xml"
    found.finder.read_robots(request, Response(request.url, body=body))
    assert found.sources() == []

    own, other = found.look_at()
    assert (own.url, own.hosts, own.found) == ("http://a.example/map.xml", (), "robots")
    assert other.hosts == ("a.example",)


def test_whoever_names_a_known_source_lets_it_speak_for_him() -> None:
    found = Found()
    found.finder.add("http://cdn.example/map.xml", PageKind.SITEMAP, found="robots")
    for host in ("a.example", "b.example"):
        found.finder.add(
            "http://cdn.example/map.xml",
            PageKind.SITEMAP,
            found="robots",
            found_on=f"http://{host}/robots.txt",
        )

    (source,) = found.sources()
    assert source.hosts == ("a.example", "b.example")


def test_indexes_are_followed_only_so_deep() -> None:
    found = Found()
    source = found.finder.add("http://a.example/0.xml", PageKind.SITEMAP, found="setting")
    depths = []
    for depth in range(1, 6):
        assert source is not None
        depths.append(found.finder.add_children(source, [Said(f"http://a.example/{depth}.xml")], 0.0))
        row = found.planner.known.row_of(number_of(Request(f"http://a.example/{depth}.xml")))
        source = found.known.get(found.planner.known.page_id_of(row)) if row is not None else source

    assert depths == [1, 1, 1, 0, 0]


def test_settings_pin_and_forbid_sources() -> None:
    found = Found(
        FRESHNESS_SIGNAL_SOURCES=["http://a.example/sitemap.xml", "http://a.example/news"],
        FRESHNESS_SIGNAL_SOURCES_DENY=["/comments/"],
    )
    found.finder.add_pinned()
    assert found.finder.add("http://a.example/comments/feed", PageKind.FEED, found="page") is None

    assert [(each.kind, each.is_pinned) for each in found.sources()] == [
        (PageKind.SITEMAP, True),
        (PageKind.FEED, True),
    ]
