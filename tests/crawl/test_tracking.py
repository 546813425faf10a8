"""Settings keep known pages out, unless the spider insists on them."""

import logging

import pytest
from scrapy import Request, Spider

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.tracking import Tracker


class ChoosySpider(Spider):
    name = "choosy"

    def freshness_track(self, request: Request) -> bool | None:
        return True if request.meta["section"] == "news" else None


def tracker(**patterns: list[str]) -> Tracker:
    return Tracker(Config.from_settings(patterns), ChoosySpider())


def page(path: str = "/", **meta: object) -> Request:
    return Request(f"http://a.example{path}", dont_filter=True, meta={"section": "sport"} | meta)


def test_patterns_keep_known_pages_out() -> None:
    rules = tracker(FRESHNESS_ALLOW=["/in"], FRESHNESS_DENY=["old"])

    assert rules.barrier(page("/in")) is None
    assert rules.barrier(page("/out")) == "FRESHNESS_ALLOW"
    assert rules.barrier(page("/in/old")) == "FRESHNESS_DENY"


def test_the_spider_may_insist_on_a_page() -> None:
    rules = tracker(FRESHNESS_DENY=["."])

    assert rules.barrier(page()) == "FRESHNESS_DENY"
    assert rules.barrier(page(freshness="source")) is None
    assert rules.barrier(page(section="news")) is None


def test_main_pages_are_polled_whatever_is_allowed() -> None:
    assert tracker(FRESHNESS_ALLOW=["/in"]).barrier(page(), is_root=True) is None
    assert tracker(FRESHNESS_DENY=["."]).barrier(page(), is_root=True) == "FRESHNESS_DENY"


def test_a_method_that_fails_for_a_known_page_insists_on_nothing(caplog: pytest.LogCaptureFixture) -> None:
    request = Request("http://a.example/")

    with caplog.at_level(logging.ERROR):
        assert tracker(FRESHNESS_DENY=["."]).barrier(request) == "FRESHNESS_DENY"
    assert "freshness_track has failed for http://a.example/" in caplog.text
