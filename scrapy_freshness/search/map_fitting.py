"""The maps from score to rank of a whole index, with bounded memory."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.postings import PostingColumns, Postings
from scrapy_freshness.search.rank_maps import PIECES, RankMaps, fitted
from scrapy_freshness.search.scoring import Scoring

FloatArray = NDArray[np.float64]

#: Postings that are put in order at once, and read from the index at once; about 30 bytes each.
_AT_ONCE = 16_000_000
_CHUNK = 2_000_000


def fitted_maps(
    postings: Postings, scoring: Scoring, links: FloatArray, *, at_once: int = _AT_ONCE
) -> RankMaps:
    """Fit the maps of all terms to the scores of the pages in the index.

    Terms are taken in ranges that have about *at_once* postings together, with one pass over the index each.
    *links* are those of each page; the last element is that of all pages beyond.
    """
    n_terms = len(postings.df)
    results = np.zeros(n_terms, np.int32)
    knots = np.full((n_terms, PIECES + 1), -np.inf, np.float32)
    for first, last in _ranges(postings.df, at_once):
        terms, scores = [np.empty(0, np.int32)], [np.empty(0)]
        for chunk in postings.chunks(_CHUNK):
            wanted = chunk if last - first == n_terms else _between(chunk, first, last)
            terms.append(wanted.term - np.int32(first))
            length = postings.lengths[wanted.page].astype(np.float64)
            base = scoring.base(wanted.tf.astype(np.float64), length, links.take(wanted.page, mode="clip"))
            scores.append(base)
        part = fitted(np.concatenate(terms), np.concatenate(scores), last - first)
        results[first:last], knots[first:last] = part.results, part.knots
    return RankMaps(results, knots)


def _ranges(df: NDArray[np.int64], at_once: int) -> list[tuple[int, int]]:
    """Ranges of terms with about so many postings."""
    total = np.cumsum(df)
    ends = np.arange(at_once, total[-1] if len(total) else 0, at_once)
    bounds = np.unique([0, *total.searchsorted(ends).tolist(), len(df)]).tolist()
    return list(pairwise(bounds))


def _between(columns: PostingColumns, first: int, last: int) -> PostingColumns:
    wanted = (columns.term >= first) & (columns.term < last)
    return PostingColumns(columns.page[wanted], columns.term[wanted], columns.tf[wanted])
