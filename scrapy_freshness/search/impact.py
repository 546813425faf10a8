r"""Delta Q_A: by how much a refresh betters what searchers see, from the ranks that pages have by F_q.

A refresh moves a page from score :math:`s_1` to :math:`s_2` among the results of a term. If it falls, the
pages that it passes each rise by one rank; if it rises, they each fall by one. With :math:`s_r` for the score
at rank :math:`r` by the map of the term, and :math:`r_1` for the rank of :math:`s_1`, the quality rises by

.. math:: \Delta Q = \sum_{r>r_1} (I(r-1)-I(r))\,\max(s_r-s_2, 0)
   \quad\text{or}\quad \sum_{r<r_1} (I(r)-I(r+1))\,\max(s_2-s_r, 0) ,

which is the page's own term and those of the others taken together. A page that was not among the results
comes from rank infinity; one that leaves has :math:`s_2=0`.

The sums are taken one by one over the first ranks, where most looks go, and beyond by the integral
:math:`\int -I'(r)\,|s_r-s_2|\,dr`. There :math:`s_r` is a power of :math:`r` on each piece, so that with
:math:`\Phi(r)=\int_1^r -I'(x)\,s_x\,dx`, which is a power on each piece as well,
it is :math:`\Phi(r_2)-\Phi(r_1)-s_2\,(I(r_1)-I(r_2))`.

This departs from the paper [1]_ in two ways: its :math:`\delta_i`, the mean difference between neighbours on
a piece, is not needed, and sums are exact where ranks are small instead of where moves are short.

References
----------
.. [1] Pandey, Olston: User-centric web crawling, WWW 2005, section 5.1.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.attention import LOOKS_AT_FIRST, STEEPNESS, looks
from scrapy_freshness.search.rank_maps import EQUAL, PIECES, RankMaps, Terms

FloatArray = NDArray[np.float64]

#: Up to this rank sums are taken one by one.
TOP = 8
_LOG_TOP = float(np.log(TOP))
_RANKS = np.arange(1.0, TOP + 1)
_STEPS = looks(_RANKS[:-1]) - looks(_RANKS[1:])  #: looks between rank 1 and 2, 2 and 3, ...


class Impact:
    """What changes of scores are worth, by the maps of all terms.

    Parameters
    ----------
    maps : from base scores to ranks and back
    worth : (terms,) array, of one look at a base score of 1: the frequency of the term times its weight

    >>> from scrapy_freshness.search.rank_maps import fitted
    >>> maps = fitted(np.zeros(2, np.int64), np.array([4.0, 2.0]), 1)
    >>> falls_to_last = Impact(maps, np.ones(1)).gains(np.zeros(1, int), np.array([4.0]), np.array([0.5]))
    >>> float((falls_to_last[0] / (looks(1.0) - looks(2.0))).round(6))  # who was second has 1.5 more
    1.5
    """

    def __init__(self, maps: RankMaps, worth: FloatArray) -> None:
        self._maps = maps
        self._worth = worth
        terms = np.arange(len(worth))
        self._scores = np.stack([maps.score(terms, np.full(len(worth), rank)) for rank in _RANKS], axis=1)
        # Of a list that ends within the top there is nothing beyond.
        is_long = maps.results > TOP
        with np.errstate(divide="ignore"):
            self._top_from = np.where(is_long, np.log(self._scores[:, -1]) - EQUAL, -np.inf)
        self._lowest = np.where(is_long, maps.knots[:, -1], 0.0).astype(np.float64)
        coefficients = np.concatenate([maps.lines, _sums(maps)], axis=-1)
        coefficients[~is_long] = _LOG_TOP, 0.0, 0.0, 0.0
        self._coefficients = coefficients.reshape(-1, 4)

    def gains(self, terms: Terms, before: FloatArray, after: FloatArray) -> FloatArray:
        """What the move of a page from one base score to another is worth for each of its terms.

        Scores of 0 are those of pages that are not among the results. A term may be there several times,
        for moves of several pages.
        """
        scores = np.stack((before, after))
        with np.errstate(divide="ignore"):
            log_scores = np.log(scores)
        top_from = self._top_from.take(terms)
        (in_top,) = (log_scores.max(axis=0) > top_from).nonzero()
        gains = self._beyond_top(terms, np.minimum(log_scores, top_from), scores)
        if len(in_top):
            gains[in_top] += self._in_top(terms.take(in_top), before.take(in_top), after.take(in_top))
        gains *= self._worth.take(terms)
        return gains

    def found(self, terms: Terms, scores: FloatArray) -> FloatArray:
        """What searchers find: the looks at pages with these scores times the scores, for each term."""
        return looks(self._maps.rank(terms, scores)) * scores * self._worth.take(terms)

    def _beyond_top(self, terms: Terms, log_scores: FloatArray, scores: FloatArray) -> FloatArray:
        """The integral, from the last rank of the top on."""
        piece = self._maps.piece(terms, log_scores)
        log_scores = np.maximum(log_scores, self._lowest.take(terms))
        at, slope, total, share = np.moveaxis(self._coefficients.take(piece, axis=0), -1, 0)
        log_rank = np.maximum(at - slope * log_scores, _LOG_TOP)
        seen = LOOKS_AT_FIRST * np.exp(-STEEPNESS * log_rank)
        total = total - share * seen * np.exp(log_scores)
        seen[scores == 0] = 0.0
        gain: FloatArray = total[1] - total[0] - scores[1] * (seen[0] - seen[1])
        return np.maximum(gain, 0.0)  # rounding

    def _in_top(self, terms: Terms, before: FloatArray, after: FloatArray) -> FloatArray:
        """The sum over the ranks of the top, where the page's old rank may be between two of them."""
        passed = self._scores.take(terms, axis=0) - after[:, None]
        old_rank = self._maps.rank(terms, before)[:, None]
        falls = np.clip(_RANKS[1:] - old_rank, 0.0, 1.0) * np.maximum(passed[:, 1:], 0.0)
        rises = np.clip(old_rank - _RANKS[:-1], 0.0, 1.0) * np.maximum(-passed[:, :-1], 0.0)
        return np.where(after < before, falls @ _STEPS, rises @ _STEPS)


def _sums(maps: RankMaps) -> FloatArray:
    r"""(terms, pieces, 2) numbers :math:`t, h` that give :math:`\Phi = t - h\,I(r)\,s` on each piece.

    On a piece with :math:`\ln r = a - b\ln s` it is :math:`h=\frac32 b/(\frac32 b+1)`; where all scores are
    the same, :math:`h=1`.
    """
    slope = maps.lines[..., 1]
    share = np.where(slope > 0, STEEPNESS * slope / (STEEPNESS * slope + 1.0), 1.0)
    knots = np.where(maps.results[:, None] > 0, maps.knots, 0.0).astype(np.float64)
    log_ranks = np.log(np.maximum(maps.results, 1))[:, None] * np.arange(PIECES + 1) / PIECES
    ends = LOOKS_AT_FIRST * np.exp(knots - STEEPNESS * log_ranks)
    parts = share * (ends[:, :-1] - ends[:, 1:])
    total = np.cumsum(parts, axis=1) - parts + share * ends[:, :-1]
    return np.stack([total, share], axis=-1)
