"""What somebody says about pages: which of it is news, and what is it worth?"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import PageStatus, SignalSource, are_polled
from scrapy_freshness.planning.frontier import Frontier, Rows
from scrapy_freshness.planning.learner import QuietVisit
from scrapy_freshness.planning.stock import Stock
from scrapy_freshness.planning.table import PageTable, rows_of
from scrapy_freshness.value.contract import FloatArray

_LEFT = (int(PageStatus.GONE), int(PageStatus.MOVED))
#: Signals that wait to be heard together, since one alone costs as much as a hundred: at least so many, or
#: one for so many pages.
_AT_ONCE, _AT_ONCE_SHARE = 256, 50
#: The news of one page is worth so many prices at most: some models value a first copy beyond all measure.
_MOST_PRICES = 10.0


class Heard(NamedTuple):
    """Which of the pages got a signal, and what that was worth."""

    rows: Rows
    worth: float  #: in prices of a visit


class News:
    """Passes signals on if they say something new, and measures by how much they move the choice of visits.

    Parameters
    ----------
    deaf_seconds : signals within this time after a visit announce what it has seen; 0: as was learned
    learned_deaf_seconds : that time for each source of signals of a host
    told_afterwards : tells who learns that signals have come after a visit that they could have announced
    settle : sends pages that were visited lately back to the frontier
    look_again : tells a page that was gone or had moved that it may be there
    """

    def __init__(
        self,
        table: PageTable,
        frontier: Frontier,
        stock: Stock,
        *,
        deaf_seconds: float,
        learned_deaf_seconds: Callable[[str], Sequence[float]],
        told_afterwards: Callable[[str, SignalSource, QuietVisit], None],
        settle: Callable[[float], bool],
        look_again: Callable[[int, float], None],
    ) -> None:
        self._table = table
        self._frontier = frontier
        self._stock = stock
        self._deaf_seconds = deaf_seconds
        self._learned_deaf_seconds = learned_deaf_seconds
        self._told_afterwards = told_afterwards
        self._settle = settle
        self._look_again = look_again
        self._waiting: list[tuple[Rows, Rows, float]] = []  #: rows, sources and time
        self._waiting_rows: set[int] = set()
        self._n_waiting = 0
        self._unsure = 0  #: signals since the last one that was nearly sure

    def signal(self, rows: Rows, now: float, sources: Rows | SignalSource = SignalSource.SITEMAP) -> None:
        """Signals of some sources say that pages may have changed; a row that is named twice got two.

        A signal that comes shortly after a visit announces, as a rule, what the visit has seen: it does not
        count. One that is nearly sure does not wait until the pages are visited that were chosen before it
        came. Where none are nearly sure, they wait for each other until pages are chosen or one of theirs has
        been visited: before that, they make no difference.
        """
        if not self._table.listens:
            return
        if not isinstance(sources, np.ndarray):
            sources = np.full(len(rows), int(sources))
        self._waiting.append((rows, sources, now))
        self._waiting_rows.update(rows.tolist())
        self._n_waiting += len(rows)
        enough = max(_AT_ONCE, len(self._table) // _AT_ONCE_SHARE)
        if self._unsure < _AT_ONCE or self._n_waiting >= enough:
            self.listen()

    def listen(self, row: int | None = None) -> None:
        """Hear the signals that wait; with *row*, only if one of this page is among them."""
        if not self._n_waiting or (row is not None and row not in self._waiting_rows):
            return
        rows, sources, times = zip(*self._waiting, strict=True)
        self._waiting, self._waiting_rows, self._n_waiting = [], set(), 0
        at = np.repeat(times, [len(each) for each in rows])
        self._listen_to(np.concatenate(rows), np.concatenate(sources), at)

    def _listen_to(self, rows: Rows, sources: Rows, at: FloatArray) -> None:
        table, now = self._table, float(at[-1])
        after_visit = at - table.last_visit[rows]
        is_copy_older = after_visit > 0  # and there is one
        rows, sources, after_visit = rows[is_copy_older], sources[is_copy_older], after_visit[is_copy_older]
        if not len(rows):
            return
        is_late = after_visit <= self._deaf_for(rows, sources)
        table.hear(rows, sources, is_late, after_visit)
        rows, sources = rows[~is_late], sources[~is_late]
        self._frontier.signalled(rows, sources, now)
        is_awake = table.wake[rows] <= now  # others are not worth a crawl yet, however sure their signals are
        sure = self._frontier.surely_stale(rows[is_awake], sources[is_awake]) if is_awake.any() else rows[:0]
        self._unsure = 0 if len(sure) else self._unsure + len(rows)
        if len(sure):
            self._hurry(self._frontier.worthwhile(np.unique(sure)), now)

    def hear(self, rows: Rows, claimed_at: FloatArray, now: float, source: SignalSource) -> Heard:
        """Take signals for known pages, each named once; *claimed_at* is nan where no time is said.

        What is said to have changed before the last visit of the page is no news, but shows that the source
        tells of such changes. A page that is polled itself is polled soon.
        """
        table = self._table
        if quiet := table.take_quiet(rows, claimed_at):
            self._settle(now)  # these visits are to be learned from before
            for row, visit in quiet:
                self._told_afterwards(table.hosts[table.host[row]], source, visit)
        is_news = ~(claimed_at <= table.last_visit[rows])
        rows = rows[is_news]
        is_polled = are_polled(table.kind[rows])
        if is_polled.any():
            self._frontier.poll_soon(rows[is_polled], now)
        status = table.status[rows]
        for row in rows[np.isin(status, _LEFT)].tolist():
            self._look_again(row, now)
        rows = rows[(status == PageStatus.ACTIVE) & ~is_polled]
        if not len(rows):
            return Heard(rows, 0.0)
        if not table.listens:
            return Heard(rows, 0.0)  # to this policy, a signal changes nothing
        self.listen()
        before = self._frontier.values(rows, now)
        self.signal(rows, now, source)
        self.listen()
        return Heard(rows, self._worth(self._frontier.values(rows, now), before))

    def worth_of_first_visits(self, rows: Rows, now: float) -> float:
        """What it is worth to have found these pages, in prices of a visit."""
        return self._worth(self._frontier.values(rows, now), np.zeros(len(rows)))

    def restore(self, page_ids: NDArray[np.int64], sources: NDArray[np.uint8], now: float) -> None:
        """Take over signals that an earlier run has heard and no visit has answered."""
        if not len(page_ids):
            return
        rows = rows_of(self._table.page_id[: len(self._table)], page_ids)
        for source in SignalSource:
            chosen = (rows >= 0) & (sources == source)
            if chosen.any():
                self.signal(rows[chosen], now, source)

    def _deaf_for(self, rows: Rows, sources: Rows) -> FloatArray:
        """How long after a visit signals announce what it has seen, by the settings or as was learned."""
        if self._deaf_seconds:
            return np.full(len(rows), self._deaf_seconds)
        hosts = self._table.host[rows]
        if (hosts == hosts[0]).all():
            return np.array(self._learned_deaf_seconds(self._table.hosts[hosts[0]]))[sources]
        names, place = np.unique(hosts, return_inverse=True)
        windows = np.array([self._learned_deaf_seconds(self._table.hosts[name]) for name in names])
        learned: FloatArray = windows[place, sources]
        return learned

    def _hurry(self, rows: Rows, now: float) -> None:
        """Pages that have surely changed need not wait until those are visited that were chosen before."""
        if self._table.taken[rows].any():
            self._settle(now)
        if len(rows):
            self._stock.join(rows, self._frontier.values(rows, now), now)

    def _worth(self, after: FloatArray, before: FloatArray) -> float:
        """By how many prices visits are worth more than what the crawl would have done instead."""
        price = self._frontier.price
        gain = np.maximum(after - np.maximum(before, price), 0.0)
        if price <= 0:
            return float(np.count_nonzero(gain))
        return float(np.minimum(gain / price, _MOST_PRICES).sum())
