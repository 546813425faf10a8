"""When may a host be asked again?  The only place that looks into Scrapy's downloader slots."""

import math
import time
from collections import deque
from collections.abc import Iterator

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.httpobj import urlparse_cached

#: How soon to look again at a slot that is busy.
_BUSY_SECONDS = 0.05
#: A request that takes longer to reach its slot waits for something, as a rule for robots.txt.
_ARRIVAL_SECONDS = 0.1
#: How often to look at the delays of all slots.
_LOOK_SECONDS = 1.0


def slot_of(request: Request) -> str:
    """Key of the download slot of a request: what the spider chose, or the host name."""
    chosen = request.meta.get("download_slot")
    return chosen if isinstance(chosen, str) else urlparse_cached(request).hostname or ""


class DownloadSlots:
    """Tells when a host's slot has room, counting requests that are still on their way to it."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        #: Slot -> requests that have not arrived, with the times at which they set out.
        self._coming: dict[str, deque[tuple[float, Request]]] = {}
        self._concurrency = settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self._delay = settings.getfloat("DOWNLOAD_DELAY")
        self._mean_delay = self._delay  #: of slots, when they were looked at last
        self._looked_at = -math.inf
        self._special = settings.getdict("DOWNLOAD_SLOTS")
        self._obeys_robots = settings.getbool("ROBOTSTXT_OBEY")
        self._met: set[str] = set()  #: servers (host and port) that a request has reached

    def sent(self, slot: str, request: Request, now: float) -> None:
        """A request was handed to the engine; by the time it is known again, if only a copy of it arrives."""
        self._coming.setdefault(slot, deque()).append((now, request))

    def arrived(self, slot: str, sent_at: float) -> None:
        """A request reached its slot, or ended on the way."""
        coming = self._coming.get(slot, ())
        for place, (each_sent_at, _) in enumerate(coming):
            if each_sent_at == sent_at:
                del self._coming[slot][place]
                break
        if not coming:
            self._coming.pop(slot, None)

    def reached(self, request: Request) -> None:
        """A request has reached the downloader: what robots.txt says about its server is known."""
        if self._obeys_robots:
            self._met.add(urlparse_cached(request).netloc)

    def in_engine(self) -> Iterator[Request]:
        """Requests that are downloaded, or whose answers are with the spider, their items in pipelines."""
        engine = self._crawler.engine
        yield from engine.downloader.active
        if engine.scraper.slot is not None:
            yield from engine.scraper.slot.active

    def delay_seconds(self, now: float) -> float:
        """Seconds between two requests to a host at least: the mean of the slots that there are.

        So spiders, DOWNLOAD_SLOTS and AutoThrottle have their say. Slots that nobody uses vanish: without
        any it is what it was last, and at first DOWNLOAD_DELAY.
        """
        if not 0 <= now - self._looked_at < _LOOK_SECONDS:
            self._looked_at = now
            if slots := self._crawler.engine.downloader.slots.values():
                self._mean_delay = sum(slot.delay for slot in slots) / len(slots)
        return self._mean_delay

    def free_at(self, key: str, now: float) -> float:
        """When the next request to a slot may start; *now* or earlier means at once."""
        if self._is_held_up(key, now) or self._meets_a_stranger(key):
            return now + _BUSY_SECONDS  # more requests would wait with it, and then start all at once
        coming = len(self._coming.get(key, ()))
        slot = self._crawler.engine.downloader.slots.get(key)
        if slot is None:
            special = self._special.get(key, {})
            limit = 1 if special.get("delay", self._delay) else special.get("concurrency", self._concurrency)
            return now if coming < limit else now + _BUSY_SECONDS
        if len(slot.active) + coming >= slot.concurrency or (slot.delay and (coming or slot.queue)):
            return now + _BUSY_SECONDS
        # Scrapy before 2.15 notes wall-clock time, later versions monotonic time.
        clock = time.time if slot.lastseen > 1e9 else time.monotonic
        return now + max(slot.lastseen + slot.delay - clock(), 0.0)

    def _meets_a_stranger(self, key: str) -> bool:
        """Whether a request is on its way to a server whose robots.txt may not have been read.

        Of several requests that wait for it, Scrapy's middleware checks only the first two.
        """
        if not self._obeys_robots:
            return False
        return any(urlparse_cached(each).netloc not in self._met for _, each in self._coming.get(key, ()))

    def _is_held_up(self, key: str, now: float) -> bool:
        """Whether a request takes long to arrive; those that another component has replaced never will."""
        coming = self._coming.get(key)
        while coming and now - coming[0][0] > _ARRIVAL_SECONDS:
            if coming[0][1] in self._crawler.engine.downloader.active:
                return True
            coming.popleft()
        return False
