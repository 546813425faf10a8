r"""Longevity with patience: however little is expected of a page, it is not left alone for ever.

Waiting :math:`t` seconds can cost at most :math:`t D_{max}`, with :math:`D_{max}=1` for fragments. To keep
that below :math:`\rho` thresholds, whatever the page does, the paper bounds the refresh period by
:math:`\rho T/D_{max}`, and while a page is new by :math:`l\,n` after :math:`n` refreshes [1]_. With
:math:`l` a multiple of :math:`T` (no refresh can pay before :math:`T`, because :math:`U(t)\le t`), both
say that a page that waited for its *patience* times the price is worth the price:

.. math:: V = \mu\max\bigl(U(t),\ t/\rho_n\bigr), \qquad \rho_n = \min(\rho, l\,n/T) .

The learning phase ends after some visits, and then :math:`\rho_n=\rho`. So they hold for any price, also for
one that nobody set but the budget.

References
----------
.. [1] Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, sections 4.2 and 4.5.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import FIRST_SECONDS, Beliefs, FloatArray
from scrapy_freshness.value.longevity import Longevity


class PatientLongevity:
    """V = mu * max(U(elapsed), elapsed/patience)."""

    needs: ClassVar[frozenset[str]] = Longevity.needs | {"patience"}

    def __init__(self) -> None:
        self._longevity = Longevity()

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> page = Beliefs(
        ...     importance=np.ones(2), change_rate=np.full(2, 0.25),
        ...     plateau=np.array([0.5, 0.0]), stages=np.array([10.0, 1.0]), patience=np.full(2, 100.0),
        ... )
        >>> PatientLongevity().value(page, np.array([8.2088, 50.0])).round(4)
        array([0.5, 0.5])
        """
        return np.maximum(
            self._longevity.value(beliefs, elapsed), beliefs.importance * elapsed / beliefs.need("patience")
        )

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """That of a copy which is infinitely old, or older than any."""
        waited = beliefs.importance * FIRST_SECONDS / beliefs.need("patience")
        return np.maximum(self._longevity.first_value(beliefs), waited)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """When the utility, or at the latest when the patience, reaches the price."""
        patience = beliefs.need("patience")
        if price <= 0:
            return np.zeros(len(beliefs))
        with np.errstate(divide="ignore"):
            return np.minimum(
                self._longevity.elapsed_at(beliefs, price), price * patience / beliefs.importance
            )

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Expected share of common fragments of copy and page, 1 - D."""
        return self._longevity.freshness(beliefs, elapsed)
