"""A visit on its way through Scrapy: from the request to the last item, closed exactly once."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol
from weakref import WeakSet

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl import signals
from scrapy_freshness.crawl.errands import Errands
from scrapy_freshness.crawl.guarded import guarded
from scrapy_freshness.model import Outcome, PageKind, PageRecord, PageStatus
from scrapy_freshness.planning.comparing import was_honest
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.visits import Report, Visit
from scrapy_freshness.planning.young_links import NOTHING_FOUND, Staying, YoungLinks
from scrapy_freshness.search.asked import ReadTerms
from scrapy_freshness.sources.links import Shown

logger = logging.getLogger(__name__)

META_KEY = "freshness_visit"

#: A visit that has no end after this time, and of which nothing is left, was swallowed by another component.
_LOST_SECONDS = 3600.0
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
    host_failed: bool = False  #: the last attempt got no answer, or a server error
    continued_by: Request | None = None  #: the last retry or redirect that came back to the scheduler
    report: Report | None = None  #: what the visit will be closed with
    response: Response | None = None
    target: PageRecord | None = None  #: where the page has moved for good
    unfinished_items: int = 0
    terms: ReadTerms | None = None  #: of the content, if it was read for what searchers ask for
    linked: set[int] = field(default_factory=set)  #: fingerprints of pages that the callback asked for
    new_links: int = 0  #: pages never seen before that the callback asked for
    found: set[int] = field(default_factory=set)  #: those of them that were never seen before
    shown: list[Shown] | None = None  #: links of a hub, read off its answer; None if they were not
    is_taking_links: bool = False  #: they are being looked at
    staying: Staying = NOTHING_FOUND  #: of the links that were new at the poll before
    found_links: int = 0  #: those of them that are new pages, and that the callback has not asked for
    #: Yielded by the callback, not with the scheduler yet; weak, as another component may drop them.
    coming: "WeakSet[Request]" = field(default_factory=WeakSet)
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
    def revisit_at(self) -> float | None:
        """When the visit began, None if it is the first."""
        return None if self.previous_visit_at is None else self.visit.opened_at

    @property
    def is_open(self) -> bool:
        return self.visit.is_open

    def __copy__(self) -> "PageVisit":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "PageVisit":
        """A copy of ``response.meta`` is about the same visit."""
        return self

    def withdraw_validators(self, request: Request) -> None:
        """Take back the headers that asked for a 304, so that they are in no copy of the request."""
        if self.sent_validators:
            for name in ("If-None-Match", "If-Modified-Since"):
                request.headers.pop(name, None)
            self.sent_validators = False

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


def visit_under_way(request: Request | None) -> PageVisit | None:
    """The open visit that waits for the answer to this request, if any.

    A request whose meta the spider copied from an answer (to download something inside a callback, say)
    has the visit, too, but is no part of it.
    """
    page = visit_of(request)
    return None if page is None or page.is_answered else page


class LinkTaker(Protocol):
    """What visits need of `hubs.Hubs`."""

    is_on: bool  #: whether links are read off hubs

    def take(self, page: PageVisit, report: Report) -> None:
        """Look at the links of a page, then close its visit."""
        ...

    def ending(self, page: PageVisit, report: Report) -> None:
        """Complete the report of a visit that ends."""
        ...

    def moved(self, page: PageVisit) -> None:
        """A page has moved for good."""
        ...


class Visits:
    """Closes visits: tells the planner, the stats and the user's signal handlers."""

    hubs: LinkTaker  #: set when it is there

    def __init__(
        self,
        crawler: Crawler,
        planner: Planner,
        clock: Clock,
        errands: Errands,
        measure: Callable[[PageVisit, Report], None] = lambda page, report: None,
    ) -> None:
        """*measure* adds to a report what the visit is worth to searchers."""
        self._measure = measure
        self._crawler = crawler
        self._planner = planner
        self._clock = clock
        self._errands = errands
        self.ended: Callable[[Visit, str], None] = lambda visit, outcome: None  #: hears how every visit ends
        self._young_links = YoungLinks()
        self._open: set[PageVisit] = set()
        #: Visits whose requests wait, are downloaded or are with the spider; told by the scheduler.
        self.under_way: Callable[[], set[PageVisit]] = lambda: set()

    def opened(self, page: PageVisit) -> None:
        """A visit has begun."""
        self._open.add(page)

    def _staying(self, page: PageVisit, report: Report) -> Staying:
        """Whether a source still shows what its last poll has found; nobody knows if the spider failed."""
        source = page.visit.record.page_id
        if report.callback_failed:
            return NOTHING_FOUND
        if page.linked:
            return self._young_links.polled(source, page.linked, page.found)
        return self._young_links.unchanged(source)

    def close(self, page: PageVisit, report: Report) -> None:
        """Close a visit, unless it is closed already."""
        report.new_links = page.new_links
        if page.is_taking_links:
            # The rest of them is looked at next time, which takes an answer in full.
            report.body_hash = report.etag = report.last_modified = None
        if page.is_open:
            self.hubs.ending(page, report)
            self._measure(page, report)
        is_source = page.visit.record.kind is PageKind.SOURCE
        if is_source and report.outcome.saw_content and not self.hubs.is_on:  # who knows all links
            report.staying = self._staying(page, report)
        report.is_unfinished = bool(page.coming) or self._errands.is_waiting(page.visit.record.page_id)
        self._open.discard(page)  # not before: what raises leaves the visit to `fail_lost`
        if not self._planner.end_visit(page.visit, report):
            return
        self.ended(page.visit, report.outcome.name.lower())
        if page.host_failed and report.outcome is Outcome.FAILED:
            self._host_failed(page, report)
        if page.target is not None and report.outcome is Outcome.MOVED:
            self._moved(page, page.target, report)
        stats = self._crawler.stats
        if page.visit.record.kind.is_polled:
            stats.inc_value(f"freshness/polls/{report.outcome.name.lower()}")
            page.response = None
            return
        stats.inc_value(_STAT[report.outcome])
        if report.callback_failed:
            stats.inc_value("freshness/callback_failed")
        if signal := _SIGNAL.get(report.outcome):
            self._crawler.signals.send_catch_log(
                signal, visit=page, response=page.response, spider=self._crawler.spider
            )
        page.response = None

    def judge_audit(self, page: PageVisit, *, changed: bool) -> None:
        """Note what the full answer says about the 304 before it, if there was one."""
        if page.is_audit and page.report is not None:
            record = page.visit.record
            verdict = was_honest(record, page.report, changed=changed)
            if verdict is not None:
                self._planner.hosts.audited(record.host, was_honest=verdict)

    def fail(self, page: PageVisit, reason: str, *, outcome: Outcome = Outcome.FAILED) -> None:
        """Close a visit that got no usable answer, though perhaps one that says that the page is gone."""
        if page.report is not None and page.report.outcome is Outcome.GONE:
            self.close(page, page.report)
            return
        status = page.report.http_status if page.report else None
        self.close(page, Report(outcome=outcome, at=self._clock.now(), http_status=status, reason=reason))

    def fail_lost(self, now: float) -> None:
        """Close visits that will have no end of their own."""
        old = {page for page in self._open if now - page.visit.opened_at > _LOST_SECONDS}
        for page in old - self.under_way() if old else ():
            guarded(self._crawler.stats, partial(self.fail, page, "the request was lost on its way"))
            self._crawler.stats.inc_value("freshness/visits/lost")

    def close_if_done(self, page: PageVisit) -> None:
        """Close a visit whose callback has ended, and of which no item or request is on its way any more.

        What is learned is kept only now: if the process dies earlier, the page is visited again
        and its items are emitted again, rather than lost.
        """
        if not page.output_ended or page.report is None or not page.is_open:
            return
        if not page.unfinished_items and not page.coming:
            self.end(page, page.report)

    def end(self, page: PageVisit, report: Report) -> None:
        """Close a visit, once the links of a hub have been looked at."""
        if page.is_taking_links:
            return
        if page.shown:
            page.is_taking_links = True
            self.hubs.take(page, report)
        else:
            self.close(page, report)

    def close_waiting(self) -> None:
        """The crawl ends: close visits whose items are done, although not all requests or links are taken.

        Pages whose requests were not taken are shown to the spider again. Visits with items on their way stay
        open, and are made again.
        """
        for page in list(self._open):
            is_seen = page.output_ended or page.is_taking_links
            if is_seen and page.report is not None and not page.unfinished_items:
                self.close(page, page.report)

    def _host_failed(self, page: PageVisit, report: Report) -> None:
        """The visit ended without a proper answer; if others did, too, it is time to leave the host alone."""
        until = self._planner.hosts.failed(page.slot, page.url, report.at)
        if until is not None:
            self._crawler.stats.inc_value("freshness/backed_off")
            reason = report.reason or f"status {report.http_status}"
            seconds = until - report.at
            logger.info("%s goes on failing (%s): not asked again for %.1f s", page.slot, reason, seconds)

    def _moved(self, page: PageVisit, target: PageRecord, report: Report) -> None:
        """The target of a permanent redirect is a page of its own, which the answer has shown to be there."""
        row = self._planner.known.row_of(target.fingerprint)
        if row is None:
            self._planner.first_seen(target, replace(report, outcome=Outcome.FIRST))
        elif page.visit.record.status is not PageStatus.MOVED:  # or two might wake each other for ever
            self._planner.look_again(row, report.at)
        self.hubs.moved(page)
