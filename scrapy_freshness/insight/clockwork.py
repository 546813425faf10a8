"""Does a page change by the clock?  Read off its visits, for `scrapy freshness show`."""

from collections.abc import Sequence

import numpy as np

from scrapy_freshness.estimation.rhythm import DAY, fit_rhythm
from scrapy_freshness.model import Outcome, VisitRecord

#: Visits that are looked at, and fewer than these tell nothing.
MOST_VISITS, FEWEST_VISITS = 2000, 30
#: Visits further apart than this say little about the hour.
_LONGEST_SECONDS = DAY / 2


def hourly_changes(visits: Sequence[VisitRecord]) -> list[float] | None:
    """How much more often than on average a page changes in each hour of the day (UTC).

    None if its visits do not show that the hour matters (see `estimation/rhythm.py`).
    """
    seen = sorted((visit for visit in visits if visit.outcome.saw_content), key=lambda visit: visit.at)
    at = np.array([visit.at for visit in seen])
    changed = np.array([visit.outcome is Outcome.CHANGED for visit in seen], np.bool_)[1:]
    start, end = at[:-1], at[1:]
    is_near = (end > start) & (end - start <= _LONGEST_SECONDS)
    start, end, changed = start[is_near], end[is_near], changed[is_near]
    if len(start) < FEWEST_VISITS or not changed.any():
        return None
    rhythm = fit_rhythm(start, end, changed, float(changed.sum() / (end - start).sum()))
    return rhythm.relative.tolist() if rhythm.is_real() else None


def busiest_hours(hourly: Sequence[float]) -> tuple[int, int, float]:
    """The shortest span of hours, as begin and end, in which half of all changes come, and their share.

    >>> busiest_hours([0.0] * 22 + [9.0, 15.0])
    (23, 24, 0.625)
    >>> busiest_hours([8.0, 4.0] + [0.0] * 20 + [4.0, 8.0])[:2]  # from 11 at night to 1 in the morning
    (23, 25)
    """
    shares = np.array(hourly) / sum(hourly)
    for length in range(1, len(shares) + 1):
        sums = np.convolve(np.tile(shares, 2), np.ones(length), "valid")[: len(shares)]
        begin = int(sums.argmax())
        if sums[begin] >= 0.5 - 1e-9:
            return begin, begin + length, float(sums[begin])
    return 0, len(shares), 1.0
