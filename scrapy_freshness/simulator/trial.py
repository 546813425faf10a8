"""A sequence of fetches of a recorded web: who held which copy when, and what was live meanwhile.

Time is cut where a page changes and where it is fetched. In between, the copy and the live page stay what
they are, so that whatever is asked about a trial is an exact sum over these spans.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.recorded import RecordedWeb
from scrapy_freshness.simulator.recorded_page import RecordedPage
from scrapy_freshness.simulator.web import Fetches

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Spans of time in which neither the copy nor the live version of a page changes; one element a span.

    A version is -1 where there is nothing: no copy, or no page yet.
    """

    page: IndexArray
    begin: FloatArray
    end: FloatArray
    copy: IndexArray  #: version that was seen by the fetch before
    live: IndexArray  #: version of the page
    is_there: BoolArray  #: whether the page has any content
    is_same: BoolArray  #: whether the copy has the content of the page
    stale_since: FloatArray  #: since when it has not, without a break

    @property
    def seconds(self) -> FloatArray:
        """How long each span is."""
        return self.end - self.begin


@dataclass(frozen=True, eq=False)
class Trial:
    """Fetches of the pages of a web, to be judged from ``start`` to ``end``.

    A fetch sees the version that is live at its time, one that begins at this very moment included. Who
    never fetched a page, or found it gone, holds no copy.
    """

    web: RecordedWeb
    pages: IndexArray  #: page of each fetch, as an index into the pages of the web
    times: FloatArray  #: time of each fetch, in any order; those before the start made the copies of then
    start: float
    end: float
    first_copies: bool = True  #: whether copies of all pages are as fresh as can be at the start, for free
    given: Fetches | None = None  #: further copies that are free, and not counted among the fetches

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise ValueError(f"a trial ends after it starts, got {self.start} to {self.end}")
        if self.pages.shape != self.times.shape or self.pages.ndim != 1:
            raise ValueError(f"{self.pages.size} pages for {self.times.size} times of fetches")
        if self.pages.size and not 0 <= self.pages.min() <= self.pages.max() < len(self.web.pages):
            raise ValueError(f"pages of fetches must be 0 to {len(self.web.pages) - 1}")

    @property
    def n_fetches(self) -> int:
        """Fetches from start to end."""
        return int(np.count_nonzero((self.times >= self.start) & (self.times <= self.end)))

    def fetches(self) -> Iterator[tuple[RecordedPage, FloatArray]]:
        """Each page with the times of all its fetches up to the end, ascending; given copies included."""
        pages, times = self.pages, self.times
        if self.given is not None:
            pages, times = np.append(pages, self.given.pages), np.append(times, self.given.times)
        order = np.lexsort((times, pages))
        order = order[times[order] <= self.end]
        bounds = np.searchsorted(pages[order], np.arange(len(self.web.pages) + 1))
        for number, page in enumerate(self.web.pages):
            yield page, times[order[bounds[number] : bounds[number + 1]]]

    @cached_property
    def spans(self) -> Spans:
        """All spans of all pages, in the order of pages and time."""
        parts = [self._spans(number, page, times) for number, (page, times) in enumerate(self.fetches())]
        columns = zip(*parts, strict=True)
        return Spans(*(np.concatenate(column) for column in columns))

    def _spans(self, number: int, page: RecordedPage, fetched: FloatArray) -> tuple[NDArray[np.generic], ...]:
        end = min(self.end, page.until)
        if self.first_copies:
            fetched = np.concatenate(([self.start], fetched[fetched > self.start]))
        origin = min(self.start, fetched[0]) if fetched.size else self.start
        within = page.times[(page.times > origin) & (page.times < end)]
        begin = np.sort(np.concatenate(([origin], within, fetched[(fetched > origin) & (fetched < end)])))
        begin = begin[begin < end]
        live = page.versions_at(begin)
        last = fetched.searchsorted(begin, side="right") - 1
        copy = np.append(page.versions_at(fetched), -1)[last]  # the last element for those before any fetch
        content = page.contents_of(live)
        is_same = page.contents_of(copy) == content
        stale_since = _since(begin, is_same)
        ends = np.append(begin, end)[1:]
        kept = ends > self.start
        return (
            np.full(np.count_nonzero(kept), number),
            np.maximum(begin, self.start)[kept],
            ends[kept],
            copy[kept],
            live[kept],
            (content >= 0)[kept],
            is_same[kept],
            stale_since[kept],
        )


def _since(begin: FloatArray, is_same: BoolArray) -> FloatArray:
    """For each span that is not the same: the begin of the first of its row of such spans."""
    is_first = ~is_same
    is_first[1:] &= is_same[:-1]
    place = np.maximum.accumulate(np.where(is_first, np.arange(len(begin)), 0))
    return begin[place] if len(begin) else begin
