"""The whole truth about one page: each of its versions as a set of fragments, and when it began."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.content.sketch import divergence

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PageVersions:
    """Versions of a page over [times[0], end].

    >>> versions = [np.array([1, 2], np.uint32), np.array([2, 3], np.uint32)]
    >>> page = PageVersions(np.array([0.0, 5.0]), versions, 9.0)
    >>> int(page.at(4.9)), int(page.at(5.0)), round(page.divergence(0, 1), 3)
    (0, 1, 0.667)
    """

    times: FloatArray  #: seconds, ascending: when each version began
    fragments: list[NDArray[np.uint32]]  #: hashes of the shingles of each version, ascending
    end: float  #: seconds, after the last version began
    _known: dict[tuple[int, int], float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not len(self.times) or len(self.times) != len(self.fragments):
            raise ValueError(f"{len(self.times)} times do not fit {len(self.fragments)} versions")
        if np.any(np.diff(self.times) < 0) or self.times[-1] > self.end:
            raise ValueError("times of versions must ascend up to the end")

    def at(self, time: float | FloatArray) -> NDArray[np.int64]:
        """Numbers of the versions at these times; times before the first version have the first."""
        return np.maximum(np.searchsorted(self.times, time, side="right") - 1, 0)

    def divergence(self, one: int, other: int) -> float:
        """Share of fragments that two versions do not have in common, exactly."""
        if one == other:
            return 0.0
        pair = (one, other) if one < other else (other, one)
        if pair not in self._known:
            a, b = (self.fragments[number] for number in pair)
            self._known[pair] = divergence(a, b, max(a.size + b.size, 1))
        return self._known[pair]

    @property
    def change_rate(self) -> float:
        """Changes of content per second over the whole time."""
        changes = sum(not np.array_equal(a, b) for a, b in pairwise(self.fragments))
        return changes / (self.end - float(self.times[0]))
