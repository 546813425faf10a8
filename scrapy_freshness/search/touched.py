"""What searchers noticed of the last change of a page, as bytes: when, how much, and by which terms."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Terms that are kept, those with the largest gains.
MOST_TERMS = 16
_HEAD = struct.Struct("<BdfH")
_VERSION = 1
_TERM = np.dtype([("id", "<i4"), ("gain", "<f4")])


class Touched(NamedTuple):
    """A change that searchers notice."""

    at: float  #: when a visit found it
    gain: float  #: of all terms
    n_terms: int  #: whose results it moved; those that are kept are some of them
    term_id: NDArray[np.int32]
    gains: NDArray[np.float32]  #: largest first


def pack_touched(
    at: Sequence[float], change: NDArray[np.intp], term_id: NDArray[np.int64], gains: NDArray[np.float64]
) -> list[bytes]:
    """Keep what terms have gained by some changes.

    Parameters
    ----------
    at : when each change was found
    change, term_id, gains : one element for each term that a change moves; changes ascending

    >>> packed = pack_touched([5.0, 6.0], np.array([0, 0]), np.array([7, 9]), np.array([0.25, 0.5]))
    >>> unpack_touched(packed[0]).term_id.tolist(), unpack_touched(packed[0]).gain
    ([9, 7], 0.75)
    >>> unpack_touched(packed[1]).gain
    0.0
    """
    # By change and, within it, by gain; one key is sorted in a fifth of the time that two take.
    order = np.argsort(change - gains / (2 * gains.max(initial=0.0) or 1.0))
    terms = np.empty(len(order), _TERM)
    terms["id"], terms["gain"] = term_id.take(order), gains.take(order)
    counts = np.bincount(change, minlength=len(at))
    starts = (np.cumsum(counts) - counts).tolist()
    totals = np.bincount(change, gains, len(at)).tolist()
    return [
        _HEAD.pack(_VERSION, now, total, min(count, 65_535))
        + terms[start : start + min(count, MOST_TERMS)].tobytes()
        for now, total, count, start in zip(at, totals, counts.tolist(), starts, strict=True)
    ]


def unpack_touched(packed: bytes) -> Touched | None:
    """What was kept; None if nothing was, or it cannot be read."""
    if len(packed) < _HEAD.size or packed[0] != _VERSION or (len(packed) - _HEAD.size) % _TERM.itemsize:
        return None
    _, at, gain, n_terms = _HEAD.unpack_from(packed)
    terms = np.frombuffer(packed, _TERM, offset=_HEAD.size)
    return Touched(at, gain, n_terms, terms["id"], terms["gain"])
