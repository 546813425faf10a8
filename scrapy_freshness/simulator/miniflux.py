r"""Miniflux's entry frequency: a feed is polled as often as it publishes.

The mean gap :math:`g` between the entries of the last week tells how many there are in a week,
:math:`n=\lceil 7\,\mathrm{d}/g\rceil`, and the feed is polled :math:`n` times a week, at least every 24 hours
and at most every 5 minutes. Fewer than two entries have no gap: once in 24 hours.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from scrapy_freshness.simulator.intervals import IntervalState

_WEEK = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class MinifluxState(IntervalState):
    """What Miniflux remembers of a feed."""

    entries_at: tuple[float, ...]  #: when the entries of the last week were published, ascending


@dataclass(frozen=True, slots=True, kw_only=True)
class Miniflux:
    """The scheduler `entry_frequency`.

    Of a page that is no feed every change that a fetch finds counts as one entry. The entries of a feed (any
    page with links) are told by :meth:`noted` before :meth:`after`, then called with ``changed=None``.

    >>> rule, hours = Miniflux(), 3600.0
    >>> state = rule.noted(rule.first(0.0), [10 * hours, 13 * hours, 16 * hours])
    >>> rule.after(state, 24 * hours, None).interval_seconds / hours
    3.0
    """

    min_seconds: float = 300.0
    max_seconds: float = 86400.0
    stretch: float = 1.0  #: times the gap between entries

    def first(self, now: float) -> MinifluxState:
        """No entries yet."""
        return self._state(now, ())

    def noted(self, state: MinifluxState, published_at: Iterable[float]) -> MinifluxState:
        """State that knows of these entries too."""
        return replace(state, entries_at=tuple(sorted((*state.entries_at, *published_at))))

    def after(
        self, state: MinifluxState, now: float, changed: bool | None, failed: bool = False
    ) -> MinifluxState:
        """Interval from the entries of the last week; a failed fetch changes nothing in them."""
        if changed and not failed:
            state = self.noted(state, (now,))
        return self._state(now, state.entries_at)

    def scaled(self, factor: float) -> Self:
        """Scale limits and gaps; a week remains a week."""
        return replace(
            self,
            min_seconds=self.min_seconds * factor,
            max_seconds=self.max_seconds * factor,
            stretch=self.stretch * factor,
        )

    def _state(self, now: float, entries_at: tuple[float, ...]) -> MinifluxState:
        kept = entries_at[bisect_left(entries_at, now - _WEEK) :]
        span = kept[-1] - kept[0] if kept else 0.0
        interval = self.max_seconds
        if span > 0:
            per_week = math.ceil(_WEEK * (len(kept) - 1) / span)
            interval = min(max(self.stretch * _WEEK / per_week, self.min_seconds), self.max_seconds)
        return MinifluxState(interval, now + interval, kept)
