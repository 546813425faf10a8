r"""Any value model, with a weight for what the changes of a page cost searchers.

A model that values a page by its importance :math:`\mu` takes every change for a loss of the same size. If
queries were imported, what a change of each page costs searchers is measured, on average over all its
changes, noticed or not: :math:`x` in units of the mean page. The value is that of a page of importance
:math:`\mu x`.
This is not in a paper.
"""

from dataclasses import replace
from typing import ClassVar

from scrapy_freshness.value.contract import Beliefs, FloatArray, ValueModel
from scrapy_freshness.value.greedy import Greedy

_OWN = frozenset({"query_weight"})


class WeighedByQueries:
    """A model of pages whose importance is multiplied with their weights."""

    needs: ClassVar[frozenset[str]] = _OWN

    def __init__(self, pages: ValueModel | None = None) -> None:
        self._pages: ValueModel = pages or Greedy()
        self.needs = _OWN | self._pages.needs  # type: ignore[misc]  # those of the model for pages too

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a page of that importance.

        >>> import numpy as np
        >>> one = np.ones(1)
        >>> noticed = Beliefs(importance=one, change_rate=one, query_weight=2 * one)
        >>> plain = Beliefs(importance=2 * one, change_rate=one)
        >>> bool(WeighedByQueries().value(noticed, one) == Greedy().value(plain, one))
        True
        """
        return self._pages.value(_weighed(beliefs), elapsed)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """Of a page that was never visited; its weight is that of the mean page."""
        return self._pages.first_value(_weighed(beliefs))

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        return self._pages.elapsed_at(_weighed(beliefs), price)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """As the model has it."""
        return self._pages.sooner(_weighed(beliefs), elapsed, more)

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """As the model has it."""
        return self._pages.freshness(_weighed(beliefs), elapsed)


def _weighed(beliefs: Beliefs) -> Beliefs:
    return replace(beliefs, importance=beliefs.importance * beliefs.need("query_weight"))
