"""What policies know about evolving pages in hindsight: gains, rates and sizes of all updates.

As in the paper, parameters come from the whole history, with every update followed at once by a refresh,
whatever the budget; the gains are measured, not exact.

References
----------
Pandey, Olston: User-centric web crawling, WWW 2005, section 6.5.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.attention import looks
from scrapy_freshness.search.index import SearchIndex
from scrapy_freshness.search.quality import ranks
from scrapy_freshness.search.scoring import Scoring
from scrapy_freshness.simulator.queries_corpus import Corpus
from scrapy_freshness.simulator.queries_quality import QualityJudge
from scrapy_freshness.simulator.searched_web import page_terms
from scrapy_freshness.simulator.user_centric_references import embarrassment_beliefs, staleness_beliefs
from scrapy_freshness.value.contract import Beliefs

FloatArray = NDArray[np.float64]

#: Of a page that never changes, or not so that anybody notices: once in 30,000 years.
_SLOWEST = 1e-12


class Hindsight:
    """Beliefs of all policies about the pages of a corpus."""

    def __init__(self, corpus: Corpus, scoring: Scoring, judge: QualityJudge) -> None:
        self._corpus = corpus
        scores = judge.scores(np.zeros(corpus.pages))
        self._clicks = (corpus.log.frequency[:, None] * looks(ranks(scores))).sum(axis=0)
        self._shares = [
            corpus.moved[begin + 1 : end]
            for begin, end in zip(corpus.first[:-1], corpus.first[1:], strict=True)
        ]
        self.gains = update_gains(corpus, scoring)

    def user_centric(self) -> Beliefs:
        """Gains per second, and the rate of the changes that make them, which count by their size."""
        seconds = self._corpus.horizon
        total = np.array([gains.sum() for gains in self.gains])
        squares = np.array([(gains**2).sum() for gains in self.gains])
        noticed = np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 0.0)
        return Beliefs(
            importance=np.ones(len(total)),
            change_rate=np.maximum(self._corpus.updates.counts / seconds, _SLOWEST),
            gain=total / seconds,
            noticed_rate=np.maximum(noticed / seconds, _SLOWEST),
        )

    def staleness(self, threshold: float) -> Beliefs:
        """SBR with a threshold."""
        return staleness_beliefs(self._shares, self._corpus.horizon, threshold)

    def embarrassment(self, threshold: float) -> Beliefs:
        """EBR with a threshold."""
        return embarrassment_beliefs(self._shares, self._corpus.horizon, threshold, self._clicks)


def update_gains(corpus: Corpus, scoring: Scoring) -> list[FloatArray]:
    """Delta Q_A of each update of each page, refreshed at once, while all others are as at the beginning."""
    index = SearchIndex(corpus.log.term_frequency, scoring)
    index.set_links(corpus.links)
    for page, version in enumerate(corpus.first[:-1].tolist()):
        index.refresh(page, page_terms(corpus, version))
    index.refit()
    gains = []
    for page in range(corpus.pages):
        begin, end = corpus.first[page], corpus.first[page + 1]
        changes = [index.refresh(page, page_terms(corpus, version)) for version in range(begin + 1, end)]
        gains.append(index.gains(changes) if changes else np.empty(0))
        index.refresh(page, page_terms(corpus, begin))
    return gains
