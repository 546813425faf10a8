"""The whole log of visits in memory, page by page, in 21 bytes a visit.

The log is in the order of time. To ask the database for the visits of one page after the other takes
several times as long as to read them all and to sort them here.
"""

from array import array
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.insight.rows import Row
from scrapy_freshness.model import Outcome, VisitRecord


class VisitColumns:
    """Visits as rows of the view ``v_visits`` tell them; first all are added, then they are asked for.

    >>> visits = VisitColumns()
    >>> visits.extend([{"page_id": 7, "at": 5.0, "outcome": "changed", "divergence": None}])
    >>> [visit.outcome.name for visit in visits.of_page(7)], visits.of_page(8)
    (['CHANGED'], [])
    """

    def __init__(self) -> None:
        self._pages = array("q")
        self._times = array("d")
        self._outcomes = array("b")
        self._divergences = array("f")

    def extend(self, rows: Iterable[Row]) -> None:
        """Add visits, in the order of time."""
        for row in rows:
            self._pages.append(row["page_id"])
            self._times.append(row["at"])
            self._outcomes.append(Outcome[row["outcome"].upper()])
            self._divergences.append(np.nan if row["divergence"] is None else row["divergence"])

    def of_page(self, page_id: int) -> list[VisitRecord]:
        """The visits of a page, in the order of time."""
        order, pages = self._by_page
        first, end = pages.searchsorted((page_id, page_id + 1)).tolist()
        return [
            VisitRecord(
                page_id=page_id,
                at=self._times[place],
                outcome=Outcome(self._outcomes[place]),
                divergence=None if np.isnan(self._divergences[place]) else self._divergences[place],
            )
            for place in order[first:end].tolist()
        ]

    @cached_property
    def _by_page(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of all visits in the order of pages, and the pages in that order."""
        pages = np.array(self._pages, np.int64)
        order = np.argsort(pages, kind="stable")
        return order, pages[order]
