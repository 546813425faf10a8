"""What crawling and staleness cost, and how long copies were stale, crawl interval by crawl interval.

References
----------
Ford, Grimes, Tassone: Keeping a search engine index fresh: risk and optimality in estimating refresh rates
for web pages, sections 3.1 and 5.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CrawlIntervals:
    """Times between the crawls of some pages, one element an interval; the last of each page has no end."""

    stale_seconds: FloatArray  #: how long the copy was stale when the interval ended
    is_whole: NDArray[np.bool_]  #: whether it ended with a crawl
    seconds: float  #: all pages together

    @classmethod
    def of(
        cls, changes: Sequence[FloatArray], crawls: Sequence[FloatArray], start: float, end: float
    ) -> "CrawlIntervals":
        """Intervals of pages whose copies were made at the start.

        >>> CrawlIntervals.of([np.array([3.0, 4.0])], [np.array([2.0, 5.0])], 0.0, 10.0).stale_seconds
        array([0., 2., 0.])
        """
        stale, whole = [np.empty(0)], [np.empty(0, np.bool_)]
        for changed, crawled in zip(changes, crawls, strict=True):
            begins, ends = np.append(start, crawled), np.append(crawled, end)
            next_change = np.append(changed, np.inf)[np.searchsorted(changed, begins, side="right")]
            stale.append(np.maximum(ends - next_change, 0.0))
            whole.append(np.arange(len(ends)) < len(crawled))
        return cls(np.concatenate(stale), np.concatenate(whole), (end - start) * len(changes))

    @property
    def crawls(self) -> int:
        """How many intervals ended with a crawl."""
        return int(np.count_nonzero(self.is_whole))

    def cost_per_second(self, crawl_cost: float, stale_cost_per_second: float) -> float:
        """Mean cost of a page."""
        stale = float(np.sum(self.stale_seconds))
        return (self.crawls * crawl_cost + stale * stale_cost_per_second) / self.seconds

    @property
    def changed_share(self) -> float:
        """Share of the whole intervals in which the page changed; nan if there are none."""
        return _share(self.stale_seconds[self.is_whole] > 0)

    def very_stale_share(self, seconds: float) -> float:
        """Share of the whole intervals at whose end the copy was stale for so long or longer."""
        return _share(self.stale_seconds[self.is_whole] >= seconds)

    def very_stale_share_of_changed(self, seconds: float) -> float:
        """The same among the intervals in which the page changed."""
        stale = self.stale_seconds[self.is_whole]
        return _share(stale[stale > 0] >= seconds)


def _share(is_so: NDArray[np.bool_]) -> float:
    return float(np.mean(is_so)) if len(is_so) else float("nan")
