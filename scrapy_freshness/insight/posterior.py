"""What is believed of a page's change rate, as a distribution: before and after what its visits saw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.config import Config
from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.estimation.history import n_observations
from scrapy_freshness.estimation.pooled import Pooled
from scrapy_freshness.estimation.rate_grid import RATES, bells
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.learning import group_name, group_of, groups_named
from scrapy_freshness.storage.live_reports import some_groups
from scrapy_freshness.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Probabilities of some change rates, evenly spaced on a logarithmic scale."""

    rates: NDArray[np.float64]  #: changes per second
    before: NDArray[np.float64] | None  #: what the page's siblings tell; None if pages learn alone
    after: NDArray[np.float64]  #: with the page's own visits


def posterior_of(
    store: Store, config: Config, record: PageRecord, spider: str, seconds_between_visits: float
) -> Posterior | None:
    """What the crawl's estimator believes of a page; None before two versions were compared.

    *seconds_between_visits* is about how often a page is visited on average: known pages / budget.
    """
    # A policy with curves of its own keeps the rate that visits tell beside the curve's.
    known = record.beliefs
    rate = known.get("visits_rate", record.change_rate)
    low, high = (
        known.get("visits_rate_low", record.change_rate_low),
        known.get("visits_rate_high", record.change_rate_high),
    )
    if not low > 0 or not record.history or not _is_readable(record.history):
        return None
    estimate = RateEstimate(np.array([rate]), np.array([low]), np.array([high]))
    if config.estimator != "pooled":
        return Posterior(rates=RATES, before=None, after=bells(estimate)[0])
    pool, group = Pooled(), group_of(record)
    names = [group_name("rates", group[:level]) for level in range(len(group) + 1)]
    pool.restore(groups_named("rates", some_groups(store, spider, names)))
    before, after = pool.believed([group], [record.history], estimate, first_seconds=seconds_between_visits)
    return Posterior(rates=RATES, before=before[0], after=after[0])


def _is_readable(history: bytes) -> bool:
    try:
        return n_observations(history) > 0
    except ValueError:
        return False
