r"""ECHO's schedule: how often to poll each content source so that the new pages found earn most.

A source shows new links at rate :math:`\lambda`; a page fetched :math:`d` seconds after its link appeared
earns :math:`P e^{-\mu d}`. Polled every :math:`I` seconds, with every page that it brings fetched at
once, sources earn and cost, per second,

.. math:: Q = \sum_i \lambda_i P_i \frac{1-e^{-x_i}}{x_i}, \qquad N = \sum_i \frac{1}{I_i} + \lambda_i,
   \qquad x_i = \mu_i I_i .

With a price :math:`\omega` of a fetch the best interval of a source that is polled at all has [1]_

.. math:: \frac{\lambda P}{\mu} R_1(x) = \omega, \qquad R_1(x) = 1-(1+x)e^{-x}.

It then earns :math:`\lambda (P e^{-x} - \omega)` more than it costs, so it is worth polling only while
:math:`P e^{-x} \ge \omega`: its average page must pay for its own fetch. The paper lacks this *participation
condition*; without it a source is polled while :math:`\omega < \lambda P/\mu`.

Sources join as the price falls below their own price of joining, and each brings the load of all its pages
at once. A budget inside such a jump does not pay for all pages of the source in question: the price is that
at which it joins, and either it is polled and some of its pages wait, or the others take the budget,
whichever earns more.

References
----------
.. [1] Lefortier et al.: Timely crawling of high-quality ephemeral new content, CIKM 2013, section 4.1.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc

from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.saturation import saturates_at

_TOLERANCE = 1e-14
_MAX_STEPS = 100
#: So far below its price of joining a source takes part, whatever the last digits are.
_JUST_BELOW = 1 - 1e-9


class Schedule(NamedTuple):
    """How often to poll each source, and what a fetch is worth."""

    intervals: FloatArray  #: I, seconds between polls; inf: never
    price: float  #: omega, the profit that one fetch more would earn; 0 if there is nothing to poll


def solve_schedule(
    link_rate: FloatArray,
    profit: FloatArray,
    decay: FloatArray,
    fetches_per_second: float,
    *,
    participation: bool = True,
) -> Schedule:
    """Find the intervals that earn most with a rate of fetches, polls and the pages they bring together.

    Parameters
    ----------
    link_rate : (n,) array, lambda, new links per second, >= 0
    profit : (n,) array, P, what a page earns if it is fetched at once, >= 0
    decay : (n,) array, mu, per second, > 0
    fetches_per_second : N > 0
    participation : whether a source's average page must be worth its own fetch

    The whole rate is spent. At most one source, of those that join last, shows more pages than it pays for.

    >>> hours = 3600.0
    >>> link_rate, decay = np.array([1.0, 0.1]) / hours, np.ones(2) / (24 * hours)
    >>> schedule = solve_schedule(link_rate, np.ones(2), decay, 4 / hours)
    >>> (schedule.intervals / hours).round(2), round(schedule.price, 4)
    (array([0.45, 1.45]), 0.0042)
    """
    if not (np.all(decay > 0) and np.all(link_rate >= 0) and np.all(profit >= 0) and fetches_per_second > 0):
        raise ValueError("decays and the rate of fetches must be above 0, link rates and profits not below")
    joins_at = _joining_prices(link_rate, profit, decay) if participation else link_rate * profit / decay
    order = np.argsort(-joins_at, kind="stable")[: np.count_nonzero(joins_at)]
    sources = _Sources(link_rate[order], profit[order], decay[order])
    polled = _joined(sources, joins_at[order], fetches_per_second)
    intervals = np.full(len(link_rate), np.inf)
    intervals[order[: len(polled.intervals)]] = polled.intervals
    return Schedule(intervals, polled.price)


def scheduled_price(beliefs: Beliefs, fetches_per_second: float, *, participation: bool = True) -> float:
    """The price at which who goes by it polls the sources of the best schedule.

    It is what one fetch more would earn, unless there are not even fetches for all pages of the source that
    joined last. One more would then earn more than the price at which that source takes part, and nobody
    would poll it; so the price is the one at which it does.

    >>> hours = 3600.0
    >>> sources = Beliefs(
    ...     importance=np.ones(2), change_rate=np.ones(2), link_rate=np.array([1.0, 0.1]) / hours,
    ...     profit=np.ones(2), decay=np.ones(2) / (24 * hours),
    ... )
    >>> round(scheduled_price(sources, 4 / hours), 4)
    0.0042
    """
    link_rate, profit, decay = (beliefs.need(name) for name in ("link_rate", "profit", "decay"))
    schedule = solve_schedule(link_rate, profit, decay, fetches_per_second, participation=participation)
    polled = np.isfinite(schedule.intervals)
    if not participation or not polled.any():
        return schedule.price
    joins_at = _joining_prices(link_rate[polled], profit[polled], decay[polled])
    return min(schedule.price, _JUST_BELOW * float(np.min(joins_at)))


def poll_intervals(
    link_rate: FloatArray, profit: FloatArray, decay: FloatArray, polls_per_second: float
) -> Schedule:
    """Find the intervals that earn most with a rate of polls alone, the pages they bring costing nothing.

    >>> poll_intervals(np.array([0.1, 0.1]), np.ones(2), np.ones(2), 0.5).intervals.round(6)
    array([4., 4.])
    """
    earns = np.flatnonzero((link_rate > 0) & (profit > 0))
    intervals, price = np.full(len(link_rate), np.inf), 0.0
    if len(earns):
        sources = _Sources(link_rate[earns], profit[earns], decay[earns])
        intervals[earns], price = sources.spending(len(earns), polls_per_second)
    return Schedule(intervals, price)


def polls_price(beliefs: Beliefs, polls_per_second: float) -> float:
    """The price at which a rate of polls is spent if the pages that they bring cost nothing.

    >>> sources = Beliefs(
    ...     importance=np.ones(2), change_rate=np.ones(2), link_rate=np.full(2, 0.1), profit=np.ones(2),
    ...     decay=np.ones(2),
    ... )
    >>> round(polls_price(sources, 0.5), 4)  # 0.1 * R1(4)
    0.0908
    """
    link_rate, profit, decay = (beliefs.need(name) for name in ("link_rate", "profit", "decay"))
    return poll_intervals(link_rate, profit, decay, polls_per_second).price


def _joining_prices(link_rate: FloatArray, profit: FloatArray, decay: FloatArray) -> FloatArray:
    r"""Highest price at which each source is worth polling; 0: at none.

    It is :math:`P e^{-x}` at the :math:`x` with :math:`e^x - 1 - x = \mu/\lambda`. The left side is
    convex and rises, so Newton's method from above comes down to the root.
    """
    earns = (link_rate > 0) & (profit > 0)
    prices = np.zeros(len(earns))
    ratio = decay[earns] / link_rate[earns]
    grown = np.log1p(ratio)
    x = np.where(ratio < 1, np.sqrt(2 * ratio), grown + np.log1p(grown))
    for _ in range(_MAX_STEPS):
        step = (gammainc(2, x) - ratio * np.exp(-x)) / gammainc(1, x)
        x = x - step
        if np.all(np.abs(step) <= _TOLERANCE * x):
            break
    prices[earns] = profit[earns] * np.exp(-x)
    return prices


class _Sources:
    """Sources that earn something, in the order in which they join."""

    def __init__(self, link_rate: FloatArray, profit: FloatArray, decay: FloatArray) -> None:
        self.links = np.concatenate([[0.0], np.cumsum(link_rate)])  # of the first k sources, per second
        self._profit = profit
        self._decay = decay
        self._bound = (
            link_rate * profit / decay
        )  # what polling a source is worth that was not polled for ages

    def __len__(self) -> int:
        return len(self._profit)

    def intervals(self, k: int, price: float) -> FloatArray:
        """Best intervals of the first k sources at a price."""
        return saturates_at(self._bound[:k], self._decay[:k], price)

    def load(self, k: int, price: float) -> float:
        """Fetches per second of the first k sources at a price, polls and pages."""
        return float(np.sum(1 / self.intervals(k, price)) + self.links[k])

    def spending(self, k: int, polls_per_second: float) -> Schedule:
        """Schedule that polls the first k sources so often."""
        # R1(x) <= x^2/2, so polls at a price never exceed sum(sqrt(lambda P mu / (2 price))).
        root = float(np.sum(self._decay[:k] * np.sqrt(self._bound[:k] / 2)))
        highest = min(np.log(np.max(self._bound[:k])), 2 * np.log(root / polls_per_second)) + 1e-9

        def too_many(log_price: float) -> float:
            return float(np.sum(1 / self.intervals(k, float(np.exp(log_price))))) - polls_per_second

        lowest = highest - 1.0
        while too_many(lowest) < 0:
            lowest -= 4.0
        price = float(np.exp(brentq(too_many, lowest, highest, xtol=_TOLERANCE, rtol=_TOLERANCE)))
        # Close to its bound a value hardly grows, and the last digits of the price decide over the interval:
        # those of a price that is a hair too low are stretched until they fit.
        intervals = self.intervals(k, price * (1 - 1e-12))
        intervals *= float(np.sum(1 / intervals)) / polls_per_second
        return Schedule(intervals, price)

    def starved(self, fetches_per_second: float) -> Schedule:
        r"""Schedule of the first source alone if there are not even fetches for all its pages.

        Of :math:`N` fetches :math:`\mu/x` are polls, and the pages earn :math:`(N-\mu/x) P (1-e^{-x})/x`,
        most where :math:`N R_1(x) = (\mu/x)(2-(2+x)e^{-x})`.
        """
        gain, fade = float(self._profit[0]), float(self._decay[0])

        def too_rare(log_x: float) -> float:
            x = float(np.exp(log_x))
            # 2 - (2+x)e^-x = 2 R1(x) + x e^-x, without a difference.
            polls = fade * (2 * gammainc(2, x) + x * np.exp(-x)) / x
            return float(fetches_per_second * gammainc(2, x) - polls)

        guess = float(np.log(fade / fetches_per_second))
        x = float(np.exp(brentq(too_rare, min(guess, guess / 2) - 2.0, max(guess, guess / 2) + 2.0)))
        spare = fetches_per_second - float(self.links[1])  # fetches for which there are no pages
        if spare > 0:
            x = min(x, fade / spare)
        return Schedule(np.array([x / fade]), gain * -float(np.expm1(-x)) / x)

    def earned(self, intervals: FloatArray, pages_per_second: FloatArray) -> float:
        """Profit per second of the first sources, polled at these intervals, if so many pages are fetched."""
        k = len(intervals)
        x = self._decay[:k] * intervals
        return float(np.sum(pages_per_second * self._profit[:k] * -np.expm1(-x) / x))


def _joined(sources: _Sources, joins_at: FloatArray, fetches_per_second: float) -> Schedule:
    """Schedule of the sources that are polled, which are the first few."""
    if not len(sources):
        return Schedule(np.empty(0), 0.0)
    # The most sources whose load, at the price at which the last of them joins, is within the budget.
    fits, too_many = 0, len(sources) + 1
    while too_many - fits > 1:
        k = (fits + too_many) // 2
        within = sources.load(k, float(joins_at[k - 1])) <= fetches_per_second > sources.links[k]
        fits, too_many = (k, too_many) if within else (fits, k)
    if fits == 0:
        return sources.starved(fetches_per_second)
    without = sources.spending(fits, fetches_per_second - float(sources.links[fits]))
    if fits == len(sources) or without.price >= joins_at[fits]:
        return without
    price = float(joins_at[fits])
    with_last = sources.intervals(fits + 1, price)
    pages = np.diff(sources.links[: fits + 2])
    pages[fits] = max(fetches_per_second - float(np.sum(1 / with_last) + sources.links[fits]), 0.0)
    if sources.earned(with_last, pages) > sources.earned(without.intervals, pages[:fits]):
        return Schedule(with_last, price)
    return Schedule(without.intervals, price)
