"""BFS, fixed quota and frequency: what ECHO is compared with, as choosers of the next fetch.

A chooser is asked whenever there is room for one fetch. It looks at a :class:`Frontier` and answers with
the number of the source to poll, or with None: fetch the page whose link was found last. A page is
fetched once. Who runs it keeps the frontier up to date.

References
----------
Lefortier et al.: Timely crawling of high-quality ephemeral new content, CIKM 2013, section 5.2.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.pacing.schedule import poll_intervals, solve_schedule

FloatArray = NDArray[np.float64]


@dataclass(slots=True)
class Frontier:
    """What has been fetched and what waits."""

    polled_at: FloatArray  #: seconds, last poll of each source; -inf: never
    waiting: int  #: pages whose links were found and that were not fetched yet
    last_was_poll: bool  #: whether the fetch before was a poll


class Chooser(Protocol):
    """Chooses between polling a source and fetching a page."""

    def source(self, frontier: Frontier, now: float) -> int | None:
        """Return the number of the source to poll now, or None: fetch the page found last."""
        ...


class BreadthFirst:
    """BFS: one source after another in a fixed order, and after each all pages found on it.

    >>> chooser = BreadthFirst(np.array([1, 0]))
    >>> frontier = Frontier(np.full(2, -np.inf), waiting=0, last_was_poll=True)
    >>> chooser.source(frontier, 0.0), chooser.source(frontier, 1.0), chooser.source(frontier, 2.0)
    (1, 0, 1)
    """

    def __init__(self, order: NDArray[np.int64]) -> None:
        self._order = order
        self._turn = -1

    def source(self, frontier: Frontier, now: float) -> int | None:
        """Return the next in turn once no page waits."""
        if frontier.waiting:
            return None
        self._turn = (self._turn + 1) % len(self._order)
        return int(self._order[self._turn])


class OnSchedule:
    """Sources at their intervals, pages with what is left: the shape of ECHO-schedule.

    When nothing is due and no page waits, the source that is nearest to being due is polled.

    >>> chooser = OnSchedule(np.array([10.0, np.inf]))
    >>> chooser.source(Frontier(np.array([0.0, 0.0]), waiting=3, last_was_poll=True), 9.0)
    >>> chooser.source(Frontier(np.array([0.0, 0.0]), waiting=3, last_was_poll=True), 10.0)
    0
    """

    def __init__(self, intervals: FloatArray) -> None:
        self._intervals = intervals

    def source(self, frontier: Frontier, now: float) -> int | None:
        """Return the source most behind its schedule, if there is one or nothing else to do."""
        lateness = _lateness(frontier, self._intervals, now)
        most = int(np.argmax(lateness))
        return most if lateness[most] >= 1 or not frontier.waiting else None


class FixedQuota:
    """Every other fetch is a poll, of the source most behind its schedule; pages get the rest.

    >>> chooser = FixedQuota(np.array([10.0, 20.0]))
    >>> chooser.source(Frontier(np.array([0.0, 0.0]), waiting=3, last_was_poll=True), 9.0)
    >>> chooser.source(Frontier(np.array([0.0, 0.0]), waiting=3, last_was_poll=False), 9.0)
    0
    """

    def __init__(self, intervals: FloatArray) -> None:
        self._intervals = intervals

    def source(self, frontier: Frontier, now: float) -> int | None:
        """Return a source in every other turn, and whenever no page waits."""
        if frontier.waiting and frontier.last_was_poll:
            return None
        return int(np.argmax(_lateness(frontier, self._intervals, now)))


def breadth_first(n_sources: int, rng: np.random.Generator) -> BreadthFirst:
    """BFS in a random order."""
    return BreadthFirst(rng.permutation(n_sources))


def fixed_quota(
    link_rate: FloatArray, profit: FloatArray, decay: FloatArray, fetches_per_second: float
) -> FixedQuota:
    """Half of the fetches are polls, at the intervals that earn most with so many polls."""
    return FixedQuota(poll_intervals(link_rate, profit, decay, fetches_per_second / 2).intervals)


def frequency(link_rate: FloatArray, decay: FloatArray, fetches_per_second: float) -> OnSchedule:
    """ECHO-schedule without clicks: all sources are taken to be equal but for their rates of links."""
    equal, typical = np.ones(len(link_rate)), np.full(len(link_rate), np.median(decay))
    schedule = solve_schedule(link_rate, equal, typical, fetches_per_second, participation=False)
    return OnSchedule(schedule.intervals)


def _lateness(frontier: Frontier, intervals: FloatArray, now: float) -> FloatArray:
    """Elapsed time over interval; a source that is never to be polled is never late."""
    elapsed = now - frontier.polled_at
    return np.where(np.isinf(intervals), 0.0, elapsed / np.where(np.isinf(intervals), 1.0, intervals))
