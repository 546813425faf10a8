"""A web whose crawler indexes what it fetches, for searchers, and measures what they have of it."""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.index import SearchIndex
from scrapy_freshness.search.scoring import Scoring
from scrapy_freshness.search.workload import PageTerms
from scrapy_freshness.simulator.changing import numbered
from scrapy_freshness.simulator.queries_corpus import Corpus
from scrapy_freshness.simulator.web import Look

#: Fetches, as a share of the pages, after which maps and weights are renewed.
_REFIT_AFTER = 0.5


class SearchedWeb:
    """For one run of one crawler, which begins with a fresh copy of every page and indexes what it fetches.

    >>> from scrapy_freshness.search.scoring import TfIdf
    >>> from scrapy_freshness.simulator.evolving_text import TextShape
    >>> from scrapy_freshness.simulator.queries_corpus import drawn_corpus
    >>> web = SearchedWeb(drawn_corpus(np.random.default_rng(3), TextShape(pages=20), queries=30), TfIdf())
    >>> looks = [web.look(page, 0.0) for page in range(20)]
    >>> sum(look.page_quality for look in looks) > 0, sum(look.quality_gain for look in looks)
    (True, 0.0)
    """

    first_linked: int | None = None

    def __init__(self, corpus: Corpus, scoring: Scoring) -> None:
        self.addresses = numbered(np.ones(corpus.pages))
        self.index = SearchIndex(corpus.log.term_frequency, scoring)
        self.index.set_links(corpus.links)
        self._corpus = corpus
        self._copies = corpus.first[:-1].copy()
        self._looks: NDArray[np.int64] = np.zeros(corpus.pages, np.int64)
        self._next_refit = 0
        for page, version in enumerate(self._copies.tolist()):
            self.index.refresh(page, page_terms(corpus, version))

    def appears_at(self, page: int) -> float:
        """At the very beginning."""
        return 0.0

    def look(self, page: int, now: float) -> Look:
        """Fetch and index a page."""
        if self._next_refit == 0:
            self.index.refit()
            self._next_refit = max(1, int(_REFIT_AFTER * len(self._copies)))
        self._next_refit -= 1
        version = self._corpus.version(page, now)
        gain = 0.0
        if version != self._copies[page]:
            gain = self.index.gain(self.index.refresh(page, page_terms(self._corpus, version)))
            self._copies[page] = version
        self._looks[page] += 1
        # Of the first look, the second, the fourth, ...: it is needed only while little else is known.
        is_due = self._looks[page] & (self._looks[page] - 1) == 0
        quality = self.index.page_quality(page) if is_due else None
        return Look(version, page_quality=quality, quality_gain=gain)


def page_terms(corpus: Corpus, version: int) -> PageTerms:
    """A version of a page as an index takes it."""
    terms, tf = corpus.postings(version)
    return PageTerms(terms.astype(np.int32), tf.astype(np.uint16), int(corpus.length[version]))
