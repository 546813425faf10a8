"""A link that was never seen before: it becomes a page, if the spider would take it."""

from collections.abc import Callable, Mapping

from scrapy import Request
from scrapy.statscollectors import StatsCollector

from scrapy_freshness.crawl.rows import row_of_url
from scrapy_freshness.crawl.unasked import UnaskedRequests
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.link_learner import showed_first
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.sources.links import Shown
from scrapy_freshness.sources.site import site_of


class NewLinks:
    """Adds pages that hubs link to.

    Parameters
    ----------
    fingerprint : by which a request's page is known
    discover : takes a page that is not known, from the request for it, what is believed of it, and the page
        id of the hub that has shown it first; None if it cannot be kept
    wake : called when there is something new to be visited
    """

    def __init__(
        self,
        planner: Planner,
        stats: StatsCollector,
        unasked: UnaskedRequests,
        *,
        fingerprint: Callable[[Request], int],
        discover: Callable[[Request, Mapping[str, float], int | None], PageRecord | None],
        wake: Callable[[], None],
    ) -> None:
        self._planner = planner
        self._stats = stats
        self._fingerprint = fingerprint
        self._discover = discover
        self._wake = wake
        self._unasked = unasked

    def take(self, link: Shown, hub: PageRecord, host: str) -> int | None:
        """Take a link of a hub: 1 if it is a new page, 0 if the page was known, None if nobody wants it."""
        if not (self._unasked.has_domains or site_of(link.host) == site_of(host)):
            return None
        if row_of_url(link.url, self._planner, self._fingerprint) is not None:
            return 0
        try:
            request = self._unasked.request_for_new(link.url)
        except ValueError:
            return None
        if request is None:
            return None
        if self._planner.known.row_of(self._fingerprint(request)) is not None:
            return 0
        if self._discover(request, self._planner.beliefs_of_links(hub), showed_first(hub)) is None:
            return None
        self._stats.inc_value("freshness/hubs/new_links")
        self._wake()
        return 1
