"""The scheduler: turns the planner's next visit into a request, at the pace of the budget."""

import logging
from collections import deque
from functools import partial
from math import inf
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.addon import is_crawl
from scrapy_freshness.crawl.asked_pages import AskedPages
from scrapy_freshness.crawl.errands import NO_PAGE_KEY, PAST_FILTER_KEY, is_no_page
from scrapy_freshness.crawl.extension import Freshness
from scrapy_freshness.crawl.fetches import PAID_KEY
from scrapy_freshness.crawl.held import MAX_FROM_DISK, HeldRequests
from scrapy_freshness.crawl.http import is_redirected
from scrapy_freshness.crawl.requests import MissingCallbackError, request_from_json
from scrapy_freshness.crawl.slots import slot_of
from scrapy_freshness.crawl.tracking import Tracking
from scrapy_freshness.crawl.troubles import reason_of
from scrapy_freshness.crawl.visiting import META_KEY, PageVisit, UnchangedPage, visit_of, visit_under_way
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.model import UNSEEN, Outcome, PageRecord
from scrapy_freshness.planning.visits import Visit
from scrapy_freshness.signals.addresses import host_of
from scrapy_freshness.sources.site import site_of

logger = logging.getLogger(__name__)

#: Requests taken from the plain scheduler at once to find one whose host is free.
_MAX_LOOKED_AT = 64
#: How long a timer may wait before it looks again, whatever the planner says.
_LONGEST_WAIT_SECONDS = 5.0
#: A crawl that ends when it is idle waits no longer than this for hosts in back-off.
_LONGEST_PAUSE_SECONDS = 60.0
#: How soon to look again when something is under way that cannot be waited for.
_SHORT_WAIT_SECONDS = 0.02


#: Longer sitemaps than the protocol allows are not loaded (compressed ones may be as long).
_POLL_META = {"download_maxsize": 60_000_000, "download_warnsize": 0}


class FreshnessScheduler(BaseScheduler):
    """Serves visits of tracked pages and, through the plain scheduler, everything else."""

    def __init__(self, freshness: Freshness, plain: BaseScheduler, crawler: Crawler) -> None:
        self._freshness = freshness
        self._planner = freshness.planner
        self._plain = plain
        self._crawler = crawler
        self._stats = crawler.stats
        self._config = freshness.config
        self._tracker = freshness.tracker
        self._chosen: deque[Request] = deque()  #: have a place in the budget; next to go
        self._held = HeldRequests(
            freshness.fetches.slots,
            freshness.planner.hosts,
            max_aside=MAX_FROM_DISK if crawler.settings["JOBDIR"] else inf,
        )
        self._timer: CallLaterResult | None = None
        self._is_open = False
        self._asking: PageVisit | None = None  #: visit whose callback asks for the request about to come
        self._missing_callbacks: set[str] = set()
        self._barriers: set[str] = set()  #: settings that keep out pages which are known

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = Config.from_settings(crawler.settings)
        path = config.plain_scheduler
        if load_object(path) is cls:
            raise ConfigError(
                f"FRESHNESS_PLAIN_SCHEDULER cannot be {path}: name the scheduler for other requests"
            )
        plain = build_from_crawler(load_object(path), crawler)
        if not config.enabled or not is_crawl(crawler):
            return plain  # type: ignore[no-any-return]
        scheduler = cls(Freshness.of(crawler), plain, crawler)
        crawler.signals.connect(scheduler.request_scheduled, signal=signals.request_scheduled)
        return scheduler

    def open(self, spider: Spider) -> "Deferred[None] | None":
        self._spider = spider
        self._asked = AskedPages(self._freshness, spider, self._leave_to_plain)
        opened = self._freshness.open()
        opened.addCallback(self._opened)
        return opened

    def close(self, reason: str) -> "Deferred[None] | None":
        was_open, self._is_open = self._is_open, False
        self._disarm()
        closed = self._freshness.close()
        if was_open:
            self._put_back()
            closed.addBoth(lambda _: self._plain.close(reason))
        return closed

    def has_pending_requests(self) -> bool:
        if self._chosen or self._planner.open_visits or self._plain.has_pending_requests():
            return True
        # A crawl without a single page to keep fresh ends as it would without us.
        if self._config.stop_when == "never" and (len(self._planner) or self._held):
            return True
        now = self._freshness.clock.now()
        if not self._held and self._planner.is_idle(now):
            return False
        return self._next_time(now) <= now + _LONGEST_PAUSE_SECONDS

    def enqueue_request(self, request: Request) -> bool:
        if self._chosen and self._chosen[-1] is request:
            return True  # pushed by the timer; it is in its place already
        self._freshness.fetches.take_back(request)
        page = visit_under_way(request)
        if page is not None:
            return self._continue_visit(request, page)
        if request.meta.pop(META_KEY, None) is not None:  # copied by the spider from response.meta
            request.meta.pop("is_start_request", None)
        if isinstance(request.errback, partial) and request.errback.func == self._download_failed:
            request.errback = request.errback.args[1]  # a copy of response.request: back to the spider's own
        if is_no_page(request) or self._tracker.decide(request) is Tracking.PLAIN:
            self._stats.inc_value("freshness/untracked")
            return self._leave_to_plain(request)
        return self._asked.take(request, self._asking)

    def request_scheduled(self, request: Request, spider: Spider) -> None:
        """A request is about to come; if another component stops a retry or redirect, its visit ends."""
        owner = self._asking = self._freshness.owners.pop(id(request), None)
        if owner is not None and request in owner.coming:
            owner.coming.discard(request)
            if not owner.coming:
                call_later(0, self._freshness.visits.close_if_done, owner)
        page = visit_under_way(request)
        if page is not None and request not in self._chosen:
            call_later(0, self._end_if_stopped, page, request)

    def next_request(self) -> Request | None:
        if self._chosen:
            return self._chosen.popleft()
        return self._choose()

    def _opened(self, _: None) -> Any:
        self._is_open = True
        self._freshness.wake = self._wake_soon
        self._freshness.vitals.held = lambda: len(self._held)
        self._freshness.visits.under_way = self._visits_under_way
        self._freshness.listening.open()
        self._freshness.hubs.open()
        return self._plain.open(self._spider)

    def _choose(self) -> Request | None:
        """The next request if the budget has a place for one now; else a timer is set."""
        if not self._is_open:
            return None
        now = self._freshness.clock.now()
        place_at = self._freshness.fetches.rate.next_at(now)
        if place_at > now:
            self._wake_at(place_at, now)
            return None
        request = self._next_held(now) or self._next_visit(now)
        if request is None:
            self._wake_at(self._next_time(now), now)
            return None
        page = visit_under_way(request)
        slot = page.slot if page else slot_of(request)
        self._planner.hosts.asked(slot, now)
        self._freshness.fetches.sent(slot, request, now)
        return request

    def _next_held(self, now: float) -> Request | None:
        """A retry, redirect or untracked request whose host is free."""
        if request := self._held.take(now):
            return request
        for _ in range(_MAX_LOOKED_AT):
            plain = self._next_plain() if self._held.has_room else None
            if plain is None or self._held.free_at(slot_of(plain), now) <= now:
                return plain
            self._held.add(plain, now)
        return None

    def _next_plain(self) -> Request | None:
        request = self._plain.next_request()
        if request is not None and request.meta.pop(PAST_FILTER_KEY, False):
            request.dont_filter = False  # or a redirect would get past the offsite middleware
        return request

    def _put_back(self) -> None:
        """Return untracked requests to the plain scheduler, which keeps them if there is a JOBDIR."""
        for request in (*self._chosen, *self._held):
            if META_KEY not in request.meta:
                request.meta.pop(PAID_KEY, None)
                if not request.dont_filter:  # it has seen them
                    request.dont_filter = request.meta[PAST_FILTER_KEY] = True
                self._plain.enqueue_request(request)

    def _next_visit(self, now: float) -> Request | None:
        self._read_ahead(now)
        while (visit := self._planner.begin_visit(now, self._freshness.fetches.slots.free_at)) is not None:
            request = self._request_of(visit)
            if request is not None:
                return request
            self._read_ahead(now)
        return None

    def _request_of(self, visit: Visit) -> Request | None:
        record = visit.record
        if record.kind.is_polled:
            return self._opened_visit(
                visit, Request(record.url, callback=_no_callback, meta=dict(_POLL_META))
            )
        if record.request == UNSEEN:
            return self._allowed_visit(visit, Request(record.url, callback=_no_callback))
        self._asked.renew(visit)
        try:
            request = self._asked.originals.take(record.fingerprint) or request_from_json(
                record.url, visit.record.request, self._spider
            )
        except (MissingCallbackError, ValueError) as error:
            self._planner.suspend(visit)
            self._freshness.wishes.visited(visit, "suspended")
            self._stats.inc_value("freshness/callback_missing")
            if str(error) not in self._missing_callbacks:
                self._missing_callbacks.add(str(error))
                logger.warning("%s waits until the spider yields it again: %s", record.url, error)
            self._asked.take_again(record.fingerprint)
            return None
        return self._allowed_visit(visit, request)

    def _allowed_visit(self, visit: Visit, request: Request) -> Request | None:
        """Open the visit of a page, unless settings keep it out that were others when it was found."""
        setting = self._tracker.barrier(request, is_root=self._freshness.hubs.is_root(visit.record.page_id))
        request = self._opened_visit(visit, request)
        if setting is None:
            return request
        if setting not in self._barriers:
            self._barriers.add(setting)
            logger.info("%s and perhaps others that are known are not visited: %s", visit.url, setting)
        self._freshness.visits.fail(request.meta[META_KEY], f"kept out by {setting}", outcome=Outcome.IGNORED)
        return None

    def _opened_visit(self, visit: Visit, request: Request) -> Request:
        page = PageVisit(visit, slot_of(request), has_own_slot="download_slot" in request.meta)
        self._freshness.visits.opened(page)
        request.meta[META_KEY] = page
        request.meta["dont_cache"] = True  # Scrapy's cache would tell for ever that nothing has changed
        request.errback = partial(self._download_failed, page, request.errback)
        return request

    def _download_failed(self, page: PageVisit, errback: Any, failure: Failure) -> Any:
        """The visit has no usable answer; the spider's own errback has the last word on the failure."""
        if isinstance(failure.value, UnchangedPage):
            return failure
        request: Request = failure.request  # type: ignore[attr-defined]
        was_sent = PAID_KEY not in request.meta
        self._freshness.fetches.take_back(request)
        if page.is_open:
            ignored = isinstance(failure.value, IgnoreRequest) and not was_sent
            outcome = Outcome.IGNORED if ignored else Outcome.FAILED
            self._freshness.visits.fail(page, reason_of(failure.value), outcome=outcome)
        return errback(failure) if errback else failure

    def _end_if_stopped(self, page: PageVisit, request: Request) -> None:
        """A component that listens to request_scheduled (offsite) stops requests without telling anybody."""
        if page.is_open and page.continued_by is not request:
            self._freshness.visits.fail(
                page, "another component dropped the request", outcome=Outcome.IGNORED
            )

    def _continue_visit(self, request: Request, page: PageVisit) -> bool:
        """A retry or redirect goes on with its visit; a redirect leaves the page's own things behind."""
        self._planner.host_freed(page.slot)
        if is_redirected(request) and page.visit.record.request == UNSEEN and _has_left(request, page):
            self._freshness.visits.fail(page, "it redirects to another site", outcome=Outcome.IGNORED)
            return False
        if is_redirected(request):
            page.withdraw_validators(request)
            if not page.has_own_slot:
                request.meta.pop("download_slot", None)
            page.host_failed = False
            slot = slot_of(request)
            if slot != page.slot:
                self._planner.hosts.answered(page.slot)  # with the redirect to another host
            page.slot = slot
        page.continued_by, page.report, page.response = request, None, None
        self._held.add(request, self._freshness.clock.now())
        return True

    def _visits_under_way(self) -> set[PageVisit]:
        """Visits that come to an end some time, because their requests do."""
        requests = (*self._chosen, *self._held, *self._freshness.fetches.slots.in_engine())
        return {page for request in requests if (page := visit_of(request)) is not None}

    def _leave_to_plain(self, request: Request) -> bool:
        if is_no_page(request):
            request.meta[NO_PAGE_KEY] = True
        if self._freshness.errands.is_of_revisit(request) and not request.dont_filter:
            if not self._freshness.errands.is_new(request):
                self._stats.inc_value("dupefilter/filtered")
                return False
            # The filter has seen it, at the first visit as a rule.
            request.dont_filter = request.meta[PAST_FILTER_KEY] = True
        is_taken = self._plain.enqueue_request(request)
        if is_taken and not self._crawler.settings["JOBDIR"]:  # else it outlives the process
            self._freshness.errands.began(request)
        return is_taken

    def _read_ahead(self, now: float) -> None:
        """Get the records of the pages that come next: from memory at once, others from the database."""
        page_ids = self._planner.wanted(now)
        if not page_ids:
            return
        self._freshness.saving.note_updates()
        cached = self._freshness.journal.cached(page_ids)
        known = {record.page_id for record in cached}
        self._planner.supply(known, cached)
        missing = [page_id for page_id in page_ids if page_id not in known]
        if missing:
            # This writes, and a visit is written together with the page it has changed.
            self._planner.settle(now)
            self._freshness.saving.note_updates()
            read = self._freshness.journal.read(missing)
            read.addCallbacks(partial(self._supplied, missing), partial(self._not_supplied, missing))

    def _supplied(self, page_ids: list[int], records: list[PageRecord]) -> None:
        for record in records:
            self._freshness.journal.remember(record)
        self._planner.supply(page_ids, records)
        self._wake()

    def _not_supplied(self, page_ids: list[int], failure: Failure) -> None:
        self._stats.inc_value("freshness/read_failed")
        logger.error("Records of %d pages could not be read: %s", len(page_ids), failure.getErrorMessage())
        self._planner.give_up_loading(page_ids, self._freshness.clock.now() + _LONGEST_WAIT_SECONDS)

    def _next_time(self, now: float) -> float:
        """When there may be something to do again."""
        time = min(self._planner.next_at(now), self._held.next_at(now))
        if self._held.has_room and self._plain.has_pending_requests():
            time = now  # not all of them have been looked at
        return max(time, now + _SHORT_WAIT_SECONDS)

    def _wake_at(self, time: float, now: float) -> None:
        self._disarm()
        self._timer = call_later(min(max(time - now, 0.0), _LONGEST_WAIT_SECONDS), self._wake)

    def _wake(self) -> None:
        """Push the next request into an engine that would look again only after seconds."""
        self._disarm()
        engine = self._crawler.engine
        if not self._is_open:
            return
        if engine.paused or engine.needs_backout():
            # A full engine asks by itself as soon as a download ends.
            now = self._freshness.clock.now()
            self._wake_at(now + 0.5, now)
            return
        request = self._chosen.popleft() if self._chosen else self._choose()
        if request is not None:
            self._chosen.append(request)
            engine.crawl(request)

    def _wake_soon(self) -> None:
        """Something happened outside the engine that may be worth a visit at once."""
        if self._is_open:
            now = self._freshness.clock.now()
            self._wake_at(max(self._freshness.fetches.rate.next_at(now), now), now)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _has_left(request: Request, page: PageVisit) -> bool:
    """Whether a redirect leads to another site."""
    return site_of(host_of(request.url) or "") != site_of(host_of(page.url) or "")


def _no_callback(response: Response) -> None:
    """What is polled is not for the spider; not even an error that another component lets pass."""
