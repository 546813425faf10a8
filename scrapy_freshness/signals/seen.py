"""What a source said at its last poll, packed: twelve bytes an entry.

Sorted 64-bit hashes of the entries' keys, and the latest date of each in whole seconds, 0 if it has none.
Two polls that differ by less than a second in a date are the same here.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from scrapy_freshness.signals.contract import Entry

Keys = NDArray[np.uint64]
Seconds = NDArray[np.uint32]

_HEADER = struct.Struct("<BxxxI")  # version, number of entries
_VERSION = 1
_LAST_SECOND = 2**32 - 1


def key_of(entry: Entry) -> int:
    """64 bits by which an entry is recognised."""
    return xxh3_64_intdigest((entry.key or entry.url).encode("utf-8", "replace"))


def seconds_of(entry: Entry) -> int:
    """The latest date of an entry in whole seconds, 0 if it has none."""
    latest = entry.latest
    return 0 if latest is None else min(max(int(latest.at), 1), _LAST_SECOND)


@dataclass(slots=True, frozen=True, eq=False)
class Seen:
    """The entries of one poll.

    >>> seen = Seen.of({7: 1_700_000_000, 3: 0})
    >>> len(seen.packed()), Seen.unpacked(seen.packed()).seconds.tolist()
    (32, [0, 1700000000])
    """

    keys: Keys = field(default_factory=lambda: np.empty(0, np.uint64))  #: ascending
    seconds: Seconds = field(default_factory=lambda: np.empty(0, np.uint32))

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, seconds_by_key: Mapping[int, int]) -> "Seen":
        """Entries as a mapping from key to seconds."""
        count = len(seconds_by_key)
        keys = np.fromiter(seconds_by_key.keys(), np.uint64, count)
        seconds = np.fromiter(seconds_by_key.values(), np.uint32, count)
        order = np.argsort(keys)
        return cls(keys[order], seconds[order])

    def seconds_at(self, keys: Keys) -> NDArray[np.int64]:
        """The seconds of each of these keys, -1 where it is not known."""
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.seconds[place].astype(np.int64), -1)

    def keeping(self, before: "Seen", most: int) -> "Seen":
        """These entries and those of before that are missing here, the latest first, up to so many in all.

        For sources that show a window of their entries, and for those that could not be read to the end.
        """
        rows = np.flatnonzero(self.seconds_at(before.keys) < 0)
        if len(rows) > (room := max(most - len(self), 0)):
            rows = rows[np.argsort(before.seconds[rows], kind="stable")[len(rows) - room :]]
        keys = np.concatenate((self.keys, before.keys[rows]))
        order = np.argsort(keys)
        return Seen(keys[order], np.concatenate((self.seconds, before.seconds[rows]))[order])

    def packed(self) -> bytes:
        """Bytes to be stored until the next poll."""
        header = _HEADER.pack(_VERSION, len(self))
        return header + self.keys.astype("<u8").tobytes() + self.seconds.astype("<u4").tobytes()

    @classmethod
    def unpacked(cls, packed: bytes) -> "Seen":
        """The entries that were packed; none if there are no bytes.

        Raises
        ------
        ValueError
            The bytes were not packed by this version.
        """
        if not packed:
            return cls()
        version, count = _HEADER.unpack_from(packed.ljust(_HEADER.size, b"\0"))
        if version != _VERSION or len(packed) != _HEADER.size + 12 * count:
            raise ValueError(f"these {len(packed)} bytes are not the packed entries of a poll")
        keys = np.frombuffer(packed, "<u8", count, _HEADER.size).astype(np.uint64)
        seconds = np.frombuffer(packed, "<u4", count, _HEADER.size + 8 * count).astype(np.uint32)
        return cls(keys, seconds)


def seconds_at(packed: bytes, keys: Keys) -> NDArray[np.int64]:
    """The seconds of each of these keys in packed entries, -1 where nothing is known, or could be read."""
    try:
        return Seen.unpacked(packed).seconds_at(keys)
    except ValueError:
        return np.full(len(keys), -1, np.int64)


class Difference(NamedTuple):
    """What differs between two polls, as keys."""

    new: Keys  #: named for the first time
    moved: Keys  #: dated before, and dated later now
    vanished: Keys  #: not named any more
    stayed: int  #: entries dated at both polls that are not in `moved`


def difference(before: Seen, after: Seen) -> Difference:
    """Compare two polls of a source.

    >>> before, after = Seen.of({1: 10, 2: 10, 3: 0}), Seen.of({2: 11, 3: 11, 4: 11})
    >>> [keys.tolist() for keys in difference(before, after)[:3]]
    [[4], [2], [1]]
    """
    was = before.seconds_at(after.keys)
    is_moved = (was > 0) & (after.seconds > was)
    n_dated_twice = int(np.count_nonzero((was > 0) & (after.seconds > 0)))
    return Difference(
        new=after.keys[was < 0],
        moved=after.keys[is_moved],
        vanished=before.keys[after.seconds_at(before.keys) < 0],
        stayed=n_dated_twice - int(np.count_nonzero(is_moved)),
    )
