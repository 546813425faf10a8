"""Every fetch has a place in the budget, and is counted."""

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http.request import NO_CALLBACK

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl.errands import Errands
from scrapy_freshness.crawl.journal import Journal
from scrapy_freshness.crawl.ping_errands import ERRAND_KEY
from scrapy_freshness.crawl.pings import Pings
from scrapy_freshness.crawl.slots import DownloadSlots, slot_of
from scrapy_freshness.crawl.visiting import META_KEY, PageVisit, visit_under_way
from scrapy_freshness.crawl.vitals import Vitals
from scrapy_freshness.model import PageKind
from scrapy_freshness.pacing.rate import ConstantRate

#: When the scheduler took a place of the budget for a request that has not reached the downloader yet.
PAID_KEY = "freshness_paid"
#: A place that is not used by then is lost, as all places are that nobody takes.
_PLACE_SECONDS = 0.1


class Fetches:
    """Gives requests their places in the budget and in their slots, and counts those that are made.

    Parameters
    ----------
    pings : hears which hosts are fetched from, if there are any
    """

    def __init__(
        self,
        crawler: Crawler,
        clock: Clock,
        errands: Errands,
        journal: Journal,
        vitals: Vitals,
        pings: Pings | None,
        slots: DownloadSlots,
        *,
        budget_per_second: float,
    ) -> None:
        self.rate = ConstantRate(budget_per_second, clock.now())
        self.slots = slots
        self._clock = clock
        self._errands = errands
        self._journal = journal
        self._vitals = vitals
        self._pings = pings
        self._stats = crawler.stats

    def sent(self, slot: str, request: Request, now: float) -> None:
        """A request was handed to the engine: it takes the next place."""
        self.rate.spend(now)
        request.meta[PAID_KEY] = now
        self.slots.sent(slot, request, now)

    def take_back(self, request: Request) -> None:
        """A request ended before it reached the downloader: its place in the budget is free again."""
        paid_at = request.meta.pop(PAID_KEY, None)
        if paid_at is not None:
            page = request.meta.get(META_KEY)
            self.slots.arrived(page.slot if isinstance(page, PageVisit) else slot_of(request), paid_at)
            self.rate.give_back()
            self._errands.ended(request)

    def reached_downloader(self, request: Request, spider: Spider) -> None:
        """Count every fetch; without a place in the budget, or with one of long ago, it takes the next."""
        now = self._clock.now()
        page = visit_under_way(request)
        paid_at = request.meta.pop(PAID_KEY, None)
        if paid_at is not None:
            self.slots.arrived(slot_of(request) if page is None else page.slot, paid_at)
            self.slots.reached(request)
            self._errands.ended(request)
        if paid_at is None or now - paid_at > _PLACE_SECONDS:
            self.rate.spend(now)
        if self._pings is not None and page is not None:
            self._pings.hosts.met(request.url)
        kind = _kind_of_fetch(request, page)
        self._journal.count_fetch(kind, slot_of(request) if page is None else page.visit.record.host, now)
        self._vitals.fetches.count(kind, now)
        self._stats.inc_value("freshness/fetches")
        self._stats.inc_value(f"freshness/fetches/{kind}")


def _kind_of_fetch(request: Request, page: PageVisit | None) -> str:
    if request.meta.get("retry_times"):
        return "retry"
    if request.meta.get("redirect_times"):
        return "redirect"
    if page is not None and page.visit.record.kind.is_polled:
        return "poll"
    if page is not None and page.visit.record.kind is PageKind.SOURCE:
        return "hub"
    if page is not None:
        return "audit" if page.is_audit else "page"
    if ERRAND_KEY in request.meta:
        return "ping"
    if request.callback is NO_CALLBACK and request.url.endswith("/robots.txt"):
        return "robots"
    return "other"
