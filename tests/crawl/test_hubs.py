"""Hubs are found one hop from main pages, polled for new links, and what is found reaches the spider."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from crawling import Crawled, RunningCrawl, crawl, start_crawl
from site_under_test import Answer, Page, Site, html
from sqlalchemy import text

from scrapy_freshness.errors import StorageError
from scrapy_freshness.model import UNSEEN, HubRecord, HubState, PageKind
from scrapy_freshness.storage.store import Store

SETTINGS = {
    "FRESHNESS_HUBS": True,
    "FRESHNESS_HUB_AGE": "1s",
    "FRESHNESS_HUB_REFRESH": "1s",
    "FRESHNESS_PROFIT_LIFE": "1min",
    "FRESHNESS_BUDGET": "40/s",
    "FRESHNESS_SIGNALS": False,
}

HOOK = """
import scrapy

class NewsSpider(scrapy.Spider):
    name = "news"

    def parse(self, response):
        yield {"url": response.url, "by": "parse"}

    def parse_story(self, response):
        yield {"url": response.url, "by": "parse_story"}

    def freshness_request(self, url):
        if "/story/" in url:
            return scrapy.Request(url, callback=self.parse_story)
"""
OWN = """
import scrapy

class NewsSpider(scrapy.Spider):
    name = "news"

    def parse(self, response, by="parse"):
        yield {"url": response.url, "by": by}
        for link in response.css("nav a"):
            yield response.follow(link, cb_kwargs={"by": "section of the spider"})
"""
SEVERAL = HOOK[: HOOK.index("    def freshness_request")]


class News:
    """A host with a main page, sections in its navigation, and stories that are shown for a while."""

    def __init__(self, site: Site) -> None:
        self.site = site
        nav = "<nav><a href='/news'>n</a><a href='/sport/'>s</a><a href='/imprint'>i</a></nav>"
        traps = [
            site.url("/elsewhere", host=1),
            "/?page=2",
            "/private/",
            "/picture.jpg",
        ]
        anchors = "".join(f"<a href='{trap}'>t</a>" for trap in traps)
        anchors += "<a rel='nofollow' href='/hidden'>h</a>"
        site.pages |= {
            "/robots.txt": "User-agent: *\nDisallow: /private/",
            "/start": html(),
            "/": f"<html><body>{nav}<p>Welcome</p>{anchors}</body></html>",
            "/news": self.section("news", "utm_source=news"),
            "/sport/": self.section("sport", "PHPSESSID=1"),
            "/imprint": f"<html><body>{nav}<p>Nothing new here, ever</p></body></html>",
            "/private/": html("/story/secret"),
            "/hidden": html("/story/hidden"),
            "/picture.jpg": html("/story/picture"),
        }

    def section(self, name: str, tracking: str) -> Page:
        def shown(headers: Mapping[str, str], count: int) -> Answer:
            numbers = range(max(0, count - 3), count + 1)
            stories = [f"/story/{name}-{number}?{tracking}{count}" for number in numbers]
            self.site.pages |= dict.fromkeys(stories, html(text="a story"))
            return Answer(html(*stories, "/news", "/sport/", text=f"{count} stories"))

        return shown

    def asked(self, prefix: str) -> list[str]:
        return [each.path for each in self.site.log if each.path.startswith(prefix)]

    def addresses(self, until: float = float("inf")) -> dict[str, set[str]]:
        """Of each story that was fetched, the addresses under which it was."""
        found: dict[str, set[str]] = {}
        for each in list(self.site.log):
            story, _, _ = each.path.partition("?")
            if story.startswith("/story/") and (each.at < until or story in found):
                found.setdefault(story, set()).add(each.path)
        return found


def hubs_of(crawled: Crawled | RunningCrawl) -> dict[str, HubRecord]:
    with Store.open_readonly(crawled.database_url) as store:
        return {hub.url: hub for hub in store.load_hubs("news")}


def polled(site: Site, times: int) -> Callable[[], bool]:
    return lambda: all(len(site.asked(path)) >= times for path in ("/news", "/sport/"))


def test_hubs_are_found_and_their_new_pages_reach_the_spider(site: Site, tmp_path: Path) -> None:
    news = News(site)
    settings = {**SETTINGS, "ROBOTSTXT_OBEY": True}
    running = start_crawl(tmp_path, site.url("/start"), spider=HOOK, settings=settings)
    running.wait_until(polled(site, 7))
    running.kill()
    killed_at = time.time()
    running = start_crawl(tmp_path, site.url("/start"), spider=HOOK, settings=settings)
    running.wait_until(polled(site, len(site.asked("/news")) + 4))
    running.interrupt()
    done = running.wait()

    assert "Traceback" not in done.log, done.log
    hubs = hubs_of(done)
    assert hubs.keys() >= {site.url("/"), site.url("/news"), site.url("/sport/")}
    assert hubs[site.url("/")].is_root
    assert hubs[site.url("/news")].found_on == site.url("/")
    assert hubs[site.url("/news")].new_links > 2
    # A story is fetched once, whatever its links are decorated with, also after the crawl was killed.
    assert len(news.addresses()) >= 14
    assert all(len(each) == 1 for each in news.addresses(until=killed_at - 1).values())
    assert {item["by"] for item in done.items if "/story/" in item["url"]} == {"parse_story"}
    # The spider's own page is parsed; hubs that it would not take are not shown to it.
    assert {item["url"] for item in done.items if item["by"] == "parse"} <= {site.url("/start")}
    # Nothing that robots.txt, nofollow or the border of the site forbids.
    assert not any(map(news.asked, ("/private/", "/hidden", "/picture", "/?page")))
    assert {each.host for each in site.log} == {"127.0.0.1"}
    with done.store() as store, store.reading() as connection:
        rows = connection.execute(text("SELECT * FROM v_hubs WHERE url LIKE '%/news'")).mappings().all()
    assert rows[0]["link_rate"] > 0
    assert rows[0]["is_unseen"] == 1


def test_what_no_callback_takes_is_kept_until_the_spider_asks_for_it(site: Site, tmp_path: Path) -> None:
    news = News(site)
    settings = {**SETTINGS, "FRESHNESS_HUB_PATIENCE": 2, "FRESHNESS_GONE_RECHECK": "1h"}
    running = start_crawl(tmp_path, site.url("/start"), spider=SEVERAL, settings=settings)
    running.wait_until(polled(site, 5))
    running.wait_until(lambda: hub_state(running, site.url("/imprint")) is HubState.RETIRED)
    running.interrupt()
    done = running.wait()

    with done.store() as store:
        kinds = {record.url: record for record in store.load_records(range(1, 99))}
    story = next(url for url in kinds if "/story/news" in url)
    assert (kinds[story].kind, kinds[story].request) == (PageKind.UNASKED, UNSEEN)
    assert kinds[story].content_hash is not None
    assert kinds[site.url("/news")].kind is PageKind.SOURCE
    assert kinds[site.url("/imprint")].kind is PageKind.UNASKED
    assert done.items == [{"url": site.url("/start"), "by": "parse"}]

    asking = SEVERAL.replace(
        "        yield {", "        yield from response.follow_all(self.wanted)\n        yield {", 1
    )
    site.pages["/again"] = html()
    again = crawl(
        tmp_path, site.url("/again"), spider=asking, settings=settings, arguments={"wanted": [story, "/news"]}
    )
    assert {item["url"] for item in again.items[1:]} == {site.url("/again"), story, site.url("/news")}
    with again.store() as store:
        kinds = {record.url: record for record in store.load_records(range(1, 99))}
    assert kinds[story].kind is PageKind.PAGE
    assert kinds[story].request != UNSEEN
    assert kinds[site.url("/news")].kind is PageKind.SOURCE
    assert not news.asked("/elsewhere")


def hub_state(running: RunningCrawl, url: str) -> HubState | None:
    try:
        hub = hubs_of(running).get(url)
    except StorageError:
        return None
    return hub.state if hub else None


def test_a_page_of_the_spider_stays_one_when_it_is_a_hub(site: Site, tmp_path: Path) -> None:
    """The front page has items, and links that the spider follows itself, with its own meta."""
    news = News(site)
    running = start_crawl(tmp_path, site.url("/"), spider=OWN, settings=SETTINGS)
    running.wait_until(polled(site, 4))
    running.wait_until(lambda: len(news.asked("/story/")) > 3)
    running.interrupt()
    done = running.wait()

    assert "Traceback" not in done.log, done.log
    by = {item["url"]: item["by"] for item in done.items}
    assert by[site.url("/")] == "parse"
    assert by[site.url("/news")] == "section of the spider"
    assert any(item["url"].startswith(site.url("/story/")) for item in done.items)
    hub = hubs_of(done)[site.url("/")]
    assert hub.is_root
    assert not hub.is_unseen


def test_settings_say_whose_hubs_are_looked_for_and_which_links_are_news(site: Site, tmp_path: Path) -> None:
    """The spider asks for a page of another host, which is none of those that the settings name."""

    def section(headers: Mapping[str, str], count: int) -> Answer:
        content = f"<a href='/story/{count}?v={count}'>s</a><a href='/story/same?v={count}'>s</a>"
        aside = f"<aside><a href='/story/aside-{count}'>s</a></aside>"
        nav = "<nav><a href='/story/nav'>s</a></nav><a rel='nofollow' href='/story/hidden'>s</a>"
        return Answer(f"<html><body>{nav}{content}{aside}</body></html>")

    asked_for, named = site.url("/start", host=1), site.url("/")
    site.pages |= {
        "/start": html(),
        "/": html("/news", "/imprint", text="Welcome"),
        **dict.fromkeys(("/news", "/imprint"), section),
        **{f"/story/{name}": html(text="a story") for name in ("nav", "hidden")},
    }
    settings = {
        **SETTINGS,
        "FRESHNESS_HOSTS": [named],
        "FRESHNESS_HUBS_DENY": ["/imprint"],
        "FRESHNESS_LINK_RULES": [(r"\?v=[0-9]+", "")],
        "FRESHNESS_BOILERPLATE_CSS": ["aside"],
        "FRESHNESS_OBEY_NOFOLLOW": False,
    }
    enough = site.seen({"/news": 5, "/story/nav": 1, "/story/hidden": 1})
    done = crawl(tmp_path, asked_for, spider=HOOK, settings=settings, until=enough)

    assert "Traceback" not in done.log, done.log
    assert hubs_of(done).keys() == {named, site.url("/news")}
    assert not site.asked("/imprint")
    assert not site.asked("/", host=1)
    stories = [each.path for each in site.log if each.path.startswith("/story/")]
    assert {"/story/nav", "/story/hidden"} <= set(stories)
    assert len({path for path in stories if path.startswith("/story/same")}) == 1
    assert not any("aside" in path for path in stories)
