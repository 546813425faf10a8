"""What searchers can find: an index of the pages as crawled, which measures what each refresh is worth."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.map_fitting import fitted_maps
from scrapy_freshness.search.meter import Meter, TermGains
from scrapy_freshness.search.postings import Change, Postings
from scrapy_freshness.search.scoring import Scoring
from scrapy_freshness.search.workload import PageTerms

FloatArray = NDArray[np.float64]


class SearchIndex:
    """Postings, scores and maps of the terms of one workload.

    Maps, and the weights of terms, are those of the last `refit`; they need only be renewed now and then.
    Until the first one a gain is that of a page which is alone in the world.

    >>> from scrapy_freshness.search.scoring import TfIdf
    >>> index = SearchIndex(np.ones(2), TfIdf())
    >>> page = PageTerms(np.array([1], np.int32), np.array([3], np.uint16), 12)
    >>> index.gain(index.refresh(0, page)) > 0, index.gain(index.refresh(0, page))
    (True, 0.0)
    """

    def __init__(self, frequency: FloatArray, scoring: Scoring) -> None:
        """*frequency* of each term: `Workload.frequency`."""
        self.postings = Postings(len(frequency))
        self._scoring = scoring
        self._frequency = frequency
        self._links = np.zeros(1)
        self.refit()

    def set_links(self, links: FloatArray) -> None:
        """Tell how many other pages link to each page, by its number; pages beyond have none."""
        self._links = np.append(links, 0.0)

    def refit(self) -> None:
        """Renew maps and weights, for the pages as they are in the index."""
        self.maps = fitted_maps(self.postings, self._scoring, self._links)
        self.meter = Meter(self._frequency, self._scoring, self.maps, self.postings.df, len(self.postings))

    def refresh(self, page: int, terms: PageTerms) -> Change:
        """Take over the terms that a page has by now."""
        return self.postings.replace(page, terms)

    def gain(self, change: Change) -> float:
        """Delta Q_A of a refresh, >= 0."""
        return self.meter.gain(change, float(self._links_to(change.page)[0]))

    def gains(self, changes: Sequence[Change]) -> FloatArray:
        """Delta Q_A of each of many refreshes, which takes less time than one by one."""
        parts = self.term_gains(changes)
        return np.bincount(parts.change, parts.gain, len(changes)).astype(np.float64, copy=False)

    def page_quality(self, page: int) -> float:
        """What searchers find on a page."""
        return self.meter.page_quality(self.postings.of(page), float(self._links_to(page)[0]))

    def term_gains(self, changes: Sequence[Change]) -> TermGains:
        """For each term that a change touches: the number of the change, the term, its part of the gain."""
        return self.meter.parts_of(changes, self._links_to(np.array([change.page for change in changes])))

    def _links_to(self, pages: int | NDArray[np.int64]) -> FloatArray:
        return self._links.take(np.atleast_1d(pages), mode="clip")
