"""Untracked requests (POST, ...) that the callbacks of pages yielded, as long as they wait to be sent.

They end with the process. So the page must be shown to the spider again if they have not been sent by then:
unchanged, it would never lead to them again.

Scrapy's filter would let each of them pass once in the life of a crawl. What can be no page itself passes
once at each revisit, so that all that is built from it is as fresh as the page.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from scrapy import Request

from scrapy_freshness.crawl.http import is_redirected

#: In the meta of a request: id of the page it comes from, straight or through other untracked requests.
PAGE_KEY = "freshness_page"
#: In the meta of a request: when the revisit began that it comes from in the same way; none at a first visit.
REVISIT_KEY = "freshness_revisit"
#: In the meta of a request that waits: it got past the filter of duplicates because of us.
PAST_FILTER_KEY = "freshness_past_filter"
#: In the meta of a request that can be no page, and so in that of what it redirects to, which is its answer.
NO_PAGE_KEY = "freshness_no_page"
#: Revisits whose requests are remembered, so that none of them is made twice.
_MOST_REVISITS = 1000


class Errands:
    """Counts the waiting requests of each page; *done* hears of pages that have none any more."""

    def __init__(self, done: Callable[[int], None], fingerprint: Callable[[Request], int]) -> None:
        self._done = done
        self._fingerprint = fingerprint
        self._waiting: Counter[int] = Counter()
        #: Revisit -> fingerprints of what it has asked for; the one that asked last is last.
        self._asked: dict[tuple[int | None, float], set[int]] = {}
        self._unsent: set[int] = set()  #: fingerprints of what revisits have asked for and waits

    @property
    def page_ids(self) -> list[int]:
        """Pages with requests that wait."""
        return list(self._waiting)

    def is_of_revisit(self, request: Request) -> bool:
        """Whether a request is made anew at each revisit of a page."""
        return REVISIT_KEY in request.meta and is_no_page(request)

    def is_new(self, request: Request) -> bool:
        """Whether a revisit asks for something for the first time, and nothing like it waits."""
        revisit = request.meta.get(PAGE_KEY), request.meta[REVISIT_KEY]
        asked = self._asked[revisit] = self._asked.pop(revisit, set())
        if len(self._asked) > _MOST_REVISITS:
            del self._asked[next(iter(self._asked))]
        fingerprint = self._fingerprint(request)
        if fingerprint in asked or fingerprint in self._unsent:
            return False
        asked.add(fingerprint)
        self._unsent.add(fingerprint)
        return True

    def began(self, request: Request) -> None:
        """A request waits to be sent."""
        page_id = request.meta.get(PAGE_KEY)
        if page_id is not None:
            self._waiting[page_id] += 1

    def ended(self, request: Request) -> None:
        """A request that waited was sent, or ended before that."""
        if self.is_of_revisit(request):
            self._unsent.discard(self._fingerprint(request))
        page_id = request.meta.get(PAGE_KEY)
        if page_id is None or page_id not in self._waiting:
            return
        self._waiting[page_id] -= 1
        if not self._waiting[page_id]:
            del self._waiting[page_id]
            self._done(page_id)

    def is_waiting(self, page_id: int) -> bool:
        """Whether requests of a page wait."""
        return page_id in self._waiting


def is_no_page(request: Request) -> bool:
    """Whether a request can be no page: by its method or body, or that of the one that redirected to it."""
    if request.method != "GET" or request.body:
        return True
    return NO_PAGE_KEY in request.meta and is_redirected(request)


def yielded(each: Any, page_id: int | None, revisit_at: float | None) -> Any:
    """Return what the callback of a page yielded; a request knows page and revisit from then on."""
    if isinstance(each, Request):
        each.meta.pop(NO_PAGE_KEY, None)  # copied
    if page_id is not None and isinstance(each, Request):
        each.meta[PAGE_KEY] = page_id
        each.meta.pop(REVISIT_KEY, None)  # copied
        if revisit_at is not None:
            each.meta[REVISIT_KEY] = revisit_at
    return each
