r"""How often are pages asked for?  Requests per second from clicks that fade.

A page of a host is asked for at rate :math:`r`, drawn from a gamma distribution with the mean
:math:`\bar r` of its host and the shape :math:`a` of all pages, which is small: a few pages have most of
the clicks. With :math:`S` clicks in :math:`E` seconds the expected rate is

.. math:: \hat r = \frac{S + a}{E + a/\bar r},

so that a page without a click is not worthless, and one that was seen for a short time is like the others
of its host. Clicks and seconds count half as much for each week that has passed since. The shape is
that at which the counts vary as much as they do: :math:`\mathrm{Var}\,S = rE + (rE)^2/a`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.click_sums import WEEK_SECONDS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Bounds of the shape: pages that have nothing in common, and pages that are all the same.
_LEAST_SHAPE, _MOST_SHAPE = 0.05, 10.0
#: Clicks that the mean of all hosts counts for in the mean of a host.
_STRENGTH = 1.0
#: Share of the mean of all hosts that a host without any log is believed to have.
PESSIMISM = 0.5
#: A log of a few lines tells nothing of a rate; what has faded to less is nothing.
_LEAST_SECONDS, _LEAST_CLICKS = 3600.0, 1e-9
#: Weeks that count at all.
_MEMORY_WEEKS = 60


class Coverage:
    """The time that a log covers: disjoint spans, in the order of time.

    Examples
    --------
    >>> log = Coverage([(0.0, 100.0), (200.0, 300.0)])
    >>> log.seconds_before(np.array([-5.0, 50.0, 150.0, 250.0, 1e9])).tolist()
    [0.0, 50.0, 100.0, 150.0, 200.0]
    """

    def __init__(self, spans: Sequence[tuple[float, float]]) -> None:
        self._edges = np.array(spans, np.float64).reshape(-1)
        lengths = np.diff(self._edges)
        lengths[1::2] = 0.0  # what is between two spans
        self._seconds = np.concatenate([[0.0], np.cumsum(lengths)])[: len(self._edges)]

    @property
    def end(self) -> float:
        """End of the last span."""
        return float(self._edges[-1])

    def seconds_before(self, time: FloatArray) -> FloatArray:
        """How much of the time before each moment is covered."""
        seconds: FloatArray = np.interp(time, self._edges, self._seconds)
        return seconds

    def faded_seconds(self, since: FloatArray, week: int) -> FloatArray:
        """How much is covered since each moment; half as much counts for each week before *week*.

        >>> log = Coverage([(0.0, 2 * WEEK_SECONDS)])
        >>> since = WEEK_SECONDS * np.array([-np.inf, 1.0, 1.5])
        >>> (log.faded_seconds(since, 1) / WEEK_SECONDS).tolist()
        [1.5, 1.0, 0.5]
        """
        first = max(int(self._edges[0] // WEEK_SECONDS), week - _MEMORY_WEEKS)
        weeks = np.arange(first, week + 1)
        total = np.zeros(len(since))
        for number in weeks.tolist():
            start = np.maximum(since, number * WEEK_SECONDS)
            end = np.full(len(since), (number + 1) * WEEK_SECONDS)
            covered = self.seconds_before(end) - self.seconds_before(np.minimum(start, end))
            total += np.ldexp(covered, number - week)
        return total


class Rates(NamedTuple):
    """Requests per second."""

    page: FloatArray  #: of each page, > 0
    host: FloatArray  #: mean of the pages of each host
    mean: float  #: of all pages; what is believed of a host without a log, but for the pessimism


def request_rates(
    clicks: FloatArray, seconds: FloatArray, host: NDArray[np.intp], n_hosts: int
) -> Rates | None:
    """Rates of pages, and of hosts for pages that come; None if there is not a click.

    Parameters
    ----------
    clicks : (pages,) array, S, faded
    seconds : (pages,) array, E, for which the page was observed, faded; 0 if never
    host : (pages,) array, number of the page's host, below *n_hosts*

    Examples
    --------
    >>> found = request_rates(
    ...     np.array([30.0, 0, 0, 0]), 3600 * np.array([1.0, 1, 0, 0]), np.array([0, 0, 0, 1]), 2)
    >>> (3600 * found.page).round(1).tolist(), (3600 * found.host).round(1).tolist()
    ([29.0, 1.0, 15.0, 7.5], [15.0, 7.5])
    """
    n_clicks = float(clicks.sum())
    if n_clicks < _LEAST_CLICKS:
        return None
    mean = n_clicks / max(float(seconds.sum()), _LEAST_SECONDS)
    of_host = np.bincount(host, clicks, n_hosts)
    time_of_host = np.bincount(host, seconds, n_hosts)
    rate = (of_host + _STRENGTH) / (time_of_host + _STRENGTH / mean)
    rate = np.where(time_of_host > 0, rate, PESSIMISM * mean)
    expected = rate[host] * seconds
    spread = float(np.sum((clicks - expected) ** 2 - expected))
    shape = float(np.clip(np.sum(expected**2) / spread if spread > 0 else np.inf, _LEAST_SHAPE, _MOST_SHAPE))
    return Rates((clicks + shape) / (seconds + shape / rate[host]), rate, mean)
