"""How many visits could the pages of a crawl take, if nothing but their own intervals held them back?"""

from dataclasses import dataclass

import numpy as np

from scrapy_freshness.insight.outlook import Outlook
from scrapy_freshness.model import PageStatus, are_polled

#: Share of the copies that are due by a threshold if something keeps them from being visited: how often
#: they reach it is learned, so that a few say nothing.
_MANY_DUE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What there is to visit."""

    visits_per_second: float  #: that copies take at their shortest intervals: FRESHNESS_MIN_INTERVAL and pins
    ready: int  #: copies whose shortest intervals are over
    new: int  #: pages that may have their first visits now


def reach_of(outlook: Outlook, *, floor: float, now: float) -> Reach:
    r"""What all pages of a crawl could take: :math:`\sum_i 1/\max(m, p_i)` visits of copies a second.

    Here :math:`m` is FRESHNESS_MIN_INTERVAL, and :math:`p_i` the interval to which page i is pinned. If a
    policy has a threshold (*floor*), a page may be visited when it is worth that.
    """
    columns = outlook.columns
    may_be_visited = columns.not_before <= now
    is_new = (columns.status == PageStatus.NEW) & ~are_polled(columns.kind) & may_be_visited
    counts = outlook.has_copy & (columns.importance > 0)
    intervals = outlook.long_run_intervals(floor)
    ready = int(np.count_nonzero(counts & may_be_visited & (outlook.elapsed >= intervals)))
    visits = float(np.sum(1 / np.maximum(intervals[counts], 1e-9)))
    if floor > 0 and ready <= _MANY_DUE * np.count_nonzero(counts):
        visits = 0.0
    return Reach(visits_per_second=visits, ready=ready, new=int(np.count_nonzero(is_new)))
