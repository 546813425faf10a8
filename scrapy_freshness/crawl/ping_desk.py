"""Where pings arrive: each is counted, and taken by who can read it or refused with a telling status."""

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from scrapy.statscollectors import StatsCollector
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl.ping_contract import Push
from scrapy_freshness.crawl.ping_server import Ping, Reply
from scrapy_freshness.crawl.submissions import Submissions
from scrapy_freshness.crawl.subscriptions import Subscriptions
from scrapy_freshness.crawl.throttle import Throttle
from scrapy_freshness.errors import PingError
from scrapy_freshness.signals.indexnow import Submission, read_body, read_query
from scrapy_freshness.signals.websub import read_intent

INDEXNOW, WEBSUB = "/indexnow", "/websub/"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")
#: URLs that count as one more ping of their sender.
_URLS_PER_PING = 100
#: Bodies up to this length are parsed at once: that takes a few milliseconds.
_SHORT_BYTES = 50_000


class PingDesk:
    """Answers pings; a `ping_server.Desk`."""

    def __init__(
        self,
        submissions: Submissions,
        subscriptions: Subscriptions | None,
        deliver: Callable[[Push], None],
        wake: Callable[[], None],
        in_background: Callable[[Callable[[], Submission]], "Deferred[Submission]"],
        *,
        base_url: str,
        pings_per_second: float,
        clock: Clock,
        stats: StatsCollector,
    ) -> None:
        self._submissions = submissions
        self._subscriptions = subscriptions
        self._deliver = deliver
        self._wake = wake
        self._in_background = in_background
        self._prefix = urlsplit(base_url).path
        self._throttle = Throttle(per_sender=pings_per_second, total=10 * pings_per_second)
        self._clock = clock
        self._stats = stats
        self.is_open = False  #: whether the pages are known

    def refusal(self, sender: str) -> Reply | None:
        """Return why a request is refused before its body is received; None if it is not."""
        if not self.is_open:
            return self._refused(503, "the crawl is about to start or to end", "not_ready")
        if not self._throttle.admit(sender, self._clock.now()):
            return self._refused(429, "too many pings", "too_often")
        return None

    def lost(self, counted_as: str) -> None:
        """Hear of a request that was refused for its form."""
        self._stats.inc_value(f"freshness/pings/refused/{counted_as}")

    async def answer(self, ping: Ping) -> Reply:
        """Return the answer to a request."""
        try:
            reply = await self._taken(ping)
        except PingError as error:
            return self._refused(error.status, str(error), error.counted_as)
        self._stats.inc_value("freshness/pings/accepted")
        return reply

    async def _taken(self, ping: Ping) -> Reply:
        # A proxy may or may not take the path of the public address away.
        path = ping.path.removeprefix(self._prefix)
        if path == INDEXNOW:
            return await self._indexnow(ping)
        token = path.removeprefix(WEBSUB)
        if self._subscriptions is None or not path.startswith(WEBSUB) or not _TOKEN.fullmatch(token):
            raise PingError(404, "there is nothing here", "not_found")
        if ping.method == "GET":
            return Reply(200, self._subscriptions.answer(token, read_intent(ping.query)))
        if ping.method == "POST":
            push = self._subscriptions.take(
                token, ping.body, ping.headers("Content-Type"), ping.headers("X-Hub-Signature")
            )
            if push is not None:
                self._deliver(push)
            return Reply(202 if push is not None else 200)
        raise PingError(405, "GET or POST", "method")

    async def _indexnow(self, ping: Ping) -> Reply:
        if ping.method == "GET":
            submission = read_query(ping.query)
        elif ping.method != "POST":
            raise PingError(405, "GET or POST", "method")
        elif len(ping.body) <= _SHORT_BYTES:
            submission = read_body(ping.body)
        else:
            parsed = self._in_background(partial(read_body, ping.body))
            submission = await maybe_deferred_to_future(parsed)
        self._throttle.charge(ping.sender, len(submission.urls) / _URLS_PER_PING, self._clock.now())
        status = self._submissions.take(submission)
        self._wake()
        return Reply(status)

    def _refused(self, status: int, reason: str, counted_as: str) -> Reply:
        self.lost(counted_as)
        headers = {
            405: (("Allow", "GET, POST"),),
            429: (("Retry-After", "10"),),
            503: (("Retry-After", "10"),),
        }
        return Reply(status, f"{reason}\n", headers.get(status, ()))
