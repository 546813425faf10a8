r"""Apache Nutch's adaptive fetch schedule, with the numbers of the shipped configuration.

A change shortens the interval by a fifth, none lengthens it by two fifths. The time :math:`d` since the last
change that was seen then bends it: the interval is at least :math:`d`, and the next fetch is moved
:math:`0.3\,d` towards the past. An interval longer than 90 days is cut to 81, the copy is dropped, and the
next fetch, at the time already chosen, has nothing to be compared with.
"""

from dataclasses import dataclass, replace
from typing import Self

from scrapy_freshness.simulator.intervals import IntervalState

_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class NutchState(IntervalState):
    """What Nutch remembers of a page."""

    modified_at: float | None  #: seconds, last change seen; None: the copy was dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class NutchAdaptive:
    """AdaptiveFetchSchedule.

    >>> rule = NutchAdaptive()
    >>> state, days = rule.first(0.0), []
    >>> for _ in range(7):  # a page that never changes
    ...     days.append(round(state.next_at / 86400, 2))
    ...     state = rule.after(state, state.next_at, changed=False)
    >>> days
    [30.0, 63.0, 107.1, 182.07, 263.07, 352.17, 433.17]
    """

    first_seconds: float = 30 * _DAY
    min_seconds: float = 60.0
    max_seconds: float = 365 * _DAY
    keep_seconds: float = 90 * _DAY  #: longest interval over which a copy is kept
    retry_seconds: float = _DAY  #: until the next try after a failed fetch
    increase: float = 0.4
    decrease: float = 0.2
    sync_rate: float = 0.3

    def first(self, now: float) -> NutchState:
        """Seen first now, and changed last now as far as anybody knows."""
        return NutchState(self.first_seconds, now + self.first_seconds, now)

    def after(self, state: NutchState, now: float, changed: bool | None, failed: bool = False) -> NutchState:
        """Grow or shrink the interval and move the next fetch towards the last change."""
        if failed:
            return replace(state, next_at=now + self.retry_seconds)
        interval, modified_at = state.interval_seconds, state.modified_at
        if modified_at is None:
            modified_at = now
        elif changed:
            interval, modified_at = interval * (1 - self.decrease), now
        elif changed is False:
            interval *= 1 + self.increase
        since = now - modified_at
        offset = self.sync_rate * since
        if offset > self.max_seconds:
            offset = 0.0
        interval = min(max(interval, since, self.min_seconds), self.max_seconds)
        next_at = now - offset + interval
        if interval > self.keep_seconds:
            return NutchState(0.9 * self.keep_seconds, next_at, None)
        return NutchState(interval, next_at, modified_at)

    def scaled(self, factor: float) -> Self:
        """Every length of time in the configuration is scaled."""
        return replace(
            self,
            first_seconds=self.first_seconds * factor,
            min_seconds=self.min_seconds * factor,
            max_seconds=self.max_seconds * factor,
            keep_seconds=self.keep_seconds * factor,
            retry_seconds=self.retry_seconds * factor,
        )
