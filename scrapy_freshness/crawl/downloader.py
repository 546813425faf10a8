"""The downloader middleware: asks with validators, and reads off each answer what became of the page."""

import logging
import random
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object

from scrapy_freshness.content.measure import (
    Measurement,
    hash_bytes,
    measure_bytes,
    measure_html,
    measure_text,
)
from scrapy_freshness.crawl.extension import Freshness
from scrapy_freshness.crawl.fetches import PAID_KEY
from scrapy_freshness.crawl.http import header_text, is_moved_for_good, is_redirected, retry_after_seconds
from scrapy_freshness.crawl.pushed_pages import PUSHED_FLAG
from scrapy_freshness.crawl.requests import moved_request
from scrapy_freshness.crawl.slots import slot_of
from scrapy_freshness.crawl.tracking import Tracker, Tracking
from scrapy_freshness.crawl.visiting import PageVisit, UnchangedPage, visit_under_way
from scrapy_freshness.model import UNSEEN, Outcome, PageKind, PageRecord, PageStatus
from scrapy_freshness.planning.comparing import content_outcome
from scrapy_freshness.planning.visits import Report
from scrapy_freshness.search.asked import ReadTerms

logger = logging.getLogger(__name__)

_GONE = frozenset({404, 410})
_BUSY = frozenset({429, 503})
#: Of answers that say nothing of how their host is now: Scrapy's cache has them, or a hub has sent them.
_NOT_ASKED_FOR = frozenset({"cached", PUSHED_FLAG})
#: Bodies up to this length are measured at once: that takes a few milliseconds.
_SHORT_BYTES = 100_000


class FreshnessDownloaderMiddleware:
    """Turns answers into reports; unchanged pages end here, without the spider's callback."""

    def __init__(self, freshness: Freshness, crawler: Crawler, rng: random.Random) -> None:
        errors = crawler.settings.getlist("RETRY_EXCEPTIONS")
        #: What Scrapy retries: timeouts, and connections that cannot be made or break.
        self._no_answer = tuple(load_object(error) for error in errors)
        self._freshness = freshness
        self._config = freshness.config
        self._crawler = crawler
        self._stats = crawler.stats
        self._rng = rng

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Freshness.of(crawler), crawler, random.Random())

    def process_request(self, request: Request) -> Response | None:
        """Send the validators of the copy, unless the whole page is wanted, or was pushed to us by a hub."""
        page = visit_under_way(request)
        if page is None or is_redirected(request) or page.is_unconditional or page.sent_validators:
            return None
        pushed = self._pushed(request, page)
        if pushed is None:
            self._ask_conditionally(request, page)
        return pushed

    def _pushed(self, request: Request, page: PageVisit) -> Response | None:
        pings, record = self._freshness.pings, page.visit.record
        if pings is None:
            return None
        now = self._freshness.clock.now()
        pushed = pings.pushed.response_to(request, record.fingerprint, record.last_visit_at, now)
        if pushed is not None:
            self._stats.inc_value("freshness/pings/fetches_saved")
        return pushed

    def _ask_conditionally(self, request: Request, page: PageVisit) -> None:
        if not self._config.skip_unchanged:
            return  # the callback needs the page itself
        record = page.visit.record
        if record.content_hash is None or record.run_callback or self._freshness.searchers.is_behind(record):
            return
        if self._freshness.hubs.wants_links(record.page_id):
            return
        if "If-None-Match" in request.headers or "If-Modified-Since" in request.headers:
            return  # the spider's own; a 304 to those says nothing about our copy
        if not self._freshness.planner.hosts.may_be_asked(record.host, self._config.audit_share, self._rng):
            return
        if record.etag:
            request.headers["If-None-Match"] = record.etag.encode("latin-1")
        if record.last_modified:
            request.headers["If-Modified-Since"] = record.last_modified.encode("latin-1")
        page.sent_validators = bool(record.etag or record.last_modified)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        self._freshness.fetches.take_back(request)  # answered by a cache: no fetch was made
        page = visit_under_way(request)
        self._judge_host(request, response, page)
        if page is None:
            if request.callback is NO_CALLBACK and request.url.endswith("/robots.txt"):
                self._freshness.listening.finder.read_robots(request, response)
            return response
        was_conditional = page.sent_validators
        page.withdraw_validators(request)
        if response.status == 304 and was_conditional:
            return self._not_modified(request, response, page)
        page.response = response
        if response.status in _BUSY:
            # The host's pause is the retry; another one within it would only annoy.
            request.meta["dont_retry"] = True
        if not 200 <= response.status < 300:
            # It may be retried yet: the visit ends where the answer does.
            is_gone = response.status in _GONE
            page.report = self._report(Outcome.GONE if is_gone else Outcome.FAILED, request, response)
        elif page.visit.record.kind.is_polled:
            self._poll(request, response, page)
            raise self._unchanged(request, response)
        else:
            await self._compare(request, response, page)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """A request ended on its way; what a visit makes of that is up to its errback."""
        page = visit_under_way(request)
        self._freshness.planner.host_freed(page.slot if page else slot_of(request))
        if page is None:
            self._freshness.fetches.take_back(request)
        else:
            page.withdraw_validators(request)
            if isinstance(exception, self._no_answer) and PAID_KEY not in request.meta:
                self._host_failed(request, page)

    def _not_modified(self, request: Request, response: Response, page: PageVisit) -> Request | Response:
        hosts = self._freshness.planner.hosts
        if hosts.is_audit_due(page.visit.record.host, self._config.audit_share, self._rng):
            page.is_unconditional = page.is_audit = True
            return request.copy()
        page.response = response
        page.visit.changed, page.visit.divergence = False, 0.0
        report = self._report(Outcome.NOT_MODIFIED, request, response)
        if page.visit.record.kind.is_polled:
            self._freshness.listening.polls.unchanged(page, report)
        else:
            self._freshness.visits.close(page, report)
        raise self._unchanged(request, response)

    def _poll(self, request: Request, response: Response, page: PageVisit) -> None:
        """Have the answer of a sitemap or feed read, which goes on after the answer has ended here."""
        report = self._report(Outcome.CHANGED, request, response, body_hash=hash_bytes(response.body))
        if is_redirected(request):
            report.etag = report.last_modified = None  # those of the target
        page.report = report
        self._freshness.visits.judge_audit(page, changed=report.body_hash != page.visit.record.body_hash)
        self._freshness.listening.polls.answered(page, response, report)

    async def _compare(self, request: Request, response: Response, page: PageVisit) -> None:
        """Compare the answer with the copy and prepare the report; unchanged pages are closed."""
        record = page.visit.record
        body_hash = hash_bytes(response.body)
        measurement: Measurement | None = None
        changed: bool | None = False
        moved_by: float | None = 0.0
        is_for_spider = record.request != UNSEEN
        if self._by_fields and is_for_spider:
            changed = moved_by = None  # not known before the spider's items are
        elif self._is_to_measure(record, body_hash) or is_redirected(request):
            measurement, page.terms = await self._measured(response)
            if measurement.cut:
                self._stats.inc_value("freshness/bodies_cut")
            changed, moved_by = self._freshness.compared(record, measurement)
        page.visit.changed, page.visit.divergence = changed, moved_by
        page.report = report = self._report(
            content_outcome(record, changed=bool(changed)),
            request,
            response,
            measurement=measurement,
            body_hash=body_hash,
            divergence=moved_by,
        )
        if is_redirected(request):
            report.etag = report.last_modified = None  # those of the target
            if is_moved_for_good(request) and self._freshness.fingerprint(request) != record.fingerprint:
                report.outcome = Outcome.MOVED
                page.target = self._target(request, record)
        if changed is not None:
            self._freshness.visits.judge_audit(page, changed=changed)
        self._freshness.listening.finder.look_at(record, response, has_changed=changed is not False)
        if body_hash != record.body_hash or self._freshness.hubs.wants_links(record.page_id):
            await self._freshness.hubs.read(page, response)
        spared = changed is False and self._config.skip_unchanged and not record.run_callback
        if spared or not is_for_spider or self._has_moved_before(page):
            self._freshness.visits.end(page, report)
            raise self._unchanged(request, response)

    def _is_to_measure(self, record: PageRecord, body_hash: int) -> bool:
        is_new = body_hash != record.body_hash or record.content_hash is None
        return is_new or self._freshness.searchers.is_behind(record)

    def _unchanged(self, request: Request, response: Response) -> UnchangedPage:
        """End an answer here; the engine does not get to see it, so its signal is sent in its place."""
        self._crawler.signals.send_catch_log(
            signals.response_received, response=response, request=request, spider=self._crawler.spider
        )
        logger.debug("Unchanged (%d) %s", response.status, request)
        return UnchangedPage(request.url)

    @property
    def _by_fields(self) -> bool:
        """Whether the spider's items, not the page, tell if there was a change."""
        return bool(self._config.fragment_fields)

    def _has_moved_before(self, page: PageVisit) -> bool:
        """Whether a page still redirects to another that is kept fresh by itself: nothing for the spider."""
        if page.target is None or page.visit.record.status is not PageStatus.MOVED:
            return False
        planner = self._freshness.planner
        row = planner.known.row_of(page.target.fingerprint)
        return row is not None and planner.known.status_of(row) in (PageStatus.NEW, PageStatus.ACTIVE)

    def _target(self, request: Request, record: PageRecord) -> PageRecord | None:
        """The page at the end of a permanent redirect, None if it is not to be tracked."""
        assert self._crawler.spider is not None
        tracker = Tracker(self._config, self._crawler.spider)
        if tracker.decide(request.replace(dont_filter=False)) is Tracking.PLAIN:
            return None
        return PageRecord(
            page_id=0,
            fingerprint=self._freshness.fingerprint(request),
            url=request.url,
            host=slot_of(request),
            request=moved_request(record.request, record.url, request.url),
            kind=PageKind.UNASKED if record.request == UNSEEN else PageKind.PAGE,
            importance=record.importance,
        )

    async def _measured(self, response: Response) -> tuple[Measurement, ReadTerms | None]:
        """Measure and read a body; a long one in a thread, so that the crawl goes on meanwhile."""
        measure, read = self._how_to_measure(response), self._freshness.searchers.read
        if len(response.body) <= _SHORT_BYTES:
            measurement = measure()
            return measurement, read(measurement)

        def all_of_it() -> tuple[Measurement, ReadTerms | None]:
            measurement = measure()
            _ = measurement.sketch  # made when it is first asked for
            return measurement, read(measurement)

        return await maybe_deferred_to_future(self._freshness.in_background(all_of_it))

    def _how_to_measure(self, response: Response) -> Callable[[], Measurement]:
        if not isinstance(response, TextResponse):
            return partial(measure_bytes, response.body)
        try:
            text = response.text
        except (LookupError, ValueError):  # the server names a codec that is none of text: base64, idna, ...
            self._stats.inc_value("freshness/bodies_not_decoded")
            return partial(measure_bytes, response.body)
        if isinstance(response, HtmlResponse):
            host = urlparse_cached(response).hostname or ""
            return partial(measure_html, text, options=self._freshness.content, host=host)
        return partial(measure_text, text, options=self._freshness.content)

    def _judge_host(self, request: Request, response: Response, page: PageVisit | None) -> None:
        """Read off an answer how its host is."""
        hosts, now = self._freshness.planner.hosts, self._freshness.clock.now()
        slot = page.slot if page else slot_of(request)
        self._freshness.planner.host_freed(slot)
        if not _NOT_ASKED_FOR.isdisjoint(response.flags):
            return
        if page is not None:
            page.host_failed = False
        if response.status in _BUSY:
            until = hosts.back_off(slot, now, retry_after_seconds(response, now))
            self._stats.inc_value("freshness/backed_off")
            logger.info("%s answered %d: not asked again for %.1f s", slot, response.status, until - now)
        elif response.status < 500:
            hosts.answered(slot)
        elif page is not None:
            self._host_failed(request, page)

    def _host_failed(self, request: Request, page: PageVisit) -> None:
        """An attempt got no answer or a server error, which counts if it remains at that.

        That of a page which failed before does not: some pages of a host may be broken for good.
        """
        is_failing = self._freshness.planner.hosts.is_failing(page.slot)
        page.host_failed = is_failing or not page.visit.record.failures
        if is_failing:
            request.meta["dont_retry"] = True  # its pause is the retry

    def _report(self, outcome: Outcome, request: Request, response: Response, **seen: Any) -> Report:
        return Report(
            outcome=outcome,
            at=self._freshness.clock.now(),
            http_status=response.status,
            etag=header_text(response, "ETag"),
            last_modified=header_text(response, "Last-Modified"),
            body_bytes=len(response.body),
            latency_seconds=request.meta.get("download_latency"),
            was_pushed=PUSHED_FLAG in response.flags,
            **seen,
        )
