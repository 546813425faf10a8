"""What are refreshes worth to searchers?  Scores before and after, valued by the maps of all terms."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.attention import looks
from scrapy_freshness.search.impact import Impact
from scrapy_freshness.search.postings import Change
from scrapy_freshness.search.rank_maps import RankMaps
from scrapy_freshness.search.scoring import Scoring
from scrapy_freshness.search.workload import PageTerms

FloatArray = NDArray[np.float64]


class TermGains(NamedTuple):
    """Parts of the gains of some changes, one element for each term whose score a change moves."""

    change: NDArray[np.intp]  #: number of the change
    term: NDArray[np.int32]
    gain: FloatArray


class Meter:
    """Measures with the maps and weights of one moment; they need only be renewed now and then.

    Parameters
    ----------
    frequency : of each term, `Workload.frequency`
    scoring : the function that ranks results
    maps : from base scores to ranks and back
    df : (terms,) array, pages that have each term
    pages : pages in all
    """

    def __init__(
        self, frequency: FloatArray, scoring: Scoring, maps: RankMaps, df: NDArray[np.int64], pages: int
    ) -> None:
        self._scoring = scoring
        self._maps = maps
        self._worth = frequency * scoring.weight(df, pages)
        self._impact = Impact(maps, self._worth)

    def gain(self, change: Change, links: float) -> float:
        """Delta Q_A of a refresh, >= 0; *links* are those to the page."""
        return float(self.parts(change, links).gain.sum())

    def parts(self, change: Change, links: float) -> TermGains:
        """Delta Q_A of a refresh, term by term."""
        length = np.array(change.length, np.float64)[:, None]
        before, after = self._scoring.base(change.tf.astype(np.float64), length, np.array([links]))
        (moved,) = (before != after).nonzero()
        terms = change.terms.take(moved)
        gains = self._impact.gains(terms, before.take(moved), after.take(moved))
        return TermGains(np.zeros(len(moved), np.intp), terms, gains)

    def parts_of(self, changes: Sequence[Change], links: FloatArray) -> TermGains:
        """The same of many refreshes, which takes less time than one by one; *links* of each page."""
        counts = [len(change.terms) for change in changes]
        terms = np.concatenate([change.terms for change in changes])
        lengths = np.array([change.length for change in changes], np.float64).T
        owner = np.repeat(np.arange(len(changes)), counts)
        tf = np.concatenate([change.tf for change in changes], axis=1)
        before, after = (
            self._scoring.base(side, length.take(owner), links.take(owner))
            for side, length in zip(tf, lengths, strict=True)
        )
        (moved,) = (before != after).nonzero()
        terms = terms.take(moved)
        gains = self._impact.gains(terms, before.take(moved), after.take(moved))
        return TermGains(owner.take(moved), terms, gains)

    def page_quality(self, page: PageTerms, links: float) -> float:
        """What searchers find on a page."""
        length = np.array([float(page.length)])
        return float(self.found(page.terms, page.tf, length, np.array([links])).sum())

    def found(
        self, terms: NDArray[np.int32], tf: NDArray[np.uint16], length: FloatArray, links: FloatArray
    ) -> FloatArray:
        """What searchers find by each of some postings: looks times scores."""
        return self._impact.found(terms, self._scoring.base(tf.astype(np.float64), length, links))

    def qualities(self) -> FloatArray:
        """What searchers find by each term, on all pages together, by the maps alone.

        Ranks are taken one by one up to the tenth, and by some of those beyond.
        """
        ends = np.unique(np.append(np.arange(10), np.geomspace(10, 1e9, 200).round()))
        total = np.zeros(len(self._worth))
        terms = np.arange(len(total))
        for first, last in pairwise(ends.tolist()):
            if not np.any(self._maps.results > first):
                break
            middle = np.minimum((first + 1 + last) / 2, np.maximum(self._maps.results, 1.0))
            ranks = np.clip(self._maps.results - first, 0.0, last - first)
            total += ranks * looks(middle) * self._maps.score(terms, middle)
        qualities: FloatArray = total * self._worth
        return qualities
