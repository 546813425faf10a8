"""How fresh are the copies now, and how fresh would they be if every page was visited in turn?"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from scrapy_freshness.model import PageStatus, are_polled
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.value.contract import Beliefs, FloatArray, ValueModel
from scrapy_freshness.value.long_run import mean_freshness

#: Copies that are looked at: the mean is then known to a hundredth or better.
_SAMPLE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What is expected of the copies, by what is believed of their pages; weighted by importance."""

    freshness: float  #: now
    uniform_freshness: float  #: in the long run, if all pages were visited in turn at the same budget
    pages: int  #: that have a copy


def assessment_of(
    model: ValueModel,
    table: PageTable,
    now: float,
    *,
    crawls_per_second: float,
    min_interval: float,
    fetch_price: float,
) -> Callable[[], Assessment | None]:
    """How to assess the copies; what is needed is copied at once, so that a thread may do the rest."""
    size = len(table)
    has_copy = (table.status[:size] == PageStatus.ACTIVE) & ~are_polled(table.kind[:size])
    rows = np.flatnonzero(has_copy)
    sample = rows[:: max(1, len(rows) // _SAMPLE)]
    beliefs = table.beliefs(sample, now, fetch_price)
    elapsed = np.maximum(now - table.last_visit[sample], 0.0)
    in_turn = max(len(rows) / crawls_per_second, min_interval)

    def assess() -> Assessment | None:
        weights = beliefs.importance
        if not 0 < weights.sum() < np.inf:
            return None
        return Assessment(
            freshness=float(np.average(model.freshness(beliefs, elapsed), weights=weights)),
            uniform_freshness=float(np.average(freshness_in_turn(model, beliefs, in_turn), weights=weights)),
            pages=len(rows),
        )

    return assess


def freshness_in_turn(model: ValueModel, beliefs: Beliefs, interval: float) -> FloatArray:
    """Mean freshness of each copy if all pages are visited at the same interval, whatever signals say."""
    if beliefs.signals is not None:
        beliefs = replace(beliefs, signals=np.zeros(len(beliefs)))
    return mean_freshness(model, beliefs, np.full(len(beliefs), interval))
