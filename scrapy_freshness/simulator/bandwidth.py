"""A rate of crawls that changes at known times."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.errors import ConfigError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Rates of crawls, each from its time on.

    >>> Bandwidth(((0.0, 2.0), (1.5, 1.0))).ticks(0.0, 4.0)
    array([0.5, 1. , 1.5, 2.5, 3.5])
    """

    changes: tuple[tuple[float, float], ...]  #: time and crawls per time unit, ascending

    def __post_init__(self) -> None:
        times = [time for time, _ in self.changes]
        if not times or times != sorted(set(times)):
            raise ConfigError("the times of a changing rate must ascend, and there must be one")
        if not all(rate >= 0 for _, rate in self.changes):
            raise ConfigError("a rate must not be below 0")

    def scaled(self, seconds: float) -> "Bandwidth":
        """The same with so many seconds for each unit of time."""
        return Bandwidth(tuple((time * seconds, rate / seconds) for time, rate in self.changes))

    def pieces(self, start: float, end: float) -> Iterator[tuple[float, float, float]]:
        """Begin, end and rate of the times with one rate; there are no crawls before the first."""
        ends = [time for time, _ in self.changes[1:]] + [end]
        for (time, rate), until in zip(self.changes, ends, strict=True):
            begin, until = max(time, start), min(until, end)
            if begin < until:
                yield begin, until, rate

    def mean(self, start: float, end: float) -> float:
        """Mean rate from *start* to *end*.

        >>> Bandwidth(((0.0, 100.0), (5.0, 200.0))).mean(0.0, 10.0)
        150.0
        """
        return sum((until - begin) * rate for begin, until, rate in self.pieces(start, end)) / (end - start)

    def ticks(self, start: float, end: float) -> FloatArray:
        """Times of crawls: one whenever the rate has added up to another whole one."""
        parts: list[FloatArray] = [np.empty(0)]
        due = 0.0
        for begin, until, rate in self.pieces(start, end):
            after = due + (until - begin) * rate
            numbers: FloatArray = np.arange(int(due) + 1.0, int(after * (1 + 1e-12)) + 1)
            if len(numbers):
                parts.append(np.minimum(begin + (numbers - due) / rate, until))
            due = after
        return np.concatenate(parts)
