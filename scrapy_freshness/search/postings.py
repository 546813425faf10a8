"""An inverted index of the terms that are asked for, in arrays: page by page, 6 bytes a posting.

Postings of a page lie side by side in one long array. A page that outgrows its place moves to another;
places come in few sizes, so that those which become free are taken again and the array grows only with
the postings. Nothing but the terms of the workload is indexed.

`Postings` is the index of the simulator, by `SearchIndex`: there all pages are in memory. A crawl has the
terms of each page with its record instead (`packed`), and takes from here what a change is (`Moves`).
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.workload import NO_TERMS, PageTerms

_FIRST_ROOM = 1 << 12
#: A page that grows by a smaller share is as long as before: scores move by half of that, and a page that
#: moves so little trades looks with pages that are as good.
LEAST_GROWTH = 0.1


class Change(NamedTuple):
    """What a refresh changes: terms that are on the page more or less often than before.

    If the length of the page changed by more than a tenth, all its terms, since a score may depend on the
    share that a term has in the page.
    """

    page: int
    terms: NDArray[np.int32]
    tf: NDArray[np.uint16]  #: (2, terms) before and after
    length: tuple[int, int]  #: before and after


class Moves(NamedTuple):
    """What some refreshes change, all their terms in one row each."""

    change: NDArray[np.intp]  #: number of the refresh
    terms: NDArray[np.int32]
    tf: NDArray[np.integer[Any]]  #: (2, terms) before and after
    length: NDArray[np.integer[Any]]  #: (2, terms) of the page before and after

    def at(self, rows: NDArray[np.bool_]) -> "Moves":
        """Some of the rows."""
        return Moves(self.change[rows], self.terms[rows], self.tf[:, rows], self.length[:, rows])


class PostingColumns(NamedTuple):
    """Postings as plain columns, one element each, pages in order."""

    page: NDArray[np.int64]
    term: NDArray[np.int32]
    tf: NDArray[np.uint16]


class Postings:
    """Which terms are on which pages; pages are numbered from 0, not necessarily without gaps.

    >>> index = Postings(3)
    >>> _ = index.replace(7, PageTerms(np.array([0, 2], np.int32), np.array([5, 1], np.uint16), 9))
    >>> index.df, len(index), index.of(7).tf
    (array([1, 0, 1]), 1, array([5, 1], dtype=uint16))
    """

    def __init__(self, n_terms: int) -> None:
        self.df = np.zeros(n_terms, np.int64)  #: pages that have each term
        self.size = 0  #: postings
        self._pages = 0
        self._term = np.empty(_FIRST_ROOM, np.int32)
        self._tf = np.empty(_FIRST_ROOM, np.uint16)
        self._used = 0  #: places in the long arrays that have been given away
        self._free: dict[int, list[int]] = defaultdict(list)  #: room -> where there is so much
        self._start = np.zeros(0, np.int64)
        self._count = np.zeros(0, np.int32)
        self._room = np.zeros(0, np.int32)
        self._length = np.zeros(0, np.int32)

    def __len__(self) -> int:
        """How many pages have terms, asked for or not."""
        return self._pages

    @property
    def bytes(self) -> int:
        """Memory of the arrays."""
        arrays = (self._term, self._tf, self._start, self._count, self._room, self._length, self.df)
        return sum(array.nbytes for array in arrays)

    def of(self, page: int) -> PageTerms:
        """Terms of a page, as views."""
        if page >= len(self._start):
            return NO_TERMS
        place = slice(self._start[page], self._start[page] + self._count[page])
        return PageTerms(self._term[place], self._tf[place], int(self._length[page]))

    def replace(self, page: int, new: PageTerms) -> Change:
        """Take over the present terms of a page; `NO_TERMS` if it is gone."""
        if page >= len(self._start):
            self._add_pages(page)
        change = change_of(page, self.of(page), new)
        before, after = change.tf
        self.df[change.terms[before == 0]] += 1
        self.df[change.terms[after == 0]] -= 1
        self._pages += (new.length > 0) - (change.length[0] > 0)
        self._length[page] = new.length
        self._put(page, new.terms, new.tf)
        return change

    def columns(self, pages: NDArray[np.int64] | None = None) -> PostingColumns:
        """Postings of some pages, of all if none are named."""
        if pages is None:
            (pages,) = self._count.nonzero()
        counts = self._count[pages].astype(np.int64)
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0)
        places += np.repeat(self._start[pages] - ends + counts, counts)
        return PostingColumns(np.repeat(pages, counts), self._term[places], self._tf[places])

    def chunks(self, size: int) -> Iterator[PostingColumns]:
        """Postings of all pages, page by page, about *size* at a time."""
        (pages,) = self._count.nonzero()
        total = np.cumsum(self._count[pages], dtype=np.int64)
        bounds = total.searchsorted(np.arange(size, self.size, size)) + 1
        for part in np.split(pages, np.unique(bounds[bounds < len(pages)])):
            if len(part):
                yield self.columns(part)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Terms on each page, asked for or not, by the page's number; 0 for numbers without a page."""
        return self._length

    def load(self, columns: PostingColumns, lengths: NDArray[np.integer[Any]]) -> None:
        """Take over pages that are not in the index yet, from what `columns` and `lengths` told of them."""
        (pages,) = lengths.nonzero()
        if len(lengths) > len(self._start):
            self._add_pages(len(lengths) - 1)
        if np.any(self._length[pages]):
            raise ValueError("some of these pages are in the index already")
        order = np.lexsort((columns.term, columns.page))
        counts = np.bincount(columns.page, minlength=len(lengths))
        if np.any(counts[len(lengths) :]) or np.any(counts[: len(lengths)][lengths == 0]):
            raise ValueError("postings of a page without a length")
        place = slice(self._used, self._used + len(order))
        self._start[pages] = self._used + (np.cumsum(counts) - counts)[pages]
        self._count[pages] = self._room[pages] = counts[pages]
        self._length[pages] = lengths[pages]
        self._make_room(place.stop)
        self._term[place], self._tf[place] = columns.term[order], columns.tf[order]
        self._used += len(order)
        self.size += len(order)
        self._pages += len(pages)
        self.df += np.bincount(columns.term, minlength=len(self.df))

    def _put(self, page: int, terms: NDArray[np.int32], tf: NDArray[np.uint16]) -> None:
        count, room = len(terms), int(self._room[page])
        self.size += count - int(self._count[page])
        if count > room or 2 * count + 16 < room:
            if room:
                self._free[room].append(int(self._start[page]))
            self._room[page] = room = _room_for(count)
            self._start[page] = self._place(room)
        place = slice(self._start[page], self._start[page] + count)
        self._term[place], self._tf[place] = terms, tf
        self._count[page] = count

    def _place(self, room: int) -> int:
        if not room:
            return 0
        if self._free[room]:
            return self._free[room].pop()
        start = self._used
        self._used += room
        self._make_room(self._used)
        return start

    def _make_room(self, needed: int) -> None:
        if needed > len(self._term):
            longer = needed + max(_FIRST_ROOM, needed // 8)
            for array in (self._term, self._tf):
                array.resize(longer, refcheck=False)  # in place: no moment with two copies

    def _add_pages(self, page: int) -> None:
        rows = page + 1 + max(256, len(self._start) // 8)
        for name in ("_start", "_count", "_room", "_length"):
            column: NDArray[Any] = getattr(self, name)
            longer = np.zeros(rows, column.dtype)
            longer[: len(column)] = column
            setattr(self, name, longer)


def _room_for(count: int) -> int:
    """Room for so many postings: at most an eighth more, in few sizes.

    >>> [_room_for(count) for count in (0, 1, 8, 9, 100, 1000)]
    [0, 8, 8, 16, 104, 1024]
    """
    step = 1 << max(3, count.bit_length() - 4)
    return -(-count // step) * step


def change_of(page: int, old: PageTerms, new: PageTerms) -> Change:
    """What becomes of a page that had other terms: both sets of them, joined."""
    terms = np.concatenate((old.terms, new.terms))
    order = terms.argsort(kind="stable")
    terms = terms.take(order)
    is_first = np.ones(len(terms), np.bool_)
    np.not_equal(terms[1:], terms[:-1], out=is_first[1:])
    terms = terms[is_first]
    places = is_first.cumsum()
    places -= 1
    places += (order >= len(old.terms)) * len(terms)
    tf = np.zeros((2, len(terms)), np.uint16)
    tf.ravel()[places] = np.concatenate((old.tf, new.tf)).take(order)
    if abs(new.length - old.length) <= LEAST_GROWTH * old.length:
        (kept,) = (tf[0] != tf[1]).nonzero()
        terms, tf = terms.take(kept), tf.take(kept, axis=1)
    return Change(page, terms, tf, (old.length, new.length))
