"""Interval: a rule or a solved schedule says how often, and the page most behind it is next."""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import FIRST_SECONDS, Beliefs, FloatArray


class Interval:
    """V = elapsed/interval: at the price 1 a page is due."""

    needs: ClassVar[frozenset[str]] = frozenset({"interval"})

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """How many intervals have passed; 0 for pages that are never due.

        >>> pages = Beliefs(importance=np.ones(2), change_rate=np.ones(2), interval=np.array([60.0, np.inf]))
        >>> Interval().value(pages, np.array([90.0, 90.0]))
        array([1.5, 0. ])
        """
        return elapsed / beliefs.need("interval")

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """As of a page that has waited longer than any that has been visited."""
        return FIRST_SECONDS / beliefs.need("interval")

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """So many intervals."""
        interval = beliefs.need("interval")
        return price * interval if price > 0 else np.zeros(len(beliefs))

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability of no change since the last visit."""
        return np.exp(-beliefs.change_rate * elapsed)
