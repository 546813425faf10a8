r"""ECHO's three ways to share fetches among sources of links and the new pages that they show.

All know the price :math:`\omega` of a fetch, which follows from a schedule of all sources
(`pacing/schedule.py`), and with it the interval :math:`I` at which each source is worth polling [1]_. They
differ in what comes first:

==============  =============================================================================
echo-newpages   new pages at once; then the source most behind its schedule
echo-schedule   sources on time; then new pages, the newest first; then the next source
echo-greedy     new pages at once; then the source with the largest :math:`\lambda P\tau`
==============  =============================================================================

The *participation condition*, which the paper lacks, leaves alone what does not pay for its fetch: sources
with :math:`Pe^{-\mu I} < \omega`, and new pages whose remaining profit is below :math:`\omega`. A page that
has been fetched is not fetched again.

References
----------
.. [1] Lefortier et al.: Timely crawling of high-quality ephemeral new content, CIKM 2013, section 4.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import FIRST_SECONDS, Beliefs, FloatArray
from scrapy_freshness.value.echo import participates, remaining_profit
from scrapy_freshness.value.saturation import saturates_at

#: More than any source is worth: what comes at once.
_AT_ONCE = 1e200
#: A source that is due is worth so much, more than any new page; which is worth more than one that is not.
_ON_TIME = 4.0
#: Shortest interval, at a price of 0.
_SHORTEST_SECONDS = 1e-3


class EchoNewPages:
    """New pages at once, then V = elapsed/I of sources."""

    needs: ClassVar[frozenset[str]] = frozenset({"is_source", "link_rate", "profit", "decay", "age", "price"})

    def __init__(self, *, participation: bool = True) -> None:
        self._participation = participation

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """How many of its intervals a source has waited; 0 for pages.

        >>> hub = Beliefs(
        ...     importance=np.ones(1), change_rate=np.ones(1), is_source=np.ones(1), price=np.array([0.2]),
        ...     link_rate=np.array([1 / 3600]), profit=np.ones(1), decay=np.array([1 / 86400]),
        ...     age=np.zeros(1),
        ... )
        >>> EchoNewPages().value(hub, np.array([2 * 0.13500757 * 86400])).round(6)
        array([2.])
        """
        return elapsed / self.interval(beliefs)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """A source that was never polled is most behind; new pages are worth more, the better the more."""
        left = remaining_profit(beliefs.need("profit"), beliefs.need("decay"), beliefs.need("age"))
        page = _AT_ONCE * (1 + left / (1 + left)) * self._pays(left, beliefs)
        return np.where(beliefs.need("is_source") > 0, self._first_poll(beliefs), page)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """So many intervals; never for pages."""
        return price * self.interval(beliefs) if price > 0 else np.zeros(len(beliefs))

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability that no link appeared on a source, or that a page did not change."""
        is_source = beliefs.need("is_source") > 0
        return np.exp(-np.where(is_source, beliefs.need("link_rate"), beliefs.change_rate) * elapsed)

    def interval(self, beliefs: Beliefs) -> FloatArray:
        """Seconds between polls of a source at the price; inf if it does not pay, and for pages."""
        link_rate, profit, decay = (beliefs.need(name) for name in ("link_rate", "profit", "decay"))
        price = beliefs.need("price")
        interval = np.maximum(saturates_at(link_rate * profit / decay, decay, price), _SHORTEST_SECONDS)
        pays = beliefs.need("is_source") > 0
        if self._participation:
            pays &= participates(profit, decay, interval, price)
        return np.where(pays, interval, np.inf)

    def _first_poll(self, beliefs: Beliefs) -> FloatArray:
        return np.full(len(beliefs), FIRST_SECONDS / _SHORTEST_SECONDS)

    def _pays(self, left: FloatArray, beliefs: Beliefs) -> FloatArray:
        """Whether a new page is worth its fetch."""
        pays = left >= beliefs.need("price") if self._participation else np.ones(len(left), bool)
        return pays.astype(np.float64)


class EchoSchedule(EchoNewPages):
    """Sources on time, then new pages, the newest first."""

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """How many of its intervals a source has waited, and more than a page once it is due.

        >>> hub = Beliefs(
        ...     importance=np.ones(1), change_rate=np.ones(1), is_source=np.ones(1), price=np.array([0.2]),
        ...     link_rate=np.array([1 / 3600]), profit=np.ones(1), decay=np.array([1 / 86400]),
        ...     age=np.zeros(1),
        ... )
        >>> EchoSchedule().value(hub, np.array([2 * 0.13500757 * 86400])).round(6)
        array([8.])
        """
        waited = super().value(beliefs, elapsed)
        return np.where(waited < 1, waited, _ON_TIME * waited)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """Of pages, between sources that are due and those that are not."""
        age = beliefs.need("age")
        left = remaining_profit(beliefs.need("profit"), beliefs.need("decay"), age)
        page = (2 + 1 / (1 + age)) * self._pays(left, beliefs)
        return np.where(beliefs.need("is_source") > 0, _ON_TIME * self._first_poll(beliefs), page)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value; the value jumps when a source becomes due."""
        return super().elapsed_at(beliefs, price if price <= 1 else max(price / _ON_TIME, 1.0))


class EchoGreedy(EchoNewPages):
    """New pages at once, then V = lambda * P * elapsed of sources that pay."""

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """What a poll would bring at most."""
        return self._per_second(beliefs) * elapsed

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        per_second = self._per_second(beliefs)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(per_second > 0, price / per_second, np.inf if price > 0 else 0.0)

    def _first_poll(self, beliefs: Beliefs) -> FloatArray:
        return np.maximum(beliefs.need("link_rate") * beliefs.need("profit"), 1.0) * FIRST_SECONDS

    def _per_second(self, beliefs: Beliefs) -> FloatArray:
        earns = beliefs.need("link_rate") * beliefs.need("profit")
        return np.where(np.isfinite(self.interval(beliefs)), earns, 0.0)
