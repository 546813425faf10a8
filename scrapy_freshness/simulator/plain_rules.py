"""The two rules that everybody thinks of first: one interval for all, or fetches in proportion to changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.estimation.history import MAX_OBSERVATIONS, extended
from scrapy_freshness.simulator.intervals import Finding, IntervalState


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Every page at the same interval.

    >>> Fixed(interval_seconds=60.0).first(1000.0).next_at
    1060.0
    """

    interval_seconds: float = 86400.0

    def first(self, now: float) -> IntervalState:
        """The interval."""
        return IntervalState(self.interval_seconds, now + self.interval_seconds)

    def after(
        self, state: IntervalState, now: float, changed: bool | None, failed: bool = False
    ) -> IntervalState:
        """The interval, whatever was found."""
        return self.first(now)

    def scaled(self, factor: float) -> Self:
        """Another interval."""
        return replace(self, interval_seconds=self.interval_seconds * factor)


@dataclass(frozen=True, slots=True)
class ProportionalState(IntervalState):
    """What is remembered of a page."""

    history: bytes  #: see estimation/history.py
    seen_at: float  #: seconds, last fetch that brought a copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportional:
    """Interval inversely proportional to the estimated change rate: every fetch finds as many changes.

    Cho and Garcia-Molina (2003) show that this is always less fresh than one interval for all. The
    estimate is the one that the crawl itself uses by default, so a comparison is between ways to spend
    the budget.

    >>> rule = Proportional(prior=PriorPoints(3600.0, 57 * 3600.0))
    >>> round(rule.first(0.0).interval_seconds / 3600, 3)
    57.499
    """

    changes_per_fetch: float = 1.0
    min_seconds: float = 60.0
    max_seconds: float = 365 * 86400.0
    prior: PriorPoints = field(default_factory=PriorPoints)
    memory: int = MAX_OBSERVATIONS  #: observations from which the rate is estimated, the last ones

    def first(self, now: float) -> ProportionalState:
        """Interval from what is believed of every page."""
        return self._state(now, self.prior.rate, b"", now)

    def after(
        self, state: ProportionalState, now: float, changed: bool | None, failed: bool = False
    ) -> ProportionalState:
        """Interval from all comparisons so far."""
        return self.after_all([(state, Finding(now, changed, failed))])[0]

    def after_all(self, seen: Sequence[tuple[ProportionalState, Finding]]) -> list[ProportionalState]:
        """Intervals of many pages; their rates are estimated together."""
        noted = [self._noted(state, finding) for state, finding in seen]
        rates = estimate_change_rates([history for history, _ in noted], self.prior).rate.tolist()
        return [
            self._state(finding.now, rate, history, seen_at)
            for (_, finding), rate, (history, seen_at) in zip(seen, rates, noted, strict=True)
        ]

    def scaled(self, factor: float) -> Self:
        """More changes to each fetch, and the limits."""
        return replace(
            self,
            changes_per_fetch=self.changes_per_fetch * factor,
            min_seconds=self.min_seconds * factor,
            max_seconds=self.max_seconds * factor,
        )

    def _state(self, now: float, rate: float, history: bytes, seen_at: float) -> ProportionalState:
        interval = min(max(self.changes_per_fetch / rate, self.min_seconds), self.max_seconds)
        return ProportionalState(interval, now + interval, history, seen_at)

    def _noted(self, state: ProportionalState, finding: Finding) -> tuple[bytes, float]:
        """History and time of the last copy after a fetch."""
        if finding.failed:
            return state.history, state.seen_at
        if finding.changed is None:
            return state.history, finding.now
        return extended(state.history, finding.now - state.seen_at, finding.changed, self.memory), finding.now
