"""The policies by name: a value model and a pacing rule each."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Self

from scrapy_freshness.config import Config, setting_name
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.model import PageKind
from scrapy_freshness.pacing.budget import Budget
from scrapy_freshness.pacing.contract import Pacing
from scrapy_freshness.pacing.schedule import polls_price, scheduled_price
from scrapy_freshness.pacing.threshold import Threshold
from scrapy_freshness.value.cis import Cis, CisPlus
from scrapy_freshness.value.contract import Beliefs, ValueModel
from scrapy_freshness.value.cost import Cost, RiskBounded
from scrapy_freshness.value.echo_policies import EchoGreedy, EchoNewPages, EchoSchedule
from scrapy_freshness.value.expected import Expected
from scrapy_freshness.value.expected_ncis import ExpectedNcis
from scrapy_freshness.value.fragments import FragmentsNcis
from scrapy_freshness.value.gain import Gain, SaturatingGain
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.holistic import Holistic
from scrapy_freshness.value.interval import Interval
from scrapy_freshness.value.ncis import Ncis, NcisApprox
from scrapy_freshness.value.patient import PatientLongevity
from scrapy_freshness.value.uniform import Uniform
from scrapy_freshness.value.weighed import WeighedByQueries

#: The price of a fetch for what is believed of all sources, at a rate of fetches per second.
SolvePrice = Callable[[Beliefs, float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """The numbers that policies take; each one uses some of them."""

    threshold: float = 0.0  #: least value that is worth a crawl; 0: the whole budget is spent
    crawl_cost: float = 1.0  #: Cc, of one crawl
    stale_cost_per_second: float = 1.0 / 3600  #: Cs, of a second with a stale copy of importance 1
    stale_limit_seconds: float = 86400.0  #: C, for longer than which a copy should not be stale
    stale_risk: float = 0.1  #: p, share of intervals in which it may be
    longevity_risk: float = 100.0  #: rho, thresholds that waiting for a page may cost
    longevity_learning: float = 4.0  #: l/T, thresholds that a page waits at most after its first visit
    deaf_seconds: float = 0.0
    participation: bool = True  #: whether sources and new pages have to pay for their own fetches
    query_importance: bool = False  #: whether a page weighs by what its changes cost searchers
    pages_cost: bool = True  #: whether the pages that sources bring are fetched from the same budget

    @classmethod
    def of(cls, config: Config) -> Self:
        """What the settings say."""
        return cls(
            threshold=config.threshold,
            crawl_cost=config.crawl_cost,
            stale_cost_per_second=config.stale_cost_per_second,
            stale_limit_seconds=config.stale_limit_seconds,
            stale_risk=config.stale_risk,
            longevity_risk=config.longevity_risk,
            longevity_learning=config.longevity_learning,
            deaf_seconds=config.deaf_seconds,
            participation=config.participation,
            query_importance=config.query_importance,
        )

    @property
    def crawl_seconds(self) -> float:
        """Cc/Cs, seconds of staleness that cost as much as a crawl."""
        return self.crawl_cost / self.stale_cost_per_second


@dataclass(frozen=True, slots=True)
class Policy:
    """What a crawl is worth, and when that is enough."""

    name: str
    model: ValueModel
    pacing: Pacing
    deaf_seconds: float = 0.0  #: after a visit, signals announce what it has seen and do not count
    options: PolicyOptions = PolicyOptions()  #: what it was made with, for its learner
    solve_price: SolvePrice | None = None  #: what a fetch is worth, if that follows from all sources together

    def usual_importance(self, kind: PageKind) -> float:
        """What the content of a page counts if nothing is known: nothing if it is fetched for its links only.

        To a policy that does not value links, a source is a page like others.
        """
        return 0.0 if kind is PageKind.SOURCE and "link_rate" in self.model.needs else 1.0


def _on_budget(model: Callable[[], ValueModel]) -> Callable[[PolicyOptions], tuple[ValueModel, Pacing]]:
    """A model whose arg max is crawled at a constant rate, or above a threshold if there is one."""

    def made(options: PolicyOptions) -> tuple[ValueModel, Pacing]:
        return model(), Threshold(options.threshold) if options.threshold else Budget()

    return made


def _cost(options: PolicyOptions) -> tuple[ValueModel, Pacing]:
    return Cost(), Threshold(options.crawl_seconds)


def _risk_bounded(options: PolicyOptions) -> tuple[ValueModel, Pacing]:
    model = RiskBounded(options.stale_limit_seconds, options.stale_risk, options.crawl_seconds)
    return model, Threshold(1.0)


def _holistic(options: PolicyOptions) -> tuple[ValueModel, Pacing]:
    return _on_budget(partial(Holistic, participation=options.participation))(options)


def _echo(model: type[EchoNewPages]) -> Callable[[PolicyOptions], tuple[ValueModel, Pacing]]:
    return lambda options: (model(participation=options.participation), Budget())


def _bounds(options: PolicyOptions) -> tuple[ValueModel, Pacing]:
    """Periods are learned; at a constant rate the page that is most behind its own is next."""
    return Interval(), Threshold(1.0) if options.threshold else Budget()


_POLICIES: Mapping[str, Callable[[PolicyOptions], tuple[ValueModel, Pacing]]] = MappingProxyType(
    {
        "cost": _cost,
        "cost-risk-bounded": _risk_bounded,
        "echo-greedy": _echo(EchoGreedy),
        "echo-newpages": _echo(EchoNewPages),
        "echo-schedule": _echo(EchoSchedule),
        "fragments-ncis": _on_budget(FragmentsNcis),
        "greedy": _on_budget(Greedy),
        "greedy-cis": _on_budget(Cis),
        "greedy-cis-plus": _on_budget(CisPlus),
        "greedy-expected": _on_budget(Expected),
        "greedy-expected-ncis": _on_budget(ExpectedNcis),
        # It is enough to know to a hundredth when a page wakes: then its value is computed.
        "greedy-ncis": _on_budget(partial(Ncis, last_step=0.1)),
        "holistic": _holistic,
        "longevity-bounds": _bounds,
        "longevity-curve": _on_budget(PatientLongevity),
        "uniform": _on_budget(Uniform),
        "user-centric": _on_budget(SaturatingGain),
        "user-centric-linear": _on_budget(Gain),
    }
)
_APPROX = re.compile(r"greedy-ncis-approx-([1-9][0-9]{0,2})")
#: All there are, as a user would write them; J is any number from 1 to 999.
POLICY_NAMES = (*sorted(_POLICIES), "greedy-ncis-approx-J")


def policy_named(name: str, options: PolicyOptions | None = None) -> Policy:
    """Return the policy of that name.

    >>> policy_named("greedy").name, policy_named("greedy-ncis-approx-2").name
    ('greedy', 'greedy-ncis-approx-2')
    """
    options = options or PolicyOptions()
    approx = _APPROX.fullmatch(name)
    if approx:
        terms = int(approx[1])
        model, pacing = _on_budget(lambda: NcisApprox(terms))(options)
    elif name in _POLICIES:
        model, pacing = _POLICIES[name](options)
    else:
        raise ConfigError(f"there is no policy {name!r}: choose one of {', '.join(POLICY_NAMES)}")
    solve_price: SolvePrice | None = None
    if isinstance(model, EchoNewPages):
        scheduled = partial(scheduled_price, participation=options.participation)
        solve_price = scheduled if options.pages_cost else polls_price
    if options.query_importance and "gain" not in model.needs:
        model = WeighedByQueries(model)
    return Policy(name, model, pacing, options.deaf_seconds, options, solve_price)


def policy_of(config: Config) -> Policy:
    """The policy that the settings choose; one that does not exist is refused by the setting's name."""
    try:
        return policy_named(config.policy, PolicyOptions.of(config))
    except ConfigError as error:
        raise ConfigError(f"{setting_name('policy')}: {error}") from None
