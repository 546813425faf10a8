"""What do the links of a source bring?  Link rates from polls, profits from what is known of clicks.

A page that was found on a source has the source's profit and decay while it waits for its first visit: who
discovers it hands them in with its record. Other pages are not ephemeral, and have a profit of 0.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from scrapy_freshness.estimation.links import LAST_POLLS, link_rates
from scrapy_freshness.estimation.polls import poll_columns
from scrapy_freshness.model import PageKind, PageRecord
from scrapy_freshness.planning.learner import AroundRates, Columns, Learner

#: Decay of what does not fade within a human life.
_SLOWEST = 1e-12


def inherited_beliefs(source: PageRecord) -> dict[str, float]:
    """What is believed of a page because of the page that it was found on: nothing, if that is no source."""
    if source.kind is not PageKind.SOURCE:
        return {}
    return {name: value for name, value in source.beliefs.items() if name in ("profit", "decay")}


class LinkLearner(AroundRates):
    """Adds link rate, profit and decay to the beliefs of a learner of change rates.

    Parameters
    ----------
    profit, decay : of sources without clicks, requests per page and per second; small, but never 0
    last_polls : polls that the link rate is estimated from
    """

    def __init__(
        self,
        rates: Learner,
        *,
        profit: float = 1.0,
        decay: float = 1 / 86400,
        last_polls: int = LAST_POLLS,
    ) -> None:
        super().__init__(rates)
        self._profit = profit
        self._decay = decay
        self._last_polls = last_polls

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """Of a source, a link a day; of a page, what it was found with."""
        return {**self._rates.prior(page), **self._expected(page)}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Link rates of the sources among these pages; profits and decays stay as they are."""
        known = self._rates.learn(pages)
        link_rate, profit, decay = np.zeros(len(pages)), np.zeros(len(pages)), np.full(len(pages), _SLOWEST)
        # Most pages are no sources and were found on none: they do not fade.
        rows = [
            row
            for row, page in enumerate(pages)
            if page.kind is PageKind.SOURCE or page.beliefs.get("profit")
        ]
        if rows:
            before = [self._expected(pages[row]) for row in rows]
            profit[rows], decay[rows] = ([each[name] for each in before] for name in ("profit", "decay"))
        sources = [row for row in rows if pages[row].kind is PageKind.SOURCE]
        if sources:
            found, seconds = poll_columns([pages[row].polls for row in sources])
            link_rate[sources] = link_rates(found, seconds, last_polls=self._last_polls).rate
        return known | {"link_rate": link_rate, "profit": profit, "decay": decay}

    def _expected(self, page: PageRecord) -> dict[str, float]:
        """Link rate, profit and decay of a page by its kind, or as it was found."""
        is_source = page.kind is PageKind.SOURCE
        usual = {
            "link_rate": 1 / 86400 if is_source else 0.0,
            "profit": self._profit if is_source else 0.0,
            "decay": self._decay if is_source else _SLOWEST,
        }
        return usual | {name: value for name, value in page.beliefs.items() if name in usual}
