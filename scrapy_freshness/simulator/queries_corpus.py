"""Evolving pages as searchers see them: postings of the terms they ask for, version by version."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.content.shingles import distinct, shingle_hashes
from scrapy_freshness.simulator.evolving_text import Language, TextHistory, TextShape, drawn_histories
from scrapy_freshness.simulator.streams import EventStream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_SHINGLE_WORDS = 5
#: Spreads numbered words over all 64-bit numbers, as hashes are.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: How many terms queries have, and how many of the queries do.
_TERMS = (1, 2, 3)
_TERM_SHARES = (0.6, 0.3, 0.1)


@dataclass(frozen=True, slots=True, eq=False)
class QueryLog:
    """Different queries and how often each is asked."""

    queries: list[tuple[int, ...]]  #: numbers of their terms
    frequency: FloatArray  #: sums to 1
    terms: int  #: different terms in all

    @property
    def term_frequency(self) -> FloatArray:
        """Of each term the sum of the frequencies of the queries that have it."""
        owners = np.repeat(np.arange(len(self.queries)), [len(query) for query in self.queries])
        terms = np.concatenate([np.array(query) for query in self.queries])
        return np.bincount(terms, self.frequency[owners], self.terms).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """All versions of all pages, and what is asked of them."""

    horizon: float  #: seconds
    updates: EventStream  #: when pages change
    first: IntArray  #: (pages + 1,) number of each page's first version
    starts: IntArray  #: (versions + 1,) where the postings of each version begin
    terms: IntArray  #: of each posting, ascending within a version
    tf: IntArray
    length: IntArray  #: of each version, in words
    moved: FloatArray  #: share of its shingles that each version does not share with the one before
    links: FloatArray  #: of each page
    log: QueryLog

    @property
    def pages(self) -> int:
        return len(self.first) - 1

    def version(self, page: int, now: float) -> int:
        """Number of the version that a page has at a time."""
        return int(self.first[page] + self.updates.of(page).searchsorted(now, side="right"))

    def postings(self, version: int) -> tuple[IntArray, IntArray]:
        """Terms and how often each is in a version."""
        place = slice(self.starts[version], self.starts[version + 1])
        return self.terms[place], self.tf[place]

    def versions(self, times: FloatArray) -> IntArray:
        """Number of the version that each page has at a time of its own."""
        return np.array([self.version(page, now) for page, now in enumerate(times.tolist())])

    def tf_table(self, versions: IntArray) -> FloatArray:
        """How often each term (row) is in these versions (columns)."""
        counts = self.starts[versions + 1] - self.starts[versions]
        columns = np.repeat(np.arange(len(versions)), counts)
        places = np.arange(len(columns)) - np.repeat(np.cumsum(counts) - counts, counts)
        places += np.repeat(self.starts[versions], counts)
        table = np.zeros((self.log.terms, len(versions)))
        table[self.terms[places], columns] = self.tf[places]
        return table


def drawn_corpus(rng: np.random.Generator, shape: TextShape | None = None, *, queries: int = 300) -> Corpus:
    """Draw pages, their versions, links between them and what is asked.

    >>> corpus = drawn_corpus(np.random.default_rng(3), TextShape(pages=20), queries=30)
    >>> corpus.pages, corpus.version(0, 0.0), len(corpus.log.queries) <= 30
    (20, 0, True)
    """
    shape = shape or TextShape()
    language = Language(shape, rng)
    histories = drawn_histories(shape, language, rng)
    words, log = _drawn_log(language, queries, rng)
    number = np.full(shape.vocabulary + shape.nobody_asks_for, -1)
    number[words] = np.arange(len(words))
    texts = [text for history in histories for text in history.texts]
    found = [_counted(number[text]) for text in texts]
    counts = np.array([len(terms) for terms, _ in found])
    versions = np.array([len(history.texts) for history in histories])
    first = np.concatenate([[0], np.cumsum(versions)])
    return Corpus(
        horizon=shape.horizon,
        updates=EventStream(
            np.concatenate([history.times[1:] for history in histories]), first - np.arange(len(first))
        ),
        first=first,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        terms=np.concatenate([terms for terms, _ in found]),
        tf=np.concatenate([tf for _, tf in found]),
        length=np.array([len(text) for text in texts]),
        moved=np.concatenate([_moved(history) for history in histories]),
        links=np.floor(np.minimum(rng.pareto(1.1, shape.pages), shape.pages - 1)),
        log=log,
    )


def _drawn_log(language: Language, queries: int, rng: np.random.Generator) -> tuple[IntArray, QueryLog]:
    """Draw queries, the most frequent first, by Zipf's law; returns the words that are their terms."""
    asked: dict[tuple[int, ...], float] = {}
    for place in range(queries):
        topic = min(int(rng.pareto(0.7) * 2), language.topics - 1)
        count = int(rng.choice(_TERMS, p=_TERM_SHARES))
        query = tuple(sorted(set(language.of_topic(topic, count).tolist())))
        asked[query] = asked.get(query, 0.0) + (place + 1.0) ** -0.8
    words = np.unique(np.concatenate([np.array(query) for query in asked]))
    frequency = np.array(list(asked.values()))
    numbered = [tuple(words.searchsorted(query).tolist()) for query in asked]
    return words, QueryLog(numbered, frequency / frequency.sum(), len(words))


def _counted(numbers: IntArray) -> tuple[IntArray, IntArray]:
    return np.unique(numbers[numbers >= 0], return_counts=True)


def _moved(history: TextHistory) -> FloatArray:
    """Share of shingles of either version that the other does not have, 1 - Jaccard, for every version."""
    moved = [0.0]
    before = None
    for text in history.texts:
        shingles = distinct(shingle_hashes(text.astype(np.uint64) * _SPREAD, _SHINGLE_WORDS))
        if before is not None:
            common = len(np.intersect1d(before, shingles, assume_unique=True))
            moved.append(1 - common / (len(before) + len(shingles) - common))
        before = shingles
    return np.array(moved)
