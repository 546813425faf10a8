r"""ECHO: the value of polling a source of links whose profit vanishes with time.

A source shows new links at rate :math:`\lambda`. A page fetched :math:`d` seconds after its link appeared
earns :math:`Pe^{-\mu d}`, the requests that it will still meet. Polling the source :math:`\tau` seconds
after the last time has the marginal value [1]_

.. math:: V(\tau) = \frac{\lambda P}{\mu} R_1(\mu\tau), \qquad R_1(x) = 1-(1+x)e^{-x} .

The greedy variant takes what a poll would bring at most, :math:`\lambda P\tau`. Profits are in requests
already, so the importance of the page that shows the links plays no part.

References
----------
.. [1] Lefortier et al.: Timely crawling of high-quality ephemeral new content, CIKM 2013, section 4.1.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import FIRST_SECONDS, Beliefs, FloatArray
from scrapy_freshness.value.saturation import saturates_at, saturating


class ContentSource:
    """V = (lambda*P/mu) * R1(mu * elapsed)."""

    needs: ClassVar[frozenset[str]] = frozenset({"link_rate", "profit", "decay"})

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a poll.

        >>> hub = Beliefs(
        ...     importance=np.ones(1), change_rate=np.ones(1), link_rate=np.array([1 / 3600]),
        ...     profit=np.ones(1), decay=np.array([1 / 86400]),
        ... )
        >>> ContentSource().value(hub, np.array([0.13500757 * 86400])).round(8)
        array([0.2])
        """
        return saturating(self.first_value(beliefs), beliefs.need("decay"), elapsed)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """lambda*P/mu, what all links on the page earn that have not vanished yet."""
        return beliefs.need("link_rate") * beliefs.need("profit") / beliefs.need("decay")

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value; a source with lambda*P/mu <= price is never polled."""
        return saturates_at(self.first_value(beliefs), beliefs.need("decay"), price)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability that no link appeared since the last poll."""
        return np.exp(-beliefs.need("link_rate") * elapsed)


class GreedySource:
    """V = lambda * P * elapsed, ECHO-greedy."""

    needs: ClassVar[frozenset[str]] = frozenset({"link_rate", "profit"})

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a poll.

        >>> hub = Beliefs(
        ...     importance=np.ones(1), change_rate=np.ones(1),
        ...     link_rate=np.array([0.1]), profit=np.array([3.0]),
        ... )
        >>> GreedySource().value(hub, np.array([10.0]))
        array([3.])
        """
        return beliefs.need("link_rate") * beliefs.need("profit") * elapsed

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """As of a source that has waited longer than any that has been polled."""
        return self.value(beliefs, np.full(len(beliefs), FIRST_SECONDS))

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value; a source without links or profit is never polled."""
        per_second = beliefs.need("link_rate") * beliefs.need("profit")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(per_second > 0, price / per_second, np.inf if price > 0 else 0.0)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability that no link appeared since the last poll."""
        return np.exp(-beliefs.need("link_rate") * elapsed)


def remaining_profit(profit: FloatArray, decay: FloatArray, age: FloatArray) -> FloatArray:
    """P * exp(-mu * age): what a page still earns if it is fetched *age* seconds after its link appeared.

    This is the value of fetching it for the first time.

    >>> remaining_profit(np.array([8.0]), np.array([np.log(2)]), np.array([3.0])).round(6)
    array([1.])
    """
    return profit * np.exp(-decay * age)


def participates(
    profit: FloatArray, decay: FloatArray, interval: FloatArray, price: float | FloatArray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    r"""Whether the average page of a source polled every *interval* seconds is worth its own fetch.

    At a price :math:`\omega` of a fetch a source that brings :math:`\lambda` pages a second earns
    :math:`\lambda(Pe^{-\mu I} - \omega)` more than it costs, with the interval :math:`I` at which its value
    reaches the price. The paper lacks this condition.

    >>> participates(np.ones(2), np.ones(2), np.array([0.1, 3.0]), price=0.5)
    array([ True, False])
    """
    return remaining_profit(profit, decay, interval) >= price
