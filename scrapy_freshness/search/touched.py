"""What searchers noticed of the last change of a page, as bytes: when, how much, and by which terms."""

import struct
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


def pack_touched(at: float, term_id: NDArray[np.int64], gains: NDArray[np.float64]) -> bytes:
    """Keep what the terms that a change moves have gained.

    >>> kept = unpack_touched(pack_touched(5.0, np.array([7, 9]), np.array([0.25, 0.5])))
    >>> kept.at, kept.gain, kept.n_terms, kept.term_id.tolist(), kept.gains.tolist()
    (5.0, 0.75, 2, [9, 7], [0.5, 0.25])
    """
    best = np.argsort(-gains, kind="stable")[:MOST_TERMS]
    terms = np.empty(len(best), _TERM)
    terms["id"], terms["gain"] = term_id[best], gains[best]
    return _HEAD.pack(_VERSION, at, float(gains.sum()), min(len(gains), 65_535)) + terms.tobytes()


def unpack_touched(packed: bytes) -> Touched | None:
    """What was kept; None if nothing was, or it cannot be read."""
    if len(packed) < _HEAD.size or packed[0] != _VERSION or (len(packed) - _HEAD.size) % _TERM.itemsize:
        return None
    _, at, gain, n_terms = _HEAD.unpack_from(packed)
    terms = np.frombuffer(packed, _TERM, offset=_HEAD.size)
    return Touched(at, gain, n_terms, terms["id"], terms["gain"])
