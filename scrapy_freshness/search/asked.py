"""The terms of a workload with the ids under which they are kept, and pages packed and unpacked by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import QueryTerms, TermMaps
from scrapy_freshness.search.packed import generation_of, pack, unpack, unpack_many
from scrapy_freshness.search.postings import LEAST_GROWTH, Moves
from scrapy_freshness.search.rank_maps import PIECES, RankMaps
from scrapy_freshness.search.workload import NO_TERMS, PageTerms, Workload


@dataclass(frozen=True, slots=True, eq=False)
class AskedTerms:
    """A workload, and the id of each of its terms; frequencies are shares of all that is asked for.

    >>> kept = QueryTerms(term_id=np.array([3, 8]), terms=["rain", "tokyo"], frequency=np.array([1.0, 3.0]))
    >>> asked = AskedTerms.of(kept)
    >>> asked.read(asked.kept(asked.workload.terms_in("Rain in Tokyo"))).length, asked.generation
    (3, 8)
    """

    workload: Workload
    term_id: NDArray[np.int64]  #: by number
    generation: int  #: the highest id
    _ids: NDArray[np.int64]  #: ascending
    _numbers: NDArray[np.int32]  #: of these

    @classmethod
    def of(cls, kept: QueryTerms) -> "AskedTerms":
        """Number the terms that are kept."""
        total = float(kept.frequency.sum()) or 1.0
        workload = Workload.of(dict(zip(kept.terms, (kept.frequency / total).tolist(), strict=True)))
        id_of = dict(zip(kept.terms, kept.term_id.tolist(), strict=True))
        term_id = np.array([id_of[term] for term in workload.terms], np.int64)
        order = term_id.argsort()
        highest = int(term_id.max()) if len(term_id) else 0
        return cls(workload, term_id, highest, term_id[order], order.astype(np.int32))

    def __len__(self) -> int:
        return len(self.workload)

    def kept(self, page: PageTerms) -> bytes:
        """The terms of a page as they are kept with its record."""
        return self.by_ids(page).packed(self.generation)

    def by_ids(self, page: PageTerms) -> "TermIds":
        """The terms of a page by their ids."""
        term_id = self.term_id.take(page.terms)
        order = term_id.argsort()
        return TermIds(term_id.take(order), page.tf.take(order), page.length)

    def read(self, packed: bytes) -> PageTerms:
        """The terms of a page from what is kept; none if it cannot be read."""
        pages = unpack(packed)
        if not pages.is_readable[0]:
            return NO_TERMS
        numbers, is_asked = self.numbers_of(pages.term_id)
        numbers, tf = numbers[is_asked], pages.tf[is_asked]
        order = numbers.argsort()
        return PageTerms(numbers.take(order), tf.take(order), int(pages.length[0]))

    def numbers_of(self, term_ids: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Numbers of terms, and whether anybody asks for them still; the number of one that is not is any."""
        if not len(self):
            return np.zeros(len(term_ids), np.int32), np.zeros(len(term_ids), np.bool_)
        places = self._ids.searchsorted(term_ids)
        is_asked: NDArray[np.bool_] = self._ids.take(places, mode="clip") == term_ids
        return self._numbers.take(places, mode="clip"), is_asked

    def is_behind(self, packed: bytes) -> bool:
        """Whether a page was read before all of these terms were asked for, or not at all."""
        return generation_of(packed) < self.generation

    def moves(self, before: Sequence[bytes], after: "Sequence[TermIds]") -> Moves:
        """What has become of pages since they were read last, all of which were (`is_read`).

        Of terms that nobody had asked for then it is not known whether they were there: they are left out.
        """
        old = unpack_many(before)
        owner = np.repeat(np.arange(len(after)), [len(page.term_id) for page in after])
        term_id, tf = (np.concatenate([page[column] for page in after]) for column in (0, 1))
        lengths = np.array([page.length for page in after])
        there, at = _in_both(_keys(old.page, old.term_id), _keys(owner, term_id))
        is_there = np.zeros(len(old.tf), np.bool_)
        is_there[there] = True
        tf_before = np.zeros(len(tf), np.uint16)
        tf_before[at] = old.tf[there]
        is_moved = tf_before != tf
        grown = abs(lengths - old.length) > LEAST_GROWTH * old.length
        if grown.any():
            is_moved |= grown[owner]
        is_moved &= term_id <= old.generation[owner]
        (moved,), (gone,) = is_moved.nonzero(), (~is_there).nonzero()
        owners = np.concatenate((owner[moved], old.page[gone]))
        numbers, is_asked = self.numbers_of(np.concatenate((term_id[moved], old.term_id[gone])))
        moves = Moves(
            owners,
            numbers,
            np.stack((np.concatenate((tf_before[moved], old.tf[gone])), np.append(tf[moved], 0 * gone))),
            np.stack((old.length[owners], lengths[owners])),
        )
        return moves if is_asked.all() else moves.at(is_asked)

    def maps_from(self, kept: TermMaps) -> RankMaps:
        """Maps as they are kept, by the numbers of the terms."""
        results = np.zeros(len(self), np.int32)
        knots = np.full((len(self), PIECES + 1), -np.inf, np.float32)
        numbers, is_asked = self.numbers_of(kept.term_id)
        results[numbers[is_asked]] = kept.results[is_asked]
        knots[numbers[is_asked]] = kept.knots[is_asked]
        return RankMaps(results, knots)

    def kept_maps(self, maps: RankMaps, *, scoring: str, pages: int, fitted_at: float) -> TermMaps:
        """Maps as they are kept; those of terms without results need not be."""
        (found,) = maps.results.nonzero()
        found = found[self.term_id[found].argsort()]
        return TermMaps(
            scoring=scoring,
            pages=pages,
            fitted_at=fitted_at,
            term_id=self.term_id[found],
            results=maps.results[found],
            knots=maps.knots[found],
        )


class TermIds(NamedTuple):
    """The terms of a page by their ids, ascending."""

    term_id: NDArray[np.int64]
    tf: NDArray[np.uint16]
    length: int

    def packed(self, generation: int) -> bytes:
        """As they are kept, if terms up to this id were looked for."""
        return pack(*self, generation)


class ReadTerms(NamedTuple):
    """The terms of a page, by the numbers of a workload."""

    asked: AskedTerms
    terms: PageTerms


def is_read(packed: bytes) -> bool:
    """Whether a page was read for terms, and what is kept of it may be read again."""
    return generation_of(packed) > 0


def _in_both(old: NDArray[np.int64], new: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of what two ascending rows have in common, in the one and in the other."""
    both = np.concatenate((old, new))
    order = both.argsort(kind="stable")  # merges two rows that are in order
    merged = both.take(order)
    (twice,) = (merged[1:] == merged[:-1]).nonzero()
    return order.take(twice), order.take(twice + 1) - len(old)


def _keys(page: NDArray[np.intp], term_id: NDArray[np.int64]) -> NDArray[np.int64]:
    return (page.astype(np.int64) << 32) | term_id
