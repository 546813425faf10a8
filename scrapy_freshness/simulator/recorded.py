"""A recorded web: the histories of pages that one or several recorders looked at.

After its last version a page stays as it is for as long as the record of its source goes on, which is until
the last version of any page of that source.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from scrapy_freshness.errors import TraceError
from scrapy_freshness.simulator.recorded_page import RecordedPage
from scrapy_freshness.simulator.trace import Version
from scrapy_freshness.simulator.trace_io import read_trace

_WEEK_SECONDS = 7 * 86400.0


@dataclass(frozen=True, eq=False)
class RecordedWeb:
    """The recorded histories of some pages."""

    pages: Sequence[RecordedPage]

    @property
    def start(self) -> float:
        """When the first page is first seen."""
        return min(float(page.times[0]) for page in self.pages)

    @property
    def end(self) -> float:
        """When the record ends."""
        return max(page.until for page in self.pages)

    def of_source(self, source: str) -> "RecordedWeb":
        """The pages of one recorder."""
        return RecordedWeb([page for page in self.pages if page.source == source])

    @property
    def sources(self) -> list[str]:
        """The recorders of the pages."""
        return sorted({page.source for page in self.pages})

    def aligned(self) -> "RecordedWeb":
        """The same histories as if all sources had been recorded at the same time, by whole weeks earlier.

        Hours and days of the week stay what they were.
        """
        start = self.start
        first: dict[str, float] = {}
        for page in self.pages:
            first[page.source] = min(first.get(page.source, np.inf), float(page.times[0]))
        shifts = {name: (time - start) // _WEEK_SECONDS * _WEEK_SECONDS for name, time in first.items()}
        return RecordedWeb([_earlier(page, shifts[page.source]) for page in self.pages])


def load_web(path: str | Path, *, shingle_words: int = 5) -> RecordedWeb:
    """The recorded web in a trace file."""
    return web_of(read_trace(path), shingle_words=shingle_words)


def web_of(versions: Iterable[Version], *, shingle_words: int = 5) -> RecordedWeb:
    """The recorded web of some versions; those of a page together, in the order of time.

    >>> from scrapy_freshness.simulator.trace import Kind
    >>> seen = [Version(page="a:b", at=at, kind=Kind.CHANGE, lines=(text,))
    ...         for at, text in ((1, "A"), (2, "B"), (3, "A"))]
    >>> page = web_of(seen).pages[0]
    >>> page.version_at(2.5), page.contents.tolist()
    (1, [0, 1, 0])
    """
    pages = [
        RecordedPage.of(list(own), shingle_words) for _, own in groupby(versions, lambda each: each.page)
    ]
    if not pages:
        raise TraceError("there is no page in the record")
    until: dict[str, float] = {}
    for page in pages:
        until[page.source] = max(until.get(page.source, -np.inf), page.until)
    return RecordedWeb([replace(page, until=until[page.source]) for page in pages])


def _earlier(page: RecordedPage, seconds: float) -> RecordedPage:
    links = None if page.links is None else page.links.earlier(seconds)
    return replace(page, times=page.times - seconds, until=page.until - seconds, links=links)
