"""The links that hubs of a host have ever shown: sorted keys in memory, segments in the database.

A segment takes so many keys, then the next one begins. What is written at a flush is the last segment with
its new keys, and that is some kilobytes at the most, however many links a host has shown. To write a segment
twice does no harm.
"""

from collections.abc import Iterable

import numpy as np

from scrapy_freshness.sources.keys import Keys

#: Keys in a segment, eight bytes each.
SEGMENT_KEYS = 1024
#: Keys that wait until they are sorted in among the others: at least so many, or one in so many.
_FEW, _FEW_SHARE = 1024, 16


class SeenLinks:
    """A set of keys that grows.

    >>> seen = SeenLinks()
    >>> seen.add([7, 9])
    >>> seen.unseen(np.array([7, 8], np.uint64)).tolist(), len(seen)
    ([False, True], 2)
    >>> again = SeenLinks(seen.take_changed())
    >>> again.unseen(np.array([7, 8], np.uint64)).tolist()
    [False, True]
    """

    def __init__(self, segments: Iterable[tuple[int, bytes]] = ()) -> None:
        """*segments* are those that `take_changed` gave, by their numbers."""
        parts = {number: _keys_of(packed) for number, packed in segments}
        self._sorted: Keys = np.unique(np.concatenate([np.empty(0, np.uint64), *parts.values()]))
        self._recent: set[int] = set()
        self._number = max(parts, default=0)
        self._last: list[int] = parts[self._number].tolist() if parts else []
        self._changed: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    @property
    def is_saved(self) -> bool:
        """Whether `take_changed` has nothing to give."""
        return not self._changed

    def unseen(self, keys: Keys) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these keys are not in the set."""
        unseen = np.ones(len(keys), np.bool_)
        if len(self._sorted):
            place = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
            unseen = self._sorted[place] != keys
        if self._recent:
            unseen &= np.array([key not in self._recent for key in keys.tolist()], np.bool_)
        return unseen

    def add(self, keys: Iterable[int]) -> None:
        """Add keys; those that are there already are left alone."""
        wanted = np.array(list(dict.fromkeys(keys)), np.uint64)
        for key in wanted[self.unseen(wanted)].tolist():
            if len(self._last) >= SEGMENT_KEYS:
                self._number, self._last = self._number + 1, []
            self._last.append(key)
            self._changed[self._number] = self._last
            self._recent.add(key)
        if len(self._recent) > max(_FEW, len(self._sorted) // _FEW_SHARE):
            recent = np.fromiter(self._recent, np.uint64, len(self._recent))
            self._sorted = np.union1d(self._sorted, recent)
            self._recent = set()

    def take_changed(self) -> list[tuple[int, bytes]]:
        """Segments that are new or have grown since the last call: number and bytes, for the writer."""
        changed, self._changed = self._changed, {}
        return [(number, np.array(keys, "<u8").tobytes()) for number, keys in changed.items()]


def _keys_of(packed: bytes) -> Keys:
    """Keys of a segment; a part of a key at the end is left out."""
    return np.frombuffer(packed, "<u8", len(packed) // 8).astype(np.uint64)
