"""What a poll announces, and what it counts for, in a crawl that fetches nothing."""

import asyncio
from email.utils import formatdate
from time import time

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.request import fingerprint
from scrapy.utils.test import get_crawler
from twisted.internet.defer import succeed

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.announcing import Announcements
from scrapy_freshness.crawl.finding import SourceFinder
from scrapy_freshness.crawl.known_sources import KnownSources
from scrapy_freshness.crawl.polling import Polls
from scrapy_freshness.crawl.visiting import PageVisit
from scrapy_freshness.model import Outcome, PageKind, PageRecord, PageStatus
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.planning.visits import PollYield, Report, Visit

SITE = "http://a.example"
FEED, HOME, ARTICLE, STORY = f"{SITE}/feed", f"{SITE}/", f"{SITE}/article", f"{SITE}/story"
DAY = 86_400.0


def number_of(request: Request) -> int:
    return int.from_bytes(fingerprint(request)[:8], "big", signed=True)


class Nothing:
    """Wants no pages but those that are known."""

    def request_for_new(self, url: str) -> Request | None:
        return None


class Crawl:
    """Pages that were visited a day ago, and a feed that one of them names."""

    def __init__(self, *pages: str, policy: str = "greedy-ncis", unasked: Nothing | None = None) -> None:
        self.now = time()
        chosen = policy_named(policy)
        self.planner = Planner(chosen, Hosts(5.0, 60.0), learner_for(chosen, estimator="mle"))
        for url in pages:
            page = PageRecord(
                page_id=0, fingerprint=number_of(Request(url)), url=url, host="a.example", change_rate=1 / DAY
            )
            self.planner.first_seen(page, Report(outcome=Outcome.FIRST, at=self.now - DAY))
        self.planner.settle(self.now)
        self.planner.start(self.now, price=1e-6)
        self.known = KnownSources()
        finder = SourceFinder(
            Config(),
            self.planner,
            self.known,
            fingerprint=number_of,
            discover=lambda page: self.planner.discover(page, self.now),
            overhears_robots=True,
        )
        self.announcements = Announcements(
            self.planner,
            get_crawler().stats,
            unasked or Nothing(),  # type: ignore[arg-type]
            fingerprint=number_of,
            discover=lambda request, told_by: None,
            wake=lambda: None,
        )
        self.polls = Polls(
            get_crawler(),
            self,
            self.known,
            finder,
            self.announcements,
            in_background=lambda read: succeed(read()),
            read_seen=lambda page_id: succeed(self.seen),
        )
        self.seen = b""
        self.ended: asyncio.Future[PollYield]
        finder.add(FEED, PageKind.FEED, found="page", found_on=ARTICLE)

    def close(self, page: PageVisit, report: Report) -> None:
        """The visit of the feed has ended."""
        self.ended.set_result(report.poll)

    def poll(self, *stories: str, home: str = "", head: str = "") -> PollYield:
        """The feed is polled and shows these stories."""
        date = formatdate(self.now)
        items = "".join(f"<item><link>{url}</link><pubDate>{date}</pubDate></item>" for url in stories)
        body = f"<rss><channel><link>{home}</link>{head}{items}</channel></rss>".encode()
        ended = asyncio.run(self._polled(Response(FEED, body=body)))
        (source,) = self.known.take_changed()
        self.seen = source.seen or self.seen
        return ended

    async def _polled(self, response: Response) -> PollYield:
        self.ended = asyncio.get_running_loop().create_future()
        (source,) = self.known.of_host("a.example")
        record = PageRecord(
            page_id=source.page_id,
            fingerprint=number_of(Request(FEED)),
            url=FEED,
            host="a.example",
            kind=PageKind.FEED,
            last_visit_at=self.now - DAY if self.seen else None,
        )
        page = PageVisit(Visit(row=0, record=record, opened_at=self.now, value=1.0), "a.example")
        report = Report(outcome=Outcome.CHANGED, at=self.now, body_hash=hash(response.body))
        self.polls.answered(page, response, report)
        return await self.ended

    def signalled(self) -> list[str]:
        """Pages that have got a signal since the last call."""
        rows = {url: self.planner.known.row_of(number_of(Request(url))) for url in (HOME, ARTICLE, STORY)}
        urls = {self.planner.known.page_id_of(row): url for url, row in rows.items() if row is not None}
        return [urls[signal.page_id] for signal in self.announcements.take_log()]


def test_a_new_entry_is_a_signal_for_the_page_that_the_feed_names() -> None:
    """And not for the article in whose head the feed was found, as in that of every page of the site."""
    crawl = Crawl(HOME, ARTICLE, STORY)
    crawl.poll(ARTICLE, home=HOME)
    crawl.signalled()

    crawl.poll(STORY, ARTICLE, home=HOME)

    assert crawl.signalled() == [STORY, HOME]


@pytest.mark.parametrize("home", ["", f"{SITE}/unknown", "http://b.example/", FEED])
def test_the_page_that_names_a_feed_gets_the_signal_if_the_feed_names_no_known_page(home: str) -> None:
    crawl = Crawl(HOME, ARTICLE, STORY)
    crawl.poll(HOME, home=home)
    crawl.signalled()

    crawl.poll(STORY, HOME, home=home)

    assert crawl.signalled() == [STORY, ARTICLE]


def test_a_page_that_has_moved_shows_no_entries() -> None:
    crawl = Crawl(HOME, ARTICLE, STORY)
    moved = crawl.planner.known.row_of(number_of(Request(HOME)))
    crawl.planner._table.status[moved] = PageStatus.MOVED
    crawl.poll(STORY, home=HOME)
    crawl.signalled()

    crawl.poll(f"{STORY}?2", STORY, home=HOME)

    assert crawl.signalled() == [ARTICLE]


def test_a_page_gets_its_signal_under_whatever_address_the_spider_knows_it() -> None:
    class Shortening(Nothing):
        def request_for_new(self, url: str) -> Request:
            return Request(url.partition("?")[0])

    crawl = Crawl(STORY, unasked=Shortening())
    crawl.poll(f"{STORY}?utm=1")

    assert crawl.signalled() == [STORY]


def test_a_poll_tells_how_often_the_feed_says_that_it_is_updated() -> None:
    assert Crawl(ARTICLE).poll(ARTICLE, head="<ttl>60</ttl>").update_seconds == 3600.0


def test_dates_that_move_no_value_make_a_poll_barren() -> None:
    deaf, listening = Crawl(ARTICLE, STORY, policy="greedy"), Crawl(ARTICLE, STORY)
    for crawl in (deaf, listening):
        crawl.poll(ARTICLE)

    assert deaf.poll(STORY, ARTICLE) == PollYield(worth=0.0, is_barren=True)
    yielded = listening.poll(STORY, ARTICLE)

    assert yielded.worth > 0
    assert not yielded.is_barren
    assert deaf.signalled()[-2:] == listening.signalled()[-2:] == [STORY, ARTICLE]
