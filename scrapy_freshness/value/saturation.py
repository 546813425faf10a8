r"""The shape that most values share: they grow with the square of time, then towards a bound.

.. math:: R_1(x) = 1-(1+x)e^{-x} = P(2, x)

is the longevity utility [1]_ :math:`x D(x) - \int_0^x D` of a divergence :math:`D(x) = 1-e^{-x}`.

References
----------
.. [1] Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, section 3.
"""

import numpy as np
from scipy.special import gammainc, gammaincinv

from scrapy_freshness.value.contract import FloatArray


def saturating(bound: FloatArray, rate: FloatArray, elapsed: FloatArray) -> FloatArray:
    """bound * R1(rate * elapsed).

    >>> saturating(np.array([2.0]), np.array([0.5]), np.array([3.0])).round(8)
    array([0.8843492])
    """
    grown: FloatArray = bound * gammainc(2, rate * elapsed)
    return grown


def saturates_at(bound: FloatArray, rate: FloatArray, price: float | FloatArray) -> FloatArray:
    """Seconds after which bound * R1(rate * seconds) is the price; inf if the bound is not above it.

    >>> saturates_at(np.array([2.0, 0.5]), np.array([0.5, 0.5]), 0.88434920).round(6)
    array([ 3., inf])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.where(bound > 0, price / bound, np.where(np.asarray(price) > 0, np.inf, 0.0))
        never = share >= 1
        seconds: FloatArray = gammaincinv(2, np.where(never, 0.0, share)) / rate
    seconds[never] = np.inf
    return seconds
