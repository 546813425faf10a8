r"""Polls of sitemaps and feeds, in the unit of whatever model values the pages that they speak of.

A poll has found out what pages have changed, or that there are new ones. What that is worth was measured at
earlier polls: the sum, over the pages announced, of how far the value of a visit rose above the price of a
visit, which is what the crawl would have done instead. Say that a source earns :math:`y` a second like this.
Without a poll a page is visited all the same after a usual time of :math:`1/\mu` (known pages over visits per
second), and then the announcement comes too late. So news of age :math:`a` still earns a share
:math:`e^{-\mu a}`, and as with ECHO's links [1]_ the marginal value of a poll is

.. math:: V(\tau) = \frac{y}{\mu} R_1(\mu\tau), \qquad R_1(x) = 1-(1+x)e^{-x} .

A source whose bound :math:`y/\mu` is below the price would never be polled again, and nobody would notice if
it came to life. So it has a patience, after which it is polled at any price (`planning/frontier.py`); it
grows with each poll that brings nothing.

References
----------
.. [1] Lefortier et al.: Timely crawling of high-quality ephemeral new content, CIKM 2013, section 4.1.
"""

from typing import ClassVar

import numpy as np

from scrapy_freshness.value.contract import Beliefs, FloatArray, ValueModel
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.saturation import saturates_at, saturating

_OWN = frozenset({"poll_bound", "usual_wait"})


class WithPolls:
    """Any model, and the value of a poll for pages that are polled for signals.

    Most crawls have none for most of the time: then both columns are missing, and the model is all there is.
    """

    needs: ClassVar[frozenset[str]] = _OWN

    def __init__(self, pages: ValueModel | None = None) -> None:
        self._pages: ValueModel = pages or Greedy()
        self.needs = _OWN | self._pages.needs  # type: ignore[misc]  # those of the model for pages too

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a visit or a poll.

        >>> from scrapy_freshness.value.uniform import Uniform
        >>> page_and_sitemap = Beliefs(
        ...     importance=np.ones(2), change_rate=np.ones(2), usual_wait=np.full(2, 2.0),
        ...     poll_bound=np.array([np.nan, 1.0]),
        ... )
        >>> WithPolls(Uniform()).value(page_and_sitemap, np.array([3.0, 3.0])).round(8)
        array([3.       , 0.4421746])
        """
        values = self._pages.value(beliefs, elapsed)
        if beliefs.poll_bound is None:
            return values
        wait = beliefs.need("usual_wait")
        return np.where(is_polled(beliefs), saturating(beliefs.poll_bound, 1 / wait, elapsed), values)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """That of a page, or all that a poll may bring if it is more."""
        first_values = self._pages.first_value(beliefs)
        return first_values if beliefs.poll_bound is None else np.fmax(first_values, beliefs.poll_bound)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        seconds = self._pages.elapsed_at(beliefs, price)
        if beliefs.poll_bound is None:
            return seconds
        polled = saturates_at(beliefs.poll_bound, 1 / beliefs.need("usual_wait"), price)
        return np.where(is_polled(beliefs), polled, seconds)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """By the model for pages; what is polled does not listen."""
        seconds = self._pages.sooner(beliefs, elapsed, more)
        return seconds if beliefs.poll_bound is None else np.where(is_polled(beliefs), elapsed, seconds)

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """That of the model for pages."""
        return self._pages.freshness(beliefs, elapsed)


def is_polled(beliefs: Beliefs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of the pages are polled for signals."""
    if beliefs.poll_bound is None:
        return np.zeros(len(beliefs), np.bool_)
    return ~np.isnan(beliefs.poll_bound)
