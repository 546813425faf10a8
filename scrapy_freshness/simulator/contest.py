"""One web, one number of fetches, many policies: ours on the planner, rivals by their own rules."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import POLICY_NAMES, Policy, PolicyOptions, policy_named
from scrapy_freshness.planning.table import MADE_ON_THE_SPOT
from scrapy_freshness.planning.visits import Upkeep
from scrapy_freshness.simulator.bandwidth import Bandwidth
from scrapy_freshness.simulator.cgm import Cgm
from scrapy_freshness.simulator.equal_budget import price_for_fetches
from scrapy_freshness.simulator.known import CERTAIN, NOTHING_ELSE, KnownTruth
from scrapy_freshness.simulator.lds import low_discrepancy
from scrapy_freshness.simulator.optimum import optimum
from scrapy_freshness.simulator.rivals import RULES, rule_named
from scrapy_freshness.simulator.rule_run import crawl_by_matching, crawl_by_rule
from scrapy_freshness.simulator.run import Progress, crawl, crawl_when_due
from scrapy_freshness.simulator.streams import EventStream
from scrapy_freshness.simulator.web import Fetches, FloatArray, Web
from scrapy_freshness.value.contract import Beliefs

#: Makes the learner that a policy learns with.
LearnerFor = Callable[[Policy], Learner]

#: Prices that are tried until one makes as many fetches as there are; fewer if there are many of them, which
#: takes long, and seldom needs more.
_MOST_PRICES, _FEW_PRICES, _MANY = 20, 10, 2_000
#: Share of the fetches by which a run at one price may be off at most.
_OFF_BUDGET = 0.01
#: Policies that are no planner's: rules of other crawlers, CGM and the low-discrepancy schedule.
RIVAL_NAMES = (*sorted((*RULES, "cgm")), "lds")


@dataclass(frozen=True, kw_only=True)
class Contest:
    """What every policy of a contest gets: the same web, the same signals, the same number of fetches."""

    web: Web
    fetches_per_second: float  #: the mean, if there is a bandwidth
    start: float  #: everybody has copies of what has appeared by then, and gets them of what appears later
    end: float
    signals: EventStream | None = None  #: their kinds are their sources
    truth: Beliefs | None = None  #: what policies know that need not learn
    weights: Mapping[str, FloatArray] = field(default_factory=dict)  #: of signals, likewise, by source
    bandwidth: Bandwidth | None = None  #: if the rate changes
    min_interval: float = 0.0  #: seconds that a page rests between two visits of our policies

    @property
    def ticks(self) -> FloatArray:
        """When there is room for a fetch."""
        return self.rates.ticks(self.start, self.end)

    @property
    def rates(self) -> Bandwidth:
        """Fetches per second over time."""
        return self.bandwidth or Bandwidth(((self.start, self.fetches_per_second),))

    @property
    def fetches(self) -> int:
        """How many fetches there are for everybody."""
        return len(self.ticks)


def enter(
    contest: Contest,
    name: str,
    *,
    learner_for: LearnerFor | None = None,
    options: PolicyOptions | None = None,
    upkeep: Upkeep | None = None,
    progress: Progress | None = None,
) -> Fetches:
    """Let the policy of that name crawl; without *learner_for* it knows the truth.

    Rivals learn by their own rules. Those that know no budget get all intervals scaled by the one factor
    with which they make as many fetches (CGM: the threshold).
    """
    if name == "lds":
        return _by_schedule(contest)
    if name in RULES or name == "cgm":
        rule_for = rule_named(name).scaled if name in RULES else cgm_for(contest)
        fetches, _ = crawl_by_matching(
            contest.web, rule_for, contest.fetches, start=contest.start, end=contest.end
        )
        return fetches
    planner = _planner(contest, name, learner_for, options, upkeep)
    return crawl(
        contest.web, planner, contest.ticks, start=contest.start, signals=contest.signals, progress=progress
    )


def enter_when_due(
    contest: Contest,
    name: str,
    *,
    learner_for: LearnerFor | None = None,
    options: PolicyOptions | None = None,
    upkeep: Upkeep | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Fetches:
    """Let a policy visit every page when it is due by the policy's own threshold or rule: no budget binds."""
    if name in RULES:
        rule = rule_named(name)
        return crawl_by_rule(contest.web, rule, start=contest.start, end=contest.end, limit=limit)
    planner = _planner(contest, name, learner_for, options, upkeep)
    if planner.policy.pacing.floor <= 0:
        raise ConfigError(f"policy {name} has no threshold, so that nothing is ever due: give one")
    return crawl_when_due(
        contest.web,
        planner,
        start=contest.start,
        end=contest.end,
        signals=contest.signals,
        limit=limit,
        progress=progress,
    )


def enter_by_price(
    contest: Contest,
    name: str,
    *,
    learner_for: LearnerFor | None = None,
    options: PolicyOptions | None = None,
    upkeep: Upkeep | None = None,
    progress: Progress | None = None,
) -> tuple[Fetches, bool]:
    """Let a policy visit every page when it is worth the one price at which it makes as many fetches.

    The price is found in hindsight, as the factor is by which the intervals of rivals are scaled: in several
    runs, of which the first is at the constant rate. That one counts, and False is returned beside it, if
    there is no such price: of pages that are all alike, all are due at the same time.
    """
    options = options or PolicyOptions()
    planner = _planner(contest, name, learner_for, options, upkeep)
    wanted = contest.fetches
    found: list[Fetches] = []
    roots: list[float] = []

    def advance(fetches: int) -> None:
        # How many runs there are is not known: each is a fifth of what is left.
        if progress is not None:
            left = 0.8 ** len(found)
            progress(int(wanted * (1 - left + 0.2 * left * min(fetches / wanted, 1.0))))

    def note(ticks: int) -> None:
        roots.append(math.sqrt(planner.price))
        advance(ticks)

    at_rate = crawl(
        contest.web, planner, contest.ticks, start=contest.start, signals=contest.signals, progress=note
    )
    # Values grow at first with the square of time: this price makes as many fetches as these prices did.
    guess = float(np.mean(roots)) ** 2 if roots else 0.0
    if not takes_price(name) or not guess > 0:
        return at_rate, False

    def made(price: float) -> int:
        fetches = enter_when_due(
            contest,
            name,
            learner_for=learner_for,
            options=replace(options, threshold=price),
            upkeep=upkeep,
            limit=2 * wanted,
            progress=advance,
        )
        found.append(fetches)
        return len(fetches)

    price_for_fetches(made, wanted, guess, max_runs=_MOST_PRICES if wanted < _MANY else _FEW_PRICES)
    closest = min(found, key=lambda fetches: abs(len(fetches) - wanted))
    is_close = abs(len(closest) - wanted) <= max(_OFF_BUDGET * wanted, 1)
    return (closest, True) if is_close else (at_rate, False)


def takes_price(name: str) -> bool:
    """Whether a policy may be told what a fetch has to be worth, instead of how many there are.

    At one price `uniform` would be `fixed`: all pages in step.

    >>> takes_price("holistic"), takes_price("echo-greedy"), takes_price("cost"), takes_price("fixed")
    (True, False, False, False)
    """
    if name in (*RIVAL_NAMES, "optimum", "uniform"):
        return False
    price = 7.0  # any
    return policy_named(name, PolicyOptions(threshold=price)).pacing.floor == price


def check_policy(
    name: str,
    *,
    learner_for: LearnerFor | None = None,
    known: frozenset[str] = frozenset(),
    options: PolicyOptions | None = None,
) -> None:
    """Refuse a policy that does not exist, or that needs what is neither *known* nor learned."""
    if name in RIVAL_NAMES:
        return
    policy = _policy(name, options)
    if learner_for is not None:
        learner_for(policy)
        return
    if unknown := _unknown(policy, known):
        raise ConfigError(
            f"policy {name} needs to know {', '.join(sorted(unknown))}, "
            "of which there is no truth here: let it learn (--learn), or choose another"
        )


def playable(known: frozenset[str]) -> list[str]:
    """Names of our policies that need to know no more than this, but for those that need sources of links."""
    return [
        name
        for name in POLICY_NAMES
        if not name.startswith("echo-") and not _unknown(policy_named(name.replace("-J", "-1")), known)
    ]


def _unknown(policy: Policy, known: frozenset[str]) -> frozenset[str]:
    return policy.model.needs - known - CERTAIN - NOTHING_ELSE.keys() - MADE_ON_THE_SPOT


def columns_of(truth: Beliefs) -> frozenset[str]:
    """Names of what a truth tells."""
    return frozenset(each.name for each in fields(truth) if getattr(truth, each.name) is not None)


def cgm_for(contest: Contest) -> Callable[[float], Cgm]:
    """CGM by the factor of its threshold; its warm-up takes the budget, whatever comes after."""
    mean_interval = len(contest.web.addresses) / contest.fetches_per_second
    # Five intervals l, 2l, ..., 5l are 3l on average.
    return lambda factor: Cgm(
        threshold_seconds=factor * mean_interval / 4, warm_up_seconds=mean_interval / 3, warm_up_visits=5
    )


def _planner(
    contest: Contest,
    name: str,
    learner_for: LearnerFor | None,
    options: PolicyOptions | None,
    upkeep: Upkeep | None,
) -> Planner:
    policy = _policy(name, options)
    if learner_for is None:
        truth = _known(contest)
        check_policy(name, known=columns_of(truth), options=options)
        learner: Learner = KnownTruth(truth, contest.weights, policy.model.needs)
    else:
        learner = learner_for(policy)
    return Planner(
        policy,
        Hosts(backoff_seconds=5.0, backoff_max_seconds=3600.0),
        learner,
        upkeep=upkeep,
        crawls_per_second=contest.fetches_per_second,
        min_interval=contest.min_interval,
        learns=learner_for is not None,
    )


def _policy(name: str, options: PolicyOptions | None) -> Policy:
    try:
        return policy_named(name, options)
    except ConfigError:
        names = ", ".join((*POLICY_NAMES, *RIVAL_NAMES))
        raise ConfigError(f"there is no policy {name!r}: choose one of {names}") from None


def _by_schedule(contest: Contest) -> Fetches:
    """The optimal rates of pages without signals, solved for each bandwidth, spread as evenly as can be."""
    truth = _known(contest)
    plain = Beliefs(importance=truth.importance, change_rate=truth.change_rate)
    ticks, pages = contest.ticks, [np.empty(0, np.int64)]
    for begin, until, rate in contest.rates.pieces(contest.start, contest.end):
        count = int(np.count_nonzero((begin < ticks) & (ticks <= until)))
        if count:
            chosen = low_discrepancy(optimum(plain, rate).rates)
            pages.append(np.fromiter(chosen, np.int64, count))
    return Fetches(np.concatenate(pages), ticks)


def _known(contest: Contest) -> Beliefs:
    if contest.truth is None:
        raise ConfigError("nobody knows the truth about a recorded web: policies have to learn (--learn)")
    return contest.truth
