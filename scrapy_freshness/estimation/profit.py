r"""How much is a link worth, and how fast does that fade?  Fits of click curves.

A page found when it is :math:`a` seconds old has earned :math:`P(1-e^{-\mu a})` of its clicks already, so
finding it then earns the rest, :math:`Pe^{-\mu a}`. :math:`P` and :math:`\mu` of a source are the least
squares fit of :math:`P(1-e^{-\mu a})` to the mean cumulative clicks of its pages at ages :math:`a`, in bins
of 20 minutes [1]_.

A source with few pages says little about itself. Its curve is averaged with the curve of all sources
together, which counts as some pages and is scaled down: a source that is not known gets a small profit, but
never 0.

References
----------
.. [1] Lefortier et al.: Timely crawling of high-quality ephemeral new content, CIKM 2013, algorithm 2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Width of an age bin.
BIN_SECONDS = 1200.0
#: Decays that are tried, in units of one over the largest age.
_TRIED = np.geomspace(0.05, 200.0, 60)
_GOLDEN = (np.sqrt(5) - 1) / 2
_REFINEMENTS = 28


class Profits(NamedTuple):
    """What sources earn, one element a source."""

    profit: FloatArray  #: P, clicks of a page that is found at once, > 0
    decay: FloatArray  #: mu, per second, > 0


def fit_grouped_profits(
    clicks: FloatArray,
    pages: FloatArray,
    group: NDArray[np.intp],
    n_groups: int,
    *,
    pooled_pages: float = 5.0,
    pessimism: float = 0.5,
    least_profit: float = 1e-3,
) -> tuple[Profits, Profits, Profits]:
    """Fit P and mu of each source, where sources of a group (a host) are more alike than others.

    Returns
    -------
    Those of the sources; of a source in each group of which nothing else is known; and of one elsewhere.
    """
    n_bins = clicks.shape[1]
    ages = BIN_SECONDS * np.arange(1, n_bins + 1)
    total_clicks, total_pages = np.zeros((n_groups, n_bins)), np.zeros((n_groups, n_bins))
    np.add.at(total_clicks, group, clicks * pages)
    np.add.at(total_pages, group, pages)
    all_pages = total_pages.sum(axis=0)
    together = total_clicks.sum(axis=0) / np.maximum(all_pages, 1e-12)
    everything = _fit(together[None], all_pages[None])
    if not all_pages.any() or everything.profit[0] <= least_profit:
        everything = Profits(np.array([least_profit]), everything.decay)
    usual = everything.profit * -np.expm1(-everything.decay * ages)
    weight = total_pages + pooled_pages
    of_group = _fit((total_clicks + pooled_pages * usual) / weight, weight)
    if n_groups == 1:
        of_group = everything  # the group is all that there is
    typical = pessimism * of_group.profit[:, None] * -np.expm1(-of_group.decay[:, None] * ages)
    weight = pages + pooled_pages
    of_source = _fit((pages * clicks + pooled_pages * typical[group]) / weight, weight)
    return (
        of_source,
        Profits(pessimism * of_group.profit, of_group.decay),
        Profits(pessimism * everything.profit, everything.decay),
    )


def _fit(clicks: FloatArray, weight: FloatArray) -> Profits:
    """Weighted least squares: P in closed form, mu from a grid and golden sections of its logarithm."""
    ages = np.arange(1, clicks.shape[1] + 1) / clicks.shape[1]
    weighted = weight * clicks

    tried = -np.expm1(-_TRIED[:, None] * ages)
    explained = (weighted @ tried.T) ** 2 / np.maximum(weight @ (tried * tried).T, 1e-300)
    best = np.log(_TRIED)[np.argmax(explained, axis=1)]
    step = float(np.log(_TRIED[1] / _TRIED[0]))
    low, high = best - step, best + step
    for _ in range(_REFINEMENTS):
        earlier, later = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        is_earlier = (
            _explained(earlier, ages, weight, weighted)[0] >= (_explained(later, ages, weight, weighted)[0])
        )
        low, high = np.where(is_earlier, low, earlier), np.where(is_earlier, later, high)
    log_decay = (low + high) / 2
    profit = _explained(log_decay, ages, weight, weighted)[1]
    return Profits(profit, np.exp(log_decay) / (clicks.shape[1] * BIN_SECONDS))


def _explained(
    log_decay: FloatArray, ages: FloatArray, weight: FloatArray, weighted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum of squares that each source's curve explains with its best P, and that P."""
    shape = -np.expm1(-np.exp(log_decay)[:, None] * ages)
    product = (shape * weighted).sum(axis=1)
    square = np.maximum((shape * shape * weight).sum(axis=1), 1e-300)
    return product * product / square, product / square
