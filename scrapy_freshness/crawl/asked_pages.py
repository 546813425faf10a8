"""The pages that the spider asks for: kept fresh from now on, visited anew, or known already.

A request for a known page is not sent. The page's next visit is made as it says.
"""

import logging
from collections.abc import Callable

from scrapy import Request, Spider

from scrapy_freshness.crawl.extension import Freshness
from scrapy_freshness.crawl.originals import Originals
from scrapy_freshness.crawl.requests import (
    JOURNEY,
    NotPersistableError,
    described_anew,
    is_of_start,
    request_to_json,
)
from scrapy_freshness.crawl.slots import slot_of
from scrapy_freshness.crawl.tracking import kind_of
from scrapy_freshness.crawl.visiting import PageVisit
from scrapy_freshness.model import PageKind, PageRecord, PageStatus
from scrapy_freshness.planning.link_learner import inherited_beliefs, showed_first
from scrapy_freshness.planning.visits import Visit

logger = logging.getLogger(__name__)

#: Requests for known pages that are remembered until their pages are visited, about 2 kB each.
_MOST_FILTERED = 10_000


class AskedPages:
    """Takes in tracked requests of the spider.

    Parameters
    ----------
    leave_to_plain : takes requests that cannot be kept
    """

    def __init__(
        self, freshness: Freshness, spider: Spider, leave_to_plain: Callable[[Request], bool]
    ) -> None:
        self.originals = Originals()
        self._freshness = freshness
        self._planner = freshness.planner
        self._config = freshness.config
        self._stats = freshness.crawler.stats
        self._spider = spider
        self._leave_to_plain = leave_to_plain
        self._filtered: dict[int, Request] = {}  #: the last for known pages, which may be other ones
        self._unpersistable: set[str] = set()

    def take(self, request: Request, asking: PageVisit | None) -> bool:
        """Keep a page fresh from now on, or visit a known one; False if it is known and not asked for anew.

        *asking* is the visit whose callback asks for it.
        """
        now = self._freshness.clock.now()
        fingerprint = self._freshness.fingerprint(request)
        row = self._planner.known.row_of(fingerprint)
        is_link = asking is not None and self._is_link(asking, fingerprint)
        if is_link and row is not None:
            self._freshness.journal.count_link(self._planner.known.page_id_of(row))
        asked_for = (
            row is None or request.dont_filter or self._planner.known.status_of(row) is PageStatus.SUSPENDED
        )
        asked_for = asked_for or (row is not None and self._is_unseen(row))
        if not asked_for:
            self._stats.inc_value("freshness/known_filtered")
            self._filtered.pop(fingerprint, None)
            self._filtered[fingerprint] = request
            if len(self._filtered) > _MOST_FILTERED:
                del self._filtered[next(iter(self._filtered))]
            return False
        self._filtered.pop(fingerprint, None)  # what was said before
        try:
            described = self._described(request)
        except NotPersistableError as error:
            self._stats.inc_value("freshness/not_persistable")
            self._complain(error, "%s is crawled once and not kept fresh: %s", request)
            return self._leave_to_plain(request)
        for key in JOURNEY:
            request.meta.pop(key, None)  # copied, too: this is another journey
        self.originals.keep(fingerprint, request)
        if row is not None:
            self._freshness.hubs.show(self._planner.known.page_id_of(row))
            self._planner.wished.ask_for(row, described, self._kind_said(request))
        else:
            self._discover(request, fingerprint, described, now, asking, in_links=int(is_link))
        return True

    def renew(self, visit: Visit) -> None:
        """Have a visit made as the spider asked for the page last, even if it was known already."""
        record = visit.record
        request = self._filtered.get(record.fingerprint)
        if request is None:
            return
        try:
            described = described_anew(record.request, self._described(request))
        except NotPersistableError as error:
            self._complain(error, "%s is visited as before: %s", request)
        else:
            self._planner.wished.describe(visit, described, self._kind_said(request))

    def take_again(self, fingerprint: int) -> None:
        """The callback of a page is gone: take the last request for it that was left out, if there is one."""
        request = self._filtered.pop(fingerprint, None)
        if request is not None:
            self.take(request, None)

    def _described(self, request: Request) -> str | None:
        return request_to_json(request, self._spider, self._config.meta_keys)

    def _complain(self, error: NotPersistableError, text: str, request: Request) -> None:
        """Warn of one request for each reason: there may be millions."""
        is_first = error.reason not in self._unpersistable
        self._unpersistable.add(error.reason)
        logger.log(logging.WARNING if is_first else logging.DEBUG, text, request.url, error)

    def _kind_said(self, request: Request) -> PageKind | None:
        """What a known page is fetched for by the word of a request; None: it does not say.

        A link without a mark does not, and no request does where hubs are found without marks.
        """
        kind = kind_of(request)
        if kind is PageKind.SOURCE or (is_of_start(request) and not self._freshness.hubs.is_on):
            return kind
        return None

    def _is_link(self, page: PageVisit, fingerprint: int) -> bool:
        """Note that a page asks for another; whether it counts: the first time, if the page is seen first."""
        is_another = fingerprint not in page.linked
        page.linked.add(fingerprint)
        counts = self._config.importance == "links" and page.visit.record.last_visit_at is None
        return is_another and counts

    def _discover(
        self,
        request: Request,
        fingerprint: int,
        described: str | None,
        now: float,
        asking: PageVisit | None,
        in_links: int,
    ) -> None:
        """Add a page; one that a source links to inherits what the source's pages earn."""
        self._stats.inc_value("freshness/discovered")
        inherited: dict[str, float] = {}
        found_on = None
        if asking is not None:
            asking.new_links += 1
            asking.found.add(fingerprint)
            inherited = inherited_beliefs(asking.visit.record)
            found_on = showed_first(asking.visit.record)
        page = PageRecord(
            page_id=0,
            fingerprint=fingerprint,
            url=request.url,
            host=slot_of(request),
            request=described,
            kind=kind_of(request),
            priority=request.priority,
            importance=self._planner.policy.usual_importance(kind_of(request)),
            beliefs=inherited,
            found_on=found_on,
            in_links=in_links,
        )
        self._freshness.discover(page, now)
        self._freshness.hubs.search.met(request, now)

    def _is_unseen(self, row: int) -> bool:
        """Whether a known page has been fetched without the spider's knowledge."""
        planner = self._planner
        if planner.known.is_polled(row) or planner.known.is_unasked(row):
            return True
        return self._freshness.hubs.is_unseen(planner.known.page_id_of(row))
