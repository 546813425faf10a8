"""The links of a hub over time, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_freshness.simulator.trace import Version

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinkHistory:
    """Which links a hub shows in each version; a link is known by its address.

    Links have numbers in the order of their first appearance. ``shown[offsets[v]:offsets[v + 1]]`` are
    those of version v in the order of the page, ``scores`` has their scores at that time.
    """

    urls: Sequence[str] = field(repr=False)
    titles: Sequence[str | None] = field(repr=False)  #: as last seen
    born: FloatArray  #: publication by the link's own word, nan if it does not say
    offsets: NDArray[np.int64]
    shown: NDArray[np.int32]
    scores: FloatArray  #: nan where there is none
    first_seen: FloatArray  #: time of the first version with the link
    last_seen: FloatArray  #: time of the last version with the link
    best_rank: NDArray[np.int32]  #: best place that the link ever had, from 1
    best_score: FloatArray  #: highest score that the link ever had, nan if it had none
    hashes: NDArray[np.uint32]  #: of the addresses

    @classmethod
    def of(cls, versions: Sequence[Version]) -> Self:
        """The links of the versions of one hub."""
        numbers: dict[str, int] = {}
        titles: list[str | None] = []
        born: list[float] = []
        shown: list[int] = []
        scores: list[float] = []
        lengths = []
        for version in versions:
            links = version.links or ()
            lengths.append(len(links))
            for url, title, score, born_at in links:
                number = numbers.setdefault(url, len(titles))
                if number == len(titles):
                    titles.append(title)
                    born.append(np.nan if born_at is None else born_at)
                else:
                    titles[number] = title
                shown.append(number)
                scores.append(np.nan if score is None else score)
        times = np.repeat(np.array([version.at for version in versions]), lengths)
        offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        links_shown = np.array(shown, np.int32)
        shown_scores = np.array(scores, np.float64)
        places = np.arange(len(shown)) - np.repeat(offsets[:-1], lengths) + 1
        return cls(
            urls=list(numbers),
            titles=titles,
            born=np.array(born, np.float64),
            offsets=offsets,
            shown=links_shown,
            scores=shown_scores,
            first_seen=_least(times, links_shown, len(numbers)),
            last_seen=-_least(-times, links_shown, len(numbers)),
            best_rank=_least(places, links_shown, len(numbers)).astype(np.int32),
            best_score=_highest(shown_scores, links_shown, len(numbers)),
            hashes=np.array(
                [xxhash.xxh32_intdigest(url.encode("utf-8", "surrogatepass")) for url in numbers], np.uint32
            ),
        )

    def earlier(self, seconds: float) -> "LinkHistory":
        """The same links so much earlier."""
        return replace(
            self,
            born=self.born - seconds,
            first_seen=self.first_seen - seconds,
            last_seen=self.last_seen - seconds,
        )

    def on(self, version: int) -> NDArray[np.int32]:
        """The links of a version, in the order of the page."""
        return self.shown[self.offsets[version] : self.offsets[version + 1]]

    def first_found(self, versions: NDArray[np.int64], times: FloatArray) -> FloatArray:
        """When each link is first found by fetches that saw these versions at these times; inf if never."""
        found = np.full(len(self.urls), np.inf)
        seen = versions >= 0
        versions, first = np.unique(versions[seen], return_index=True)
        starts, ends = self.offsets[versions], self.offsets[versions + 1]
        lengths = ends - starts
        # Positions in `shown` of all links of these versions, one version after the other.
        begin = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        links = self.shown[begin + np.arange(lengths.sum())]
        np.minimum.at(found, links, np.repeat(times[seen][first], lengths))
        return found


def _least(values: NDArray[np.number], owner: NDArray[np.int32], count: int) -> FloatArray:
    """The least of the values that belong to each link."""
    least = np.full(count, np.inf)
    np.minimum.at(least, owner, values)
    return least


def _highest(scores: FloatArray, owner: NDArray[np.int32], count: int) -> FloatArray:
    highest = np.full(count, np.nan)
    np.fmax.at(highest, owner, scores)
    return highest
