"""robots.txt in crawls that go on for months: read anew once in a while, as RFC 9309 asks.

Scrapy reads that of each server once; one that could not be read then forbids nothing for ever.
"""

from dataclasses import dataclass
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.http import Response
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl.extension import Freshness

#: Servers whose rules are remembered.
_MOST_SERVERS = 10_000
#: What could not be read is read again after this time, or at the usual age if that is less.
_AGAIN_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class _Rules:
    parser: RobotParser | None  #: None: nothing is forbidden
    again_at: float  #: when they are to be read again


class FreshRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Scrapy's own, but rules are read again when they are old, and hold until they could be."""

    def __init__(self, crawler: Crawler, clock: Clock, *, max_age_seconds: float) -> None:
        super().__init__(crawler)
        self._clock = clock
        self._max_age = max_age_seconds
        self._rules: dict[str, _Rules] = {}  #: by server, read longest ago first
        self._unreadable: set[str] = set()  #: servers that have just answered with an error

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        freshness = crawler.get_extension(Freshness)
        if freshness is None:  # switched off: robots.txt holds all the same
            return RobotsTxtMiddleware(crawler)  # type: ignore[return-value]
        return cls(crawler, freshness.clock, max_age_seconds=freshness.config.robots_max_age_seconds)

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """The rules of a request's server; who asks while they are fetched waits."""
        server = urlparse_cached(request).netloc
        known = self._rules.get(server)
        if known is not None and self._clock.now() < known.again_at:
            return known.parser
        is_first = server not in self._parsers
        read = await super().robot_parser(request)
        if is_first:
            del self._parsers[server]
            self._remember(server, read)
        rules = self._rules.get(server)
        if rules is not None and rules is not known:
            return rules.parser
        return self._holding(server, read)  # with some reactors, who waits goes on before the first does

    def _holding(self, server: str, read: RobotParser | None) -> RobotParser | None:
        """The rules that hold once these were read: those from before if it was in vain."""
        before = self._rules.get(server)
        return before.parser if before is not None and self._is_in_vain(server, read) else read

    def _is_in_vain(self, server: str, read: RobotParser | None) -> bool:
        return read is None or server in self._unreadable

    def _remember(self, server: str, read: RobotParser | None) -> None:
        parser, seconds = self._holding(server, read), self._max_age
        if self._is_in_vain(server, read):
            seconds = min(seconds, _AGAIN_SECONDS)
        self._unreadable.discard(server)
        self._rules.pop(server, None)
        self._rules[server] = _Rules(parser, self._clock.now() + seconds)
        if len(self._rules) > _MOST_SERVERS:
            del self._rules[next(iter(self._rules))]

    def _parse_robots(self, response: Response, netloc: str, *more: Any) -> Any:
        """Scrapy's, which is a coroutine or not, by its version."""
        if response.status >= 500 or response.status == 429:
            self._unreadable.add(netloc)
        return super()._parse_robots(response, netloc, *more)
