"""The downloader middleware: asks with validators, and reads off each answer what became of the page."""

import logging
import random
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils.httpobj import urlparse_cached

from scrapy_freshness.content.measure import (
    Measurement,
    hash_bytes,
    measure_bytes,
    measure_html,
    measure_text,
)
from scrapy_freshness.crawl.extension import Freshness
from scrapy_freshness.crawl.http import header_text, is_moved_for_good, is_redirected, retry_after_seconds
from scrapy_freshness.crawl.slots import slot_of
from scrapy_freshness.crawl.tracking import Tracker, Tracking
from scrapy_freshness.crawl.visiting import PageVisit, UnchangedPage, visit_of
from scrapy_freshness.model import Outcome, PageRecord
from scrapy_freshness.planning.visits import Report

logger = logging.getLogger(__name__)

_GONE = frozenset({404, 410})
_BUSY = frozenset({429, 503})


class FreshnessDownloaderMiddleware:
    """Turns answers into reports; unchanged pages end here, without the spider's callback."""

    def __init__(self, freshness: Freshness, crawler: Crawler, rng: random.Random) -> None:
        self._freshness = freshness
        self._config = freshness.config
        self._crawler = crawler
        self._stats = crawler.stats
        self._rng = rng

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Freshness.of(crawler), crawler, random.Random())

    def process_request(self, request: Request) -> None:
        """Send the validators of the copy, unless the whole page is wanted."""
        page = visit_of(request)
        if page is None or is_redirected(request) or page.is_unconditional or page.sent_validators:
            return
        if not self._config.skip_unchanged:
            return  # the callback needs the page itself
        record = page.visit.record
        if record.content_hash is None or record.run_callback:
            return
        if "If-None-Match" in request.headers or "If-Modified-Since" in request.headers:
            return  # the spider's own; a 304 to those says nothing about our copy
        if not self._freshness.planner.hosts.is_honest(record.host):
            return
        if record.etag:
            request.headers["If-None-Match"] = record.etag.encode("latin-1")
        if record.last_modified:
            request.headers["If-Modified-Since"] = record.last_modified.encode("latin-1")
        page.sent_validators = bool(record.etag or record.last_modified)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        self._freshness.take_back(request)  # answered by a cache: no fetch was made
        page = visit_of(request)
        if page is None:
            if response.status in _BUSY:
                self._back_off(slot_of(request), response)
            return response
        if response.status == 304 and page.sent_validators:
            return self._not_modified(request, response, page)
        page.response = response
        if response.status in _GONE:
            self._freshness.visits.close(page, self._report(Outcome.GONE, request, response))
        elif response.status in _BUSY:
            self._back_off(page.slot, response)
            # The host's pause is the retry; another one within it would only annoy.
            request.meta["dont_retry"] = True
            self._freshness.visits.close(page, self._report(Outcome.FAILED, request, response))
        elif not 200 <= response.status < 300:
            page.response = None  # it may be retried yet
            page.report = self._report(Outcome.FAILED, request, response)
        else:
            self._compare(request, response, page)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """A request that is not a visit and ended on its way; visits have an errback for that."""
        if visit_of(request) is None:
            self._freshness.take_back(request)

    def _not_modified(self, request: Request, response: Response, page: PageVisit) -> Request | Response:
        hosts = self._freshness.planner.hosts
        if hosts.is_audit_due(page.visit.record.host, self._config.audit_share, self._rng):
            again = request.copy()
            for name in ("If-None-Match", "If-Modified-Since"):
                again.headers.pop(name, None)
            page.sent_validators = False
            page.is_unconditional = page.is_audit = True
            return again
        page.response = response
        page.visit.changed, page.visit.divergence = False, 0.0
        hosts.answered(page.visit.record.host)
        self._freshness.visits.close(page, self._report(Outcome.NOT_MODIFIED, request, response))
        raise self._unchanged(request, response)

    def _compare(self, request: Request, response: Response, page: PageVisit) -> None:
        """Compare the answer with the copy and prepare the report; unchanged pages are closed."""
        record = page.visit.record
        self._freshness.planner.hosts.answered(page.slot)
        body_hash = hash_bytes(response.body)
        measurement: Measurement | None = None
        changed: bool = False
        moved_by: float | None = 0.0
        if body_hash != record.body_hash or record.content_hash is None or is_redirected(request):
            measurement = self._measured(response)
            if measurement.cut:
                self._stats.inc_value("freshness/bodies_cut")
            changed, moved_by = self._freshness.compared(record, measurement)
        page.visit.changed, page.visit.divergence = changed, moved_by
        if page.is_audit:
            self._freshness.planner.hosts.audited(record.host, was_honest=not changed)
        outcome = Outcome.UNCHANGED
        if changed:
            outcome = Outcome.FIRST if record.last_visit_at is None else Outcome.CHANGED
        report = self._report(
            outcome, request, response, measurement=measurement, body_hash=body_hash, divergence=moved_by
        )
        if is_redirected(request):
            report.etag = report.last_modified = None  # those of the target
            if is_moved_for_good(request):
                report.outcome = Outcome.MOVED
                page.target = self._target(request, record)
        page.report = report
        if not changed and self._config.skip_unchanged and not record.run_callback and not self._by_fields:
            self._freshness.visits.close(page, report)
            raise self._unchanged(request, response)

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

    def _target(self, request: Request, record: PageRecord) -> PageRecord | None:
        """The page at the end of a permanent redirect, None if it is known already or not to be tracked."""
        fingerprint = self._freshness.fingerprint(request)
        if self._freshness.planner.row_of(fingerprint) is not None:
            return None
        assert self._crawler.spider is not None
        tracker = Tracker(self._config, self._crawler.spider)
        if tracker.decide(request.replace(dont_filter=False)) is Tracking.PLAIN:
            return None
        return PageRecord(
            page_id=0,
            fingerprint=fingerprint,
            url=request.url,
            host=slot_of(request),
            request=record.request,
            importance=record.importance,
        )

    def _measured(self, response: Response) -> Measurement:
        if not isinstance(response, TextResponse):
            return measure_bytes(response.body)
        try:
            text = response.text
        except (LookupError, ValueError):  # the server names a codec that is none of text: base64, idna, ...
            self._stats.inc_value("freshness/bodies_not_decoded")
            return measure_bytes(response.body)
        if isinstance(response, HtmlResponse):
            host = urlparse_cached(response).hostname or ""
            return measure_html(text, options=self._freshness.content, host=host)
        return measure_text(text, options=self._freshness.content)

    def _back_off(self, slot: str, response: Response) -> None:
        now = self._freshness.clock.now()
        until = self._freshness.planner.hosts.back_off(slot, now, retry_after_seconds(response, now))
        self._stats.inc_value("freshness/backed_off")
        logger.info("%s answered %d: not asked again for %.1f s", slot, response.status, until - now)

    def _report(self, outcome: Outcome, request: Request, response: Response, **seen: Any) -> Report:
        return Report(
            outcome=outcome,
            at=self._freshness.clock.now(),
            http_status=response.status,
            etag=header_text(response, "ETag"),
            last_modified=header_text(response, "Last-Modified"),
            body_bytes=len(response.body),
            latency_seconds=request.meta.get("download_latency"),
            **seen,
        )
