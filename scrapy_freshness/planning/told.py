"""What others find out while a crawl goes on: how important pages are, and what the pages of sources earn."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import PageKind, PageRecord
from scrapy_freshness.planning.frontier import Frontier
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.table import PageTable

_SOURCE = PageRecord(page_id=0, fingerprint=0, url="", host="", kind=PageKind.SOURCE)
_EARNED = ("profit", "decay")


class Told:
    """Puts what others have found out into the table; all pages get other waking times then."""

    def __init__(self, table: PageTable, frontier: Frontier, learner: Learner) -> None:
        self._table = table
        self._frontier = frontier
        self._learner = learner

    @property
    def importances(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids of all pages and how important they are, by row; copies, for another thread."""
        size = len(self._table)
        return self._table.page_id[:size].copy(), self._table.importance[:size].copy()

    def importances_are(self, rows: NDArray[np.intp], importances: NDArray[np.float32]) -> None:
        """Pages have other importances."""
        self._table.importance[rows] = importances
        self._frontier.reprice(self._frontier.fetch_price)

    def groups_are(self, groups: Mapping[str, bytes]) -> None:
        """More is known of groups of pages: of what pages of sources earn, by clicks."""
        self._learner.be_told(groups)
        table = self._table
        rows = np.flatnonzero(table.kind[: len(table)] == PageKind.SOURCE)
        named = zip(table.page_id[rows].tolist(), table.host[rows].tolist(), strict=True)
        known = [
            self._learner.prior(replace(_SOURCE, page_id=page_id, host=table.hosts[host]))
            for page_id, host in named
        ]
        if known and all(name in known[0] for name in _EARNED):
            table.believe(rows, {name: np.array([each[name] for each in known]) for name in _EARNED})
            self._frontier.reprice(self._frontier.fetch_price)
