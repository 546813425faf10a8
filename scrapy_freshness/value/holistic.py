r"""HOLISTIC: known pages, sources of links and new pages in one unit, which no paper has.

Values are requests that a fetch lets meet fresh content. Refreshing a page has the value of the model for
pages. A new page found :math:`d` seconds ago is worth its remaining profit :math:`Pe^{-\mu d}`, ever less
while it waits. Polling a source finds pages that cost a fetch each, and so are worth
:math:`v(a)=(Pe^{-\mu a}-\omega)^+` at age :math:`a` if a fetch costs :math:`\omega`. Polled every
:math:`I`, a source earns :math:`\frac{1}{I}\int_0^I\lambda v`, whose marginal value per poll is

.. math:: V(\tau) = \lambda\int_0^\tau (v(a) - v(\tau))\,da
   = \frac{\lambda P}{\mu} R_1\bigl(\mu\min(\tau, a^*)\bigr), \qquad Pe^{-\mu a^*} = \omega :

ECHO's value, which stops growing at the age at which a page does not pay for its fetch any more. A source
whose value stops below :math:`\omega` is left alone, which is the participation condition of
`echo_policies.py`. A source that is a page as well, because its own content has an importance, is worth the
larger of the two values. A page with profit 0 is not ephemeral: its first copy is worth what the model for
pages says.

Links also leave their source, at a rate :math:`\nu`, and what has left is not found any more. So the profit
of a link that nobody has found vanishes at the rate :math:`\mu+\nu`, which takes the place of :math:`\mu` in
the value of a poll; that of a page that was found at :math:`\mu` as before. (That pages which have left need
not be paid for is left out: it would make a poll worth a little less where its pages hardly pay.)
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import Beliefs, FloatArray, ValueModel
from scrapy_freshness.value.echo import remaining_profit
from scrapy_freshness.value.expected_ncis import ExpectedNcis
from scrapy_freshness.value.saturation import saturates_at, saturating

_OWN = frozenset({"is_source", "link_rate", "profit", "decay", "leaving", "age", "price"})


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
        ...     importance=np.array([0.0, 1.0]), change_rate=np.full(2, 0.5), is_source=np.array([1.0, 0.0]),
        ...     link_rate=np.array([0.5, 0]), profit=np.array([2.0, 0]), decay=np.array([0.5, 1.0]),
        ...     leaving=np.zeros(2), age=np.zeros(2), price=np.full(2, 0.1), mean_rate=np.full(2, 0.5),
        ...     doubt=np.zeros(2), recall=np.zeros(2), false_rate=np.zeros(2), signals=np.zeros(2),
        ... )
        >>> Holistic().value(hub_and_page, np.array([3.0, 3.0])).round(8)
        array([0.8843492, 0.8843492])
        """
        page = self._pages.value(beliefs, elapsed)
        is_source = beliefs.need("is_source") > 0
        if not is_source.any():
            return page
        until = np.minimum(elapsed, self._pays_until(beliefs))
        poll = saturating(self._bound(beliefs), self._vanishing(beliefs), until)
        return np.where(is_source, np.maximum(poll, page), page)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """What all links on a source, or its own content, may earn; the remaining profit of a new page."""
        profit = beliefs.need("profit")
        left = remaining_profit(profit, beliefs.need("decay"), beliefs.need("age"))
        copy = self._pages.first_value(beliefs)
        page = np.where(profit > 0, left, copy)
        return np.where(beliefs.need("is_source") > 0, np.maximum(self._bound(beliefs), copy), page)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        page = self._pages.elapsed_at(beliefs, price)
        is_source = beliefs.need("is_source") > 0
        if not is_source.any():
            return page
        poll = saturates_at(self._bound(beliefs), self._vanishing(beliefs), price)
        poll = np.where(poll <= self._pays_until(beliefs), poll, np.inf if price > 0 else 0.0)
        return np.where(is_source, np.minimum(poll, page), page)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """By the model for pages; what is fetched for its links alone does not listen."""
        is_deaf = (beliefs.need("is_source") > 0) & (beliefs.importance <= 0)
        return np.where(is_deaf, elapsed, self._pages.sooner(beliefs, elapsed, more))

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """That of the model for pages; of a source, the probability that no link appeared."""
        unseen = np.exp(-beliefs.need("link_rate") * elapsed)
        return np.where(beliefs.need("is_source") > 0, unseen, self._pages.freshness(beliefs, elapsed))

    def _bound(self, beliefs: Beliefs) -> FloatArray:
        bound: FloatArray = beliefs.need("link_rate") * beliefs.need("profit") / self._vanishing(beliefs)
        return bound

    def _vanishing(self, beliefs: Beliefs) -> FloatArray:
        """mu + nu, how fast the profit of a link vanishes that nobody has found."""
        vanishing: FloatArray = beliefs.need("decay") + beliefs.need("leaving")
        return vanishing

    def _pays_until(self, beliefs: Beliefs) -> FloatArray:
        """a*, the age at which an average page of a source is worth just its fetch."""
        price = beliefs.need("price")
        if not self._participation:
            return np.full(len(beliefs), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            seconds = np.log(beliefs.need("profit") / price) / beliefs.need("decay")
        return np.where(price > 0, np.maximum(np.nan_to_num(seconds, neginf=0.0), 0.0), np.inf)
