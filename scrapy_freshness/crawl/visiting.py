"""A visit on its way through Scrapy: from the request to the last item, closed exactly once."""

from dataclasses import dataclass, replace

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl import signals
from scrapy_freshness.model import Outcome, PageRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.visits import Report, Visit

META_KEY = "freshness_visit"

_STAT = {outcome: f"freshness/visits/{outcome.name.lower()}" for outcome in Outcome}
_SIGNAL = {
    Outcome.FIRST: signals.page_changed,
    Outcome.CHANGED: signals.page_changed,
    Outcome.UNCHANGED: signals.page_unchanged,
    Outcome.NOT_MODIFIED: signals.page_unchanged,
    Outcome.GONE: signals.page_gone,
}


class UnchangedPage(IgnoreRequest):
    """Ends an answer that holds nothing new before it reaches the spider."""


@dataclass(slots=True, weakref_slot=True, eq=False)
class PageVisit:
    """What ``request.meta["freshness_visit"]`` holds: what is known about the page, and the open visit."""

    visit: Visit
    slot: str  #: download slot of the request that is under way
    has_own_slot: bool = False  #: the spider chose the slot, so it is kept through redirects
    sent_validators: bool = False
    is_unconditional: bool = False  #: asks for the whole page although there are validators
    is_audit: bool = False  #: checks a 304 that was just received
    is_answered: bool = False  #: the spider has the answer: what it yields is not part of the visit
    continued_by: Request | None = None  #: the last retry or redirect that came back to the scheduler
    report: Report | None = None  #: what the visit will be closed with
    response: Response | None = None
    target: PageRecord | None = None  #: where the page has moved for good
    unfinished_items: int = 0
    output_ended: bool = False

    @property
    def url(self) -> str:
        """URL of the page that is visited (not of a redirect's target)."""
        return self.visit.url

    @property
    def changed(self) -> bool | None:
        """Whether the page changed since the last visit; None until the answer was compared."""
        return self.visit.changed

    @property
    def divergence(self) -> float | None:
        """How far the page has moved since the last visit, 0 (same) to 1; None if not measured."""
        return self.visit.divergence

    @property
    def previous_visit_at(self) -> float | None:
        """Unix time of the last visit that saw the page, None at the first."""
        return self.visit.previous_visit_at

    @property
    def is_open(self) -> bool:
        return self.visit.is_open

    def describe(self) -> dict[str, bool | float | None]:
        """What is known about the page, for items."""
        return {
            "changed": self.changed,
            "divergence": self.divergence,
            "previous_visit_at": self.previous_visit_at,
        }


def visit_of(request: Request | None) -> PageVisit | None:
    """The open visit that a request belongs to, if any."""
    visit = request.meta.get(META_KEY) if request is not None else None
    return visit if isinstance(visit, PageVisit) and visit.is_open else None


class Visits:
    """Closes visits: tells the planner, the stats and the user's signal handlers."""

    def __init__(self, crawler: Crawler, planner: Planner, clock: Clock) -> None:
        self._crawler = crawler
        self._planner = planner
        self._clock = clock

    def close(self, page: PageVisit, report: Report) -> None:
        """Close a visit, unless it is closed already."""
        if not self._planner.end_visit(page.visit, report):
            return
        target = page.target if report.outcome is Outcome.MOVED else None
        # Since the answer came, a link or another redirect may have made the target known.
        if target is not None and self._planner.row_of(target.fingerprint) is None:
            self._planner.first_seen(target, replace(report, outcome=Outcome.FIRST))
        stats = self._crawler.stats
        stats.inc_value(_STAT[report.outcome])
        if report.callback_failed:
            stats.inc_value("freshness/callback_failed")
        if signal := _SIGNAL.get(report.outcome):
            self._crawler.signals.send_catch_log(
                signal, visit=page, response=page.response, spider=self._crawler.spider
            )
        page.response = None

    def fail(self, page: PageVisit, reason: str, *, outcome: Outcome = Outcome.FAILED) -> None:
        """Close a visit that got no usable answer."""
        status = page.report.http_status if page.report else None
        self.close(page, Report(outcome=outcome, at=self._clock.now(), http_status=status, reason=reason))

    def close_if_done(self, page: PageVisit) -> None:
        """Close a visit whose callback has ended and whose items have all left the pipelines.

        What is learned is kept only now: if the process dies earlier, the page is visited again
        and its items are emitted again, rather than lost.
        """
        if page.output_ended and not page.unfinished_items and page.report is not None and page.is_open:
            self.close(page, page.report)
