"""The links of a main page, and since when it shows them: what has been there for days may be a hub."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.sources.keys import Keys

FloatArray = NDArray[np.float64]

_ENTRY = np.dtype([("key", "<u8"), ("first", "<f8"), ("last", "<f8")])


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Keys of links, the times when each was shown first and last; ascending by key.

    >>> monday = Candidates().shown(np.array([7, 3], np.uint64), 100.0, keep_seconds=50.0)
    >>> monday = Candidates.unpacked(monday.packed())
    >>> tuesday = monday.shown(np.array([3], np.uint64), 140.0, keep_seconds=50.0)
    >>> tuesday.seconds_shown(np.array([3, 5], np.uint64), 140.0).tolist()
    [40.0, 0.0]
    """

    entries: NDArray[Any] = field(default_factory=lambda: np.empty(0, _ENTRY))

    def __len__(self) -> int:
        return len(self.entries)

    def shown(self, keys: Keys, now: float, *, keep_seconds: float) -> "Candidates":
        """Return what is known when a page shows these links; one not shown for long is forgotten.

        A front page shows other links at each look, and some of them again later.
        """
        keys = np.unique(keys)
        fresh = np.empty(len(keys), _ENTRY)
        fresh["key"], fresh["last"] = keys, now
        fresh["first"] = now - self.seconds_shown(keys, now)
        is_missing = ~np.isin(self.entries["key"], keys) & (now - self.entries["last"] <= keep_seconds)
        entries = np.concatenate([fresh, self.entries[is_missing]])
        return Candidates(entries[np.argsort(entries["key"])])

    def seconds_shown(self, keys: Keys, now: float) -> FloatArray:
        """How long ago each link was shown first; 0 if never."""
        seconds = np.zeros(len(keys))
        if len(self.entries):
            place = np.minimum(np.searchsorted(self.entries["key"], keys), len(self.entries) - 1)
            is_known = self.entries["key"][place] == keys
            seconds[is_known] = np.maximum(now - self.entries["first"][place[is_known]], 0.0)
        return seconds

    def packed(self) -> bytes:
        """Bytes to be stored until the next look."""
        return self.entries.tobytes()

    @classmethod
    def unpacked(cls, packed: bytes) -> "Candidates":
        """What was packed; bytes of another length begin anew."""
        if len(packed) % _ENTRY.itemsize:
            return cls()
        return cls(np.frombuffer(packed, _ENTRY))
