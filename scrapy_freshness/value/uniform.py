"""Uniform: every page in turn, whatever it is worth and however often it changes."""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import FIRST_SECONDS, Beliefs, FloatArray


class Uniform:
    """V = elapsed: the arg max is the page that waited longest."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Seconds since the last visit.

        >>> pages = Beliefs(importance=np.ones(2), change_rate=np.ones(2))
        >>> Uniform().value(pages, np.array([3.0, 5.0]))
        array([3., 5.])
        """
        return elapsed

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """More than any page that has been visited."""
        return np.full(len(beliefs), FIRST_SECONDS)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """The price itself, which is an interval."""
        return np.full(len(beliefs), price)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability of no change since the last visit."""
        return np.exp(-beliefs.change_rate * elapsed)
