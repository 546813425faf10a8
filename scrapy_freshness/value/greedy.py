r"""GREEDY: the value of a crawl for pages that change as Poisson processes, without signals.

A copy :math:`\tau` seconds old is fresh with probability :math:`e^{-\Delta\tau}`. With requests at
rate :math:`\mu`, crawling the page when its copy has age :math:`\tau` has the marginal value [1]_

.. math:: V(\tau) = \frac{\mu}{\Delta} R_1(\Delta\tau), \qquad R_1(x) = 1-(1+x)e^{-x},

which grows from 0 to :math:`\mu/\Delta`. Crawling the arg max of :math:`V` at a constant rate comes
close to the best possible share of requests that meet a fresh copy.

References
----------
.. [1] Busa-Fekete et al.: Optimal scheduling of web crawls with noisy change-indicating signals,
   section 5, V_GREEDY (whose denominator is Delta).
"""

import numpy as np
from scipy.special import gammainc, gammaincinv

from scrapy_freshness.value.contract import Beliefs, FloatArray


class Greedy:
    """V = (mu/Delta) * R1(Delta * elapsed), with R1(x) = P(2, x), the regularised incomplete gamma."""

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> page = Beliefs(importance=np.array([1.0]), change_rate=np.array([0.5]))
        >>> Greedy().value(page, np.array([3.0])).round(8)
        array([0.8843492])
        """
        bound = beliefs.importance / beliefs.change_rate
        gained: FloatArray = bound * gammainc(2, beliefs.change_rate * elapsed)
        return gained

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """A page without a copy is stale for sure: the limit of V for an infinitely old copy."""
        return beliefs.importance / beliefs.change_rate

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value; a page with mu/Delta <= price is never worth it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(beliefs.importance > 0, price * beliefs.change_rate / beliefs.importance, np.inf)
        never = share >= 1
        elapsed: FloatArray = gammaincinv(2, np.where(never, 0.0, share)) / beliefs.change_rate
        elapsed[never] = np.inf
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability of no change since the last visit."""
        return np.exp(-beliefs.change_rate * elapsed)
