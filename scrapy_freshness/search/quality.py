r"""The quality of a repository, exactly: how good are the pages that searchers look at?

.. math:: Q(W_L) = \sum_q f_q \sum_p I(R(p, A(q, W_L)))\, S(W[p], q),

where the results :math:`A` of a query are in the order of the scores of the copies and what they are worth is
the score of the live page, divided by what it is if every copy is fresh [1]_. For small numbers of pages and
queries, as in a simulation: everything is in tables of all queries and all pages.

References
----------
.. [1] Pandey, Olston: User-centric web crawling, WWW 2005, equations 3 to 7.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.attention import looks
from scrapy_freshness.search.scoring import Scoring

FloatArray = NDArray[np.float64]


def query_scores(
    base: FloatArray, queries: Sequence[Sequence[int]], weight: FloatArray, scoring: Scoring
) -> FloatArray:
    """Scores of all pages (columns) for all queries (rows).

    Parameters
    ----------
    base : (terms, pages) array, b of each term on each page
    queries : terms of each query
    weight : (terms,) array, w of each term
    """
    scores = np.empty((len(queries), base.shape[1]))
    lengths = np.array([len(query) for query in queries])
    for length in np.unique(lengths).tolist():
        (rows,) = (lengths == length).nonzero()
        terms = np.array([queries[row] for row in rows.tolist()])
        scores[rows] = scoring.query_score(np.moveaxis(base[terms], 1, -1), weight[terms][:, None, :])
    return scores


def ranks(scores: FloatArray) -> FloatArray:
    """Rank of each page (column) among the results of each query (row), inf for a score of 0.

    Pages with the same score are in the order of their numbers.

    >>> ranks(np.array([[2.0, 0.0, 3.0, 2.0]]))
    array([[ 2., inf,  1.,  3.]])
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty(scores.shape)
    counted = np.broadcast_to(np.arange(1.0, scores.shape[1] + 1), scores.shape)
    np.put_along_axis(places, order, counted, axis=1)
    places[scores <= 0] = np.inf
    return places


def usefulness(copies: FloatArray, live: FloatArray, frequency: FloatArray) -> float:
    """What searchers find: Q before it is divided by that of a fresh repository.

    Parameters
    ----------
    copies, live : (queries, pages) arrays, scores of the pages as they are in the repository, and in truth
    frequency : (queries,) array, f
    """
    return float(frequency @ (looks(ranks(copies)) * live).sum(axis=1))


def quality(copies: FloatArray, live: FloatArray, frequency: FloatArray) -> float:
    """Q, 0 to 1; 1 if there is nothing to find.

    >>> live = np.array([[3.0, 1.0]])
    >>> stale = np.array([[0.5, 1.0]])
    >>> round(quality(live, live, np.ones(1)), 3), round(quality(stale, live, np.ones(1)), 3)
    (1.0, 0.614)
    """
    best = usefulness(live, live, frequency)
    return usefulness(copies, live, frequency) / best if best > 0 else 1.0


def exact_gain(copies: FloatArray, live: FloatArray, frequency: FloatArray, page: int) -> float:
    """Delta Q_A of refreshing a page: by how much the usefulness rises; below 0 if it falls."""
    (touched,) = (copies[:, page] != live[:, page]).nonzero()
    if len(touched) == 0:
        return 0.0
    old, true = copies[touched], live[touched]
    new = old.copy()
    new[:, page] = true[:, page]
    return usefulness(new, true, frequency[touched]) - usefulness(old, true, frequency[touched])
