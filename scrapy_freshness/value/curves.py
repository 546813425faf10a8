r"""Divergence curves of pages whose content churns or scrolls, and their utility.

A page has a static part, and a part of which every update replaces one of :math:`K` items, the oldest.
After :math:`k` updates, :math:`x=\min(k,K)\,s/K` of its fragments, relative to what it had, are new, so the
divergence (1 - Jaccard) is :math:`2x/(1+x)` and ends on a plateau :math:`a=2s/(1+s)` [1]_. Relative to the
plateau it is

.. math:: d_k = \frac{k(1+s)}{K+ks}, \qquad s = \frac{a}{2-a}, \qquad d_{k\ge K} = 1 .

Updates come as a Poisson process. When :math:`z` of them are expected, the divergence is
:math:`D(z) = E\,d_N`, and the utility of a refresh, :math:`U = zD - \int_0^z D`, is

.. math:: U(z) = \sum_{k<K} (d_{k+1}-d_k)\,(k+1)\,P(k+2, z) .

:math:`K=1` is churn, where all content that changes at all changes at once: :math:`U = R_1(z)`.

References
----------
.. [1] Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, sections 2 and 3.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammainc

from scrapy_freshness.value.contract import Beliefs, FloatArray

#: Most stages of a scroll; a longer one is taken as so many stages that take longer.
MOST_STAGES = 64.0


class Curve(NamedTuple):
    """One element a page, relative to the plateau."""

    divergence: FloatArray  #: D
    utility: FloatArray  #: U, in units of the mean time between updates
    slope: FloatArray  #: dD/dz


class Scroll(NamedTuple):
    """The shape of the divergence curve, one element a page."""

    stages: FloatArray  #: K, whole, 1 to 64
    share: FloatArray  #: s, size of the part that changes, relative to the page

    @classmethod
    def of(cls, beliefs: Beliefs) -> tuple["Scroll", FloatArray]:
        """Shapes of the pages' curves, and how fast the stages pass, relative to the updates."""
        stages, plateau = beliefs.need("stages"), beliefs.need("plateau")
        whole = np.clip(np.rint(stages), 1.0, MOST_STAGES)
        speed = np.where(stages > MOST_STAGES, MOST_STAGES / stages, 1.0)
        return cls(whole, plateau / (2 - plateau)), speed

    def at(self, rows: Any) -> "Scroll":
        """Some of the pages."""
        return Scroll(self.stages[rows], self.share[rows])

    def divergence_after(self, updates: FloatArray | float) -> FloatArray:
        """d_k."""
        return np.minimum(updates * (1 + self.share) / (self.stages + updates * self.share), 1.0)

    def final_utility(self) -> FloatArray:
        """U for infinite time, the sum of (d_{k+1} - d_k) * (k+1).

        >>> Scroll(np.array([1.0, 10.0]), np.array([1.0, 1e-9])).final_utility()
        array([1. , 5.5])
        """
        return curve(self, np.full(len(self.stages), 1e9)).utility

    def guess(self, share: FloatArray) -> FloatArray:
        """Roughly the z at which the utility is a share of its final value."""
        first = self.divergence_after(1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return -np.sqrt(2 * self.final_utility() / first) * np.log1p(-np.sqrt(share))


def curve(scroll: Scroll, z: FloatArray) -> Curve:
    """The divergence curve where *z* updates are expected since the refresh.

    >>> page = Scroll(np.array([10.0]), np.array([1 / 3]))
    >>> curve(page, np.array([0.25 * 8.2088])).utility.round(4)  # T=0.5 at a rate of .25 a day, a=.5
    array([0.25])
    """
    order = np.argsort(-scroll.stages, kind="stable")
    longest_first = scroll.at(order)
    stages, z = longest_first.stages, z[order]
    chance = np.exp(-z)  # of k updates
    previous, grown = np.zeros(len(z)), np.zeros(len(z))
    divergence, utility, slope = np.zeros(len(z)), np.zeros(len(z)), np.zeros(len(z))
    for k in range(1, int(stages[0]) + 1 if len(z) else 0):
        rows = slice(int(np.searchsorted(-stages, -k, side="right")))
        part = longest_first.at(rows)
        d = part.divergence_after(k)
        step = d - previous[rows]
        slope[rows] += step * chance[rows]
        chance[rows] *= z[rows] / k
        utility[rows] += chance[rows] * grown[rows]
        grown[rows] += k * step
        divergence[rows] += np.where(part.stages > k, chance[rows] * d, 0.0)
        previous[rows] = d
    divergence += gammainc(stages, z)
    utility += grown * gammainc(stages + 1, z)
    back = np.empty(len(order), np.intp)
    back[order] = np.arange(len(order))
    return Curve(divergence[back], utility[back], slope[back])
