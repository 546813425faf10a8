"""How good were the answers that searchers got from a crawler's copies?"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.quality import query_scores, usefulness
from scrapy_freshness.search.scoring import Scoring
from scrapy_freshness.simulator.queries_corpus import Corpus
from scrapy_freshness.simulator.web import Fetches

FloatArray = NDArray[np.float64]


class QualityJudge:
    """Repository quality, exactly, at evenly spread times; the weights of terms are those of the beginning.

    >>> from scrapy_freshness.search.scoring import TfIdf
    >>> from scrapy_freshness.simulator.evolving_text import TextShape
    >>> from scrapy_freshness.simulator.queries_corpus import drawn_corpus
    >>> corpus = drawn_corpus(np.random.default_rng(3), TextShape(pages=20), queries=30)
    >>> judge = QualityJudge(corpus, TfIdf(), samples=4)
    >>> judge.quality(Fetches(np.empty(0, np.int64), np.empty(0))) < 1
    True
    """

    def __init__(self, corpus: Corpus, scoring: Scoring, *, samples: int = 24) -> None:
        self._corpus = corpus
        self._scoring = scoring
        first = corpus.tf_table(corpus.first[:-1])
        self._weight = scoring.weight(np.count_nonzero(first, axis=1), corpus.pages)
        self.times = (np.arange(samples) + 0.5) / samples * corpus.horizon
        self._live = [self.scores(np.full(corpus.pages, now)) for now in self.times]
        self._best = [usefulness(live, live, corpus.log.frequency) for live in self._live]

    def scores(self, copied_at: FloatArray) -> FloatArray:
        """Scores for every query (rows) of copies of all pages (columns) that were made at these times."""
        corpus = self._corpus
        versions = corpus.versions(copied_at)
        base = self._scoring.base(
            corpus.tf_table(versions), corpus.length[versions].astype(np.float64), corpus.links
        )
        return query_scores(base, corpus.log.queries, self._weight, self._scoring)

    def qualities(self, fetches: Fetches) -> FloatArray:
        """Quality at each of the times, 1 while there is nothing to find; every page was copied at time 0."""
        pages = fetches.by_page(self._corpus.pages)
        found = []
        for now, live, best in zip(self.times.tolist(), self._live, self._best, strict=True):
            copied_at = np.array([_last(times, now) for times in pages])
            useful = usefulness(self.scores(copied_at), live, self._corpus.log.frequency)
            found.append(useful / best if best > 0 else 1.0)
        return np.array(found)

    def quality(self, fetches: Fetches) -> float:
        """The mean over time."""
        return float(self.qualities(fetches).mean())


def _last(times: FloatArray, now: float) -> float:
    """Latest of ascending times that is not after now; 0 if there is none."""
    place = int(times.searchsorted(now, side="right"))
    return float(times[place - 1]) if place else 0.0
