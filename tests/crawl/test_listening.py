"""What sitemaps and feeds tell of pages: what new ones are worth, who showed them first, how old they are."""

import asyncio
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.request import fingerprint
from twisted.internet.defer import succeed

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
from scrapy_freshness.signals.polled import Said, read_poll

FEED_ID, HOST, NOW = 1, "a.example", 1794900000.0
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
        self.seen: dict[int, bytes] = {}  #: what sources said at their last polls
        self.listening = Listening(
            crawler,
            config,
            self.planner,
            None,  # type: ignore[arg-type]  # no visit is closed
            UnaskedRequests(config, crawler.spider),
            fingerprint=lambda request: int.from_bytes(fingerprint(request)[:8], "big", signed=True),
            discover=self._discover,
            in_background=None,  # type: ignore[arg-type]  # nothing is read
            read_seen=lambda page_id: succeed(self.seen[page_id]),
            wake=lambda: None,
        )
        self.listening.open()

    def _discover(self, page: PageRecord) -> PageRecord:
        self.pages.append(self.planner.discover(page, 0.0))
        return self.pages[-1]

    def source(self, url: str = f"http://{HOST}/feed", kind: PageKind = PageKind.FEED) -> SourceRecord:
        """A feed that was polled before."""
        found = self.listening.finder.add(url, kind, found="page")
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

    def says(self, kind: PageKind, body: str) -> None:
        """A source of that kind has said so at its last poll."""
        source = self.source(f"http://{HOST}/{kind.name.lower()}.xml", kind)
        polled = read_poll(body.encode(), source.url, before=b"", now=NOW)
        self.seen[source.page_id], source.entries = polled.seen, polled.findings.n_entries

    def dates(self, *urls: str) -> dict[str, list[float]]:
        """When links were changed, by whom says so."""

        async def found() -> Mapping[str, NDArray[np.float64]]:
            return await maybe_deferred_to_future(self.listening.dates_of(HOST, list(urls)))

        return {name: dates.tolist() for name, dates in asyncio.run(found()).items()}


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


def test_sitemaps_and_feeds_say_how_old_a_link_is() -> None:
    heard = Heard()
    old, older, unknown = (f"http://{HOST}/{path}" for path in ("news", "sport/", "imprint"))
    heard.says(
        PageKind.SITEMAP,
        f"<urlset><url><loc>{old}</loc><lastmod>2026-11-16T00:00:00Z</lastmod></url>"
        f"<url><loc>{unknown}</loc></url></urlset>",
    )
    heard.says(
        PageKind.FEED,
        f"<rss version='2.0'><channel><item><link>{older}</link><guid>{older}</guid>"
        "<pubDate>Sun, 15 Nov 2026 00:00:00 GMT</pubDate></item></channel></rss>",
    )
    day = 1794787200.0  # of the sitemap's date

    found = heard.dates(old, older, unknown)

    assert {name: [date if date > 0 else None for date in dates] for name, dates in found.items()} == {
        "sitemap": [day, None, None],
        "feed": [None, day - 86400, None],
    }
