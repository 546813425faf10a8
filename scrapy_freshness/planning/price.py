"""What is a crawl worth in the long run, at the rate that there is?"""

import math

import numpy as np

from scrapy_freshness.model import PageStatus
from scrapy_freshness.pacing.budget import price_for_rate
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.value.contract import ValueModel

#: Share of the visits chosen lately that are worth less than the going price, and how fast it follows them.
_BELOW, _STEP = 0.1, 0.05
#: Pages from which the price is computed.
_SAMPLE = 5_000


def long_run_price(
    model: ValueModel, table: PageTable, crawls_per_second: float, *, min_interval: float = 0.0
) -> float:
    """Price at which the rate is spent on the pages with a copy, from a sample of them; 0 without any."""
    active = np.flatnonzero(table.status[: len(table)] == PageStatus.ACTIVE)
    sample = active[:: max(1, len(active) // _SAMPLE)]
    rate = crawls_per_second * len(sample) / max(1, len(active))
    return price_for_rate(model, table.beliefs(sample), rate, min_interval=min_interval)


class GoingPrice:
    """What a fetch has to be worth: about the least of the values that were chosen lately.

    Most values stop near the price, because pages are chosen when they reach it. New pages do not: they
    may be worth far more from the beginning. So the price follows a low quantile, not the mean.

    >>> price = GoingPrice()
    >>> for value in [1.0, 500.0] * 200:
    ...     price.note(value)
    >>> 0.8 < price.value < 1.3
    True
    """

    def __init__(self) -> None:
        self.value = 0.0

    def note(self, value: float) -> None:
        """A visit of some value was chosen."""
        if self.value == 0:
            self.value = value
        else:
            self.value *= math.exp(_STEP * (_BELOW - (value < self.value)))

    def unspent(self) -> None:
        """A place of the budget was left because nothing was worth it: the price was too high."""
        self.value *= math.exp(-_STEP)
