"""A web of pages whose versions are sets of shingles: what a fetch sees, and how far copies are from it."""

import numpy as np

from scrapy_freshness.content.sketch import sketch
from scrapy_freshness.simulator.versions import PageVersions
from scrapy_freshness.simulator.web import Address, Fetches, FloatArray, Look


class ShingledWeb:
    """Pages of which a fetch sees a sketch, as that of a live crawl does; all are there from the beginning.

    >>> page = PageVersions(np.array([0.0, 5.0]), [np.array([1], np.uint32), np.array([2], np.uint32)], 9.0)
    >>> ShingledWeb([page], sketch_size=8).look(0, 6.0).sketch
    array([2], dtype=uint32)
    """

    first_linked: int | None = None

    def __init__(self, pages: list[PageVersions], *, sketch_size: int) -> None:
        self.pages = pages
        self._sketch_size = sketch_size
        self.addresses = [
            Address(f"http://host.example/{page}", "host.example") for page in range(len(pages))
        ]

    def appears_at(self, page: int) -> float:
        """At the very beginning."""
        return 0.0

    def look(self, page: int, now: float) -> Look:
        """The version that is live; no version ever comes back, so its number will do as a hash."""
        versions = self.pages[page]
        number = int(versions.at(now))
        return Look(number, sketch(versions.fragments[number], self._sketch_size))

    def staleness(self, fetches: Fetches, start: float, end: float) -> float:
        """Mean divergence of the copies from the live pages over [start, end]; first copies are of time 0."""
        visits = fetches.by_page(len(self.pages))
        return float(np.mean([_stale(*each, start, end) for each in zip(self.pages, visits, strict=True)]))


def _stale(page: PageVersions, visits: FloatArray, start: float, end: float) -> float:
    """Mean divergence of a page's copy from the page."""
    edges = np.unique(np.concatenate([[start, end], page.times, visits]))
    edges = edges[(edges >= start) & (edges <= end)]
    begins, lengths = edges[:-1], np.diff(edges)
    last_visit = np.append(0.0, visits)[np.searchsorted(visits, begins, side="right")]
    pairs = zip(page.at(last_visit).tolist(), page.at(begins).tolist(), strict=True)
    moved = np.array([page.divergence(copy, live) for copy, live in pairs])
    return float(moved @ lengths) / (end - start)
