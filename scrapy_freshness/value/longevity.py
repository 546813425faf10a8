r"""Longevity: the value of a crawl by how much of the page has moved, and how long it stays.

The utility of refreshing a page :math:`t` seconds after the last refresh is

.. math:: U(t) = t\,D(t) - \int_0^t D ,

where :math:`D` is its expected divergence [1]_. Refreshing every page when :math:`U` reaches a common
threshold is the best use of a crawl budget: content that lives long counts for more than content that will
have gone again soon. With updates at rate :math:`\Delta` and the curves of `curves.py`, :math:`U` is
:math:`a/\Delta` times that of the curve at :math:`z=\Delta t`; it is weighed with the page's importance.

References
----------
.. [1] Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, section 3.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.crossing import first_crossing
from scrapy_freshness.value.curves import Scroll, curve
from scrapy_freshness.value.signals import Rows


class Longevity:
    """V = mu * U(elapsed), for content that churns (stages = 1) or scrolls."""

    needs: ClassVar[frozenset[str]] = frozenset({"plateau", "stages"})

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> page = Beliefs(
        ...     importance=np.ones(1), change_rate=np.array([0.25]),
        ...     plateau=np.array([0.5]), stages=np.array([10.0]),
        ... )
        >>> Longevity().value(page, np.array([8.2088])).round(4)
        array([0.5])
        """
        return self._growth(beliefs, elapsed)[0]

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """The limit of the value, as if all of the page moved like the part that moves.

        The first copy brings the part that never changes too.
        """
        scroll, speed = Scroll.of(beliefs)
        return beliefs.importance * scroll.final_utility() / (speed * beliefs.change_rate)

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        scroll, speed = Scroll.of(beliefs)
        bound = beliefs.need("plateau") * self.first_value(beliefs)
        guess = scroll.guess(price / bound) / (speed * beliefs.change_rate)

        def growth(rows: Rows, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
            return self._growth(beliefs.at(rows), elapsed)

        return first_crossing(growth, np.zeros(len(beliefs)), bound, price, guess)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Expected share of common fragments of copy and page, 1 - D."""
        scroll, speed = Scroll.of(beliefs)
        divergence = curve(scroll, speed * beliefs.change_rate * elapsed).divergence
        return 1 - beliefs.need("plateau") * np.minimum(divergence, 1.0)

    def _growth(self, beliefs: Beliefs, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The value and its derivative, t * D'(t)."""
        scroll, speed = Scroll.of(beliefs)
        rate, scale = speed * beliefs.change_rate, beliefs.importance * beliefs.need("plateau")
        found = curve(scroll, rate * elapsed)
        gained = np.minimum(found.utility, scroll.final_utility())
        return scale / rate * gained, scale * elapsed * rate * found.slope
