"""The terms that searchers ask for, numbered, and how often.

Terms are numbered in the order of their 64-bit hashes, so that the terms of a page come out ascending.
The numbers hold for this workload only: what is kept for longer is kept by the terms themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.content.terms import hashes_of_terms, term_hash, term_hashes

FloatArray = NDArray[np.float64]

#: A page has a term at most so often, in 16 bits; more often changes no order.
MAX_TF = 65_535


class PageTerms(NamedTuple):
    """The terms of a page that are asked for."""

    terms: NDArray[np.int32]  #: numbers, ascending
    tf: NDArray[np.uint16]  #: how often each is on the page, >= 1
    length: int  #: terms on the page, asked for or not


NO_TERMS = PageTerms(np.empty(0, np.int32), np.empty(0, np.uint16), 0)


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Terms with numbers and frequencies.

    >>> workload = Workload.of({"rain": 5.0, "tokyo": 2.0})
    >>> found = workload.terms_in("Rain, rain, go away")
    >>> [workload.terms[number] for number in found.terms], found.tf.tolist(), found.length
    (['rain'], [2], 4)
    """

    terms: tuple[str, ...]
    frequency: FloatArray
    hashes: NDArray[np.uint64]  #: ascending

    @classmethod
    def of(cls, frequencies: Mapping[str, float]) -> "Workload":
        """Number the terms of a workload, such as `content.terms.term_frequencies` makes."""
        terms = list(frequencies)
        hashes = hashes_of_terms(terms)
        order = np.argsort(hashes)
        if np.any(hashes[order][1:] == hashes[order][:-1]):
            raise ValueError("a workload has every term once, and two of these are the same")
        frequency = np.array([frequencies[term] for term in terms], np.float64)
        return cls(tuple(terms[place] for place in order), frequency[order], hashes[order])

    def __len__(self) -> int:
        return len(self.hashes)

    def number(self, term: str) -> int | None:
        """Number of a term as `query_terms` gives it; None if nobody asks for it."""
        hashed = np.uint64(term_hash(term))
        place = int(self.hashes.searchsorted(hashed))
        return place if place < len(self) and self.hashes[place] == hashed else None

    def terms_in(self, text: str) -> PageTerms:
        """Count the terms of a page by its text."""
        return self.counted(*term_hashes(text))

    def counted(self, hashes: NDArray[np.uint64], length: int) -> PageTerms:
        """The same by the hashes of all its terms and its length, `content.terms.term_hashes`."""
        ordered = np.sort(hashes)
        is_first = np.ones(ordered.size, np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
        (firsts,) = is_first.nonzero()
        different = ordered.take(firsts)
        places = self.hashes.searchsorted(different)
        (found,) = (self.hashes.take(places, mode="clip") == different).nonzero() if len(self) else ([],)
        tf = np.diff(firsts, append=ordered.size).take(found)
        return PageTerms(
            places.take(found).astype(np.int32),
            np.minimum(tf, MAX_TF).astype(np.uint16),
            length,
        )
