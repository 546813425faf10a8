"""How fresh are the copies now, and how fresh would they be if every page was visited in turn?"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

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
    uniform_freshness: float  #: in the long run, if all pages were visited in turn, with as many visits
    pages: int  #: that have a copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Visiting:
    """How many visits there are to share out."""

    visits_per_second: float
    host_visits_per_second: float = np.inf  #: that a host takes at most


def assessment_of(
    model: ValueModel,
    table: PageTable,
    now: float,
    *,
    visiting: Visiting,
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
    has_turn = has_copy | table.waits_for_first_visit()
    # The host of a row never changes, so that the column can be read later, whatever is added meanwhile.
    host, hosts = table.host[:size], len(table.hosts)

    def in_turn() -> float | FloatArray:
        if visiting.host_visits_per_second == np.inf:
            return interval_in_turn(int(np.count_nonzero(has_turn)), visiting.visits_per_second)
        on_hosts = np.bincount(host[has_turn], minlength=hosts)
        return intervals_in_turn(on_hosts, visiting)[host[sample]]

    def assess() -> Assessment | None:
        weights = beliefs.importance
        if not 0 < weights.sum() < np.inf:
            return None
        intervals = np.maximum(in_turn(), min_interval)
        return Assessment(
            freshness=float(np.average(model.freshness(beliefs, elapsed), weights=weights)),
            uniform_freshness=float(
                np.average(freshness_in_turn(model, beliefs, intervals), weights=weights)
            ),
            pages=len(rows),
        )

    return assess


def interval_in_turn(pages: int, visits_per_second: float) -> float:
    """Seconds between two visits of each page, if all are visited in turn; inf without visits."""
    return pages / visits_per_second if visits_per_second > 0 else np.inf


def intervals_in_turn(pages: NDArray[np.int64], visiting: Visiting) -> FloatArray:
    """Seconds between two visits of the pages of each host, if all are visited in turn.

    All have the same interval, but on hosts that would take more visits then than a host takes.

    >>> intervals_in_turn(np.array([30, 10]), Visiting(visits_per_second=4.0, host_visits_per_second=9.0))
    array([10., 10.])
    >>> intervals_in_turn(np.array([30, 10]), Visiting(visits_per_second=4.0, host_visits_per_second=1.0))
    array([30., 10.])
    """
    least = pages / visiting.host_visits_per_second
    order = np.argsort(-least, kind="stable")
    left, visits = int(pages.sum()), visiting.visits_per_second
    for host in order.tolist():  # the largest first: what they cannot take is for the others
        interval = interval_in_turn(left, visits)
        if least[host] <= interval:
            break
        left, visits = left - int(pages[host]), visits - visiting.host_visits_per_second
    else:
        interval = 0.0
    return np.maximum(least, interval)


def freshness_in_turn(model: ValueModel, beliefs: Beliefs, interval: float | FloatArray) -> FloatArray:
    """Mean freshness of each copy if pages are visited at fixed intervals, whatever else is heard."""
    beliefs = replace(beliefs, pace=None)
    if beliefs.signals is not None:
        beliefs = replace(beliefs, signals=np.zeros(len(beliefs)))
    return mean_freshness(model, beliefs, np.broadcast_to(interval, len(beliefs)))
