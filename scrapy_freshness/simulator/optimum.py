r"""The best that any crawl can do: each page is crawled when its value reaches one common price.

A crawl that only its mean rate binds (not the ticks of a constant rate) meets the most requests fresh if
it crawls page :math:`i` whenever its effective age reaches :math:`\iota_i` with :math:`V_i(\iota_i) =
\Lambda`, never if :math:`V_i < \Lambda` for ever. Then page :math:`i` is crawled
:math:`1/\psi_i(\iota_i)` times a second and is fresh for the share

.. math:: \frac{w}{\psi} = \frac{V/\mu}{\psi} + e^{-\alpha\iota}

of the time [1]_, and :math:`\Lambda` is the price at which the rates add up to :math:`R`. Without signals
:math:`\psi = \iota`.

References
----------
.. [1] Busa-Fekete et al.: A scalable crawling algorithm utilizing noisy change-indicating signals,
   Theorem 1 and appendix A.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.ncis import Ncis, seconds_gained
from scrapy_freshness.value.signals import Signalled, seconds_to_age

FloatArray = NDArray[np.float64]

#: Half width, in log(price), of the jump across which rates are mixed.
_WIDTH = 1e-11
#: Signals that announce every single change are taken to miss one in a thousand million.
_LARGEST_RECALL = 1 - 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The best crawl of some pages."""

    accuracy: float  #: share of requests that meet a fresh copy
    price: float  #: Lambda, requests met fresh that one crawl more would gain
    rates: FloatArray  #: crawls per second of each page


def optimum(beliefs: Beliefs, crawls_per_second: float) -> Optimum:
    """Find the best crawl at a mean rate, with the signals of the pages if there are beliefs about them.

    Parameters
    ----------
    beliefs : at least one page with importance > 0
    crawls_per_second : R > 0

    Where signals announce nearly every change the value hardly grows between them, and the rates jump at some
    prices. Inside a jump both sides take turns, which is what the optimum does.

    >>> pages = Beliefs(importance=np.array([2.0, 1.0]), change_rate=np.array([0.1, 100.0]))
    >>> best = optimum(pages, 1.0)
    >>> best.rates.round(6), round(best.accuracy, 4)
    (array([1., 0.]), 0.6344)
    """
    if not (np.any(beliefs.importance > 0) and crawls_per_second > 0):
        raise ValueError("an optimum needs a page with importance above 0 and a rate above 0")
    if beliefs.recall is not None:
        recall = np.minimum(beliefs.recall, _LARGEST_RECALL)
        beliefs = replace(beliefs, recall=recall, signals=np.zeros(len(recall)))

    def too_many(log_price: float) -> float:
        rates, _ = _crawled_at(beliefs, float(np.exp(log_price)))
        return float(np.sum(rates)) - crawls_per_second

    highest = float(np.log(np.max(beliefs.importance / beliefs.change_rate))) + 1e-9
    lowest = highest - 1.0
    while too_many(lowest) < 0:
        lowest -= 4.0
    log_price = float(brentq(too_many, lowest, highest, xtol=1e-13, rtol=1e-13))
    (cheap, fresh_cheap), (dear, fresh_dear) = (
        _crawled_at(beliefs, float(np.exp(log_price + step))) for step in (-_WIDTH, _WIDTH)
    )
    missing, jump = crawls_per_second - float(np.sum(dear)), float(np.sum(cheap - dear))
    share = min(max(missing / max(jump, 1e-300), 0.0), 1.0)
    fresh = share * fresh_cheap + (1 - share) * fresh_dear
    return Optimum(
        accuracy=float(np.average(fresh, weights=beliefs.importance)),
        price=float(np.exp(log_price)),
        rates=share * cheap + (1 - share) * dear,
    )


def _crawled_at(beliefs: Beliefs, price: float) -> tuple[FloatArray, FloatArray]:
    """Crawls per second of each page, and the share of the time for which it is fresh, at a price."""
    rates, fresh = np.zeros(len(beliefs)), np.zeros(len(beliefs))
    model = Greedy() if beliefs.recall is None else Ncis()
    age = model.elapsed_at(beliefs, price)
    crawled = np.flatnonzero(np.isfinite(age))
    pages, age = beliefs.at(crawled), age[crawled]
    if beliefs.recall is None:
        seconds, gained = age, model.value(pages, age) / pages.importance
    else:
        state = Signalled.of(pages, age)
        seconds, gained = seconds_to_age(state), seconds_gained(state)
    rates[crawled] = 1 / seconds
    fresh[crawled] = gained / seconds + model.freshness(pages, age)
    return rates, fresh
