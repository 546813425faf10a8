r"""GREEDY-CIS and GREEDY-CIS+: the value of a crawl for those who take every signal for a change.

GREEDY-CIS believes that no signal is false (:math:`\nu=0`). A page that has seen one is stale and worth
:math:`\mu/\Delta`; otherwise [1]_

.. math:: V(\tau) = \mu\Bigl(\frac{R^0(\Delta\tau)}{\Delta}
   - e^{-\alpha\tau}\frac{R^0(\gamma\tau)}{\gamma}\Bigr), \qquad R^0(x) = 1-e^{-x},

with :math:`\alpha=(1-\lambda)\Delta` and :math:`\gamma=\lambda\Delta`, which is GREEDY-NCIS at
:math:`\nu=0`. GREEDY-CIS+ believes so only of pages whose signals are good, and takes the others for pages
without signals: GREEDY.

References
----------
.. [1] Busa-Fekete et al.: A scalable crawling algorithm utilizing noisy change-indicating signals,
   sections 5.1 and 6.7.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.ncis import Ncis


class Cis:
    """GREEDY-NCIS that believes in all signals; a page with recall 0 has none to believe in."""

    needs: ClassVar[frozenset[str]] = frozenset({"recall", "signals"})

    def __init__(self) -> None:
        self._ncis = Ncis()

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> pages = Beliefs(
        ...     importance=np.ones(2), change_rate=np.array([0.5, 0.5]),
        ...     recall=np.array([0.5, 0.5]), signals=np.array([0.0, 1.0]),
        ... )
        >>> Cis().value(pages, np.array([3.0, 3.0])).round(8)
        array([0.55679411, 2.        ])
        """
        return self._ncis.value(self._believed(beliefs), elapsed)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """A page without a copy is stale for sure."""
        return self._ncis.first_value(beliefs)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        return self._ncis.elapsed_at(self._believed(beliefs), price)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """At once: a signal means that the page is stale."""
        return self._ncis.sooner(self._believed(beliefs), elapsed, more)

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability of no change since the last visit: 0 after a signal."""
        return self._ncis.freshness(self._believed(beliefs), elapsed)

    def _believed(self, beliefs: Beliefs) -> Beliefs:
        return replace(beliefs, false_rate=np.zeros(len(beliefs)))


class CisPlus(Cis):
    """GREEDY-CIS where precision and recall are high, GREEDY elsewhere."""

    needs: ClassVar[frozenset[str]] = Cis.needs | {"false_rate"}

    def __init__(self, *, least_precision: float = 0.7, least_recall: float = 0.6) -> None:
        super().__init__()
        self._least_precision = least_precision
        self._least_recall = least_recall

    def _believed(self, beliefs: Beliefs) -> Beliefs:
        """Signals that are not good enough announce nothing."""
        recall, nu = beliefs.need("recall"), beliefs.need("false_rate")
        signalled = recall * beliefs.change_rate
        is_good = (recall > self._least_recall) & (signalled > self._least_precision * (signalled + nu))
        return replace(super()._believed(beliefs), recall=np.where(is_good, recall, 0.0))
