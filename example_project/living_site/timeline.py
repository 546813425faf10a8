"""Timelines: when something happened, known as far as anyone has asked."""

from bisect import bisect_right
from collections.abc import Iterable
from math import inf
from threading import Lock


class Timeline:
    """The rising, possibly endless times of events, read from their source only as far as needed.

    The answers depend on the source alone, not on what was asked before, and several threads may ask at once.

    >>> timeline = Timeline([1.0, 2.5, 7.0])
    >>> timeline.count(2.5), timeline.after(2.5), timeline.last(0.5), timeline.between(1.0, 7.0)
    (2, 7.0, None, [2.5, 7.0])
    """

    def __init__(self, times: Iterable[float] = ()) -> None:
        self._source = iter(times)
        self._times: list[float] = []
        self._next = next(self._source, inf)
        self._lock = Lock()

    def count(self, time: float) -> int:
        """Return how many events happened up to and including `time`."""
        return bisect_right(self._known_until(time), time)

    def last(self, time: float) -> float | None:
        """Return when the latest event up to and including `time` happened."""
        number = self.count(time)
        return self._times[number - 1] if number else None

    def after(self, time: float) -> float:
        """Return when the first event after `time` happens, infinity if none does."""
        number = self.count(time)
        with self._lock:
            return self._times[number] if number < len(self._times) else self._next

    def between(self, start: float, end: float) -> list[float]:
        """Return the times of the events after `start`, up to and including `end`."""
        times = self._known_until(end)
        return times[bisect_right(times, start) : bisect_right(times, end)]

    def _known_until(self, time: float) -> list[float]:
        """Return the times read so far, after reading on until none up to `time` is missing."""
        if self._next <= time:
            with self._lock:
                while self._next <= time:
                    self._times.append(self._next)
                    self._next = next(self._source, inf)
        return self._times
