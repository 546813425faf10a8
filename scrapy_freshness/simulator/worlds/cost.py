"""Pages that cost while they are stale, and crawls that cost: section 5 of the cost paper.

All pages change once in 24 hours on average, a crawl costs as much as an hour with a stale copy, and nothing
but cost limits the crawls. With `--learn`, change rates are learned by the censored maximum-likelihood
estimate with the paper's two pseudo-observations.

================= ========================================================================================
cost              crawl at the interval that costs least (for the believed change rate)
cost-risk-bounded the same, but an interval is stale for longer than `--stale-limit` with `--risk` at most
fixed             every page every `--ratio` times the period: the paper's known case
proportional      each page every `--ratio` times its estimated period: the paper's unknown case
optimum           what the best intervals cost by the formula
other rivals      as their crawlers ship them
other policies    at `--rate` crawls an hour, all pages together
================= ========================================================================================

References
----------
Ford, Grimes, Tassone: Keeping a search engine index fresh: risk and optimality in estimating refresh rates
for web pages, section 5.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.config import setting
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.change_rate import PriorPoints
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.policy import Policy, PolicyOptions
from scrapy_freshness.simulator.changing import ChangingWeb
from scrapy_freshness.simulator.contest import (
    RIVAL_NAMES,
    Contest,
    check_policy,
    enter,
    enter_when_due,
    playable,
)
from scrapy_freshness.simulator.instances import cost_instance
from scrapy_freshness.simulator.plain_rules import Fixed, Proportional
from scrapy_freshness.simulator.rivals import RULES
from scrapy_freshness.simulator.rule_run import crawl_by_rule
from scrapy_freshness.simulator.staleness_cost import CrawlIntervals
from scrapy_freshness.simulator.streams import poisson_events
from scrapy_freshness.simulator.web import Fetches
from scrapy_freshness.simulator.worlds.contract import (
    Advance,
    Metric,
    Outcome,
    Round,
    Size,
    Usual,
    refuse_unknown,
)
from scrapy_freshness.units import numbers
from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.cost import cheapest_interval

HOUR = 3600.0
#: Policies of the planner that have a price of their own, so that no rate binds them.
PRICED = ("cost", "cost-risk-bounded")
#: Observations that the paper's estimator remembers: all.
_EVERYTHING = 1_000_000


def prior_points(value: Any) -> PriorPoints:
    """Parse the hours after which a change, and after which none, was pseudo-observed.

    >>> prior_points("1,57").unchanged_after_seconds
    205200.0
    """
    try:
        changed, unchanged = (float(part) for part in str(value).split(","))
        if not (0 < changed < np.inf and 0 < unchanged < np.inf):
            raise ValueError
    except ValueError:
        raise ValueError('write two numbers of hours above 0 such as "1,57"') from None
    return PriorPoints(changed * HOUR, unchanged * HOUR)


@dataclass(frozen=True, kw_only=True)
class CostWorld:
    """Pages that all change equally often, unless there is a spread."""

    time_unit: ClassVar[str] = "hours"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("cost_per_hour", "cost per page and hour"),
        Metric("very_stale_share", "share of crawl intervals stale for the limit or longer"),
        Metric("very_stale_share_of_changed", "the same among intervals with a change"),
        Metric("changed_share", "share of crawl intervals with a change", is_gain=None),
    )
    usual: ClassVar[Usual] = Usual(
        pages=100, rate=12.5, horizon=1000.0, repeat=10, policies=("cost", "proportional", "fixed", "optimum")
    )

    period: float = setting("24", numbers(1e-6, 1e9), "Hours between two changes of a page, on average.")
    spread: float = setting("0", numbers(0, 10), "Standard deviation of the logarithm of the pages' periods.")
    crawl_cost: float = setting("1", numbers(1e-9, 1e9), "Cost of a crawl.")
    stale_cost: float = setting("1", numbers(1e-9, 1e9), "Cost of an hour with a stale copy.")
    ratio: float = setting(
        "0.3333333333333333", numbers(1e-6, 1e9), "Crawl interval of fixed and proportional, in periods."
    )
    stale_limit: float = setting("8", numbers(0, 1e9), "Hours for which a copy should not be stale.")
    risk: float = setting(
        "0.01", numbers(0, 0.999999), "Share of intervals that cost-risk-bounded lets be so."
    )
    prior: PriorPoints = setting(
        "1,57", prior_points, "Hours of the pseudo-observations: a change, no change."
    )

    def policy_names(self) -> tuple[str, ...]:
        """Policies that need to know no more than change rates, all rivals and the optimum."""
        return (*playable(frozenset()), *RIVAL_NAMES, "optimum")

    def sized(self, size: Size) -> Size:
        """As it is."""
        return size

    def check(self, policy: str, size: Size, *, learn: bool) -> None:
        """Refuse unknown policies, and a risk that cannot be kept."""
        refuse_unknown(policy, self.policy_names())
        if policy == "cost-risk-bounded" and not self.stale_limit + self.risk > 0:
            raise ConfigError("--stale-limit must be above 0 if --risk is 0: no copy is always fresh")
        if policy != "optimum":
            check_policy(policy, learner_for=self.learner_for if learn else None, options=self.options)

    @property
    def options(self) -> PolicyOptions:
        """What policies are told."""
        return PolicyOptions(
            crawl_cost=self.crawl_cost,
            stale_cost_per_second=self.stale_cost / HOUR,
            stale_limit_seconds=self.stale_limit * HOUR,
            stale_risk=self.risk,
        )

    def learner_for(self, policy: Policy) -> Learner:
        """The estimator of the paper."""
        return learner_for(policy, estimator="mle", prior=self.prior)

    def draw(self, size: Size, rng: np.random.Generator) -> Round:
        """Draw the pages' periods, then their changes."""
        instance = cost_instance(size.pages, rng, period_seconds=self.period * HOUR, spread=self.spread)
        changes = poisson_events(instance.change_rate, size.horizon * HOUR, rng)
        truth = replace(instance.beliefs, recall=None, false_rate=None, signals=None)
        contest = Contest(
            web=ChangingWeb(changes),
            fetches_per_second=size.rate / HOUR,
            start=0.0,
            end=size.horizon * HOUR,
            truth=truth,
        )
        return _Round(self, contest, truth)


class _Round:
    def __init__(self, world: CostWorld, contest: Contest, truth: Beliefs) -> None:
        self._world = world
        self._contest = contest
        self._truth = truth

    def play(self, policy: str, *, learn: bool, advance: Advance) -> Outcome:
        if policy == "optimum":
            return self._best()
        contest, world = self._contest, self._world
        crawls = self._crawled(policy, learn, advance).by_page(len(self._truth))
        assert isinstance(contest.web, ChangingWeb)
        changes = [contest.web.changes.of(page) for page in range(len(crawls))]
        found = CrawlIntervals.of(changes, crawls, contest.start, contest.end)
        limit = world.stale_limit * HOUR
        cost = HOUR * found.cost_per_second(world.crawl_cost, world.stale_cost / HOUR)
        shares = found.very_stale_share(limit), found.very_stale_share_of_changed(limit), found.changed_share
        names = [metric.name for metric in world.metrics]
        return Outcome(dict(zip(names, (cost, *shares), strict=True)), found.crawls)

    def _crawled(self, policy: str, learn: bool, advance: Advance) -> Fetches:
        contest, world = self._contest, self._world
        by_rule = partial(crawl_by_rule, contest.web, start=contest.start, end=contest.end)
        if policy == "fixed":
            return by_rule(Fixed(interval_seconds=world.ratio * world.period * HOUR))
        if policy == "proportional" and not learn:
            return _regular(world.ratio / self._truth.change_rate, contest.start, contest.end)
        if policy == "proportional":
            return by_rule(Proportional(changes_per_fetch=world.ratio, prior=world.prior, memory=_EVERYTHING))
        learner_for = world.learner_for if learn else None
        if policy in PRICED or policy in RULES:
            return enter_when_due(contest, policy, learner_for=learner_for, options=world.options)
        ticks = contest.fetches
        return enter(
            contest,
            policy,
            learner_for=learner_for,
            options=world.options,
            progress=lambda tick: advance(tick / ticks),
        )

    def _best(self) -> Outcome:
        """The formulas, at the interval of each page that costs least; never if that is cheaper."""
        world, rate = self._world, self._truth.change_rate
        interval = cheapest_interval(self._truth.importance, rate, world.options.crawl_seconds)
        is_crawled = np.isfinite(interval)
        r = np.where(is_crawled, rate * np.where(is_crawled, interval, 1.0), 1.0)
        crawled = world.stale_cost * (1 + np.expm1(-r) / r) + world.crawl_cost * HOUR * rate / r
        cost = float(np.mean(np.where(is_crawled, crawled, world.stale_cost)))
        weights = np.where(is_crawled, rate / r, 0.0)  # crawls per second, hence intervals
        changed = _weighted(-np.expm1(-r), weights)
        late = np.where(is_crawled, interval, 0.0) - world.stale_limit * HOUR
        very_stale = _weighted(-np.expm1(-rate * np.maximum(late, 0.0)), weights)
        length = self._contest.end - self._contest.start
        measures = (cost, very_stale, very_stale / changed if changed else np.nan, changed)
        names = [metric.name for metric in world.metrics]
        return Outcome(dict(zip(names, measures, strict=True)), float(np.sum(weights)) * length)


def _regular(intervals: NDArray[np.float64], start: float, end: float) -> Fetches:
    """Fetches of each page at its own interval."""
    counts = np.floor((end - start) / intervals * (1 + 1e-12)).astype(np.int64)
    pages = np.repeat(np.arange(len(intervals)), counts)
    numbers = np.concatenate([np.arange(1, count + 1) for count in counts])
    times = start + numbers * intervals[pages]
    order = np.argsort(times, kind="stable")
    return Fetches(pages[order], times[order])


def _weighted(shares: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float(np.average(shares, weights=weights)) if weights.any() else float("nan")


WORLD = CostWorld
