"""Clicks: requests that people made for pages, one by one or added up over a span of time."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.imports.numerals import DOUBTFUL_COUNT, TOO_LARGE, is_doubtful, number_of
from scrapy_freshness.signals.addresses import read_address
from scrapy_freshness.signals.contract import Moment
from scrapy_freshness.signals.dates import read_date

FloatArray = NDArray[np.float64]

#: A click so far in the future is one of a clock that is wrong.
FUTURE_SECONDS = 86400.0


class ClickBatch(NamedTuple):
    """The clicks of a block of lines; one element a line, but for the addresses."""

    urls: list[str]  #: each once
    url: NDArray[np.intp]  #: index into `urls`
    time: FloatArray  #: unix seconds, beginning of the span
    seconds: FloatArray  #: length of the span
    clicks: FloatArray
    ignored: Mapping[str, int] = {}  #: lines that are no clicks, by why


class Span(NamedTuple):
    """Some time in which clicks were counted."""

    at: float  #: its beginning
    seconds: float  #: its length


class ClickRows:
    """Takes the rows of one block of a table: address, time, number of clicks.

    Parameters
    ----------
    now : clicks that are later, by more than a day, are refused
    period : the time of rows without one; None if they are refused
    """

    def __init__(self, now: float, period: Span | None = None) -> None:
        self._now = now
        self._period = period
        self._urls: dict[str, int] = {}
        self._rows: list[tuple[int, float, float, float]] = []

    def add(self, row: Sequence[str]) -> str | None:
        """Take a row; `ValueError` says why not. Returns what is doubtful."""
        url, time, count = row
        span = self._span(time)
        clicks = clicks_of(count)
        address = read_address(url)
        if address is None:
            raise ValueError("no usable URL")
        if clicks:
            number = self._urls.setdefault(address.url, len(self._urls))
            self._rows.append((number, span.at, span.seconds, clicks))
        return DOUBTFUL_COUNT if is_doubtful(count) else None

    def batch(self) -> ClickBatch:
        """All that the rows say."""
        columns = np.array(self._rows, np.float64).reshape(-1, 4).T
        return ClickBatch(list(self._urls), columns[0].astype(np.intp), *columns[1:])

    def _span(self, text: str) -> Span:
        if not text:
            if self._period is None:
                raise ValueError("no time (--period says when the clicks were made)")
            return self._period
        span = span_of(text)
        if span is None:
            raise ValueError("no usable time")
        if span.at > self._now + FUTURE_SECONDS:
            raise ValueError("time in the future")
        return span


def clicks_of(text: str) -> float:
    """A number of clicks, 1 if there is none; `ValueError` says why it cannot be used.

    >>> clicks_of(""), clicks_of("1,200"), clicks_of("1,5"), clicks_of("0")
    (1.0, 1200.0, 1.5, 0.0)
    """
    count = number_of(text, is_count=True) if text else 1.0
    if not 0 <= count < TOO_LARGE:  # NaN, too
        raise ValueError("impossible number of clicks")
    return count


def span_of(text: str) -> Span | None:
    """A time as it is written, or two, with as much as there is between them.

    >>> span_of("1794873600"), span_of("2026-11-17")
    (Span(at=1794873600.0, seconds=1.0), Span(at=1794873600.0, seconds=86400.0))
    >>> span_of("2026-11-16,2026-11-22")
    Span(at=1794787200.0, seconds=604800.0)
    """
    moment = read_date(text)
    if moment is not None:
        return Span(*moment)
    for between in ("..", ",", " to ", "/"):
        first, found, last = text.partition(between)
        if found:
            start, end = read_date(first), read_date(last)
            if start is not None and end is not None and start.at <= end.at:
                return Span(start.at, end.at + _length(end) - start.at)
    return None


def _length(moment: Moment) -> float:
    return moment.resolution if math.isfinite(moment.resolution) else 0.0
