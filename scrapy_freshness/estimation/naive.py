r"""How often does a page change?  The two simplest estimates, both with 90 % intervals.

Counting :math:`X` changes in a time :math:`T` gives :math:`X/T`. Several changes between two visits show
as one, so that is too low for a page that changes faster than it is visited, however long it is watched.

Visits at a regular interval :math:`I` see a change with probability :math:`p=1-e^{-\lambda I}`, so
:math:`-\log(1-p)/I` estimates the rate. With :math:`X` of :math:`n` visits that saw one,

.. math:: \hat\lambda = -\frac{1}{I}\log\frac{n-X+0.5}{n+0.5}

has almost no bias from :math:`n=20` on, and is finite even if every visit saw a change [1]_.

Both are 0 for a page that was never seen to change, so that a crawl that believes in them never looks at it
again. They are references, and the second is that of the rival CGM; the estimates of a crawl are in
`change_rate.py` and `pooled.py`.

References
----------
.. [1] Cho, Garcia-Molina: Estimating frequency of change, ACM TOIT 3(3), 2003, sections 4.1 and 4.2.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv

from scrapy_freshness.estimation.change_rate import RateEstimate

FloatArray = NDArray[np.float64]


def counted_rates(changes: FloatArray, seconds: FloatArray) -> RateEstimate:
    """Changes per second, with the exact interval of a Poisson count.

    Parameters
    ----------
    changes : (n,) array, X, visits that saw a change
    seconds : (n,) array, T, time from the first visit to the last, > 0

    Examples
    --------
    >>> counted_rates(np.array([0.0, 10.0]), np.array([100.0, 100.0])).high.round(3)
    array([0.03, 0.17])
    """
    low = np.where(changes > 0, gammaincinv(np.maximum(changes, 1), 0.05), 0.0)
    return RateEstimate(changes / seconds, low / seconds, gammaincinv(changes + 1, 0.95) / seconds)


def regular_rate(changes: FloatArray, visits: FloatArray, interval_seconds: FloatArray) -> FloatArray:
    """Changes per second of pages that are visited at (nearly) regular intervals, without bounds.

    >>> regular_rate(np.array([5.0]), np.array([10.0]), np.array([2.0])).round(4)
    array([0.3233])
    """
    rate: FloatArray = -np.log((visits - changes + 0.5) / (visits + 0.5)) / interval_seconds
    return rate


def regular_rates(changes: FloatArray, visits: FloatArray, seconds: FloatArray) -> RateEstimate:
    """Changes per second of pages that are visited at regular intervals.

    The interval is Jeffreys' for the share of visits that see a change. It has no upper end if all of them
    do, and begins at 0 if none does.

    Parameters
    ----------
    changes : (n,) array, X, visits that saw a change, at most n
    visits : (n,) array, n, visits after the first, >= 1
    seconds : (n,) array, T = n * I, time from the first visit to the last, > 0

    Examples
    --------
    >>> regular_rates(np.array([5.0]), np.array([10.0]), np.array([100.0])).rate.round(4)
    array([0.0647])
    """
    unchanged = visits - changes
    step = seconds / visits
    ends = (betaincinv(unchanged + 0.5, changes + 0.5, share) for share in (0.95, 0.05))
    most_unchanged, least_unchanged = ends
    with np.errstate(divide="ignore"):
        low = -np.log(np.where(changes > 0, most_unchanged, 1.0)) / step
        high = -np.log(np.where(unchanged > 0, least_unchanged, 0.0)) / step
    return RateEstimate(regular_rate(changes, visits, step), low, high)
