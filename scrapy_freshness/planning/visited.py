"""Pages that were visited lately, waiting to be learned from together."""

import logging
from collections.abc import Callable, Sequence

import numpy as np

from scrapy_freshness.model import PageKind, PageRecord
from scrapy_freshness.planning.after_visit import drop_what_was_told
from scrapy_freshness.planning.frontier import Rows
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learning import note_beliefs
from scrapy_freshness.planning.siblings import Siblings
from scrapy_freshness.planning.table import PageTable

logger = logging.getLogger(__name__)

#: Adds to records of visited pages what is to be learned from, and takes less time for many together.
BeforeLearning = Callable[[Sequence[PageRecord]], None]


class VisitedPages:
    """Rows and records of visited pages; the learner is asked about many at a time."""

    def __init__(
        self, table: PageTable, learner: Learner, siblings: Siblings, before_learning: BeforeLearning
    ) -> None:
        self._before_learning = before_learning
        self._table = table
        self._learner = learner
        self._siblings = siblings
        self._waiting: list[tuple[int, PageRecord]] = []
        self.not_learned = 0  #: visits so far from which not all could be learned

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, row: int, record: PageRecord) -> bool:
        """Take in a page; returns whether it is time to learn."""
        self._waiting.append((row, record))
        # Pages just visited are worth least: some of them may wait to be settled together, unless there
        # are so few that they are soon due again. Not sources, which may be polled all the time.
        enough = min(256, max(1, (len(self._table) - 128) // 12))
        return record.kind is PageKind.SOURCE or len(self._waiting) >= enough

    def learn(self) -> tuple[Rows, list[PageRecord]]:
        """Learn from all that wait; returns their rows, and their records with what is believed of them.

        If that fails, pages are learned from one by one, and only one that fails again keeps old beliefs.
        What groups of pages had learned by then, they learn twice: better than nothing from so many visits.
        """
        waiting, self._waiting = self._waiting, []
        rows = np.array([row for row, _ in waiting])
        records = [record for _, record in waiting]
        try:
            self._before_learning(records)
        except Exception:
            self.not_learned += len(records)
            logger.exception("Not all could be learned from %d visits", len(records))
        try:
            self._learn(rows, records)
        except Exception:
            for place, record in enumerate(records):
                self._learn_alone(rows[place : place + 1], record)
        return rows, records

    def _learn_alone(self, rows: Rows, record: PageRecord) -> None:
        try:
            self._learn(rows, [record])
        except Exception:
            self.not_learned += 1
            drop_what_was_told(record)
            logger.exception("Nothing could be learned from the visit to %s", record.url)

    def _learn(self, rows: Rows, records: list[PageRecord]) -> None:
        beliefs = self._learner.learn(records)
        self._siblings.observe(rows, records)  # by what the table believed before
        self._table.believe(rows, beliefs)
        note_beliefs(records, beliefs)
