"""What are refreshes worth to searchers?  Scores before and after, valued by the maps of all terms."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.attention import looks
from scrapy_freshness.search.impact import Impact
from scrapy_freshness.search.postings import Change, Moves
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
        return float(self.parts_of([change], np.array([links])).gain.sum())

    def parts_of(self, changes: Sequence[Change], links: FloatArray) -> TermGains:
        """Delta Q_A of refreshes, term by term; many take less time than one by one. *links* of each page."""
        owner = np.repeat(np.arange(len(changes)), [len(change.terms) for change in changes])
        lengths = np.array([change.length for change in changes]).T
        terms = np.concatenate([change.terms for change in changes])
        tf = np.concatenate([change.tf for change in changes], axis=1)
        return self.gains_of(Moves(owner, terms, tf, lengths.take(owner, axis=1)), links)

    def gains_of(self, moves: Moves, links: FloatArray) -> TermGains:
        """The same of refreshes in columns."""
        linked = links.take(moves.change)
        before, after = (
            self._scoring.base(tf, length, linked)
            for tf, length in zip(moves.tf.astype(np.float64), moves.length.astype(np.float64), strict=True)
        )
        (moved,) = (before != after).nonzero()
        terms = moves.terms.take(moved)
        gains = self._impact.gains(terms, before.take(moved), after.take(moved))
        return TermGains(moves.change.take(moved), terms, gains)

    def page_quality(self, page: PageTerms, links: float) -> float:
        """What searchers find on a page."""
        length = np.array([float(page.length)])
        return float(self.found(page.terms, page.tf, length, np.array([links])).sum())

    def page_qualities(self, pages: Sequence[PageTerms], links: FloatArray) -> FloatArray:
        """The same of many pages."""
        counts = [len(page.terms) for page in pages]
        owner = np.repeat(np.arange(len(pages)), counts)
        terms = np.concatenate([page.terms for page in pages])
        tf = np.concatenate([page.tf for page in pages])
        length = np.array([page.length for page in pages], np.float64)
        found = self.found(terms, tf, length.take(owner), links.take(owner))
        return np.bincount(owner, found, len(pages)).astype(np.float64, copy=False)

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
