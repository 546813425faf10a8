"""What is believed of a page because a feed has shown it, and who is said to have shown it first."""

import asyncio

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.request import fingerprint

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.listening import Listening
from scrapy_freshness.crawl.unasked import UnaskedRequests
from scrapy_freshness.model import PageKind, PageRecord, SignalSource, SourceRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.learning import group_name
from scrapy_freshness.planning.link_learner import PROFIT_STATE
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.signals.polled import Said

FEED_ID, HOST = 1, "a.example"
PROFITS = {
    (HOST, str(FEED_ID)): (12.0, 1 / 7200),
    (HOST,): (3.0, 1 / 600),
    (): (1.0, 1 / 60),
}


class NewsSpider(Spider):
    name = "news"

    def parse(self, response):
        pass


class Heard:
    """All that listens, without a crawl around it; clicks have told what the pages of some sources earn."""

    def __init__(self, **settings: object) -> None:
        config = Config.from_settings({"FRESHNESS_HUBS": True, **settings})
        crawler, policy = Crawler(NewsSpider), policy_named("holistic")
        crawler.spider, crawler.stats = NewsSpider(), StatsCollector(crawler)
        self.planner = Planner(policy, Hosts(5.0, 60.0), learner_for(policy))
        self.planner.told.groups_are(
            {
                group_name("profits", key): PROFIT_STATE.pack(*known, 9.0, 99.0)
                for key, known in PROFITS.items()
            }
        )
        self.pages: list[PageRecord] = []
        self.listening = Listening(
            crawler,
            config,
            self.planner,
            None,  # type: ignore[arg-type]  # no visit is closed
            fingerprint=lambda request: int.from_bytes(fingerprint(request)[:8], "big", signed=True),
            discover=self._discover,
            in_background=None,  # type: ignore[arg-type]  # nothing is read
            read_seen=None,  # type: ignore[arg-type]
        )
        self.listening.open(UnaskedRequests(config, crawler.spider), lambda: None)

    def _discover(self, page: PageRecord) -> PageRecord:
        self.pages.append(self.planner.discover(page, 0.0))
        return self.pages[-1]

    def source(self, url: str = f"http://{HOST}/feed") -> SourceRecord:
        """A feed that was polled before."""
        found = self.listening.finder.add(url, PageKind.FEED, found="page")
        assert found is not None
        found.format, found.polls = "feed", 1
        return found

    def announced(self, source: SourceRecord) -> PageRecord:
        """The page that a source has just shown."""
        story = Said(f"http://{HOST}/story/{len(self.pages)}", is_new=True)

        async def take() -> None:
            taken = self.listening.announcements.take(
                [story], SignalSource.FEED, told_by=source.page_id, now=1.0
            )
            await maybe_deferred_to_future(taken)

        asyncio.run(take())
        assert self.pages[-1].url == story.url
        return self.pages[-1]


def earns(page: PageRecord) -> tuple[float, float]:
    return page.beliefs["profit"], page.beliefs["decay"]


def test_what_a_feed_shows_earns_what_its_pages_did() -> None:
    heard = Heard()
    feed = heard.source()
    assert feed.page_id == FEED_ID
    page = heard.announced(feed)

    assert earns(page) == PROFITS[HOST, "1"]
    assert page.found_on == feed.page_id
    assert earns(heard.announced(heard.source(f"http://{HOST}/other"))) == PROFITS[HOST,]
    assert earns(heard.announced(heard.source("http://feeds.example/a"))) == PROFITS[()]


def test_at_its_first_poll_a_feed_shows_what_is_there_not_what_is_new() -> None:
    heard = Heard()
    feed = heard.source()
    feed.polls = 0
    page = heard.announced(feed)

    assert earns(page) == PROFITS[HOST, "1"]
    assert page.found_on is None


@pytest.mark.parametrize(
    ("format_", "settings", "is_news"),
    [
        ("news_sitemap", {}, True),
        ("sitemap", {}, False),
        ("feed", {"FRESHNESS_HUBS": False}, False),
    ],
)
def test_only_news_are_worth_most_at_once_and_only_where_hubs_are_polled_for_them(
    format_: str, settings: dict[str, object], is_news: bool
) -> None:
    heard = Heard(**settings)
    feed = heard.source()
    feed.format = format_

    assert (heard.announced(feed).beliefs["profit"] > 0) is is_news
