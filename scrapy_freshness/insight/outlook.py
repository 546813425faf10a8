"""What the policy in force thinks of pages: their value now, the price, and when they are visited next.

The same table, the same value model and the same function as in the crawl's planner, on the columns that
the database has now.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.config import Config
from scrapy_freshness.estimation.sibling_pace import SiblingPaces
from scrapy_freshness.model import CrawlState, PageColumns, PageKind, PageStatus, WaitingSignals
from scrapy_freshness.pacing.budget import price_for_rate
from scrapy_freshness.planning.frontier import Frontier
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.planning.planner import UNKNOWN_PAGE
from scrapy_freshness.planning.policy import Policy, PolicyOptions, policy_named, policy_of
from scrapy_freshness.planning.price import long_run_price
from scrapy_freshness.planning.siblings import SIBLINGS, restore_paces
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.storage.page_reports import PageFilter, count_pages
from scrapy_freshness.storage.store import Store
from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.pins import WithPins
from scrapy_freshness.value.polls import WithPolls, is_polled

#: Not at their place any more: looked at again at a time of their own.
_LEFT = (PageStatus.GONE, PageStatus.MOVED)
#: Pages of a host from which its price is computed.
_SAMPLE = 5_000


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On what terms the crawl of one spider visits pages."""

    policy: Policy
    budget_per_second: float
    price: float  #: the value from which on pages are visited
    fetch_price: float = 0.0  #: what a fetch has to be worth, for models that count the pages of a source
    min_interval: float  #: seconds between two visits of a page at least
    prior: Mapping[str, float]  #: what is believed of pages that were not visited yet
    blocked_until: Mapping[str, float]  #: of hosts
    usual_wait: float = 1.0  #: seconds in which as many pages are visited as are known
    siblings: Mapping[str, bytes] = field(default_factory=dict, repr=False)  #: learned of hosts, by group
    waiting: WaitingSignals | None = None  #: signals that no visit has answered; None if nobody listens

    @classmethod
    def of(cls, store: Store, config: Config, spider: str) -> Self:
        """Policy, budget and price of the spider's last crawl; of the settings if there was none."""
        state = store.load_state(spider)
        policy = policy_named(state.policy, PolicyOptions.of(config)) if state else policy_of(config)
        learner = learner_of(policy, config)
        groups = store.load_groups(spider)
        learner.restore(groups)
        budget = state.budget_per_second if state else config.budget_per_second
        terms = cls(
            policy=policy,
            budget_per_second=budget,
            price=state.price if state else 0.0,
            min_interval=config.min_interval_seconds,
            prior=learner.prior(UNKNOWN_PAGE),
            blocked_until={host.host: host.blocked_until for host in store.load_hosts()},
            usual_wait=max(count_pages(store, PageFilter(spider=spider)), 1) / budget,
            siblings={name: groups[name] for name in groups if name.startswith(SIBLINGS)},
            waiting=store.load_waiting_signals(spider) if "signals" in policy.model.needs else None,
        )
        if terms.price <= 0:
            terms = replace(terms, price=Outlook(terms, store.load_pages(spider), now=0.0).long_run_price())
        fetch_price = terms.price
        if policy.solve_price is not None:
            fetch_price = Outlook(terms, store.load_pages(spider), now=0.0).scheduled_price()
        return replace(terms, fetch_price=fetch_price)

    def as_of_now(self, store: Store, state: CrawlState) -> Self:
        """The terms with the price, the back-offs and the siblings of now; what a crawl starts with stays."""
        watches = "pace" in self.policy.model.needs
        return replace(
            self,
            price=state.price or self.price,
            budget_per_second=state.budget_per_second,
            blocked_until={host.host: host.blocked_until for host in store.load_hosts()},
            siblings=store.load_groups(state.spider, SIBLINGS) if watches else {},
        )


class Outlook:
    """How some pages of one spider look to its policy at a time; arrays with one element a page."""

    def __init__(self, terms: Terms, columns: PageColumns, now: float) -> None:
        self._terms, self._columns, self._now = terms, columns, now
        self._table = PageTable(terms.policy.model.needs)
        self._table.load(columns, now, terms.prior)
        self._table.usual_wait, self._table.usual_value = terms.usual_wait, terms.price
        if "pace" in terms.policy.model.needs:
            restore_paces(self._table, SiblingPaces(), terms.siblings)
        if terms.waiting is not None:
            self._hear(terms.waiting)
        self._model = WithPins(WithPolls(terms.policy.model))
        self._beliefs = self._table.beliefs(slice(len(self._table)), now, terms.fetch_price)
        self.elapsed = np.maximum(now - columns.last_visit_at, 0.0)  #: nan where never visited
        self._samples: dict[int, Outlook] = {}  #: of every so many pages

    def _hear(self, waiting: WaitingSignals) -> None:
        """Signals of those of the pages that have a copy."""
        known = self._columns.page_id
        order = np.argsort(known)
        places = np.searchsorted(known, waiting.page_id, sorter=order)
        is_there = np.isin(waiting.page_id, known[~np.isnan(self._columns.last_visit_at)])
        rows, sources = order[places[is_there]], waiting.source[is_there].astype(np.intp)
        if len(rows):
            self._table.hear(rows, sources, np.zeros(len(rows), np.bool_), np.zeros(len(rows)))

    def values(self) -> FloatArray:
        """Value of visiting each page now; nan for pages that wait for something else than their value."""
        return self._values

    @cached_property
    def _values(self) -> FloatArray:
        terms, columns = self._terms, self._columns
        frontier = Frontier(self._table, self._model, terms.policy.pacing.floor, terms.min_interval)
        frontier.price, frontier.fetch_price = terms.price, terms.fetch_price
        waits = columns.status == PageStatus.SUSPENDED
        waits |= np.isin(columns.status, _LEFT) & (columns.not_before > self._now)
        return np.where(waits, np.nan, frontier.values(np.arange(len(self._table)), self._now))

    def values_after(self, seconds: float) -> FloatArray:
        """Value of visiting each page some time after its last visit, if siblings change as expected."""
        return self._model.value(self._long_run_beliefs, np.full(len(self._table), seconds))

    def competing_values(self) -> FloatArray:
        """Values of the pages that compete for visits: new ones, and those that have a copy."""
        return self._competing

    @cached_property
    def _competing(self) -> FloatArray:
        return self._values[self._competes]

    @cached_property
    def _competes(self) -> NDArray[np.bool_]:
        """Which pages compete for visits."""
        return np.isin(self._columns.status, (PageStatus.NEW, PageStatus.ACTIVE))

    def worth_more_on(self, host: str, value: float) -> int:
        """How many pages of a host compete for visits now and are worth more than a value."""
        columns = self._columns
        if host not in columns.hosts:
            return 0
        competes = self._competes & (columns.not_before <= self._now)
        competes &= columns.host == columns.hosts.index(host)
        return int(np.count_nonzero(self._values[competes] > value))

    def price_on(self, host: str, visits_per_second: float) -> float:
        """The price at which so many visits are spent on copies of a host in the long run (by a sample)."""
        if host not in self._columns.hosts:
            return self._terms.price
        rows = np.flatnonzero(self.has_copy & (self._columns.host == self._columns.hosts.index(host)))
        some = rows[:: max(1, len(rows) // _SAMPLE)]
        rate = visits_per_second * len(some) / max(1, len(rows))
        beliefs, least = self._long_run_beliefs.at(some), self._terms.min_interval
        return price_for_rate(self._model, beliefs, rate, min_interval=least)

    def freshness(self) -> FloatArray:
        """Expected freshness of each page's copy now; 0 where there is none."""
        return self._freshness

    @property
    def has_copy(self) -> NDArray[np.bool_]:
        """Which pages have a copy that is kept fresh; sitemaps and feeds are none."""
        has_copy: NDArray[np.bool_] = (self._columns.status == PageStatus.ACTIVE) & ~is_polled(self._beliefs)
        return has_copy

    def mean_freshness(self) -> float | None:
        """Mean freshness of the copies now, weighted by importance; None without any."""
        weights = self._columns.importance[self.has_copy].astype(np.float64)
        if not weights.sum() > 0:
            return None
        with np.errstate(invalid="ignore"):  # of an importance too large for its column
            return float(np.average(self.freshness()[self.has_copy], weights=weights))

    def sample(self, most: int) -> "Outlook":
        """The outlook on at most so many of the pages, evenly chosen."""
        step = -(-len(self._table) // most) if most else 1
        if step <= 1:
            return self
        if step not in self._samples:
            chosen = some_of(self._columns, slice(None, None, step))
            self._samples[step] = Outlook(self._terms, chosen, self._now)
        return self._samples[step]

    @property
    def columns(self) -> PageColumns:
        """What the database knows of the pages."""
        return self._columns

    @property
    def beliefs(self) -> Beliefs:
        """What is believed of the pages."""
        return self._beliefs

    @cached_property
    def _freshness(self) -> FloatArray:
        has_copy = ~np.isnan(self.elapsed)
        fresh = self._model.freshness(self._beliefs, np.where(has_copy, self.elapsed, 0.0))
        return np.where(has_copy, fresh, 0.0)

    def long_run_intervals(self, price: float) -> FloatArray:
        """Seconds between the visits of each page in the long run at a price; inf if it has none."""
        return self._intervals(self._long_run_beliefs, price)

    @property
    def _long_run_beliefs(self) -> Beliefs:
        """What is believed of the pages; in the long run their siblings change as expected."""
        return replace(self._beliefs, pace=None)

    def _intervals(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Seconds from a visit of each page to the next at a price; inf if there is none."""
        least = self._terms.min_interval
        if price <= 0:
            pinned = self._columns.pinned_seconds
            return np.full(len(self._table), least) if pinned is None else np.fmax(pinned, least)
        seconds = self._model.elapsed_at(beliefs, price)
        if self._table.has_polled:  # what brings nothing is polled all the same, after some time
            patience = self._table.patience_seconds[: len(self._table)]
            seconds = np.where(is_polled(beliefs), np.minimum(seconds, patience), seconds)
        return np.maximum(seconds, least)

    def next_visits(self) -> FloatArray:
        """When each page is visited next if nothing happens; in the past if it is due, inf if never."""
        columns = self._columns
        intervals = self._intervals(self._beliefs, self._terms.price)
        times = np.minimum(columns.last_visit_at, self._now) + intervals
        times = np.where(np.isnan(times), columns.discovered_at, times)
        times = np.where(np.isin(columns.status, _LEFT), columns.not_before, times)
        times[columns.status == PageStatus.SUSPENDED] = np.inf
        blocked = np.array([self._terms.blocked_until.get(host, 0.0) for host in columns.hosts])
        if len(times):
            times = np.maximum(times, blocked[columns.host])
        return np.maximum(times, columns.not_before)

    def visits_per_second(self, price: float) -> float:
        """How many visits the pages with a copy take together in the long run at a price."""
        intervals = self.long_run_intervals(price)[self._columns.status == PageStatus.ACTIVE]
        return float(np.sum(1 / np.maximum(intervals, 1e-9)))

    def believed(self, name: str) -> FloatArray:
        """What is believed of each page; nan if the policy does not know such a belief."""
        column: FloatArray | None = getattr(self._beliefs, name)
        return np.full(len(self._table), np.nan) if column is None else column

    def scheduled_price(self) -> float:
        """What a fetch has to be worth by the schedule of all sources; 0 without any."""
        sources = np.flatnonzero(self._columns.kind == PageKind.SOURCE)
        if self._terms.policy.solve_price is None or not len(sources):
            return 0.0
        return self._terms.policy.solve_price(self._beliefs.at(sources), self._terms.budget_per_second)

    def long_run_price(self) -> float:
        """Price at which the budget is spent in the long run, as the planner has it at its start."""
        terms = self._terms
        return long_run_price(
            self._model, self._table, terms.budget_per_second, min_interval=terms.min_interval
        )


def some_of(columns: PageColumns, rows: Any) -> PageColumns:
    """Some of the pages: a slice, a mask or an array of positions."""
    chosen = {
        field.name: getattr(columns, field.name)[rows]
        for field in fields(columns)
        if field.name not in ("hosts", "beliefs") and getattr(columns, field.name) is not None
    }
    beliefs = {name: column[rows] for name, column in columns.beliefs.items()}
    return PageColumns(hosts=columns.hosts, beliefs=beliefs, **chosen)
