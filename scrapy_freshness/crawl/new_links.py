"""A link that was never seen before: it becomes a page, if the spider would take it."""

from collections.abc import Callable, Mapping

from scrapy import Request
from scrapy.statscollectors import StatsCollector

from scrapy_freshness.crawl.slots import slot_of
from scrapy_freshness.crawl.unasked import UnaskedRequests
from scrapy_freshness.model import UNSEEN, PageKind, PageRecord
from scrapy_freshness.planning.link_learner import showed_first
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.sources.links import Shown
from scrapy_freshness.sources.site import site_of


class NewLinks:
    """Adds pages that hubs link to.

    Parameters
    ----------
    fingerprint : by which a request's page is known
    discover : adds a page to those that are known
    discover_unasked : the same for a request that the spider would make; None if it cannot be kept
    wake : called when there is something new to be visited
    """

    def __init__(
        self,
        planner: Planner,
        stats: StatsCollector,
        *,
        fingerprint: Callable[[Request], int],
        discover: Callable[[PageRecord], PageRecord],
        discover_unasked: Callable[[Request, Mapping[str, float], int | None], PageRecord | None],
        wake: Callable[[], None],
    ) -> None:
        self._planner = planner
        self._stats = stats
        self._fingerprint = fingerprint
        self._discover = discover
        self._discover_unasked = discover_unasked
        self._wake = wake
        self.unasked: UnaskedRequests | None = None  #: set when the spider is there

    def take(self, link: Shown, hub: PageRecord, host: str) -> int | None:
        """Take a link of a hub: 1 if it is a new page, 0 if the page was known, None if nobody wants it."""
        if self.unasked is None or not (self.unasked.has_domains or site_of(link.host) == site_of(host)):
            return None
        try:
            plain = Request(link.url)
            if self._planner.known.row_of(self._fingerprint(plain)) is not None:
                return 0
            request = self.unasked.request_for(link.url)
        except ValueError:
            return None
        beliefs = self._planner.beliefs_of_links(hub)
        if request is None:
            return 1 if self._keep_without_callback(plain, hub, beliefs) else None
        if self._planner.known.row_of(self._fingerprint(request)) is not None:
            return 0
        if self._discover_unasked(request, beliefs, showed_first(hub)) is None:
            return None
        self._found()
        return 1

    def _keep_without_callback(self, request: Request, hub: PageRecord, beliefs: Mapping[str, float]) -> bool:
        assert self.unasked is not None
        if not self.unasked.takes_without_callback(request.url):
            return False
        self._stats.inc_value("freshness/discovered")
        self._discover(
            PageRecord(
                page_id=0,
                fingerprint=self._fingerprint(request),
                url=request.url,
                host=slot_of(request),
                request=UNSEEN,
                kind=PageKind.UNASKED,
                beliefs=dict(beliefs),
                found_on=showed_first(hub),
            )
        )
        self._found()
        return True

    def _found(self) -> None:
        self._stats.inc_value("freshness/hubs/new_links")
        self._wake()
