"""What would another budget bring?  Expected freshness in the long run, by what is believed now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.pacing.budget import price_for_rate
from scrapy_freshness.planning.assessment import freshness_in_turn
from scrapy_freshness.value.long_run import mean_freshness

#: Copies from which it is told.
_SAMPLE = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """What a budget brings in the long run."""

    budget_per_second: float
    freshness: float
    uniform_freshness: float


def prospects(terms: Terms, outlook: Outlook, factors: Sequence[float]) -> list[Prospect]:
    """Expected freshness at multiples of the present budget; nothing without copies.

    Every page is visited whenever its value reaches the price at which the budget is spent. What polls,
    retries and new pages take is not counted, neither for the policy nor for visiting pages in turn.
    """
    has_copy = outlook.has_copy
    n_copies = int(np.count_nonzero(has_copy))
    rows = np.flatnonzero(has_copy)[:: max(1, n_copies // _SAMPLE)]
    beliefs = replace(outlook.beliefs.at(rows), pace=None)
    if beliefs.signals is not None:
        beliefs = replace(beliefs, signals=np.zeros(len(rows)))
    weights = beliefs.importance
    if not 0 < weights.sum() < np.inf:
        return []
    model, found = terms.policy.model, []
    for factor in factors:
        budget = factor * terms.budget_per_second
        price = price_for_rate(model, beliefs, budget * len(rows) / n_copies, min_interval=terms.min_interval)
        least = np.full(len(rows), terms.min_interval)
        intervals = np.maximum(model.elapsed_at(beliefs, price), least) if price > 0 else least
        in_turn = max(n_copies / budget, terms.min_interval)
        found.append(
            Prospect(
                budget_per_second=budget,
                freshness=float(np.average(mean_freshness(model, beliefs, intervals), weights=weights)),
                uniform_freshness=float(
                    np.average(freshness_in_turn(model, beliefs, in_turn), weights=weights)
                ),
            )
        )
    return found
