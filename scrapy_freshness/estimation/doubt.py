r"""How sure is a change rate?  The Gamma distribution that stands for what is believed of it.

The value of a crawl depends on the rate through the probability :math:`f(t)` that a copy of age :math:`t`
is fresh. A Gamma distribution of mean :math:`m` and variance :math:`d\,m^2` has

.. math:: f(t) = (1 + d\,m\,t)^{-1/d} .

It is chosen such that :math:`f` is right at two ages, a quarter of the time after which the page was last
looked at and four times as long: in between, the next look is likely. For any distribution
:math:`\log f(16 s)/\log f(s)` is between 1 and 16, and :math:`d` follows from that ratio alone. Fitting the
mean and the variance of the log rate instead is worse, because a distribution with two peaks, busy or
silent, has them both far from where they matter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, polygamma

from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.estimation.rate_grid import RATES

FloatArray = NDArray[np.float64]

#: The two ages, as multiples of the time of the last look.
_EARLY, _LATE = 0.25, 4.0
_LEAST_LOG = 1e-300
#: Standard normal quantile of a two-sided 90 % interval.
_Z90 = 1.6448536269514722
#: d*m*(early age) for the ratio of the logs of f, which falls from 16 (no doubt) towards 1.
_LOG_SCALE = np.linspace(np.log(1e-7), np.log(1e30), 8000)
_RATIO = np.log1p(_LATE / _EARLY * np.exp(_LOG_SCALE)) / np.log1p(np.exp(_LOG_SCALE))
#: Shapes of Gamma distributions for the variance of their log, which falls as the shape grows.
_LOG_SHAPE = np.linspace(np.log(1e-2), np.log(1e6), 2000)
_LOG_VARIANCE = np.log(polygamma(1, np.exp(_LOG_SHAPE)))


class Doubtful(NamedTuple):
    """Gamma distributions of change rates."""

    mean_rate: FloatArray  #: m, per second
    doubt: FloatArray  #: d, variance over the square of the mean


def doubtful_rates(believed: FloatArray, seconds: FloatArray) -> Doubtful:
    """Gamma distributions that keep copies as fresh as these distributions do.

    Parameters
    ----------
    believed : (n, 48) array, distributions of the rates (see `rate_grid.py`)
    seconds : (n,) array, when the page is likely to be looked at, > 0

    >>> slow_or_fast = np.zeros((1, 48))
    >>> slow_or_fast[0, [12, 36]] = 0.5
    >>> found = doubtful_rates(slow_or_fast, np.array([86400.0]))
    >>> (1 + found.doubt * found.mean_rate * 4 * 86400) ** (-1 / found.doubt)  # fresh after four days
    array([0.46551004])
    """
    early, late = (
        -np.log(np.maximum(np.einsum("ij,ij->i", believed, np.exp(-RATES * age[:, None])), _LEAST_LOG))
        for age in (_EARLY * seconds, _LATE * seconds)
    )
    early = np.maximum(early, 1e-12)
    scale = np.exp(np.interp(-late / early, -_RATIO, _LOG_SCALE))
    doubt = np.log1p(scale) / early
    return Doubtful(scale / doubt / (_EARLY * seconds), doubt)


def doubtful_estimates(estimate: RateEstimate) -> Doubtful:
    """Gamma distributions with the log-normal mean and the width of 90 % intervals.

    >>> vague = RateEstimate(np.array([1.0]), np.array([0.1]), np.array([10.0]))
    >>> [column.round(2).tolist() for column in doubtful_estimates(vague)]
    [[1.93], [1.13]]
    """
    deviation = np.log(estimate.high / np.maximum(estimate.low, 1e-300)) / (2 * _Z90)
    variance = np.clip(deviation**2, 1e-6, 1e4)
    shape = np.exp(np.interp(-np.log(variance), -_LOG_VARIANCE, _LOG_SHAPE))
    return Doubtful(estimate.rate * shape * np.exp(-digamma(shape)), 1 / shape)
