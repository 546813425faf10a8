"""Let an interval rule of another crawler crawl a web: every page when it is due, without a budget.

Without a budget the fetches of one page are no business of another one's. So they are made in rounds, each
with the next fetch of every page that has one: a rule may then learn from all pages of a round at once.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.equal_budget import Match, factor_for_fetches
from scrapy_freshness.simulator.intervals import BatchRule, FeedRule, Finding, IntervalRule
from scrapy_freshness.simulator.web import Fetches, Look, Web


def crawl_by_rule(
    web: Web,
    rule: IntervalRule[Any],
    *,
    start: float,
    end: float,
    limit: int | None = None,
    first_copies: bool = True,
) -> Fetches:
    """Fetch pages from *start* to *end* when the rule says so.

    With *first_copies*, what has appeared by the start was fetched at that very time, and what appears later
    when it appears, which is not among the fetches.

    Raises
    ------
    ConfigError
        The rule makes more than *limit* fetches.
    """
    run = _RuleRun(web, rule, start, end, first_copies)
    if not run.made(math.inf if limit is None else limit):
        raise ConfigError(f"about {run.expected():,.0f} fetches, which are more than {limit:,}")
    return run.fetches()


def crawl_by_matching(
    web: Web,
    rule_for: Callable[[float], IntervalRule[Any]],
    fetches: int,
    *,
    start: float,
    end: float,
    first_copies: bool = True,
) -> tuple[Fetches, Match]:
    """Crawl with the rule for the factor that leads to so many fetches; they fall as it rises."""
    closest: Fetches | None = None

    def made(factor: float) -> int:
        nonlocal closest
        run = _RuleRun(web, rule_for(factor), start, end, first_copies)
        if not run.made(2 * fetches):
            # How far too many they are need not be known exactly.
            return max(round(run.expected()), 2 * fetches)
        if closest is None or abs(run.n_fetches - fetches) < abs(len(closest) - fetches):
            closest = run.fetches()
        return run.n_fetches

    match = factor_for_fetches(made, fetches)
    if closest is None or len(closest) != match.fetches:
        closest = crawl_by_rule(web, rule_for(match.factor), start=start, end=end, first_copies=first_copies)
    return closest, match


class _RuleRun:
    """What a rule knows of the pages, and when it fetches them."""

    def __init__(
        self, web: Web, rule: IntervalRule[Any], start: float, end: float, first_copies: bool
    ) -> None:
        self._web = web
        self._rule = rule
        self._batch_rule = rule if isinstance(rule, BatchRule) else None
        self._feed_rule = rule if isinstance(rule, FeedRule) else None
        self._entries: dict[int, set[int]] = {}  #: that a feed has shown
        self._new_entries: dict[int, list[float]] = {}  #: of feeds: when they were published
        self._looked_at: dict[int, float] = {}  #: feeds
        self._pages: list[int] = []
        self._times: list[float] = []
        self._states: dict[int, Any] = {}
        self._copies: dict[int, int] = {}
        n_pages = range(len(web.addresses))
        self._begin = np.maximum(np.array([web.appears_at(page) for page in n_pages]), start)
        self._end = np.minimum(np.array([web.addresses[page].leaves_at for page in n_pages]), end)
        self._next = self._begin.copy()
        for page in n_pages if first_copies else ():
            if self._begin[page] <= self._end[page]:
                at = float(self._begin[page])
                self._look(page, at)
                self._states[page] = self._first(page, at)
                self._next[page] = self._states[page].next_at

    @property
    def n_fetches(self) -> int:
        return len(self._times)

    def made(self, limit: float) -> bool:
        """Make all fetches; False if they are more than *limit*, and not all made."""
        while (due := np.flatnonzero(self._next <= self._end)).size:
            if self.n_fetches + due.size > limit:
                return False
            self._make(due.tolist(), self._next[due].tolist())
        return True

    def expected(self) -> float:
        """About how many fetches there are in all, judging by those that were made."""
        made = np.bincount(np.array(self._pages, np.int64), minlength=len(self._next))
        is_under_way = self._next <= self._end
        length = np.maximum(self._end - self._begin, 0.0)
        covered = np.maximum(self._next - self._begin, 1e-9 * length)
        rest = np.divide(length, covered, out=np.ones(len(made)), where=is_under_way & (covered > 0))
        return float(np.sum((made + is_under_way) * rest))

    def fetches(self) -> Fetches:
        """The fetches in the order of time."""
        pages, times = np.array(self._pages, np.int64), np.array(self._times, np.float64)
        order = np.lexsort((pages, times))
        return Fetches(pages[order], times[order])

    def _make(self, pages: list[int], times: list[float]) -> None:
        """The next fetch of each of some pages."""
        self._pages += pages
        self._times += times
        known: list[tuple[int, Finding]] = []
        for page, now in zip(pages, times, strict=True):
            finding = self._look(page, now)
            if page in self._states:
                known.append((page, finding))
            else:
                self._states[page] = self._first(page, now)
        if self._batch_rule is not None and len(known) > 1:
            states = self._batch_rule.after_all([(self._states[page], finding) for page, finding in known])
            self._states.update(zip((page for page, _ in known), states, strict=True))
        else:
            for page, finding in known:
                self._states[page] = self._after(page, self._states[page], finding)
        self._next[pages] = [self._states[page].next_at for page in pages]

    def _first(self, page: int, now: float) -> Any:
        state = self._rule.first(now)
        return self._after(page, state, Finding(now, None)) if page in self._new_entries else state

    def _after(self, page: int, state: Any, finding: Finding) -> Any:
        entries = self._new_entries.pop(page, None)
        if entries is not None and self._feed_rule is not None:
            state = self._feed_rule.noted(state, entries)
            finding = finding._replace(changed=None)
        return self._rule.after(state, *finding)

    def _look(self, page: int, now: float) -> Finding:
        look = self._web.look(page, now)
        if look.is_gone:
            return Finding(now, True, failed=True)
        before = self._copies.get(page)
        self._copies[page] = look.content_hash
        if self._feed_rule is not None and (look.links or page in self._entries):
            self._note_entries(page, look, now)
        return Finding(now, before != look.content_hash)

    def _note_entries(self, page: int, look: Look, now: float) -> None:
        """Note the entries that are new; those that do not say when they were published came evenly since."""
        shown = self._entries.setdefault(page, set())
        born = look.born or [math.nan] * len(look.links)
        # A link that is shown twice is one entry.
        new = {link: at for link, at in zip(look.links, born, strict=True) if link not in shown}
        dated = [min(at, now) for at in new.values() if not math.isnan(at)]
        since = self._looked_at.get(page, now)  # how old those of the first look are nobody knows
        undated = np.linspace(now, since, len(new) - len(dated), endpoint=False)
        self._new_entries[page] = dated + (undated.tolist() if since < now else [])
        self._looked_at[page] = now
        shown.update(look.links)
