"""What can be done if the mean rates of recorded pages are known: LDS and the continuous optimum."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.lds import low_discrepancy
from scrapy_freshness.simulator.optimum import optimum
from scrapy_freshness.simulator.recorded import RecordedWeb
from scrapy_freshness.simulator.web import Fetches
from scrapy_freshness.value.contract import Beliefs

FloatArray = NDArray[np.float64]


def promised_freshness(
    web: RecordedWeb, rates: Beliefs, fetches_per_second: float, edges: Sequence[float]
) -> float:
    """Freshness of the continuous optimum, if all pages changed as Poisson processes of these rates.

    It is the mean over blocks of time of equal weight (`time_blocks`) and equal fetches, each with the pages
    that are there at its middle; nan if there never are any.
    """
    appears, leaves = _presence(web)
    promised = []
    for begin, end in pairwise(edges):
        (there,) = ((appears <= (begin + end) / 2) & ((begin + end) / 2 <= leaves)).nonzero()
        if len(there):
            rate = fetches_per_second * (edges[-1] - edges[0]) / (len(edges) - 1) / (end - begin)
            promised.append(optimum(rates.at(there), rate).accuracy)
    return float(np.mean(promised)) if promised else float("nan")


def scheduled_fetches(
    web: RecordedWeb, rates: Beliefs, fetches_per_second: float, ticks: FloatArray
) -> Fetches:
    """Fetches in the order of the low-discrepancy schedule of the optimal rates of all pages.

    Pages that are not there are passed over, so that the others share the budget in proportion to their
    rates.
    """
    crawl_rates = optimum(rates, fetches_per_second).rates
    appears, leaves = _presence(web)
    begins, ends = appears.tolist(), leaves.tolist()
    schedule = low_discrepancy(crawl_rates)
    is_any_there = _is_any_there(appears[crawl_rates > 0], leaves[crawl_rates > 0], ticks)
    pages, times = [], []
    for now, is_possible in zip(ticks.tolist(), is_any_there.tolist(), strict=True):
        if is_possible:
            pages.append(next(page for page in schedule if begins[page] <= now <= ends[page]))
            times.append(now)
    return Fetches(np.array(pages, np.int64), np.array(times))


def _is_any_there(appears: FloatArray, leaves: FloatArray, ticks: FloatArray) -> NDArray[np.bool_]:
    """At each tick, whether any of some pages has appeared and not left."""
    n_appeared = np.sort(appears).searchsorted(ticks, side="right")
    is_any: NDArray[np.bool_] = n_appeared > np.sort(leaves).searchsorted(ticks, side="left")
    return is_any


def _presence(web: RecordedWeb) -> tuple[FloatArray, FloatArray]:
    """When each page appears, and when its record ends."""
    return np.array([page.times[0] for page in web.pages]), np.array([page.until for page in web.pages])
