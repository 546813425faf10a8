"""Is the crawl keeping up?  An answer in words, from what is known of it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from scrapy_freshness.insight.human import count, duration, rate, relative, share

#: Shares of the pages that have never been fetched, or are due, from which on a crawl is behind.
_MANY_NEW, _MANY_DUE = 0.05, 0.1
#: Share of the budget that is spent if nothing holds the crawl up.
_SPENT = 0.5
#: A crawl that has run for less has not shown yet what it spends, seconds.
_WARM_UP = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the crawl of a spider stands."""

    spider: str
    is_running: bool
    updated_at: float | None
    started_at: float | None
    pages: int  #: that are known, sitemaps and feeds left out
    never_fetched: int
    due: int  #: copies that are worth a visit now
    freshness: float | None  #: expected, of the copies
    uniform_freshness: float | None  #: if all pages were visited in turn
    budget_per_second: float
    budget_used: float  #: share of the last hour's budget
    blocked_hosts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer: good, busy (it is on its way), or bad; in a few words, and why."""

    level: str
    headline: str
    sentences: list[str]


def verdict(crawl: Standing, now: float) -> Verdict:
    """Whether a crawl keeps up."""
    level, headline, reason = _judged(crawl, now)
    return Verdict(level=level, headline=headline, sentences=[reason, *_more(crawl)])


def _is_getting_to_know(crawl: Standing) -> bool:
    return crawl.never_fetched > max(_MANY_NEW * crawl.pages, 1)


def _judged(crawl: Standing, now: float) -> tuple[str, str, str]:
    if crawl.pages == 0:
        return (
            "busy",
            "Nothing has been fetched yet",
            "Known pages appear here as soon as the spider has found them.",
        )
    if not crawl.is_running:
        since = (
            f"the last sign of it came {relative(crawl.updated_at, now)}"
            if crawl.updated_at
            else "it has never run"
        )
        return "bad", "The crawl is not running", f"Nothing is visited, and copies grow old: {since}."
    if _is_getting_to_know(crawl):
        takes = duration(crawl.never_fetched / crawl.budget_per_second)
        return (
            "busy",
            "Still getting to know the site",
            f"{crawl.never_fetched:,} of {count(crawl.pages, 'known page')} have never been fetched; "
            f"at this budget that takes at least {takes}.",
        )
    has_run = now - (crawl.started_at or now) > _WARM_UP
    if has_run and crawl.budget_used < _SPENT and crawl.due > _MANY_DUE * crawl.pages:
        blocked = f"; {count(crawl.blocked_hosts, 'host')} in back-off" if crawl.blocked_hosts else ""
        return (
            "bad",
            "Something holds the crawl up",
            f"{count(crawl.due, 'page')} are due, but only {share(crawl.budget_used)} of the budget was "
            f"spent in the last hour: slow hosts, delays or errors{blocked}.",
        )
    if crawl.due > _MANY_DUE * crawl.pages and crawl.due / crawl.budget_per_second > 60:
        takes = duration(crawl.due / crawl.budget_per_second)
        return (
            "busy",
            "It is catching up",
            f"{crawl.due:,} of {count(crawl.pages, 'page')} are due; to visit them takes {takes} at this "
            "budget.",
        )
    return (
        "good",
        "The crawl is keeping up",
        f"It spends {rate(crawl.budget_per_second)} where that is worth most.",
    )


def _more(crawl: Standing) -> Iterator[str]:
    if crawl.freshness is None:
        return
    yield f"A copy is still current with a probability of {share(crawl.freshness)}, by importance."
    # What visiting in turn gives in the long run is no measure for a crawl that has just begun, or has ended.
    is_settled = crawl.is_running and not _is_getting_to_know(crawl)
    if is_settled and crawl.uniform_freshness is not None and not math.isnan(crawl.uniform_freshness):
        yield f"Visiting every page in turn at the same budget would give {share(crawl.uniform_freshness)}."
