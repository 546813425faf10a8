"""Which requests a spider would make for pages that somebody else names."""

import pytest
from scrapy import Request, Spider
from scrapy.http.request import NO_CALLBACK
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.requests import request_to_json
from scrapy_freshness.crawl.unasked import UnaskedRequests

STORY = "http://a.example/story/1"


class PlainSpider(Spider):
    name = "plain"
    allowed_domains = ["a.example"]

    def parse(self, response):
        pass


class ManySpider(PlainSpider):
    def parse_story(self, response):
        pass


class HookSpider(ManySpider):
    def freshness_request(self, url):
        return Request(url, callback=self.parse_story) if "/story/" in url else None


class RuledSpider(CrawlSpider):
    name = "ruled"
    rules = (
        Rule(LinkExtractor(allow="/list/")),
        Rule(LinkExtractor(allow="/story/"), callback="parse_story"),
    )

    def parse_story(self, response):
        pass


class ChangingSpider(CrawlSpider):
    """Its rules look at links and requests, and at the page that shows them, as those of others do."""

    name = "changing"
    rules = (
        Rule(
            LinkExtractor(), process_links="without_drafts", process_request="changed", callback="parse_story"
        ),
        Rule(LinkExtractor(allow="/draft/"), callback="parse_draft"),
    )

    def without_drafts(self, links):
        return [link for link in links if "/draft/" not in link.url]

    def changed(self, request, response):
        if "/old/" in request.url:
            return None
        if "/odd/" in request.url:
            return request.replace(cookies={"shown": response.css("title::text").get().strip()})
        return request.replace(headers={"X-Shown-On": response.url}, meta={**request.meta, **response.meta})

    def parse_story(self, response):
        pass

    def parse_draft(self, response):
        pass


class MapSpider(SitemapSpider):
    name = "map"
    sitemap_rules = [("/story/", "parse_story")]

    def parse_story(self, response):
        pass


class IdleSpider(Spider):
    name = "idle"


def request_for(spider: Spider, url: str = STORY, **settings: object) -> Request | None:
    return UnaskedRequests(Config.from_settings(settings), spider).request_for(url)


def test_parse_takes_all_if_it_is_the_only_callback() -> None:
    request = request_for(PlainSpider())

    assert request is not None
    assert request.callback is None  # which means parse


@pytest.mark.parametrize("spider", [ManySpider(), IdleSpider()], ids=lambda spider: type(spider).__name__)
def test_a_spider_that_does_not_say_which_callback_takes_nothing(spider: Spider) -> None:
    assert request_for(spider) is None


@pytest.mark.parametrize("spider", [HookSpider(), MapSpider()], ids=lambda spider: type(spider).__name__)
def test_the_spider_chooses_the_callback(spider: Spider) -> None:
    request = request_for(spider)

    assert request is not None
    assert request.callback == spider.parse_story  # type: ignore[attr-defined]
    assert request_for(spider, "http://a.example/imprint") is None


def test_a_request_by_a_rule_can_be_made_again_after_a_restart() -> None:
    spider = RuledSpider()
    request = request_for(spider)

    assert request is not None
    assert request.meta["rule"] == 1
    assert '"callback":"_callback"' in (request_to_json(request, spider, ("*",)) or "")
    assert request_for(spider, "http://a.example/imprint") is None


def test_rules_may_change_or_drop_what_somebody_else_names(caplog: pytest.LogCaptureFixture) -> None:
    spider = ChangingSpider()
    story, draft = request_for(spider), request_for(spider, "http://a.example/draft/1")

    assert story is not None
    assert story.headers["X-Shown-On"] == STORY.encode()  # no page has shown it: the page itself, empty
    assert story.meta["rule"] == 0
    assert draft is not None
    assert draft.meta["rule"] == 1  # the first rule does not want it
    assert request_for(spider, "http://a.example/old/1") is None
    assert not caplog.records
    unasked = UnaskedRequests(Config(), spider)
    assert [unasked.request_for(f"http://a.example/odd/{number}") for number in (1, 2)] == [None, None]
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [record.args[1] for record in errors] == ["http://a.example/odd/1"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("http://b.example/story/1", {}),
        (STORY, {"FRESHNESS_DENY": ["/story/"]}),
        (STORY, {"FRESHNESS_ALLOW": ["/news/"]}),
        (STORY, {"FRESHNESS_ANNOUNCED_PAGES": False}),
    ],
)
def test_domains_and_settings_hold_in_any_case(url: str, settings: dict[str, object]) -> None:
    assert request_for(PlainSpider(), url, **settings) is None


def request_for_new(spider: Spider, url: str = STORY, **settings: object) -> Request | None:
    with_hubs = {"FRESHNESS_HUBS": True, **settings}
    return UnaskedRequests(Config.from_settings(with_hubs), spider).request_for_new(url)


def test_what_no_callback_takes_is_kept_without_one_where_new_pages_are_looked_for() -> None:
    request = request_for_new(ManySpider())

    assert request is not None
    assert request.callback is NO_CALLBACK
    assert request_for_new(ManySpider(), FRESHNESS_HUBS=False) is None


@pytest.mark.parametrize("spider", [PlainSpider(), HookSpider(), MapSpider()], ids=lambda each: each.name)
def test_a_new_page_has_the_callback_that_the_spider_chooses(spider: Spider) -> None:
    request = request_for_new(spider)

    assert request is not None
    assert request.callback is not NO_CALLBACK


@pytest.mark.parametrize(
    ("spider", "url", "settings"),
    [
        (HookSpider(), "http://a.example/imprint", {}),
        (MapSpider(), "http://a.example/imprint", {}),
        (ManySpider(), "http://b.example/story/1", {}),
        (ManySpider(), STORY, {"FRESHNESS_DENY": ["/story/"]}),
        (ManySpider(), STORY, {"FRESHNESS_ALLOW": ["/news/"]}),
        (ManySpider(), STORY, {"FRESHNESS_ANNOUNCED_PAGES": False}),
    ],
)
def test_what_the_spider_or_the_settings_refuse_is_not_kept_without_a_callback_either(
    spider: Spider, url: str, settings: dict[str, object]
) -> None:
    assert request_for_new(spider, url, **settings) is None
