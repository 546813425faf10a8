"""Adds clicks up by page, by source and age of the page, and writes the sums.

Raw clicks are not kept: what is written is bounded by the number of pages, however long the log. Clicks on
addresses that no page has are kept for those that are clicked most; their page may be found later.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.click_sums import clicks_by_age, weekly_sums
from scrapy_freshness.imports.clicked import NOBODY, ClickedAddresses
from scrapy_freshness.imports.clicks import ClickBatch
from scrapy_freshness.model import ImportProgress
from scrapy_freshness.storage.click_rows import MOST_WAITING, Clicks, prune_waiting, write_clicks
from scrapy_freshness.storage.store import Store

#: Sums that are written in one transaction, and clicks that are gathered, at the most.
_ENOUGH_SUMS, _ENOUGH_CLICKS = 50_000, 500_000


class ClickSink:
    """Gathers clicks.

    Parameters
    ----------
    fingerprint : tells by which number a page with an address is known
    written : called when clicks have been written
    """

    def __init__(
        self,
        store: Store,
        fingerprint: Callable[[str], int],
        written: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._written = written
        self._addresses = ClickedAddresses(store, fingerprint)
        self._kept_waiting = 0  #: addresses without a page that were written since some were dropped
        self.counts: Counter[str] = Counter()  #: clicks and lines of all files, by what became of them
        self._clear()

    def _clear(self) -> None:
        self._parts: list[ClickBatch] = []  #: `url` is the number of a clicked address
        self._is_clicked = np.zeros(0, np.bool_)  #: by the number of the address
        self._gathered = 0
        self._counted: Counter[str] = Counter()

    def add(self, batch: ClickBatch) -> None:
        """Take what a block said."""
        self._counted.update({why: int(count) for why, count in batch.ignored.items()})
        if not len(batch.url):
            return
        numbers = self._addresses.numbers(batch.urls)[batch.url]
        self._parts.append(batch._replace(url=numbers, urls=[]))
        self._gathered += len(numbers)
        if len(self._is_clicked) < len(self._addresses):
            self._is_clicked = np.append(self._is_clicked, np.zeros(len(self._addresses), np.bool_))
        self._is_clicked[numbers[numbers != NOBODY]] = True

    @property
    def is_full(self) -> bool:
        """Whether to write."""
        return (
            self._gathered >= _ENOUGH_CLICKS
            or int(np.count_nonzero(self._is_clicked)) >= _ENOUGH_SUMS
            or self._addresses.is_full
        )

    def save(self, progress: ImportProgress) -> None:
        """Write the sums."""
        clicks = self._sums() if self._parts else Clicks()
        progress.counts = dict(Counter(progress.counts) + self._counted)
        self._store.save_import(progress, partial(write_clicks, clicks=clicks))
        self.counts += self._counted
        self._clear()
        self._kept_waiting += len(clicks.waiting)
        if self._kept_waiting > MOST_WAITING:
            with self._store.writing() as connection:
                prune_waiting(connection)
            self._kept_waiting = 0
        if self._addresses.is_full:
            self._addresses.forget()
        self._written()

    def _sums(self) -> Clicks:
        parts, addresses = self._parts, self._addresses
        number = np.concatenate([part.url for part in parts])
        time, seconds, clicks = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("time", "seconds", "clicks")
        )
        covered = float(time.min()), float((time + seconds).max())
        host, key = addresses.host, addresses.key
        is_page = np.append(host >= 0, False)[number]  # the last stands for nobody
        self._counted["clicks on known pages"] += round(float(clicks[is_page].sum()))
        self._counted["clicks on other addresses"] += round(float(clicks[~is_page].sum()))

        row, number = addresses.of_all_spiders(number)
        time, seconds, clicks = time[row], seconds[row], clicks[row]
        week, total = weekly_sums(number, time + seconds / 2, clicks, len(addresses))
        clicked = np.flatnonzero(total)
        pages, waiting = clicked[host[clicked] >= 0], clicked[host[clicked] < 0]
        found = np.flatnonzero(addresses.source[number])
        source, born = addresses.source[number[found]], addresses.born[number[found]]
        by_age = clicks_by_age(source, born, time[found], seconds[found], clicks[found])
        return Clicks(
            pages=_rows(key[pages], week[pages], total[pages]),
            waiting=[
                (*row, addresses.urls[place])
                for row, place in zip(
                    _rows(key[waiting], week[waiting], total[waiting]), waiting.tolist(), strict=True
                )
            ],
            sources=_rows(*by_age),
            spans=dict.fromkeys(np.unique(host[pages]).tolist(), covered),
        )


def _rows(*columns: NDArray[np.int64 | np.float64]) -> list[tuple[int, int, float]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))
