"""Sitemaps and feeds are found, polled within the budget, and what they say reaches the planner."""

import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any

import pytest
from crawling import FOLLOW, crawl, logged
from site_under_test import Answer, Site, html

XML = {"Content-Type": "application/xml"}
LONELY = """
import scrapy

class LonelySpider(scrapy.Spider):
    name = "lonely"

    def parse(self, response):
        yield {"url": response.url, "text": response.xpath("string(//p)").get()}
"""


def sitemap(*urls: str, lastmod: str = "") -> Answer:
    dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    entries = "".join(f"<url><loc>{url}</loc>{dated}</url>" for url in urls)
    return Answer(f"<urlset>{entries}</urlset>", headers=XML)


def index(*urls: str) -> Answer:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Answer(f"<sitemapindex>{entries}</sitemapindex>", headers=XML)


def feed(*urls: str, hub: str = "") -> Answer:
    items = "".join(
        f"<item><link>{url}</link><guid>{url}</guid><pubDate>{formatdate()}</pubDate></item>" for url in urls
    )
    link = f'<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="hub" href="{hub}"/>' if hub else ""
    return Answer(f"<rss version='2.0'><channel>{link}{items}</channel></rss>", headers=XML)


def rows(database_url: str, query: str) -> list[Mapping[str, Any]]:
    connection = sqlite3.connect(database_url.removeprefix("sqlite:///"))
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(query)]
    finally:
        connection.close()


def test_a_sitemap_that_robots_txt_names_brings_pages_that_no_link_leads_to(
    site: Site, tmp_path: Path
) -> None:
    site.pages["/"] = html(text="home")
    site.pages["/robots.txt"] = Answer(f"User-agent: *\nSitemap: {site.url('/map.xml')}")
    site.pages["/map.xml"] = sitemap(site.url("/"), site.url("/hidden"))
    site.pages["/hidden"] = html(text="nobody links here")

    crawled = crawl(tmp_path, site.url("/"), spider=LONELY, settings={"ROBOTSTXT_OBEY": True})

    assert {item["url"] for item in crawled.items} == {site.url("/"), site.url("/hidden")}
    assert crawled.stat("freshness/fetches/poll") == 1
    assert crawled.stat("freshness/signals/new") == 1
    (source,) = rows(crawled.database_url, "SELECT * FROM v_sources")
    assert (source["found"], source["format"], source["verdict"]) == ("robots", "sitemap", "no_dates")
    assert (source["polls"], source["new_pages"], source["entries"]) == (1, 1, 2)


def test_nested_indexes_and_loops_are_followed_and_come_to_an_end(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html(text="home")
    site.pages["/sitemap_a.xml"] = index(site.url("/sitemap_b.xml"), site.url("/sitemap_a.xml"))
    site.pages["/sitemap_b.xml"] = index(site.url("/sitemap_c.xml"), site.url("/sitemap_a.xml"))
    site.pages["/sitemap_c.xml"] = sitemap(site.url("/deep"))
    site.pages["/deep"] = html(text="deep down")

    settings = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap_a.xml")]}
    crawled = crawl(tmp_path, site.url("/"), spider=LONELY, settings=settings)

    assert site.url("/deep") in {item["url"] for item in crawled.items}
    found = {row["url"]: row["found"] for row in rows(crawled.database_url, "SELECT * FROM v_sources")}
    assert sorted(found.values()) == ["index", "index", "setting"]
    assert [len(site.asked(f"/sitemap_{name}.xml")) for name in "abc"] == [1, 1, 1]


def test_a_feed_in_the_head_of_a_page_is_polled_and_its_hub_remembered(site: Site, tmp_path: Path) -> None:
    head = '<link rel="alternate" type="application/rss+xml" href="/feed">'
    site.pages["/"] = html(text="home").replace("<head>", f"<head>{head}")
    site.pages["/feed"] = feed(site.url("/story"), hub="http://hub.example/")
    site.pages["/story"] = html(text="news")

    crawled = crawl(tmp_path, site.url("/"), spider=LONELY)

    assert site.url("/story") in {item["url"] for item in crawled.items}
    (source,) = rows(crawled.database_url, "SELECT * FROM v_sources")
    assert (source["kind"], source["found"], source["found_on"]) == ("feed", "page", site.url("/"))
    assert (source["hub"], source["topic"]) == ("http://hub.example/", site.url("/feed"))


def test_usual_paths_are_tried_one_after_the_other_until_there_is_a_sitemap(
    site: Site, tmp_path: Path
) -> None:
    links = [f"/{number}" for number in range(70)]
    site.pages["/"] = html(*links)
    site.pages |= {link: html(text=link) for link in links}
    site.pages["/sitemap.xml"] = html(text="Sorry, there is no such page")  # with status 200
    site.pages["/sitemap_index.xml"] = sitemap(site.url("/hidden"))
    site.pages["/hidden"] = html(text="hidden")

    crawled = crawl(tmp_path, site.url("/"))

    tried = [each.path for each in site.log if each.path.endswith((".txt", ".xml"))]
    assert sorted(tried) == ["/robots.txt", "/sitemap.xml", "/sitemap_index.xml"]
    assert site.url("/hidden") in {item["url"] for item in crawled.items}
    assert crawled.stat("freshness/polls/gone") == 2
    assert crawled.stat("freshness/polls_unreadable") == 1


def test_robots_txt_is_read_for_its_sitemaps_where_scrapy_does_not_read_it(
    site: Site, tmp_path: Path
) -> None:
    links = [f"/{number}" for number in range(20)]
    site.pages["/"] = html(*links)
    site.pages |= {link: html(text=link) for link in links}
    site.pages["/robots.txt"] = Answer(f"User-agent: *\nDisallow: /\nSitemap: {site.url('/map.xml')}")
    site.pages["/map.xml"] = sitemap(site.url("/hidden"))
    site.pages["/hidden"] = html(text="hidden")

    crawled = crawl(tmp_path, site.url("/"), settings={"ROBOTSTXT_OBEY": False})

    assert site.url("/hidden") in {item["url"] for item in crawled.items}
    sources = {row["url"]: row for row in rows(crawled.database_url, "SELECT * FROM v_sources")}
    assert (sources[site.url("/robots.txt")]["found"], sources[site.url("/robots.txt")]["format"]) == (
        "usual",
        "robots",
    )
    assert sources[site.url("/map.xml")]["found"] == "robots"
    assert crawled.stat("freshness/fetches/poll") == 2


def test_no_source_is_looked_for_when_signals_are_off(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html(text="home")
    site.pages["/robots.txt"] = Answer(f"Sitemap: {site.url('/map.xml')}")
    settings = {"ROBOTSTXT_OBEY": True, "FRESHNESS_SIGNALS": False}

    crawled = crawl(tmp_path, site.url("/"), spider=LONELY, settings=settings)

    assert not site.asked("/map.xml")
    assert rows(crawled.database_url, "SELECT * FROM v_sources") == []


def test_forbidden_sources_are_not_polled(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html(text="home")
    site.pages["/robots.txt"] = Answer(f"Sitemap: {site.url('/map.xml')}\nSitemap: {site.url('/b.xml')}")
    site.pages["/b.xml"] = sitemap()
    settings = {"ROBOTSTXT_OBEY": True, "FRESHNESS_SIGNAL_SOURCES_DENY": ["/map"]}

    crawl(tmp_path, site.url("/"), spider=LONELY, settings=settings)

    assert not site.asked("/map.xml")
    assert site.asked("/b.xml")


def test_a_date_that_moves_is_a_signal_that_the_next_visit_answers(site: Site, tmp_path: Path) -> None:
    started = time()
    pages = [f"/{number}" for number in range(30)]
    site.pages["/"] = html(*pages)
    for path in pages:
        site.pages[path] = html(text=path)

    def moving(headers: Mapping[str, str], count: int) -> Answer:
        """Every second, another page has a later date; it is right, for that page has changed."""
        entries = ""
        for number, path in enumerate(pages):
            changed = started + 3600 * (number - 1000)
            if number < count:
                changed = time()
                site.pages[path] = html(text=f"{path} changed {count}")
            date = formatdate(changed)
            entries += f"<url><loc>{site.url(path)}</loc><lastmod>{date}</lastmod></url>"
        return Answer(f"<urlset>{entries}</urlset>", headers=XML)

    site.pages["/sitemap.xml"] = moving
    settings = {
        "FRESHNESS_POLICY": "greedy-ncis",
        "FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap.xml")],
        "FRESHNESS_BUDGET": "20/s",
    }

    def is_answered() -> bool:
        if len(site.asked("/sitemap.xml")) < 2:
            return False
        return bool(rows(database_url, "SELECT * FROM v_signals WHERE changed"))

    database_url = f"sqlite:///{tmp_path / 'freshness.db'}"
    crawl(tmp_path, site.url("/"), until=is_answered, settings=settings)

    signals = rows(database_url, "SELECT * FROM v_signals")
    assert signals
    assert {row["source"] for row in signals} == {"sitemap"}
    assert {row["told_by"] for row in signals} == {site.url("/sitemap.xml")}
    answered = [row for row in signals if row["answered_at"] is not None]
    assert answered
    assert all(row["answered_at"] >= row["heard_at"] for row in answered)
    assert any(row["changed"] for row in answered)


def test_an_unchanged_sitemap_is_asked_for_with_its_validator(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html(text="home")

    def conditional(headers: Mapping[str, str], count: int) -> Answer:
        if headers.get("If-None-Match") == '"v1"':
            return Answer(status=304)
        answer = sitemap(site.url("/"))
        return Answer(answer.body, headers={**XML, "ETag": '"v1"'})

    site.pages["/sitemap.xml"] = conditional
    settings = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap.xml")], "FRESHNESS_AUDIT_SHARE": 0}
    enough = site.seen({"/sitemap.xml": 3})
    crawled = crawl(tmp_path, site.url("/"), spider=LONELY, until=enough, settings=settings)

    asked = [each.status for each in site.asked("/sitemap.xml")]
    assert asked[0] == 200
    assert 304 in asked
    assert crawled.stat("freshness/polls/not_modified") >= 1
    assert crawled.stat("freshness/polls/first") == 1


def test_a_spider_takes_what_its_own_method_says(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class ChoosySpider(scrapy.Spider):
        name = "choosy"

        def parse(self, response):
            yield {"url": response.url, "how": "parse"}

        def parse_story(self, response):
            yield {"url": response.url, "how": "story"}

        def freshness_request(self, url):
            if "/story/" in url:
                return scrapy.Request(url, callback=self.parse_story)
    """
    site.pages["/"] = html(text="home")
    site.pages["/sitemap.xml"] = sitemap(site.url("/story/1"), site.url("/imprint"))
    site.pages["/story/1"] = html(text="once upon a time")
    settings = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap.xml")]}

    crawled = crawl(tmp_path, site.url("/"), spider=spider, settings=settings)

    assert crawled.items_of(site.url("/story/1"))[0]["how"] == "story"
    assert not site.asked("/imprint")
    assert crawled.stat("freshness/signals/refused") == 1


@pytest.mark.parametrize("hubs", [False, True])
def test_a_spider_with_several_callbacks_is_not_given_pages_at_random(
    site: Site, tmp_path: Path, hubs: bool
) -> None:
    """Where new pages are looked for, they are kept as those that hubs link to."""
    spider = LONELY + "\n    def parse_other(self, response):\n        pass\n"
    site.pages["/"] = html(text="home")
    site.pages["/sitemap.xml"] = sitemap(site.url("/hidden"))
    site.pages["/hidden"] = html(text="hidden")
    settings = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap.xml")], "FRESHNESS_HUBS": hubs}

    crawled = crawl(tmp_path, site.url("/"), spider=spider, settings=settings)

    assert {item["url"] for item in crawled.items} == {site.url("/")}
    assert bool(site.asked("/hidden")) is hubs
    found = rows(crawled.database_url, "SELECT kind FROM v_pages WHERE url LIKE '%/hidden'")
    assert found == ([{"kind": "unasked"}] if hubs else [])


def test_rules_of_a_crawl_spider_choose_the_callback(site: Site, tmp_path: Path) -> None:
    spider = """
    from scrapy.linkextractors import LinkExtractor
    from scrapy.spiders import CrawlSpider, Rule

    class RuledSpider(CrawlSpider):
        name = "ruled"
        rules = [
            Rule(LinkExtractor(allow="/never/")),
            Rule(LinkExtractor(allow="/story/"), callback="parse_story"),
        ]

        def parse_story(self, response):
            yield {"url": response.url, "how": "story"}
    """
    site.pages["/"] = html(text="home")
    site.pages["/sitemap.xml"] = sitemap(site.url("/story/1"), site.url("/imprint"))
    site.pages["/story/1"] = html(text="once upon a time")
    settings = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap.xml")]}

    crawled = crawl(tmp_path, site.url("/"), spider=spider, settings=settings)

    assert crawled.items_of(site.url("/story/1"))[0]["how"] == "story"
    assert not site.asked("/imprint")


def test_a_source_does_not_speak_for_other_hosts(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html(text="home")
    site.pages["/sitemap.xml"] = sitemap("http://127.0.0.99/x", site.url("/mine"))
    site.pages["/mine"] = html(text="mine")
    settings = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap.xml")]}

    crawled = crawl(tmp_path, site.url("/"), spider=LONELY, settings=settings)

    urls = {row["url"] for row in rows(crawled.database_url, "SELECT url FROM page")}
    assert site.url("/mine") in urls
    assert not any("127.0.0.99" in url for url in urls)


def test_a_page_that_the_spider_asks_for_is_shown_to_it_although_it_was_polled(
    site: Site, tmp_path: Path
) -> None:
    spider = """
    import scrapy

    class FeedReader(scrapy.Spider):
        name = "reader"

        def parse(self, response):
            yield {"url": response.url}
            if response.url.endswith("/"):
                yield response.follow("/feed")
    """
    head = '<link rel="alternate" type="application/rss+xml" href="/feed">'
    site.pages["/"] = html(text="home").replace("<head>", f"<head>{head}")
    site.pages["/feed"] = feed()

    crawled = crawl(tmp_path, site.url("/"), spider=spider)

    assert len(crawled.items_of(site.url("/feed"))) == 1
    assert rows(crawled.database_url, "SELECT kind FROM v_pages WHERE url LIKE '%/feed'") == [
        {"kind": "page"}
    ]


def test_what_was_said_is_remembered_by_the_next_run(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html(text="home")
    site.pages["/sitemap.xml"] = sitemap(site.url("/a"))
    site.pages["/a"] = html(text="a")
    settings = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap.xml")]}
    first = crawl(tmp_path, site.url("/"), spider=LONELY, settings=settings)

    site.pages["/sitemap.xml"] = sitemap(site.url("/a"), site.url("/b"))
    site.pages["/b"] = html(text="b")
    more = {**settings, "FRESHNESS_GONE_RECHECK": "0.1s", "FRESHNESS_BUDGET": "20/s"}
    second = crawl(tmp_path, site.url("/"), spider=LONELY, until=site.seen({"/b": 1}), settings=more)

    assert first.stat("freshness/signals/new") == 1
    assert second.stat("freshness/signals/new") == 1
    assert site.asked("/b")


def test_sources_that_are_not_wanted_any_more_are_not_polled(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html(text="home")
    site.pages["/sitemap.xml"] = sitemap(site.url("/"))
    source = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/sitemap.xml")]}
    eager = {"FRESHNESS_GONE_RECHECK": "0.1s", "FRESHNESS_BUDGET": "20/s"}
    crawl(tmp_path, site.url("/"), spider=LONELY, settings=source)

    more = site.seen({"/": 6})
    crawl(tmp_path, site.url("/"), spider=LONELY, until=more, settings={**eager, "FRESHNESS_SIGNALS": False})
    assert len(site.asked("/sitemap.xml")) == 1

    denied = {**eager, "FRESHNESS_SIGNAL_SOURCES_DENY": ["sitemap"]}
    still_more = site.seen({"/": len(site.asked("/")) + 5})
    crawl(tmp_path, site.url("/"), spider=LONELY, until=still_more, settings=denied)
    assert len(site.asked("/sitemap.xml")) == 1


def test_dates_that_stand_still_are_not_always_now(site: Site, tmp_path: Path) -> None:
    """A site that was made a moment ago is honest if its dates stay; one poll does not tell."""
    made = int(time()) - 60
    urls = [site.url(f"/{number}") for number in range(12)]
    stamps = [formatted(made + number) for number in range(12)]
    entries = "".join(
        f"<url><loc>{url}</loc><lastmod>{stamp}</lastmod></url>"
        for url, stamp in zip(urls, stamps, strict=True)
    )
    site.pages |= {f"/{number}": html(text=f"page {number}") for number in range(12)}
    site.pages["/"] = html(text="home")
    site.pages["/map.xml"] = Answer(f"<urlset>{entries}</urlset>", headers=XML)
    settings = {"FRESHNESS_SIGNAL_SOURCES": [site.url("/map.xml")]}

    once = crawl(tmp_path / "once", site.url("/"), spider=LONELY, settings=settings)
    assert [each["verdict"] for each in rows(once.database_url, "SELECT * FROM v_sources")] == ["early"]
    often = crawl(
        tmp_path / "often",
        site.url("/"),
        spider=LONELY,
        until=site.seen({"/map.xml": 5}),
        settings={**settings, "FRESHNESS_GONE_RECHECK": "1s", "FRESHNESS_GONE_RECHECK_MAX": "1s"},
    )

    (source,) = rows(often.database_url, "SELECT * FROM v_sources")
    assert source["polls"] > 1
    assert source["verdict"] == "usable"


def test_pages_that_feeds_show_are_important_to_the_crawl_that_polls_them(site: Site, tmp_path: Path) -> None:
    spider = "import scrapy_freshness.crawl.extension as extension\nextension._HOUSEKEEPING_SECONDS = 0.2\n"
    site.pages["/"] = html("/plain")
    site.pages |= {path: html(text=path) for path in ("/plain", "/a", "/b", "/c")}
    site.pages["/news.xml"] = feed(site.url("/a"))
    site.pages["/sport.xml"] = feed(site.url("/a"), site.url("/b"))
    settings = {
        "FRESHNESS_IMPORTANCE": "feeds",
        "FRESHNESS_LOG_PUSH": "0.5s",
        "FRESHNESS_SIGNAL_SOURCES": [site.url("/news.xml"), site.url("/sport.xml")],
        "FRESHNESS_GONE_RECHECK": "0.5s",
        "FRESHNESS_GONE_RECHECK_MAX": "0.5s",
        "FRESHNESS_BUDGET": "20/s",
    }
    database_url = f"sqlite:///{tmp_path / 'freshness.db'}"

    def importances() -> dict[str, float]:
        found = {row["url"]: row["importance"] for row in rows(database_url, "SELECT * FROM v_pages")}
        plain = found.get(site.url("/plain"), 1.0)
        return {path: found[site.url(path)] / plain for path in ("/a", "/b", "/c") if site.url(path) in found}

    def are_about(**expected: float) -> Callable[[], bool]:
        wanted = {f"/{name}": pytest.approx(value) for name, value in expected.items()}
        is_told = logged(tmp_path, "are others now")
        return lambda: is_told() and importances() == wanted

    options: dict[str, Any] = {"spider": spider + FOLLOW, "settings": settings}
    crawl(tmp_path, site.url("/"), until=are_about(a=3.0, b=2.0), **options)
    site.pages["/news.xml"] = feed(site.url("/c"), site.url("/a"))
    again = crawl(tmp_path, site.url("/"), until=are_about(a=3.0, b=2.0, c=2.0), **options)

    assert "Traceback" not in again.log


def formatted(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
