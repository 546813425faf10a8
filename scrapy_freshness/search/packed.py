"""The postings of a page as bytes, to be kept with its record: about three bytes a posting.

A row of numbers, each with seven bits a byte, the lowest first, and the eighth bit set in all bytes but its
last: the version of this format, the generation, the length of the page, the term ids as differences,
ascending, and how often the page has each term. The *generation* is the highest id that a term had when the
page was read: of terms with higher ids it is not known whether they are on the page.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_VERSION = 1
_HEAD = 3  #: numbers before the terms
_SEVEN = np.uint64(7)
_LOW = np.uint64(0x7F)
_MORE = np.uint64(0x80)
#: Bytes of a number of 35 bits; what is longer was not written here.
_MOST_BYTES = 5


class Pages(NamedTuple):
    """Postings of some pages, unpacked; one element a page, then one a posting."""

    is_readable: NDArray[np.bool_]  #: what is not has no postings
    generation: NDArray[np.int64]
    length: NDArray[np.int64]
    page: NDArray[np.intp]  #: which of the pages a posting is of
    term_id: NDArray[np.int64]
    tf: NDArray[np.uint16]


def pack(term_ids: NDArray[np.int64], tf: NDArray[np.uint16], length: int, generation: int) -> bytes:
    """Postings of one page, ascending by term id.

    >>> packed = pack(np.array([7, 300]), np.array([9, 1], np.uint16), length=50, generation=400)
    >>> len(packed), unpack(packed).term_id, unpack(packed).tf
    (9, array([  7, 300]), array([9, 1], dtype=uint16))
    """
    count = len(term_ids)
    numbers = np.empty(_HEAD + 2 * count, np.uint64)
    numbers[:_HEAD] = _VERSION, generation, length
    numbers[_HEAD : _HEAD + 1] = term_ids[:1]
    numbers[_HEAD + 1 : _HEAD + count] = term_ids[1:] - term_ids[:-1]
    numbers[_HEAD + count :] = tf
    return _written(numbers)


def unpack(packed: bytes) -> Pages:
    """Postings of one page."""
    return unpack_many([packed])


def unpack_many(packed: Sequence[bytes]) -> Pages:
    """Postings of many pages, page after page; those of pages that cannot be read are left out.

    >>> unpack_many([b"", pack(np.array([4]), np.ones(1, np.uint16), 10, 4), b"?"]).is_readable
    array([False,  True, False])
    """
    # A zero after each page ends what a damaged one may have left open.
    data = np.frombuffer(b"\0".join((*packed, b"")), np.uint8)
    numbers, ends = _read(data)
    zeros = np.cumsum([len(each) + 1 for each in packed], dtype=np.int64) - 1
    last = ends.searchsorted(zeros)  # numbers up to the end of each page, those of the zeros not among them
    first = np.append(0, last[:-1] + 1)[: len(packed)]
    counts = last - first
    is_whole = data.take(zeros - 1, mode="clip") < _MORE
    heads = np.minimum(first[:, None] + np.arange(_HEAD), len(numbers) - 1)
    head = numbers[heads] if len(numbers) else np.zeros((0, _HEAD), np.uint64)
    readable = is_whole & (counts >= _HEAD) & (counts % 2 == _HEAD % 2) & (head[:, 0] == _VERSION)
    n_terms = np.where(readable, (counts - _HEAD) // 2, 0)
    page = np.repeat(np.arange(len(packed)), n_terms)
    place = np.arange(len(page)) - np.repeat(np.cumsum(n_terms) - n_terms, n_terms)
    start = (first + _HEAD)[page]
    steps = numbers[start + place].astype(np.int64)
    total = np.cumsum(steps)
    before = np.append(0, total)[np.cumsum(n_terms) - n_terms]
    tf = np.minimum(numbers[start + n_terms[page] + place], 65_535).astype(np.uint16)
    generation, length = (np.where(readable, head[:, column], 0).astype(np.int64) for column in (1, 2))
    return Pages(readable, generation, length, page, total - before[page], tf)


def generation_of(packed: bytes) -> int:
    """The highest term id that was known when a page was read; 0 if it was not, or cannot be read.

    >>> generation_of(pack(np.array([4]), np.ones(1, np.uint16), 10, generation=200)), generation_of(b"")
    (200, 0)
    """
    if packed[:1] != bytes([_VERSION]):
        return 0
    number = 0
    for place, byte in enumerate(packed[1 : 1 + _MOST_BYTES]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return number
    return 0


def _written(numbers: NDArray[np.uint64]) -> bytes:
    sizes = np.ones(len(numbers), np.int64)
    for more in range(1, _MOST_BYTES):
        sizes += numbers >= np.uint64(1 << 7 * more)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    data = np.empty(ends[-1], np.uint8)
    data[starts] = numbers & _LOW
    rest, places = numbers >> _SEVEN, starts
    (longer,) = (sizes > 1).nonzero()
    while len(longer):
        data[places[longer]] |= np.uint8(_MORE)
        places = places + 1
        data[places[longer]] = rest[longer] & _LOW
        rest = rest >> _SEVEN
        longer = longer[rest[longer] > 0]
    return data.tobytes()


def _read(data: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """The numbers in some bytes, and where each ends; what a number has beyond 35 bits is lost."""
    (ends,) = (data < _MORE).nonzero()
    if not len(ends):
        return np.empty(0, np.uint64), ends
    starts = np.append(0, ends[:-1] + 1)
    sizes = ends - starts + 1
    numbers = (data[starts] & np.uint8(_LOW)).astype(np.uint64)
    (longer,) = (sizes > 1).nonzero()
    for more in range(1, _MOST_BYTES):
        if not len(longer):
            break
        bits = (data[starts[longer] + more] & np.uint8(_LOW)).astype(np.uint64)
        numbers[longer] |= bits << np.uint64(7 * more)
        longer = longer[sizes[longer] > more + 1]
    return numbers, ends
