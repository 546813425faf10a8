r"""User-centric: the value of a crawl by how much better its answers became after earlier crawls.

The gain of a refresh is the rise in the quality of search results that it brought. A page's priority is
its mean gain per second of waiting times the time waited [1]_,

.. math:: V(\tau) = g\,\tau .

A line never flattens: a page that waited for a year is worth 365 times one that waited for a day, though
both may be just as stale. And where the budget is large it visits pages in proportion to their gains, which
starves those of small ones: the best frequencies grow with their square roots.

If changes that searchers notice come at rate :math:`\nu`, a copy that has missed one costs a quality of
:math:`g/\nu`, and one that is :math:`\tau` old costs :math:`D(\tau)=\frac{g}{\nu}(1-e^{-\nu\tau})`. The
longevity utility :math:`\tau D-\int D` of this loss is the mended value

.. math:: V(\tau) = \frac{g}{\nu^2} R_1(\nu\tau),

in quality times seconds, which is not in the paper. What matters is that :math:`\nu` counts what searchers
notice: most pages change far more often in ways that no query sees, and would seem to be beyond hope.

Neither value ever brings back a page with :math:`g=0`, so whoever measures gains must not believe in a 0.

References
----------
.. [1] Pandey, Olston: User-centric web crawling, WWW 2005, section 4.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import FIRST_SECONDS, Beliefs, FloatArray
from scrapy_freshness.value.saturation import saturates_at, saturating


class Gain:
    """V = gain * elapsed."""

    needs: ClassVar[frozenset[str]] = frozenset({"gain"})

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Quality that a crawl brings.

        >>> page = Beliefs(importance=np.ones(1), change_rate=np.ones(1), gain=np.array([0.2]))
        >>> Gain().value(page, np.array([10.0]))
        array([2.])
        """
        return beliefs.need("gain") * elapsed

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """As of a page that has waited longer than any that has been visited."""
        return beliefs.need("gain") * FIRST_SECONDS

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value; a page without gain is never worth it."""
        gain = beliefs.need("gain")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(gain > 0, price / gain, np.inf if price > 0 else 0.0)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability of no change since the last visit."""
        return np.exp(-beliefs.change_rate * elapsed)


class SaturatingGain(Gain):
    """V = (gain/nu^2) * R1(nu * elapsed)."""

    needs: ClassVar[frozenset[str]] = frozenset({"gain", "noticed_rate"})

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Quality times seconds that a crawl brings.

        >>> beliefs = {"gain": np.array([0.5]), "noticed_rate": np.array([0.5])}
        >>> page = Beliefs(importance=np.ones(1), change_rate=np.ones(1), **beliefs)
        >>> SaturatingGain().value(page, np.array([3.0])).round(8)
        array([0.8843492])
        """
        return saturating(self.first_value(beliefs), beliefs.need("noticed_rate"), elapsed)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """The limit for an infinitely old copy."""
        rate = beliefs.need("noticed_rate")
        return beliefs.need("gain") / rate / rate

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        return saturates_at(self.first_value(beliefs), beliefs.need("noticed_rate"), price)
