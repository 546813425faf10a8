"""When does a contest on recorded pages take place?

Sources may have been recorded years apart, and pages come and go. A contest needs pages that compete for
fetches: times are moved if they must be, and the contest lasts while most pages are there.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.bandwidth import Bandwidth
from scrapy_freshness.simulator.recorded import RecordedWeb

FloatArray = NDArray[np.float64]


def brought_together(web: RecordedWeb, aligned: bool | None = None) -> RecordedWeb:
    """The web with its sources aligned; if nobody says so, only if they were never recorded all at once."""
    if aligned is None:
        aligned = not _were_recorded_at_once(web)
    return web.aligned() if aligned else web


def contest_span(web: RecordedWeb, *, whole: bool = False) -> tuple[float, float]:
    """Start and end of a contest: half of the pages have appeared, and half of the records have not ended.

    While there are few pages a constant rate of fetches is plenty for them, and who fetches a page every so
    often saves for later: that would be no contest at equal budgets. If nothing is left then, or with
    *whole*, it is all of the record.

    >>> from scrapy_freshness.simulator.recorded import web_of
    >>> from scrapy_freshness.simulator.trace import Kind, Version
    >>> web = web_of(
    ...     Version(page=page, at=at, kind=Kind.CHANGE, lines=(str(at),))
    ...     for page, first in (("a:1", 0), ("a:2", 50), ("a:3", 60)) for at in (first, 100)
    ... )
    >>> contest_span(web), contest_span(web, whole=True)
    ((50.0, 100.0), (0.0, 100))
    """
    middle = len(web.pages) // 2
    start = sorted(float(page.times[0]) for page in web.pages)[middle]
    end = sorted(float(page.until) for page in web.pages)[middle]
    return (web.start, web.end) if whole or start >= end else (start, end)


def spread_over_pages(web: RecordedWeb, fetches_per_second: float, start: float, end: float) -> Bandwidth:
    """Rates of fetches in proportion to the pages that are there, with this mean.

    >>> from scrapy_freshness.simulator.recorded import web_of
    >>> from scrapy_freshness.simulator.trace import Kind, Version
    >>> web = web_of(
    ...     Version(page=page, at=at, kind=Kind.CHANGE, lines=(str(at),))
    ...     for page, first in (("a:1", 0), ("a:2", 50)) for at in (first, 100)
    ... )
    >>> spread_over_pages(web, 3.0, 0.0, 100.0).changes
    ((0.0, 2.0), (50.0, 4.0))
    """
    begins = np.clip([page.times[0] for page in web.pages], start, end)
    ends = np.clip([page.until for page in web.pages], begins, end)
    moments = np.unique(np.concatenate([[start], begins, ends]))
    moments = moments[moments < end]
    there = np.sort(begins).searchsorted(moments, side="right") - np.sort(ends).searchsorted(
        moments, side="right"
    )
    per_page = fetches_per_second * (end - start) / float(np.sum(ends - begins))
    return Bandwidth(tuple(zip(moments.tolist(), (per_page * there).tolist(), strict=True)))


def time_blocks(web: RecordedWeb, start: float, end: float, count: int) -> list[float]:
    """The edges of so many blocks of time, in each of which pages are there for as long, all together.

    >>> from scrapy_freshness.simulator.recorded import web_of
    >>> from scrapy_freshness.simulator.trace import Kind, Version
    >>> web = web_of(
    ...     Version(page=page, at=at, kind=Kind.CHANGE, lines=(str(at),))
    ...     for page, first in (("a:1", 0), ("a:2", 50)) for at in (first, 100)
    ... )
    >>> time_blocks(web, 0.0, 100.0, 2)
    [0.0, 62.5, 100.0]
    """
    begins = np.clip([page.times[0] - start for page in web.pages], 0.0, end - start)
    ends = np.clip([page.until - start for page in web.pages], begins, end - start)
    moments = np.unique(np.concatenate([[0.0, end - start], begins, ends]))
    seconds = _sums_of_lesser(ends, moments) - _sums_of_lesser(begins, moments)  # so far, of all pages
    edges = start + np.interp(np.linspace(0, seconds[-1], count + 1), seconds, moments)
    return [start, *edges[1:-1].tolist(), end]


def _sums_of_lesser(values: FloatArray, moments: FloatArray) -> FloatArray:
    """For each moment t the sum of min(t, value) over all values."""
    values = np.sort(values)
    n_before = values.searchsorted(moments)
    return np.append(0.0, np.cumsum(values))[n_before] + moments * (len(values) - n_before)


def _were_recorded_at_once(web: RecordedWeb) -> bool:
    """Whether there is a moment at which all sources were recorded."""
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for page in web.pages:
        first[page.source] = min(first.get(page.source, np.inf), float(page.times[0]))
        last[page.source] = max(last.get(page.source, -np.inf), page.until)
    return max(first.values()) < min(last.values())
