r"""HOLISTIC: known pages, sources of links and new pages in one unit, which no paper has.

Values are requests that a fetch lets meet fresh content. Refreshing a page has the value of the model for
pages. A new page found :math:`d` seconds ago is worth its remaining profit :math:`Pe^{-\mu d}`, ever less
while it waits. Polling a source finds pages that cost a fetch each, and so are worth
:math:`(Pe^{-\mu a}-\omega)^+` at age :math:`a` if a fetch costs :math:`\omega`. But links leave, at a rate
:math:`\nu`, and one that has left is not found: it is worth :math:`v(a)=e^{-\nu a}(Pe^{-\mu a}-\omega)^+`.
Polled every :math:`I`, a source earns :math:`\frac{1}{I}\int_0^I\lambda v`, whose marginal value per poll is

.. math:: V(\tau) = \lambda\int_0^\tau (v(a) - v(\tau))\,da
   = \frac{\lambda P}{\mu+\nu} R_1\bigl((\mu+\nu)t\bigr) - \frac{\lambda\omega}{\nu} R_1(\nu t),
   \qquad t = \min(\tau, a^*), \quad Pe^{-\mu a^*} = \omega .

If links stay, it is ECHO's value, which stops growing at the age at which a page does not pay for its fetch
any more. A source whose value stops below :math:`\omega` is left alone, which is the participation condition
of `echo_policies.py`. A page with profit 0 is not ephemeral: its first copy is worth what the model for
pages says.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import Beliefs, FloatArray, ValueModel
from scrapy_freshness.value.crossing import first_crossing
from scrapy_freshness.value.echo import remaining_profit
from scrapy_freshness.value.expected_ncis import ExpectedNcis
from scrapy_freshness.value.saturation import saturates_at, saturating

_OWN = frozenset({"is_source", "link_rate", "profit", "decay", "leaving", "age", "price"})
#: Links that leave more slowly than this, per mean life of their profit, are as good as there for ever.
_STAYS = 1e-6


class Holistic:
    """The value of pages by another model, of sources and new pages by what they earn."""

    needs: ClassVar[frozenset[str]] = _OWN

    def __init__(self, pages: ValueModel | None = None, *, participation: bool = True) -> None:
        self._pages: ValueModel = pages or ExpectedNcis()
        self._participation = participation
        self.needs = _OWN | self._pages.needs  # type: ignore[misc]  # those of the model for pages too

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a fetch of something that was fetched before.

        >>> hub_and_page = Beliefs(
        ...     importance=np.ones(2), change_rate=np.array([0.5, 0.5]), is_source=np.array([1.0, 0.0]),
        ...     link_rate=np.array([0.5, 0]), profit=np.array([2.0, 0]), decay=np.array([0.5, 1.0]),
        ...     leaving=np.zeros(2), age=np.zeros(2), price=np.full(2, 0.1), mean_rate=np.full(2, 0.5),
        ...     doubt=np.zeros(2), recall=np.zeros(2), false_rate=np.zeros(2), signals=np.zeros(2),
        ... )
        >>> Holistic().value(hub_and_page, np.array([3.0, 3.0])).round(8)
        array([0.8843492, 0.8843492])
        """
        values = self._pages.value(beliefs, elapsed)
        sources = beliefs.need("is_source").nonzero()[0]
        if len(sources):
            values[sources] = self._polled(beliefs.at(sources), elapsed[sources])[0]
        return values

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """What all links on a source may earn; the remaining profit of a new page."""
        profit = beliefs.need("profit")
        left = remaining_profit(profit, beliefs.need("decay"), beliefs.need("age"))
        page = np.where(profit > 0, left, self._pages.first_value(beliefs))
        return np.where(beliefs.need("is_source") > 0, self._bound(beliefs), page)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        seconds = self._pages.elapsed_at(beliefs, price)
        sources = beliefs.need("is_source").nonzero()[0]
        if len(sources):
            seconds[sources] = self._polled_at(beliefs.at(sources), price)
        return seconds

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """By the model for pages; sources do not listen."""
        return np.where(beliefs.need("is_source") > 0, elapsed, self._pages.sooner(beliefs, elapsed, more))

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """That of the model for pages; of a source, the probability that no link appeared."""
        unseen = np.exp(-beliefs.need("link_rate") * elapsed)
        return np.where(beliefs.need("is_source") > 0, unseen, self._pages.freshness(beliefs, elapsed))

    def _polled(self, sources: Beliefs, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Value of polling sources, and its derivative by time."""
        vanishing, leaving, costs = self._vanishing(sources), sources.need("leaving"), self._costs(sources)
        pays = elapsed < self._pays_until(sources)
        t = np.minimum(elapsed, self._pays_until(sources))
        value = saturating(self._bound(sources), vanishing, t)
        slope = self._bound(sources) * vanishing**2 * t * np.exp(-vanishing * t)
        leaves = costs > 0
        if leaves.any():
            nu = np.where(leaves, leaving, 1.0)
            value = value - np.where(leaves, saturating(costs / nu, nu, t), 0.0)
            slope = slope - costs * leaving * t * np.exp(-leaving * t)
        return np.maximum(value, 0.0), np.where(pays, np.maximum(slope, 0.0), 0.0)

    def _polled_at(self, sources: Beliefs, price: float) -> FloatArray:
        """Seconds after which a poll is worth the price."""
        # It would be sooner if pages that are found cost nothing: if they do not leave, that is all the same.
        seconds = saturates_at(self._bound(sources), self._vanishing(sources), price)
        rows = ((self._costs(sources) > 0) & np.isfinite(seconds) & (price > 0)).nonzero()[0]
        if len(rows):
            some = sources.at(rows)
            seconds[rows] = first_crossing(
                lambda part, elapsed: self._polled(some.at(part), elapsed),
                np.zeros(len(rows)),
                self._polled(some, np.full(len(rows), np.inf))[0],
                price,
                np.maximum(seconds[rows], 1e-9),
            )
        return np.where(seconds <= self._pays_until(sources), seconds, np.inf if price > 0 else 0.0)

    def _bound(self, beliefs: Beliefs) -> FloatArray:
        bound: FloatArray = beliefs.need("link_rate") * beliefs.need("profit") / self._vanishing(beliefs)
        return bound

    def _vanishing(self, beliefs: Beliefs) -> FloatArray:
        """mu + nu, how fast the profit of a link vanishes that nobody has found."""
        vanishing: FloatArray = beliefs.need("decay") + beliefs.need("leaving")
        return vanishing

    def _costs(self, sources: Beliefs) -> FloatArray:
        """lambda * omega, what fetching all pages of a source costs per second; 0 if none leaves."""
        if not self._participation:
            return np.zeros(len(sources))
        leaves = sources.need("leaving") > _STAYS * sources.need("decay")
        return np.where(leaves, sources.need("link_rate") * sources.need("price"), 0.0)

    def _pays_until(self, beliefs: Beliefs) -> FloatArray:
        """a*, the age at which an average page of a source is worth just its fetch."""
        price = beliefs.need("price")
        if not self._participation:
            return np.full(len(beliefs), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            seconds = np.log(beliefs.need("profit") / price) / beliefs.need("decay")
        return np.where(price > 0, np.maximum(np.nan_to_num(seconds, neginf=0.0), 0.0), np.inf)
