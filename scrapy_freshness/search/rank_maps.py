r"""F_q: from the score of a page to its rank among the results of a term, and back.

For each term the logarithm of the score is a piecewise linear function of the logarithm of the rank, with
three pieces that are equally long on the scale of ranks [1]_: among :math:`n` results the scores at the
ranks :math:`1, n^{1/3}, n^{2/3}, n` are kept and the others interpolated. With :math:`n` these are 20 bytes
a term. Scores are bases (`scoring.py`): the weight of a term changes nobody's rank.

References
----------
.. [1] Pandey, Olston: User-centric web crawling, WWW 2005, section 5.1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
#: Numbers of terms.
Terms = NDArray[np.signedinteger[Any]]

PIECES = 3
#: Logarithms of scores that are so close are those of the same score: knots are of single precision.
EQUAL = 1e-6
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class RankMaps:
    """One map a term.

    Parameters
    ----------
    results : (terms,) array, n; 0: nothing is known of the term
    knots : (terms, 4) array, logarithms of the scores at ranks n^(k/3), not ascending
    """

    def __init__(self, results: NDArray[np.int32], knots: NDArray[np.float32]) -> None:
        self.results = results
        self.knots = knots
        #: Of each piece, begin + length * (knot - log score) / (knot - next knot) as at - slope * log score.
        known = np.where(results[:, None] > 0, knots, 0.0).astype(np.float64)
        self._log_results = np.log(np.maximum(results, 1.0))
        length = self._log_results[:, None] / PIECES
        drop = known[:, :-1] - known[:, 1:]
        slope = np.divide(length, drop, out=np.zeros_like(drop), where=drop > 0)
        begin = np.arange(PIECES) * length
        # Where all scores are the same, the rank is that of the end: the same score is found on the piece
        # before. If the best are the same, it is that of the middle among them.
        at = begin + np.where(drop > 0, slope * known[:, :-1], length)
        alike = np.count_nonzero(known == known[:, :1], axis=1) - 1
        at[:, 0] = np.where(alike > 0, self._log_results * alike / PIECES / 2, at[:, 0])
        self.lines = np.stack([at, slope], axis=-1)  #: (terms, pieces, 2)
        self._flat_lines = self.lines.reshape(-1, 2)
        self._first = known[:, 0] + EQUAL
        self._second, self._third = np.ascontiguousarray(known[:, 1:-1].T - EQUAL)

    def piece(self, terms: Terms, log_score: FloatArray) -> NDArray[np.intp]:
        """Number of the piece that each score is on, those of all terms counted through."""
        piece: NDArray[np.intp] = terms * np.intp(PIECES) + (log_score < self._second.take(terms))
        piece += log_score < self._third.take(terms)
        return piece

    def rank(self, terms: Terms, score: FloatArray) -> FloatArray:
        """Estimate the ranks that pages with these scores have, from 1 to n; inf for a score of 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            log_score = np.log(score)
            lines = self._flat_lines.take(self.piece(terms, log_score), axis=0)
            log_rank = lines[:, 0] - lines[:, 1] * log_score
        log_rank[log_score > self._first.take(terms)] = 0.0
        log_rank = np.clip(log_rank, 0.0, self._log_results.take(terms))
        return np.where(score > 0, np.exp(log_rank), np.inf)

    def score(self, terms: Terms, rank: FloatArray) -> FloatArray:
        """Estimate the scores of the pages at these ranks, 1 to n; 0 beyond."""
        count = self.results[terms]
        length = np.maximum(self._log_results[terms], 1e-300) / PIECES
        place = np.where(count > 1, np.log(rank) / length, 0.0)
        piece = np.clip(place, 0, PIECES - 1).astype(np.intp)
        with np.errstate(invalid="ignore"):
            upper, lower = self.knots[terms, piece], self.knots[terms, piece + 1]
            scores = np.exp(upper + (lower - upper) * (place - piece))
        return np.where((rank <= count * (1 + 1e-9)) & (count > 0), scores, 0.0)


def fitted(terms: Terms, score: FloatArray, n_terms: int) -> RankMaps:
    """Fit the maps of all terms to the scores of their results.

    Parameters
    ----------
    terms : (postings,) array, the term of each posting
    score : (postings,) array, > 0

    >>> maps = fitted(np.zeros(8, np.int64), 1 / np.arange(1.0, 9.0), 1)
    >>> maps.rank(np.zeros(2, int), np.array([1.0, 0.25])).round(6)
    array([1., 4.])
    >>> maps.score(np.zeros(2, int), np.array([4.0, 8.0])).round(6)
    array([0.25 , 0.125])
    """
    return fitted_keys(sort_keys(terms, score), n_terms)


def fitted_keys(keys: NDArray[np.uint64], n_terms: int) -> RankMaps:
    """The same from `sort_keys`, which are put in order in their place."""
    keys.sort()
    results = np.bincount((keys >> _HALF).astype(np.int64), minlength=n_terms)
    starts = np.cumsum(results) - results
    knots = np.full((n_terms, PIECES + 1), -np.inf, np.float32)
    (found,) = results.nonzero()
    count, last = results[found], starts[found] - 1
    for knot in range(PIECES + 1):
        rank = count ** (knot / PIECES)
        below = np.minimum(rank.astype(np.int64), count)
        above = np.minimum(below + 1, count)
        # Between two ranks on the line between their scores.
        share = np.log(rank / below) / np.log((below + 1) / below)
        high, low = (np.log(_score_of(keys[last + place])) for place in (below, above))
        knots[found, knot] = high + (low - high) * share
    return RankMaps(results.astype(np.int32), knots)


def sort_keys(terms: Terms, score: FloatArray) -> NDArray[np.uint64]:
    """Terms and scores in one number each; ascending, they are ascending by term and descending by score.

    The bits of positive floats are in the order of the floats; to sort plain numbers takes a fifth of the
    time of sorting by two keys.
    """
    keys = terms.astype(np.uint64) << _HALF
    keys |= _LOW - score.astype(np.float32).view(np.uint32)
    return keys


def _score_of(keys: NDArray[np.uint64]) -> FloatArray:
    return (_LOW - (keys & _LOW)).astype(np.uint32).view(np.float32).astype(np.float64)
