"""How close is the measured gain of a refresh to the exact one, on evolving pages?"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from scrapy_freshness.search.quality import exact_gain, query_scores
from scrapy_freshness.search.scoring import SCORINGS, Scoring
from scrapy_freshness.simulator.evolving_text import TextShape
from scrapy_freshness.simulator.queries_corpus import Corpus, QueryLog, drawn_corpus
from scrapy_freshness.simulator.searched_web import SearchedWeb

FloatArray = NDArray[np.float64]

#: Refreshes, per update of a page.
REFRESHES_PER_UPDATE = 0.3
WORKLOADS = ("single terms", "whole queries")


class Accuracy(NamedTuple):
    """Of one corpus, one scoring function and one workload."""

    per_page: float  #: Spearman's correlation of the sums over the refreshes of each page
    per_refresh: float
    ratio: float  #: of the sums over all refreshes, measured to exact


def accuracies(seed: int, shape: TextShape) -> dict[tuple[str, str], Accuracy]:
    """Of one corpus, by scoring function and workload."""
    found = {}
    corpus = drawn_corpus(np.random.default_rng(seed), shape)
    for name, scoring in SCORINGS.items():
        for workload in WORKLOADS:
            log = corpus.log if workload == "whole queries" else by_terms(corpus.log)
            found[name, workload] = accuracy(corpus, log, scoring, np.random.default_rng(seed))
    return found


def accuracy(corpus: Corpus, log: QueryLog, scoring: Scoring, rng: np.random.Generator) -> Accuracy:
    """Refresh pages at random times, in the midst of their and all others' updates.

    The measured gain is always that of single terms, which is what the crawler looks at; the exact one is
    that of the log.
    """
    web = SearchedWeb(corpus, scoring)
    exact = ExactGains(corpus, log, scoring)
    count = int(REFRESHES_PER_UPDATE * len(corpus.updates.times))
    times = np.sort(rng.uniform(0, corpus.horizon, count)).tolist()
    pages = rng.integers(corpus.pages, size=count)
    rows = []
    for page, now in zip(pages.tolist(), times, strict=True):
        if exact.is_stale(page, now):
            rows.append((page, web.look(page, now).quality_gain, exact.refresh(page, now)))
    page, measured, true = np.array(rows).T
    by_page = [
        np.bincount(page.astype(int), gains, corpus.pages)[np.unique(page.astype(int))]
        for gains in (measured, true)
    ]
    return Accuracy(
        float(spearmanr(*by_page).statistic),
        float(spearmanr(measured, true).statistic),
        float(measured.sum() / true.sum()),
    )


def by_terms(log: QueryLog) -> QueryLog:
    """The workload of single terms that a log is split into."""
    return QueryLog([(term,) for term in range(log.terms)], log.term_frequency, log.terms)


class ExactGains:
    """A repository and the live pages, as scores for every query."""

    def __init__(self, corpus: Corpus, log: QueryLog, scoring: Scoring) -> None:
        self._corpus, self._log, self._scoring = corpus, log, scoring
        first = corpus.first[:-1]
        self._weight = scoring.weight(np.count_nonzero(corpus.tf_table(first), axis=1), corpus.pages)
        self._copied, self._seen = first.copy(), first.copy()
        self._copies = self._scores(first, np.arange(corpus.pages))
        self._live = self._copies.copy()

    def is_stale(self, page: int, now: float) -> bool:
        return self._corpus.version(page, now) != self._copied[page]

    def refresh(self, page: int, now: float) -> float:
        """Renew the copy of a page; returns the gain."""
        versions = self._corpus.versions(np.full(self._corpus.pages, now))
        (moved,) = (versions != self._seen).nonzero()
        self._live[:, moved] = self._scores(versions[moved], moved)
        self._seen = versions
        gain = exact_gain(self._copies, self._live, self._log.frequency, page)
        self._copies[:, page] = self._live[:, page]
        self._copied[page] = versions[page]
        return gain

    def _scores(self, versions: NDArray[np.int64], pages: NDArray[np.int64]) -> FloatArray:
        corpus = self._corpus
        length = corpus.length[versions].astype(np.float64)
        base = self._scoring.base(corpus.tf_table(versions), length, corpus.links[pages])
        return query_scores(base, self._log.queries, self._weight, self._scoring)
