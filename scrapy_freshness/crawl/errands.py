"""Untracked requests (POST, ...) that the callbacks of pages yielded, as long as they wait to be sent.

They end with the process. So the page must be shown to the spider again if they have not been sent by then:
unchanged, it would never lead to them again.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from scrapy import Request

#: In the meta of a request: id of the page it comes from, straight or through other untracked requests.
PAGE_KEY = "freshness_page"


class Errands:
    """Counts the waiting requests of each page; *done* hears of pages that have none any more."""

    def __init__(self, done: Callable[[int], None]) -> None:
        self._done = done
        self._waiting: Counter[int] = Counter()

    @property
    def page_ids(self) -> list[int]:
        """Pages with requests that wait."""
        return list(self._waiting)

    def began(self, request: Request) -> None:
        """A request waits to be sent."""
        page_id = request.meta.get(PAGE_KEY)
        if page_id is not None:
            self._waiting[page_id] += 1

    def ended(self, request: Request) -> None:
        """A request that waited was sent, or ended before that."""
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


def yielded(each: Any, page_id: int | None) -> Any:
    """Return what the callback of a page yielded; a request knows the page from then on."""
    if page_id is not None and isinstance(each, Request):
        each.meta[PAGE_KEY] = page_id
    return each
