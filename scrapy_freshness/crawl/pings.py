"""Pings: the parts that take them, put together, opened and closed with the crawl."""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock
from scrapy_freshness.config import Config
from scrapy_freshness.crawl import signals
from scrapy_freshness.crawl.announcing import Announced
from scrapy_freshness.crawl.guarded import guarded_loop
from scrapy_freshness.crawl.known_hosts import KnownHosts
from scrapy_freshness.crawl.ping_contract import Push, TakesAnnouncements
from scrapy_freshness.crawl.ping_desk import WEBSUB, PingDesk
from scrapy_freshness.crawl.ping_errands import PingErrands
from scrapy_freshness.crawl.ping_server import PingServer
from scrapy_freshness.crawl.pushed_pages import PUSHED_FLAG, PushedPages, is_page
from scrapy_freshness.crawl.submissions import Submissions
from scrapy_freshness.crawl.subscriptions import Notes, Subscriptions
from scrapy_freshness.crawl.visiting import PageVisit
from scrapy_freshness.model import SignalSource, Subscription
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.signals.contract import Link
from scrapy_freshness.signals.discovery import header_sources, page_links
from scrapy_freshness.signals.indexnow import MOST_BYTES
from scrapy_freshness.signals.pushed_feed import PushedFeed, read_pushed_feed

logger = logging.getLogger(__name__)

_KEEP_UP_SECONDS = 1.0


class Pings:
    """Takes pings from `listen` to `close`, and believes them from `open` on."""

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        clock: Clock,
        planner: Planner,
        announcements: TakesAnnouncements,
        *,
        fingerprint: Callable[[Request], int],
        in_background: Callable[[Callable[[], Any]], "Deferred[Any]"],
        note: Notes,
        wake: Callable[[], None],
    ) -> None:
        assert config.ping_listen is not None
        self._address = config.ping_listen
        self._crawler = crawler
        self._clock = clock
        self._planner = planner
        self._announcements = announcements
        self._fingerprint = fingerprint
        self._in_background = in_background
        self._wake = wake
        self.hosts = KnownHosts(planner, fingerprint)
        self.pushed = PushedPages()
        errands = PingErrands(crawler, config.budget_per_second)
        submissions = Submissions(
            config.ping_keys, self.hosts, errands.send, announcements, clock, crawler.stats
        )
        self._subscriptions: Subscriptions | None = None
        if config.ping_url:
            self._subscriptions = Subscriptions(
                config.ping_url + WEBSUB,
                config.ping_lease_seconds,
                config.ping_hubs,
                self.hosts,
                errands.send,
                note,
                clock,
                crawler.stats,
            )
        self._desk = PingDesk(
            submissions,
            self._subscriptions,
            self._deliver,
            wake,
            in_background,
            base_url=config.ping_url,
            pings_per_second=config.pings_per_second,
            clock=clock,
            stats=crawler.stats,
        )
        timeout = config.ping_timeout_seconds
        self._server = PingServer(self._desk, most_bytes=MOST_BYTES, timeout_seconds=timeout)
        self._keeping_up = guarded_loop(crawler.stats, self._keep_up)

    def check(self) -> None:
        """See that the port can be had; raises ConfigError if not."""
        self._server.check(*self._address)

    def listen(self) -> None:
        """Take the port; raises ConfigError if it cannot be had."""
        address = self._server.listen(*self._address)
        logger.info("Taking pings at %s", address)

    def open(self, subscriptions: Iterable[Subscription]) -> None:
        """Begin to believe pings: the pages are known."""
        self._desk.is_open = True
        if self._subscriptions is None:
            return
        self._subscriptions.load(subscriptions)
        connect = self._crawler.signals.connect
        connect(self._page_changed, signal=signals.page_changed)
        connect(self._page_gone, signal=signals.page_gone)
        self._keeping_up.start(_KEEP_UP_SECONDS, now=False)

    def close(self) -> "Deferred[object]":
        """End all that this began; fires when the port is free."""
        self._desk.is_open = False
        if self._keeping_up.running:
            self._keeping_up.stop()
        return self._server.close()

    def _keep_up(self) -> None:
        if self._subscriptions is not None:
            self._subscriptions.keep_up()

    def _page_changed(self, visit: PageVisit, response: Response | None, spider: Spider) -> None:
        """Look for the hubs that a page, or a feed that the spider fetches as one, names."""
        if not self._desk.is_open or response is None or response.status != 200:
            return
        if PUSHED_FLAG in response.flags:
            return  # what is pushed need not name its hub
        values = [value.decode("latin-1") for value in response.headers.getlist("Link")]
        links = header_sources(values, response.url)
        if isinstance(response, HtmlResponse):
            self.advertised(visit.url, [*links, *page_links(response.body, response.url)])
        elif isinstance(response, TextResponse):
            self._look_into_feed(visit.url, response, links)

    def _look_into_feed(self, url: str, response: Response, links: list[Link]) -> None:
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        work = partial(
            read_pushed_feed,
            response.body,
            response.url,
            content_type=content_type,
            seen=b"",
            now=self._clock.now(),
        )
        read: Deferred[PushedFeed | None] = self._in_background(work)
        read.addCallback(lambda feed: self.advertised(url, [*links, *(feed.links if feed else ())]))
        read.addErrback(self._not_read)

    def _page_gone(self, visit: PageVisit, response: Response | None, spider: Spider) -> None:
        if self._subscriptions is not None:
            self._subscriptions.gone(visit.url)

    def advertised(self, url: str, links: list[Link]) -> None:
        """Hear which hubs and topics a page or feed names."""
        if self._subscriptions is not None and self._desk.is_open:
            self._subscriptions.advertised(links, url)

    def _deliver(self, push: Push) -> None:
        """Use what a hub has sent: as the page, as a poll of the feed, or as a hint that it has changed."""
        row = self.hosts.row_of(push.url)
        is_poll = row is not None and bool(push.body) and self._planner.known.is_polled(row)
        if is_page(push) or is_poll:
            if row is not None and self._planner.wished.visit_next(row, push.at):
                self.pushed.keep(self._fingerprint(Request(push.url)), push)
                self._wake()
            return
        if row is not None:  # a page of the spider's, which has not seen it
            self._announce([Announced(push.url, None)])
        if self._subscriptions is not None:
            work = partial(
                read_pushed_feed,
                push.body,
                push.url,
                content_type=push.content_type,
                seen=self._subscriptions.seen_of(push.url),
                now=push.at,
            )
            read: Deferred[PushedFeed | None] = self._in_background(work)
            read.addCallbacks(partial(self._feed_read, push), self._not_read)

    def _feed_read(self, push: Push, feed: PushedFeed | None) -> None:
        if feed is None or self._subscriptions is None:
            return
        self._subscriptions.remember(push.url, feed.seen)
        # As late as it may be meant: a date in whole seconds is not to come before the visit it follows.
        dates = [(entry.url, entry.latest) for entry in feed.news]
        self._announce(
            [
                Announced(url, None if date is None else min(date.at + date.resolution, push.at))
                for url, date in dates
            ]
        )

    def _announce(self, entries: list[Announced]) -> None:
        if entries:
            self._announcements.take(entries, SignalSource.PING, told_by=None, now=self._clock.now())
            self._wake()

    def _not_read(self, failure: Failure) -> None:
        logger.error("A feed could not be read: %s", failure.getErrorMessage())
