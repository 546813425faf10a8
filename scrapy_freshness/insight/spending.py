"""How much of its budget did a crawl spend of late?  The same answer for commands and the dashboard."""

from dataclasses import dataclass

from scrapy_freshness.insight.human import duration
from scrapy_freshness.storage.reports import DAY_SECONDS, HOUR_SECONDS, Activity, activity_since
from scrapy_freshness.storage.store import Store

MINUTE_SECONDS = 60.0
_SPANS = {HOUR_SECONDS: "hour", DAY_SECONDS: "day"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What a crawl fetched in a span of time that ends now, or since its start if that is later."""

    fetches: int
    seconds: float  #: in which they were made
    budget_per_second: float
    is_since_start: bool  #: the crawl has run for less than the span
    span: float = HOUR_SECONDS  #: that was asked about, seconds

    @property
    def fetches_per_second(self) -> float:
        """Fetches that were really made."""
        return self.fetches / self.seconds

    @property
    def share(self) -> float:
        """Share of the budget that they took."""
        return self.fetches_per_second / self.budget_per_second

    @property
    def when(self) -> str:
        """The time that is counted, in words."""
        if self.is_since_start:
            return f"since the start {duration(self.seconds)} ago"
        return f"in the last {_SPANS.get(self.span) or duration(self.span)}"


def spending(
    store: Store,
    spider: str,
    *,
    budget_per_second: float,
    started_at: float | None,
    now: float,
    span: float = HOUR_SECONDS,
    activity: Activity | None = None,
) -> Spending:
    """What the last crawl of a spider spent in a span of time, such as the last hour.

    Counts are kept by minutes of the clock, so the minute in which a span began is left out, and that in
    which a crawl began is counted as a whole. They are read from the database unless what the spider did in
    the span is given as *activity*, and the crawl has run for all of it.
    """
    started = started_at if started_at is not None else 0.0
    is_since_start = now - started < span
    if is_since_start:
        activity = activity_since(store, started - MINUTE_SECONDS).get(spider)
    elif activity is None:
        activity = activity_since(store, now - span).get(spider)
    return Spending(
        fetches=sum(activity.fetches.values()) if activity else 0,
        seconds=max(now - started, 1.0) if is_since_start else counted_seconds(span, now),
        budget_per_second=budget_per_second,
        is_since_start=is_since_start,
        span=span,
    )


def counted_seconds(span: float, now: float) -> float:
    """How much of a span the counts by minutes cover: not the minute in which it began.

    >>> counted_seconds(3600.0, now=7230.0)
    3570.0
    """
    return now - MINUTE_SECONDS * (1 + (now - span) // MINUTE_SECONDS)
