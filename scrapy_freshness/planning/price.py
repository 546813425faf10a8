"""What does a visit have to be worth at the rate that there is, in the long run and lately?"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from scrapy_freshness.model import PageKind, PageRecord, PageStatus
from scrapy_freshness.pacing.budget import price_for_rate
from scrapy_freshness.planning.frontier import Frontier
from scrapy_freshness.planning.policy import Policy
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.value.contract import ValueModel

#: Share of the visits chosen lately that are worth less than the going price, and how fast it follows them.
_BELOW, _STEP = 0.1, 0.05
_UNSPENT, _FALL = math.exp(-_STEP), math.exp(-_STEP * (1 - _BELOW))
#: After so many values above the price it rises ten times as fast, and after twice as many a hundred times.
_RUN = 100
_RISES = tuple(math.exp(_STEP * _BELOW * faster) for faster in (1, 10, 100))
#: The price falls no further, or it would be long in coming back.
_LEAST = 1e-12
#: Pages from which the price is computed.
_SAMPLE = 5_000


def long_run_price(
    model: ValueModel, table: PageTable, crawls_per_second: float, *, min_interval: float = 0.0
) -> float:
    """Price at which the rate is spent on the pages with a copy, from a sample of them; 0 without any."""
    active = np.flatnonzero(table.status[: len(table)] == PageStatus.ACTIVE)
    sample = active[:: max(1, len(active) // _SAMPLE)]
    rate = crawls_per_second * len(sample) / max(1, len(active))
    beliefs = replace(table.beliefs(sample), pace=None)  # in the long run siblings change as expected
    return price_for_rate(model, beliefs, rate, min_interval=min_interval)


class GoingPrice:
    """What a fetch has to be worth: about the least of the values that were chosen lately.

    Most values stop near the price, because pages are chosen when they reach it. New pages do not: they
    may be worth far more from the beginning. So the price follows a low quantile, not the mean. While there
    is nothing to do it falls; when all that is chosen has been above it for long, it follows faster.

    >>> price = GoingPrice()
    >>> for value in [1.0, 500.0] * 200:
    ...     price.note(value)
    >>> 0.8 < price.value < 1.3
    True
    """

    def __init__(self) -> None:
        self.value = 0.0
        self._run = 0  #: values above it that came one after the other

    def note(self, value: float) -> None:
        """A visit of some value was chosen."""
        if self.value == 0:
            self.value = value
        elif value < self.value:
            self._run = 0
            self.value *= _FALL
        else:
            self._run += 1
            self.value *= _RISES[min(self._run // _RUN, 2)]

    def unspent(self) -> None:
        """A place of the budget was left because nothing was worth it: the price was too high."""
        self.value = max(self.value * _UNSPENT, min(self.value, _LEAST))


class Prices:
    """Keeps the frontier's prices up to date: that of a visit, and that of a fetch if the policy has one."""

    def __init__(
        self, policy: Policy, table: PageTable, frontier: Frontier, *, crawls_per_second: float
    ) -> None:
        self._solve_price = policy.solve_price
        self._table = table
        self._frontier = frontier
        self._crawls_per_second = crawls_per_second
        follows_visits = (
            "age" in policy.model.needs and policy.solve_price is None and not policy.pacing.floor
        )
        self._going_price = GoingPrice() if follows_visits else None
        frontier.fetch_price = policy.pacing.floor  # where there is a threshold, it is the price of a fetch
        self._unspent_at = -np.inf  #: when a place of the budget was left last
        self._of_copies = 0.0  #: mean value of the visits of copies that were chosen lately

    @property
    def going(self) -> float:
        """What a visit of a copy had to be worth lately.

        That is the mean of the values that were chosen; where new pages fade, they are left out: copies are
        visited when they reach the price, first copies may be worth far more from the beginning.
        """
        is_mixed = self._table.fades and self._of_copies > 0
        return self._of_copies if is_mixed else self._frontier.price

    def chosen(self, record: PageRecord, value: float) -> None:
        """A visit was chosen: the price follows its value; that of a first copy only if the page fades."""
        if record.kind.is_polled:
            return  # its value follows the price
        is_first = record.last_visit_at is None
        if is_first and (record.kind is PageKind.SOURCE or not record.beliefs.get("profit")):
            return  # of a first look, nobody knows what it is worth
        if is_first or record.status is PageStatus.ACTIVE:
            self._frontier.chosen(value)
        if record.status is PageStatus.ACTIVE and record.kind is PageKind.PAGE:
            self._of_copies += (value - self._of_copies) * (_STEP if self._of_copies else 1.0)
        if self._going_price is not None:
            self._going_price.note(value)
            self._frontier.fetch_price = self._going_price.value

    def unspent(self, now: float) -> None:
        """Nothing is worth a visit: the price falls a little for every place of the budget that is left.

        While waking times are being computed nobody knows; and to begin anew each time would have no end.
        """
        if self._going_price is None or not self._table.fades or not self._frontier.is_keyed:
            return
        if now - self._unspent_at >= 1 / self._crawls_per_second:
            self._unspent_at = now
            self._going_price.unspent()
            self._frontier.reprice(self._going_price.value)

    def problem(self) -> Callable[[], float] | None:
        """How to find what a fetch is worth by the schedule of all sources; see `Planner.price_problem`."""
        sources = np.flatnonzero(self._table.kind[: len(self._table)] == PageKind.SOURCE)
        if self._solve_price is None or not len(sources):
            return None
        return partial(self._solve_price, self._table.beliefs(sources), self._crawls_per_second)
