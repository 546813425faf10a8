"""Link rates that follow the clock, in the table of pages.

What is believed of a source is its mean link rate. In the table it has the mean since its last poll, by the
rhythm of its host, which is taken anew every quarter of an hour.
"""

import numpy as np

from scrapy_freshness.model import PageKind
from scrapy_freshness.planning.frontier import Frontier, Rows
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.link_rhythm import mean_intensity
from scrapy_freshness.planning.table import PageTable

_STEP_SECONDS = 900.0
_SOURCE = int(PageKind.SOURCE)


class RhythmicRates:
    """Keeps the link rates of the table up with the clock."""

    def __init__(self, table: PageTable, frontier: Frontier, learner: Learner) -> None:
        self._table = table
        self._frontier = frontier
        self._learner = learner
        self._factors: dict[int, float] = {}  #: row -> what its rate in the table is multiplied by
        self._next_at = -np.inf

    def learned(self, rows: Rows) -> None:
        """The rates of these pages in the table are mean ones again."""
        if self._factors:
            for row in rows.tolist():
                self._factors.pop(row, None)

    def follow(self, now: float) -> None:
        """Take the rates of all sources anew if it is time; those that become more likely wake earlier."""
        if now < self._next_at:
            return
        self._next_at = now + _STEP_SECONDS
        table = self._table
        if not table.has_sources or not table.values_links:
            return
        rows = np.flatnonzero(table.kind[: len(table)] == _SOURCE)
        factors = self._factors_of(rows, now)
        before = np.array([self._factors.get(row, 1.0) for row in rows.tolist()])
        other = factors != before
        if other.any():
            rows, ratio = rows[other], (factors / before)[other]
            table.believe(rows, {"link_rate": table.beliefs(rows).need("link_rate") * ratio})
            self._factors.update(zip(rows.tolist(), factors[other].tolist(), strict=True))
            self._frontier.reconsider(rows, now)

    def _factors_of(self, rows: Rows, now: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        factors = np.ones(len(rows))
        hosts, place = np.unique(self._table.host[rows], return_inverse=True)
        last = self._table.last_visit[rows]
        for number, host in enumerate(hosts.tolist()):
            rhythm = self._learner.rhythm_of(self._table.hosts[host])
            if rhythm is not None:
                own = np.flatnonzero(place == number)
                start = np.where(np.isnan(last[own]), now, np.minimum(last[own], now))
                factors[own] = mean_intensity(rhythm, start, np.full(len(own), now + _STEP_SECONDS))
        return np.maximum(factors, 1e-3)
