"""How fresh was the copy?  Exact, from the times of changes and of visits."""

from collections.abc import Sequence

import numpy as np

from scrapy_freshness.simulator.web import FloatArray


def fresh_seconds(change_times: FloatArray, visit_times: FloatArray, start: float, end: float) -> float:
    """Seconds of [start, end] during which the copy of a page was the current version.

    The copy is fresh from each visit until the next change; before the first visit there is none.

    >>> fresh_seconds(np.array([3.0, 8.0]), np.array([1.0, 5.0]), 0.0, 10.0)
    5.0
    """
    visits = np.sort(visit_times[visit_times <= end])
    if len(visits) == 0:
        return 0.0
    next_change = np.append(change_times, np.inf)[np.searchsorted(change_times, visits, side="right")]
    until = np.minimum(next_change, np.append(visits[1:], end))
    return float(np.sum(np.maximum(np.minimum(until, end) - np.maximum(visits, start), 0.0)))


def mean_freshness(
    change_times: Sequence[FloatArray],
    visit_times: Sequence[FloatArray],
    start: float,
    end: float,
    weights: FloatArray | None = None,
) -> float:
    """Share of [start, end], averaged over pages (by weight, if given), in which copies were fresh."""
    shares = [
        fresh_seconds(changes, visits, start, end) / (end - start)
        for changes, visits in zip(change_times, visit_times, strict=True)
    ]
    return float(np.average(shares, weights=weights))
