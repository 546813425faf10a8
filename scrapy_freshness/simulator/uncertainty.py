r"""How far could a share have come out differently, on other pages or at other times?

A share is :math:`S = \sum a_{pb} / \sum w_{pb}` over pages :math:`p` and blocks of time :math:`b`: the time
for which copies are fresh of the time for which pages are there, or the profit earned of what there was to
earn. Neither pages nor times are independent of each other one by one: a page that is hard to keep fresh is
so all the time, and a site changes all its pages in one night. With :math:`e_{pb} = a_{pb} - S\,w_{pb}`, the
variance that allows for both is [1]_

.. math:: \Bigl(\sum w\Bigr)^{-2}\Bigl[\frac{n}{n-1}\sum_p\Bigl(\sum_b e_{pb}\Bigr)^2
   + \frac{m}{m-1}\sum_b\Bigl(\sum_p e_{pb}\Bigr)^2 - \frac{nm}{nm-1}\sum_{p,b} e_{pb}^2\Bigr]

for :math:`n` pages and :math:`m` blocks, which is what resampling whole pages, and whole blocks, comes to
(each of the first two terms is the limit of one bootstrap), without its random numbers. Few pages are no
sample of anything: below 20, only the times could have been others, and the middle term is all.

The difference of two policies is :math:`\sum (a_{pb} - a'_{pb})/\sum w_{pb}`, a share as well: what is hard
for both cancels.

References
----------
.. [1] Cameron, Gelbach, Miller: Robust inference with multiway clustering, Journal of Business & Economic
   Statistics 29(2), 2011, section 2.2.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.link_metrics import LINK_LIFE_SECONDS, LinkFinds
from scrapy_freshness.simulator.trial import Trial

FloatArray = NDArray[np.float64]

#: Pages that are a sample of others.
MANY_PAGES = 20


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A share by page (rows) and block of time (columns)."""

    had: FloatArray  #: a, what there was of it
    possible: FloatArray  #: w, what there could have been, >= 0

    def __sub__(self, other: "Parts") -> "Parts":
        """By how much this share is larger than that of another policy at the same pages and times."""
        return Parts(self.had - other.had, self.possible)

    @property
    def share(self) -> float:
        """S; nan if nothing was possible."""
        possible = float(self.possible.sum())
        return float(self.had.sum()) / possible if possible > 0 else float("nan")

    @property
    def stderr(self) -> float:
        """Standard error of the share; nan if there is nothing to tell it from.

        >>> one_page = Parts(np.array([[0.2, 0.4]]), np.ones((1, 2)))
        >>> round(one_page.stderr, 3)  # that of the mean of .2 and .4
        0.1
        """
        residual = self.had - self.share * self.possible
        residual = residual[np.ix_(self.possible.any(axis=1), self.possible.any(axis=0))]
        n_pages, n_blocks = residual.shape
        if n_blocks < 2:
            return float("nan")
        variance = by_block = _scatter(residual.sum(axis=0))
        if n_pages >= MANY_PAGES:
            by_page = _scatter(residual.sum(axis=1))
            variance = max(by_page + by_block - _scatter(residual.ravel()), by_page, by_block)
        return float(np.sqrt(variance)) / float(self.possible.sum())


def fresh_parts(trial: Trial, edges: list[float]) -> Parts:
    """Seconds for which copies are identical to their pages, of those for which the pages are there."""
    spans = trial.spans
    shape = len(trial.web.pages), len(edges) - 1
    had, possible = np.zeros(shape), np.zeros(shape)
    for block, (begin, end) in enumerate(pairwise(edges)):
        seconds = np.minimum(spans.end, end) - np.maximum(spans.begin, begin)
        seconds = np.where(spans.is_there, np.maximum(seconds, 0.0), 0.0)
        possible[:, block] = np.bincount(spans.page, seconds, shape[0])
        had[:, block] = np.bincount(spans.page, seconds * spans.is_same, shape[0])
    return Parts(had, possible)


def profit_parts(
    finds: LinkFinds, n_pages: int, n_blocks: int, life_seconds: float = LINK_LIFE_SECONDS
) -> Parts:
    """Profit that was earned with links, of what there was; in each block of time as many links appear."""
    order = np.argsort(finds.appeared, kind="stable")
    block = np.empty(len(order), np.int64)
    block[order] = np.arange(len(order)) * n_blocks // max(len(order), 1)
    place = finds.page * n_blocks + block
    earned, there_was = (
        np.bincount(place, amount, n_pages * n_blocks).astype(np.float64).reshape(n_pages, n_blocks)
        for amount in (finds.earned(life_seconds), finds.profit)
    )
    return Parts(earned, there_was)


def _scatter(sums: FloatArray) -> float:
    """Sum of squares of what independent groups contribute; the mean of the residuals is 0."""
    return float(np.sum(sums**2)) * len(sums) / max(len(sums) - 1, 1)
