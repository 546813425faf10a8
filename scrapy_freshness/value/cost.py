r"""Cost: refresh when the cost of staleness outgrows that of a crawl, or when the risk becomes too high.

Let a crawl cost :math:`C_c`, and a second with a stale copy :math:`C_s` times the page's importance
:math:`\mu`. Crawled every :math:`t` seconds, a page that changes at rate :math:`\Delta` costs per second [1]_

.. math:: \mu C_s\Bigl(1 - \frac{1-e^{-r}}{r}\Bigr) + \frac{C_c\Delta}{r}, \qquad r = \Delta t,

which is least where

.. math:: e^r = \frac{1+r}{1-z}, \qquad z = \frac{C_c\Delta}{\mu C_s},

and there is no such :math:`r` for :math:`z\ge 1`: the page goes stale too quickly to be refreshed at all. In
terms of a value and its price, that is :math:`V = (\mu/\Delta)R_1(\Delta\tau)` at the fixed price
:math:`C_c/C_s`, in seconds. The paper's :math:`\Delta` is the mean time between changes, its inverse.

The paper also proposes to bound the probability that a page is stale for a long time, and leaves open
how [2]_. A page crawled every :math:`t` seconds is stale for longer than :math:`C` if it changes in the
first :math:`t-C` of them, so

.. math:: P = 1-e^{-\Delta(t-C)} \le p \iff t \le C - \frac{\log(1-p)}{\Delta} .

Where :math:`\Delta` is an estimate, a cautious one (the upper end of its interval) bounds the risk of being
wrong about it as well.

References
----------
.. [1] Ford, Grimes, Tassone: Keeping a search engine index fresh: risk and optimality in estimating
   refresh rates for web pages, sections 3.1 and 3.2.
.. [2] The same, sections 5.3 and 6.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import FIRST_SECONDS, Beliefs, FloatArray
from scrapy_freshness.value.greedy import Greedy

#: Newton steps that take every z to its root; after so many always, so that no page waits for another.
_STEPS = 7
#: Below this r the terms of r - log(1+r) are too close to be subtracted.
_SMALL = 0.05


class Cost(Greedy):
    """V = (mu/Delta) * R1(Delta * elapsed), which is worth its cost at the price Cc/Cs."""

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """The interval that costs least if a crawl costs as much as *price* seconds of staleness.

        >>> page = Beliefs(importance=np.ones(1), change_rate=np.array([1 / 24]))
        >>> Cost().elapsed_at(page, 1.0).round(6)  # hours, Cs = Cc = 1
        array([7.698926])
        """
        return cheapest_interval(beliefs.importance, beliefs.change_rate, price)


class RiskBounded:
    """V = elapsed/interval, where the interval is the cheapest, but bounds the risk of long staleness.

    Parameters
    ----------
    stale_seconds : C, how long a page may be stale
    risk : p, probability with which it may be so for longer, 0 <= p < 1
    crawl_seconds : Cc/Cs, seconds of staleness that cost as much as a crawl; without, the risk alone decides
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, stale_seconds: float, risk: float, crawl_seconds: float = np.inf) -> None:
        if not (stale_seconds >= 0 and 0 <= risk < 1 and crawl_seconds > 0 and stale_seconds + risk > 0):
            raise ValueError(
                "stale_seconds must not be below 0, the risk from 0 to below 1 and crawl_seconds above 0, "
                f"not {stale_seconds}, {risk} and {crawl_seconds}"
            )
        self._stale_seconds = stale_seconds
        self._risk = risk
        self._crawl_seconds = crawl_seconds

    def interval(self, beliefs: Beliefs) -> FloatArray:
        """Seconds between visits; finite also where the cheapest would be never to come back."""
        cheapest = cheapest_interval(beliefs.importance, beliefs.change_rate, self._crawl_seconds)
        return np.minimum(cheapest, riskiest_interval(beliefs.change_rate, self._stale_seconds, self._risk))

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """1 when a visit is due.

        >>> page = Beliefs(importance=np.ones(1), change_rate=np.array([1 / 24]))
        >>> model = RiskBounded(stale_seconds=5.0, risk=0.1, crawl_seconds=1.0)
        >>> model.value(page, np.array([7.528652])).round(6)
        array([1.])
        """
        return elapsed / self.interval(beliefs)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """As of a page that has waited longer than any that has been visited."""
        return FIRST_SECONDS / self.interval(beliefs)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """So many intervals."""
        return price * self.interval(beliefs)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability of no change since the last visit."""
        return np.exp(-beliefs.change_rate * elapsed)


def cheapest_interval(importance: FloatArray, change_rate: FloatArray, crawl_seconds: float) -> FloatArray:
    """Seconds between visits that cost least; inf: never come back.

    Parameters
    ----------
    importance : (n,) array, mu, weight of the page's staleness
    change_rate : (n,) array, Delta, changes per second
    crawl_seconds : Cc/Cs, seconds of staleness that cost as much as a crawl
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = crawl_seconds * change_rate / importance
    return optimal_ratio(np.where(np.isnan(share), 0.0, share)) / change_rate


def riskiest_interval(change_rate: FloatArray, stale_seconds: float, risk: float) -> FloatArray:
    """Longest interval in which a page is stale for more than *stale_seconds* with at most this risk.

    >>> riskiest_interval(np.array([0.1, 1e-9]), 60.0, 0.05).round(1)
    array([6.05000000e+01, 5.12933544e+07])
    """
    interval: FloatArray = stale_seconds - np.log1p(-risk) / change_rate
    return interval


def optimal_ratio(z: FloatArray) -> FloatArray:
    r"""Solve :math:`r - \log(1+r) = -\log(1-z)`: intervals in units of the mean time between changes.

    The left side is convex and rises, and :math:`q+\sqrt{2q}` lies above the root for a right side
    :math:`q`, so Newton's method comes down to it. For z >= 1 there is none: inf.

    >>> optimal_ratio(np.array([0.0, 1 / 24, 0.5, 1.0]))
    array([0.        , 0.32078859, 1.67834699,        inf])
    """
    ratio = np.full(len(z), np.inf)
    rows = (z < 1).nonzero()[0]
    q = -np.log1p(-z[rows])
    r = q + np.sqrt(2 * q)
    for _ in range(_STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.where(r > 0, r - (_minus_log1p(r) - q) * (1 + r) / r, 0.0)
    ratio[rows] = r
    return ratio


def _minus_log1p(r: FloatArray) -> FloatArray:
    """r - log(1+r), by its series where r is small."""
    series = np.zeros(len(r))
    small = np.minimum(r, _SMALL)
    for k in range(14, 1, -1):
        series = 1 / k - small * series
    return np.where(r < _SMALL, r * r * series, r - np.log1p(r))
