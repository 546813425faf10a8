"""Sums of clicks that stay small however many clicks there are: by week and page, by age and source.

A click counts half as much for each week that has passed since. So a sum of one week is that of a later one
divided by a power of two: sums can be added in any order, and exactly.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.profit import BIN_SECONDS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

WEEK_SECONDS = 604_800.0
#: Bins of ages: three days.
N_BINS = 216
#: Clicks that were counted over a longer time do not tell how fast they fade.
_LONGEST_SPAN = 86_400.0
#: A page is clicked before we find it. Earlier than this, it was no new page.
_FOUND_LATE_SECONDS = 86_400.0


def weekly_sums(
    number: NDArray[np.intp], time: FloatArray, clicks: FloatArray, size: int
) -> tuple[IntArray, FloatArray]:
    """The latest week in which each page was clicked, and its clicks in units of that week.

    Parameters
    ----------
    number : (clicks,) array, which page was clicked, below *size*
    time : (clicks,) array, unix seconds
    clicks : (clicks,) array, how many

    Examples
    --------
    >>> week, clicks = weekly_sums(
    ...     np.array([0, 0, 1]), WEEK_SECONDS * np.array([7.0, 5.5, 6.0]), np.ones(3), 2)
    >>> week.tolist(), clicks.tolist()
    ([7, 6], [1.25, 1.0])
    """
    week = (time // WEEK_SECONDS).astype(np.int64)
    latest = np.zeros(size, np.int64)
    np.maximum.at(latest, number, week)
    weight = np.ldexp(clicks, np.maximum(week - latest[number], -1000))
    return latest, np.bincount(number, weight, size).astype(np.float64)


def clicks_by_age(
    source: IntArray, born: FloatArray, time: FloatArray, seconds: FloatArray, clicks: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Clicks on the pages of each source, by the age of the page in bins: source, bin, clicks.

    What was counted over a span of time is spread over it. A page that was found up to a day after its
    first clicks was just born when it had them.

    Parameters
    ----------
    source : (clicks,) array, any number of the source that showed the page
    born : (clicks,) array, when the page was found, unix seconds
    time, seconds : (clicks,) arrays, beginning and length of the span in which the clicks were made

    Examples
    --------
    >>> columns = clicks_by_age(
    ...     np.array([7, 7]), np.array([600.0, 600.0]), np.array([0.0, 5000.0]), np.array([3000.0, 0.0]),
    ...     np.array([4.0, 1.0]))
    >>> [column.tolist() for column in columns]
    [[7, 7, 7], [0, 1, 3], [2.0, 2.0, 1.0]]
    """
    row, age, part = _spread(born, time, seconds)
    age_bin = np.maximum(age, 0.0) // BIN_SECONDS
    is_young = (age >= -_FOUND_LATE_SECONDS) & (age_bin < N_BINS)
    row, age_bin, part = row[is_young], age_bin[is_young].astype(np.int64), part[is_young]
    sources, place = np.unique(source[row], return_inverse=True)
    total = np.bincount(place * N_BINS + age_bin, clicks[row] * part, len(sources) * N_BINS)
    filled = np.flatnonzero(total).astype(np.int64)
    return sources[filled // N_BINS], filled % N_BINS, total[filled].astype(np.float64)


def _spread(
    born: FloatArray, time: FloatArray, seconds: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """A part for each bin of ages that a span of clicks has: row of the span, age, share of its clicks."""
    # A page has no clicks before it is born; if the span is before it was found, that was found late.
    start = np.where(born < time + seconds, np.maximum(time, born), time)
    length = time + seconds - start
    n_parts = np.maximum(np.ceil(length / BIN_SECONDS), 1).astype(np.int64)
    n_parts[seconds > _LONGEST_SPAN] = 0
    row = np.repeat(np.arange(len(time)), n_parts)
    part = np.arange(len(row)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    share = 1 / np.maximum(n_parts, 1)
    return row, (start - born)[row] + ((part + 0.5) * (length * share)[row]), share[row]
