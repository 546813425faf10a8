"""Time is an object: the crawl hands in the system's clock, tests and the simulator a manual one."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time in unix seconds; never runs backwards."""

    def now(self) -> float: ...


class SystemClock:
    """Wall-clock time that goes on when the machine's clock is set back.

    A step forwards (suspend, correction) is time that passed. A step backwards would make pages look
    as if they were visited in the future, so the monotonic clock bridges it.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        monotonic = time.monotonic()
        # The largest offset seen, not a sum of steps: errors of reading two clocks must not add up.
        self._offset = max(self._offset, time.time() - monotonic)
        return monotonic + self._offset


class ManualClock:
    """A clock that stands still until it is moved.

    >>> clock = ManualClock(100.0)
    >>> clock.advance(5)
    >>> clock.now()
    105.0
    """

    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError(f"time only goes forwards, got {seconds} seconds")
        self._now += seconds

    def advance_to(self, time: float) -> None:
        self.advance(time - self._now)
