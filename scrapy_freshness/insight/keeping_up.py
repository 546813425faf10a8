"""Is the crawl keeping up?  An answer in words, from what is known of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from statistics import fmean

from scrapy_freshness.insight.human import count, duration, rate, relative, share
from scrapy_freshness.insight.reach import Reach
from scrapy_freshness.insight.spending import Spending
from scrapy_freshness.insight.what_if import Prospect
from scrapy_freshness.storage.live_reports import FreshnessPoint

#: Shares of the pages that have never been fetched, or are due, from which on a crawl is behind.
_MANY_NEW, _MANY_DUE = 0.05, 0.1
#: Share of the budget that is spent if nothing holds the crawl up.
_SPENT = 0.9
#: Minutes over which freshness is compared at least: less may be one burst of changes.
_ENOUGH_MINUTES = 30
#: A crawl that has run for less has not shown yet what it spends, seconds.
_WARM_UP = 120.0
#: Freshness from which on nobody would say that a copy is out of date.
_FRESH = 0.8
#: How much less fresh than visiting in turn a copy may be by chance.
_TIE = 0.02
_TOO_FAST = "Pages change faster than this crawl can follow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """How fresh the copies were, and would be if all pages were visited in turn: means of an hour."""

    freshness: float
    uniform_freshness: float  #: with as many visits

    @classmethod
    def over(cls, minutes: Sequence[FreshnessPoint]) -> "Compared | None":
        """The means over some minutes; None if they are too few."""
        if len(minutes) < _ENOUGH_MINUTES:
            return None
        return cls(
            freshness=fmean(minute.freshness for minute in minutes),
            uniform_freshness=fmean(minute.uniform_freshness for minute in minutes),
        )


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
    due_hosts: int  #: hosts that have them
    freshness: float | None  #: expected, of the copies, now
    compared: Compared | None  #: in the last hour, or since the start; None if that is too little
    spent: Spending  #: in the last hour
    delay_seconds: float  #: between two requests to a host at least
    blocked_hosts: int
    reach: Reach  #: what the pages could take
    prospects: Sequence[Prospect] = ()  #: what other budgets, and the present one, bring in the long run


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What would help: a line of settings.py, and what is expected of it."""

    setting: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer: good, busy (it is on its way), or bad; in a few words, why, and what would help."""

    level: str
    headline: str
    sentences: list[str]
    remedy: Remedy | None


def verdict(crawl: Standing, now: float) -> Verdict:
    """Whether a crawl keeps up."""
    level, headline, reasons = _judged(crawl, now)
    return Verdict(
        level=level,
        headline=headline,
        sentences=[*reasons, *_more(crawl)],
        remedy=_larger_budget(crawl) if headline == _TOO_FAST else None,
    )


def is_held_up(spent: Spending, reach: Reach) -> bool:
    """Whether hosts are the reason if a crawl makes fewer fetches than its budget allows.

    The pages could take more: they are not kept back by FRESHNESS_MIN_INTERVAL, pins or a threshold. How
    many are due at a moment says little: it goes up and down with every batch of visits.
    """
    if spent.seconds <= _WARM_UP or not reach.ready + reach.new:
        return False
    could = reach.visits_per_second + reach.new / spent.seconds
    return spent.fetches_per_second < _SPENT * min(spent.budget_per_second, could)


def _is_held_up(crawl: Standing) -> bool:
    return is_held_up(crawl.spent, crawl.reach)


def _waits_for_hosts(crawl: Standing) -> bool:
    """Whether a crawl is held up by its hosts, and its copies are the worse for it."""
    is_stale = crawl.freshness is not None and crawl.freshness < _FRESH
    return _is_held_up(crawl) and (is_stale or _is_behind(crawl))


def _is_behind(crawl: Standing) -> bool:
    return crawl.due > _MANY_DUE * crawl.pages


def _is_getting_to_know(crawl: Standing) -> bool:
    return crawl.never_fetched > max(_MANY_NEW * crawl.pages, 1)


def _comparison(crawl: Standing) -> Compared | None:
    """What is known of visiting in turn; in the long run, which is no measure for a start."""
    return crawl.compared if crawl.is_running and not _is_getting_to_know(crawl) else None


def _is_behind_turns(crawl: Standing) -> bool:
    found = _comparison(crawl)
    return found is not None and found.freshness < found.uniform_freshness - _TIE


def _in_the_long_run(crawl: Standing) -> Prospect | None:
    """What is expected at the present budget; None while there is nothing to compare."""
    if not crawl.is_running or _is_getting_to_know(crawl) or _is_held_up(crawl) or not _spends_all(crawl):
        return None
    budget = crawl.spent.budget_per_second
    return next((each for each in crawl.prospects if isclose(each.budget_per_second, budget)), None)


def _is_level_with_turns(crawl: Standing) -> bool:
    """Whether visiting in turn would do about as well: by the last hour, or before that by expectation."""
    found = _comparison(crawl) or _in_the_long_run(crawl)
    return found is not None and abs(found.freshness - found.uniform_freshness) <= _TIE


def _spends_all(crawl: Standing) -> bool:
    """Whether the budget is spent, or it is too early to tell."""
    return crawl.spent.seconds <= _WARM_UP or crawl.spent.share >= _SPENT


def _larger_budget(crawl: Standing) -> Remedy | None:
    """What the next larger budget brings, and those after it up to the first that keeps copies fresh."""
    larger = [
        each for each in crawl.prospects if each.budget_per_second > 1.01 * crawl.spent.budget_per_second
    ]
    if not larger or _is_held_up(crawl) or not _spends_all(crawl):
        return None
    first, *others = larger
    enough = next((place for place, each in enumerate(larger) if each.freshness >= _FRESH), len(larger))
    parts = [f"about {100 * first.freshness:.0f} % would be expected in the long run"]
    parts += [
        f"with {rate(each.budget_per_second)} about {100 * each.freshness:.0f} %" for each in others[:enough]
    ]
    return Remedy(
        setting=f'FRESHNESS_BUDGET = "{rate(first.budget_per_second).replace(",", "")}"',
        outcome=", ".join(parts),
    )


def _judged(crawl: Standing, now: float) -> tuple[str, str, list[str]]:
    if crawl.pages == 0:
        soon = "Known pages appear here as soon as the spider has found them."
        return "busy", "Nothing has been fetched yet", [soon]
    if not crawl.is_running:
        sign = f"the last sign of it came {relative(crawl.updated_at, now)}"
        since = sign if crawl.updated_at else "it has never run"
        return "bad", "The crawl is not running", [f"Nothing is visited, and copies grow old: {since}."]
    if _is_getting_to_know(crawl):
        return "busy", "Still getting to know the site", [_new_pages(crawl), *_too_few_fetches(crawl)]
    if _waits_for_hosts(crawl):
        due = (
            f"{crawl.due:,} of {count(crawl.pages, 'page')} are due now, on {count(crawl.due_hosts, 'host')}."
        )
        return "bad", "Its hosts hold the crawl up", [*_too_few_fetches(crawl), due]
    if _is_behind(crawl) and crawl.due / crawl.spent.budget_per_second > 60:
        takes = duration(crawl.due / crawl.spent.budget_per_second)
        due = f"{crawl.due:,} of {count(crawl.pages, 'page')} are due; at this budget, that takes {takes}."
        return "busy", "It is catching up", [due]
    if _is_behind_turns(crawl):
        why = "What other policies would have done with these pages is told under Policies."
        if crawl.spent.is_since_start:
            why = "It has to learn first how often pages change: that takes a few visits of each."
        return "busy", "Visiting page after page in turn would do better", [why]
    return _judged_by_freshness(crawl)


def _judged_by_freshness(crawl: Standing) -> tuple[str, str, list[str]]:
    """The answer for a crawl that nothing is wrong with."""
    spent = crawl.spent
    if _is_held_up(crawl):
        use = f"Its hosts take no more: {_made(spent)}."
    elif not _spends_all(crawl):
        use = f"No other page is worth a visit yet: {_made(spent)}."
        if 0 < _SPENT * crawl.reach.visits_per_second <= spent.fetches_per_second:
            use = f"Pages are visited as often as FRESHNESS_MIN_INTERVAL and pins allow: {_made(spent)}."
    elif _is_level_with_turns(crawl):
        use = f"It spends its budget of {rate(spent.budget_per_second)}."
    else:
        use = f"It spends {rate(spent.budget_per_second)} where that is worth most."
    if crawl.freshness is None or crawl.freshness >= _FRESH:
        return "good", "The crawl is keeping up", [use]
    if _spends_all(crawl) and not crawl.prospects:
        return "busy", _TOO_FAST, [use, "What a larger budget would bring is in the last chart below."]
    return "busy", _TOO_FAST, [use]


def _new_pages(crawl: Standing) -> str:
    spent = crawl.spent
    is_slower = _is_held_up(crawl) and spent.fetches
    pace = spent.fetches_per_second if is_slower else spent.budget_per_second
    return (
        f"{crawl.never_fetched:,} of {count(crawl.pages, 'known page')} have never been fetched; "
        f"at this pace that takes at least {duration(crawl.never_fetched / pace)}."
    )


def _too_few_fetches(crawl: Standing) -> Iterator[str]:
    """Why the budget is not spent, if so."""
    if not _is_held_up(crawl):
        return
    yield f"Only {_made(crawl.spent)}, so a larger budget would not help:"
    causes = []
    if crawl.delay_seconds > 0:
        causes.append(
            f"each host is asked only once every {duration(crawl.delay_seconds)} "
            "(DOWNLOAD_DELAY, AutoThrottle)"
        )
    if crawl.blocked_hosts:
        causes.append(f"{count(crawl.blocked_hosts, 'host')} in back-off after refusals")
    if not causes:
        causes.append("hosts answer slowly, or too few requests may run at once (CONCURRENT_REQUESTS)")
    yield f"{'; '.join(causes)}."


def _made(spent: Spending) -> str:
    """The fetches that were made, of those that the budget allows."""
    return f"{share(spent.share)} of the budget of {rate(spent.budget_per_second)} was spent {spent.when}"


def _more(crawl: Standing) -> Iterator[str]:
    if crawl.freshness is None:
        return
    yield f"A copy is still current with a probability of {share(crawl.freshness)}, by importance."
    found, expected = _comparison(crawl), _in_the_long_run(crawl)
    if found is not None:
        would = "do about as well:" if _is_level_with_turns(crawl) else "give"
        yield (
            f"Visiting page after page in turn, with as many visits, would {would} "
            f"{share(found.uniform_freshness)}; the crawl had {share(found.freshness)} {crawl.spent.when}."
        )
    elif expected is not None and _is_level_with_turns(crawl):
        yield (
            "Visiting page after page in turn would do about as well in the long run: "
            f"{share(expected.uniform_freshness)}, beside {share(expected.freshness)}."
        )
