"""Pages whose interval somebody has pinned, beside whatever model values the others.

A pin is an order, not a value: the page is due when its interval is over, before everything that is there for
its value, and not earlier, however much of the budget is left. So its value is infinite from then on and 0
before, and every price is reached after the same time; what the pinned pages take is gone when the price is
found at which the others spend the budget.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import Beliefs, FloatArray, ValueModel
from scrapy_freshness.value.greedy import Greedy

#: Share of the interval, and seconds, that may be missing: the time at which a page is due is rounded.
_ROUNDING = 1e-6


class WithPins:
    """Any model, and pages that are pinned; without any, the column is missing and the model is all."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, pages: ValueModel | None = None) -> None:
        self._pages: ValueModel = pages or Greedy()
        self.needs = self._pages.needs  # type: ignore[misc]  # those of the model

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a visit.

        >>> from scrapy_freshness.value.uniform import Uniform
        >>> pages = Beliefs(importance=np.ones(3), change_rate=np.ones(3), pinned=np.array([np.nan, 5, 9]))
        >>> WithPins(Uniform()).value(pages, np.array([7.0, 7.0, 7.0]))
        array([ 7., inf,  0.])
        """
        values = self._pages.value(beliefs, elapsed)
        if beliefs.pinned is None:
            return values
        is_due = elapsed >= beliefs.pinned * (1 - _ROUNDING) - _ROUNDING
        return np.where(np.isnan(beliefs.pinned), values, np.where(is_due, np.inf, 0.0))

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """That of the model: a first copy waits for its turn."""
        return self._pages.first_value(beliefs)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value: the pinned interval, at any price."""
        seconds = self._pages.elapsed_at(beliefs, price)
        if beliefs.pinned is None:
            return seconds
        return np.where(np.isnan(beliefs.pinned), seconds, beliefs.pinned)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """By the model; signals do not move what is pinned."""
        seconds = self._pages.sooner(beliefs, elapsed, more)
        return seconds if beliefs.pinned is None else np.where(np.isnan(beliefs.pinned), seconds, elapsed)

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """That of the model."""
        return self._pages.freshness(beliefs, elapsed)
