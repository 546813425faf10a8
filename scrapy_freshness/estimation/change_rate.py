r"""How often does a page change?  The censored maximum-likelihood estimate and its interval.

A visit after a time :math:`t` sees only whether the page changed at least once, which a Poisson
process of rate :math:`\lambda` does with probability :math:`1-e^{-\lambda t}`. The likelihood of
many visits at irregular intervals is largest where [1]_

.. math:: \sum_{changed} \frac{t}{e^{\lambda t}-1} = \sum_{unchanged} t .

Two pseudo-observations, a change after one time and none after another, keep the estimate away from
0 and infinity while there are few visits [1]_.

References
----------
.. [1] Ford, Grimes, Tassone: Keeping a search engine index fresh: risk and optimality in estimating
   refresh rates for web pages, section 5.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.history import n_observations, observations

FloatArray = NDArray[np.float64]

#: Standard normal quantile of a two-sided 90 % interval.
_Z90 = 1.6448536269514722
#: Largest half width of the interval of log(rate): nothing is known, but numbers stay finite.
_WIDEST = 50.0
_MAX_STEPS = 60
_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """Change rates of some pages, per second, with their 90 % intervals."""

    rate: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True)
class PriorPoints:
    """Two pseudo-observations that every page starts with."""

    changed_after_seconds: float = 3600.0
    unchanged_after_seconds: float = 57 * 3600.0

    @property
    def rate(self) -> float:
        """Change rate believed of a page that was never compared.

        >>> round(1 / PriorPoints().rate / 3600, 3)  # hours
        57.499
        """
        return float(estimate_change_rates([b""], self).rate[0])


def estimate_change_rates(histories: Sequence[bytes], prior: PriorPoints) -> RateEstimate:
    """Estimate the change rate of each page from its history and the prior's pseudo-observations.

    >>> from scrapy_freshness.estimation.history import extended
    >>> often = extended(extended(b"", 60, True), 60, True)
    >>> estimate = estimate_change_rates([b"", often], PriorPoints(60, 600))
    >>> bool(estimate.rate[1] > estimate.rate[0])
    True
    """
    count = len(histories)
    flat = observations(b"".join(histories)).astype(np.float64)
    owner = np.repeat(np.arange(count), [n_observations(history) for history in histories])

    is_change = flat < 0
    changed = np.concatenate([-flat[is_change], np.full(count, prior.changed_after_seconds)])
    changed_owner = np.concatenate([owner[is_change], np.arange(count)])
    unchanged = _sums(owner[~is_change], flat[~is_change], count)
    return censored_mle(changed, changed_owner, unchanged + prior.unchanged_after_seconds)


def censored_mle(
    changed_seconds: FloatArray, changed_owner: NDArray[np.int64], unchanged_seconds: FloatArray
) -> RateEstimate:
    r"""Solve :math:`\sum_j t_j/(e^{\lambda t_j}-1) = T` for many pages at once.

    Parameters
    ----------
    changed_seconds : (k,) array, t_j > 0, intervals that ended in a change
    changed_owner : (k,) array, index of the page that interval j belongs to; every page has one
    unchanged_seconds : (n,) array, T > 0, sum of each page's intervals without a change

    Notes
    -----
    The left side is convex and falls in lambda, and :math:`t/(e^{\lambda t}-1) \ge 1/\lambda - t/2`,
    so Newton's method from :math:`n/(T + \sum t_j/2)` climbs to the root without overshooting. The
    interval is that of log(lambda) with the observed information.
    """
    n_pages = len(unchanged_seconds)
    if n_pages == 0:
        return RateEstimate(np.empty(0), np.empty(0), np.empty(0))
    n_changes = np.bincount(changed_owner, minlength=n_pages)
    half_sum = _sums(changed_owner, changed_seconds / 2, n_pages)
    rate = n_changes / (unchanged_seconds + half_sum)
    for _ in range(_MAX_STEPS):
        excess, information = _score(rate, changed_seconds, changed_owner, n_pages)
        step = (excess - unchanged_seconds) / information
        rate = rate + step
        if np.all(np.abs(step) <= _TOLERANCE * rate):
            break
    _, information = _score(rate, changed_seconds, changed_owner, n_pages)
    factor = np.exp(np.minimum(_Z90 / (rate * np.sqrt(information)), _WIDEST))
    return RateEstimate(rate, rate / factor, rate * factor)


def _score(
    rate: FloatArray, seconds: FloatArray, owner: NDArray[np.int64], n_pages: int
) -> tuple[FloatArray, FloatArray]:
    """Sum of t/(e^x - 1) and of t^2 e^x/(e^x - 1)^2 with x = rate * t, per page."""
    x = np.minimum(rate[owner] * seconds, 700.0)
    grown = np.expm1(x)
    term = seconds / grown
    return _sums(owner, term, n_pages), _sums(owner, term * term * (grown + 1), n_pages)


def _sums(owner: NDArray[np.int64], amounts: FloatArray, n_pages: int) -> FloatArray:
    """Sum of the amounts that belong to each page."""
    return np.bincount(owner, weights=amounts, minlength=n_pages).astype(np.float64, copy=False)
