"""StormCrawler's adaptive scheduler, and that of Common Crawl's news-crawl, which runs it.

Whole minutes: a change moves the interval a share of the way towards the smallest, no change lengthens it.
A fetch that brought no page forgets all about it: the page is tried again after a while and then starts anew.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Self

from scrapy_freshness.simulator.intervals import IntervalState


@dataclass(frozen=True, slots=True)
class StormCrawlerState(IntervalState):
    """What StormCrawler remembers of a page."""

    has_copy: bool  #: whether the next fetch can be compared


@dataclass(frozen=True, slots=True, kw_only=True)
class StormCrawlerAdaptive:
    """AdaptiveScheduler.

    >>> rule, minutes = StormCrawlerAdaptive(), []
    >>> state = rule.first(0.0)
    >>> for _ in range(5):  # a page that always changes
    ...     minutes.append(round(state.interval_seconds / 60))
    ...     state = rule.after(state, state.next_at, changed=True)
    >>> minutes
    [1440, 750, 405, 232, 146]
    """

    first_minutes: int = 1440
    min_minutes: int = 60
    max_minutes: int = 20160
    retry_minutes: int = 120  #: until the next try after a failed fetch
    increase: float = 0.5
    decrease: float = 0.5
    minute_seconds: float = 60.0

    def first(self, now: float) -> StormCrawlerState:
        """The default interval."""
        return self._state(self.first_minutes, now)

    def after(
        self, state: StormCrawlerState, now: float, changed: bool | None, failed: bool = False
    ) -> StormCrawlerState:
        """Grow or shrink the interval; without a comparison begin anew."""
        if failed:
            return self._state(self.retry_minutes, now, has_copy=False)
        if changed is None or not state.has_copy:
            return self.first(now)
        minutes = round(state.interval_seconds / self.minute_seconds)
        if changed:
            minutes = math.floor((1 - self.decrease) * minutes + self.decrease * self.min_minutes)
        else:
            minutes = min(math.floor((1 + self.increase) * minutes), self.max_minutes)
        return self._state(minutes, now)

    def scaled(self, factor: float) -> Self:
        """Minutes become longer."""
        return replace(self, minute_seconds=self.minute_seconds * factor)

    def _state(self, minutes: int, now: float, *, has_copy: bool = True) -> StormCrawlerState:
        seconds = minutes * self.minute_seconds
        return StormCrawlerState(seconds, now + seconds, has_copy)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsCrawl:
    """news-crawl: feeds and sitemaps by StormCrawler's rule with other numbers.

    Articles it fetches once and never again; here the rule comes back to every page.

    >>> NewsCrawl().first(0.0).interval_seconds / 3600
    24.0
    """

    rule: StormCrawlerAdaptive = field(
        default=StormCrawlerAdaptive(min_minutes=90, max_minutes=129600, retry_minutes=4320, decrease=0.2)
    )

    def first(self, now: float) -> StormCrawlerState:
        """As StormCrawler."""
        return self.rule.first(now)

    def after(
        self, state: StormCrawlerState, now: float, changed: bool | None, failed: bool = False
    ) -> StormCrawlerState:
        """As StormCrawler."""
        return self.rule.after(state, now, changed, failed)

    def scaled(self, factor: float) -> Self:
        """Minutes become longer."""
        return replace(self, rule=self.rule.scaled(factor))
