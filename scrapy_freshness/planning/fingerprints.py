"""Which pages are known?  A compact map from 64-bit request fingerprints to rows of the page table.

Sorted arrays in 4096 buckets, chosen by the fingerprint's leading bits: about 13 bytes a page,
look-ups and insertions in a few microseconds, and never a pause to re-hash everything.
"""

from array import array
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

_BITS = 12
_SHIFT = 64 - _BITS


class FingerprintIndex:
    """Maps signed 64-bit fingerprints to row numbers.

    >>> index = FingerprintIndex()
    >>> index.add(-7, 3)
    >>> index.get(-7), index.get(8), len(index)
    (3, None, 1)
    """

    def __init__(self) -> None:
        self._keys = [array("q") for _ in range(1 << _BITS)]
        self._rows = [array("i") for _ in range(1 << _BITS)]
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def get(self, fingerprint: int) -> int | None:
        """Row of a fingerprint, None if it is not known."""
        bucket = (fingerprint >> _SHIFT) & ((1 << _BITS) - 1)
        keys = self._keys[bucket]
        position = bisect_left(keys, fingerprint)
        if position < len(keys) and keys[position] == fingerprint:
            return self._rows[bucket][position]
        return None

    def add(self, fingerprint: int, row: int) -> None:
        """Map a fingerprint to a row, in place of its row so far if it has one."""
        bucket = (fingerprint >> _SHIFT) & ((1 << _BITS) - 1)
        keys, rows = self._keys[bucket], self._rows[bucket]
        position = bisect_left(keys, fingerprint)
        if position < len(keys) and keys[position] == fingerprint:
            rows[position] = row
            return
        keys.insert(position, fingerprint)
        rows.insert(position, row)
        self._size += 1

    def fill(self, fingerprints: NDArray[np.int64]) -> None:
        """Map many distinct fingerprints to rows 0, 1, 2, ...; the index must be empty."""
        order = np.argsort(fingerprints).astype(np.int32)
        keys = fingerprints[order]
        buckets = (keys >> _SHIFT) & ((1 << _BITS) - 1)
        # Signed order puts negative fingerprints, whose leading bits are large, first; within a
        # bucket the order is the same either way.
        starts = np.flatnonzero(np.diff(buckets, prepend=-1))
        for start, end in zip(starts, np.append(starts[1:], len(keys)), strict=False):
            bucket = int(buckets[start])
            self._keys[bucket].frombytes(keys[start:end].tobytes())
            self._rows[bucket].frombytes(order[start:end].tobytes())
        self._size = len(keys)
