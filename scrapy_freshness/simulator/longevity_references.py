r"""FS-S, HS-S, FS-D and HS-D: the offline policies of the longevity paper, which know all of a page.

All refresh a page when the utility :math:`U(t) = t D(t) - \int_0^t D(x)\,dx` of the time :math:`t` since the
last refresh reaches a threshold :math:`T`; they differ in the divergence :math:`D` that they take.

======  ========================================================================================
FS-S    mean share of fragments that differ between versions :math:`t` apart, over the whole history
HS-S    the same of pages that are fresh or stale: :math:`1-e^{-\lambda t}`, :math:`\lambda` changes a second
FS-D    share of fragments by which the page has in fact moved away since the last refresh
HS-D    1 if the page in fact differs from its copy, else 0
======  ========================================================================================

The static ones give one period a page, the dynamic ones times of refreshes. Between two changes of the
page :math:`U` stands still, so the dynamic policies refresh at changes or not at all. A page whose first
change comes too soon (churn: all that can go is gone) is then never refreshed again: the paper's
definition, kept as it is.

References
----------
Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, equation 4 and section 3.4.
"""

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.versions import PageVersions
from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.greedy import Greedy

FloatArray = NDArray[np.float64]


def mean_divergences(page: PageVersions, step_seconds: float) -> Iterator[float]:
    """Yield the mean divergence between snapshots 0, 1, 2, ... steps apart; the paper's step is two days.

    >>> page = PageVersions(np.array([0.0, 5.0]), [np.array([1], np.uint32), np.array([2], np.uint32)], 9.5)
    >>> [round(moved, 3) for moved in mean_divergences(page, 3.0)]  # snapshots at 0, 3, 6, 9
    [0.0, 0.333, 1.0, 1.0]
    """
    shown = page.at(np.arange(page.times[0], page.end, step_seconds)).tolist()
    for lag in range(len(shown)):
        yield sum(map(page.divergence, shown, shown[lag:])) / (len(shown) - lag)


def fragment_static_period(
    page: PageVersions, threshold: float, step_seconds: float, *, longest_seconds: float = math.inf
) -> float:
    """FS-S: seconds after a refresh until the utility of the mean divergence reaches the threshold.

    It is inf if that does not happen within *longest_seconds* or within the history. Between snapshots the
    divergence is taken to be linear.

    >>> page = PageVersions(np.array([0.0, 5.0]), [np.array([1], np.uint32), np.array([2], np.uint32)], 9.5)
    >>> round(fragment_static_period(page, 2.0, 3.0), 6)
    4.743416
    """
    at = reached = before = 0.0
    for moved in islice(mean_divergences(page, step_seconds), 1, None):
        if at >= longest_seconds:
            break
        # On a piece from t to t + h with slope s the utility U grows to U + s * (x^2 - t^2) / 2 at x.
        slope = (moved - before) / step_seconds
        following = reached + slope * ((at + step_seconds) ** 2 - at**2) / 2
        if following >= threshold:
            return math.sqrt(at**2 + 2 * (threshold - reached) / slope)
        at, reached, before = at + step_seconds, following, moved
    return math.inf


def holistic_static_period(page: PageVersions, threshold: float) -> float:
    """HS-S: seconds between refreshes for the page's mean change rate; inf: never.

    >>> page = PageVersions(np.array([0.0, 5.0]), [np.array([1], np.uint32), np.array([2], np.uint32)], 10.0)
    >>> round(holistic_static_period(page, 2.0), 4)
    8.2439
    """
    if page.change_rate == 0:
        return math.inf
    beliefs = Beliefs(importance=np.ones(1), change_rate=np.array([page.change_rate]))
    return float(Greedy().elapsed_at(beliefs, threshold)[0])


def dynamic_refreshes(page: PageVersions, threshold: float, *, holistic: bool) -> FloatArray:
    """FS-D, or HS-D if *holistic*: times of the refreshes after the first copy, which is of the start.

    >>> versions = [np.arange(n, n + 3, dtype=np.uint32) for n in range(4)]  # a scroll of 3 items
    >>> page = PageVersions(np.array([0.0, 4.0, 8.0, 12.0]), versions, 20.0)
    >>> dynamic_refreshes(page, 5.0, holistic=False), dynamic_refreshes(page, 4.0, holistic=True)
    (array([12.]), array([ 4.,  8., 12.]))
    """
    refreshes = []
    copy, copied_at = 0, float(page.times[0])
    area = before = 0.0
    for number in range(1, len(page.times)):
        at = float(page.times[number])
        area += before * (at - float(page.times[number - 1]))
        moved = page.divergence(copy, number)
        before = float(moved > 0) if holistic else moved
        if (at - copied_at) * before - area >= threshold:
            refreshes.append(at)
            copy, copied_at, area, before = number, at, 0.0, 0.0
    return np.array(refreshes)
