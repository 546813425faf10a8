"""Requests for pages that the spider has not asked for, but would: named by sitemaps, feeds, hubs, pings."""

import inspect
import logging
from collections.abc import Callable
from typing import cast

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.link import Link
from scrapy.spiders import CrawlSpider, SitemapSpider
from scrapy.utils.url import url_is_from_any_domain

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.tracking import Tracker, Tracking

logger = logging.getLogger(__name__)


class UnaskedRequests:
    """Makes the request that the spider would make for a URL.

    Asked in this order: the spider's method ``freshness_request(url)``; the rules of a SitemapSpider or a
    CrawlSpider; ``parse``, if it is the only callback that the spider has.
    """

    def __init__(self, config: Config, spider: Spider) -> None:
        self._is_on = config.announced_pages
        self._keeps_all = config.hubs
        self._spider = spider
        self._tracker = Tracker(config, spider)
        self._hook = cast(
            "Callable[[str], Request | None] | None", getattr(spider, "freshness_request", None)
        )
        self._domains = getattr(spider, "allowed_domains", None) or ()
        self._parses_all = callbacks_of(type(spider)) == {"parse"}
        self._have_failed = False  #: the spider's own rules, for one URL at least

    def request_for(self, url: str) -> Request | None:
        """The request for a URL, None if the page is not for this spider."""
        if not self._is_on or not self.is_inside(url):
            return None
        request = self._hook(url) if self._hook is not None else self._by_rules(url)
        if request is None or self._tracker.decide(request) is Tracking.PLAIN:
            return None
        return request

    def is_inside(self, url: str) -> bool:
        """Whether a URL is of the domains that the spider allows; if it names none, all are."""
        return not self._domains or bool(url_is_from_any_domain(url, self._domains))

    @property
    def has_domains(self) -> bool:
        """Whether the spider names the domains that it allows."""
        return bool(self._domains)

    def request_for_new(self, url: str) -> Request | None:
        """The request for a new page: the spider's, or one without a callback if it does not say.

        It does not say if it has several callbacks, and neither rules nor a method to choose one of them.
        Such pages are kept where new ones are looked for: in crawls with hubs.
        """
        request = self.request_for(url)
        if request is not None or self._says or not (self._keeps_all and self._is_on and self.is_inside(url)):
            return request
        request = Request(url, callback=NO_CALLBACK)
        return request if self._tracker.decide(request) is Tracking.TRACK else None

    def may_poll(self, url: str, *, is_root: bool = False) -> bool:
        """Whether a page may be polled for its links."""
        return self.is_inside(url) and self._tracker.may_poll(Request(url), is_root=is_root)

    @property
    def _says(self) -> bool:
        rules = isinstance(self._spider, SitemapSpider | CrawlSpider)
        return self._hook is not None or rules or self._parses_all

    def _by_rules(self, url: str) -> Request | None:
        spider = self._spider
        if isinstance(spider, SitemapSpider):
            for pattern, callback in spider._cbs:
                if pattern.search(url):
                    return Request(url, callback=callback)
            return None
        if isinstance(spider, CrawlSpider):
            shown_on = HtmlResponse(url, request=Request(url))  # there is no page that links to it
            try:
                return _by_crawl_rules(spider, url, shown_on)
            except Exception as error:
                # As in Scrapy, what the spider's own functions fail on is not followed.
                is_first, self._have_failed = not self._have_failed, True  # thousands of links may follow
                level = logging.ERROR if is_first else logging.DEBUG
                logger.log(level, "The rules of %s have failed for %s", spider.name, url, exc_info=error)
                return None
        return Request(url) if self._parses_all else None


def _by_crawl_rules(spider: CrawlSpider, url: str, shown_on: HtmlResponse) -> Request | None:
    """What the first rule that takes a link makes of it."""
    for number, rule in enumerate(spider._rules):
        if rule.link_extractor.matches(url):
            for link in rule.process_links([Link(url)]):  # type: ignore[operator]  # a name no more
                request = spider._build_request(number, link)
                return rule.process_request(request, shown_on)  # type: ignore[operator]
    return None


def callbacks_of(spider_class: type[Spider]) -> set[str]:
    """Methods of a spider that take a response, beside those of Scrapy itself.

    >>> class Quotes(Spider):
    ...     def parse(self, response): ...
    ...     def author(self, response, name=""): ...
    ...     def clean(self, text): ...
    >>> sorted(callbacks_of(Quotes))
    ['author', 'parse']
    """
    found = set()
    for each in spider_class.__mro__:
        if not each.__module__.startswith("scrapy."):
            for name, method in vars(each).items():
                if inspect.isfunction(method) and "response" in inspect.signature(method).parameters:
                    found.add(name)
    return found
