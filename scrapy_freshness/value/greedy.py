r"""GREEDY: the value of a crawl for pages that change as Poisson processes, without signals.

A copy :math:`\tau` seconds old is fresh with probability :math:`e^{-\Delta\tau}`. With requests at
rate :math:`\mu`, crawling the page when its copy has age :math:`\tau` has the marginal value [1]_

.. math:: V(\tau) = \frac{\mu}{\Delta} R_1(\Delta\tau), \qquad R_1(x) = 1-(1+x)e^{-x},

which grows from 0 to :math:`\mu/\Delta`. Crawling the arg max of :math:`V` at a constant rate comes
close to the best possible share of requests that meet a fresh copy.

References
----------
.. [1] Busa-Fekete et al.: A scalable crawling algorithm utilizing noisy change-indicating signals,
   section 5.1, V_GREEDY (whose denominator is Delta).
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.saturation import saturates_at, saturating


class Greedy:
    """V = (mu/Delta) * R1(Delta * elapsed)."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> page = Beliefs(importance=np.array([1.0]), change_rate=np.array([0.5]))
        >>> Greedy().value(page, np.array([3.0])).round(8)
        array([0.8843492])
        """
        return saturating(self.first_value(beliefs), beliefs.change_rate, elapsed)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """A page without a copy is stale for sure: the limit of V for an infinitely old copy."""
        return beliefs.importance / beliefs.change_rate

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value; a page with mu/Delta <= price is never worth it."""
        return saturates_at(self.first_value(beliefs), beliefs.change_rate, price)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability of no change since the last visit."""
        return np.exp(-beliefs.change_rate * elapsed)
