"""Which learner does a policy need?  One for change rates, and around it one for each further belief."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from scrapy_freshness.config import Config
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.estimation.pooled import Pooled
from scrapy_freshness.planning.gain_learner import (
    ChangeWorthLearner,
    GainLearner,
    GainRecorder,
    LinearGainLearner,
)
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learning import PooledLearner, RateLearner
from scrapy_freshness.planning.link_learner import LinkLearner
from scrapy_freshness.planning.longevity_learners import BoundsLearner, CurveLearner
from scrapy_freshness.planning.policy import Policy
from scrapy_freshness.planning.signal_learner import SignalLearner

#: How change rates are estimated, by name.
ESTIMATORS: Mapping[str, Callable[[PriorPoints, bool], Learner]] = MappingProxyType(
    {
        "pooled": lambda prior, in_doubt: PooledLearner(Pooled(), in_doubt=in_doubt),
        "mle": lambda prior, in_doubt: RateLearner(
            partial(estimate_change_rates, prior=prior), in_doubt=in_doubt
        ),
    }
)


def learner_of(policy: Policy, config: Config, *, measures_gains: bool = True) -> Learner:
    """The learner of a crawl with these settings.

    A page of a source is as important as others while it is new, unless a setting says otherwise: it meets
    so many requests a second until they fade. In other units, known pages and new ones could not be compared.
    A crawl *measures_gains* of searchers; who only replays its history does not.
    """
    prior = PriorPoints(config.prior_changed_after_seconds, config.prior_unchanged_after_seconds)
    return learner_for(
        policy,
        estimator=config.estimator,
        prior=prior,
        profit=config.profit * config.profit_life_seconds,
        profit_life_seconds=config.profit_life_seconds,
        link_rhythm=config.link_rhythm,
        measures_gains=measures_gains,
    )


def learner_for(
    policy: Policy,
    *,
    estimator: str = "pooled",
    prior: PriorPoints | None = None,
    profit: float = 1.0,
    profit_life_seconds: float = 86400.0,
    link_rhythm: bool = True,
    measures_gains: bool = False,
) -> Learner:
    """The learner of everything that a policy's value model needs to know.

    Parameters
    ----------
    estimator : of change rates: mle (each page by itself) or pooled (pages learn from their siblings)
    prior : pseudo-observations of the estimator mle
    profit, profit_life_seconds : requests that a page of a source meets if it is fetched at once, and their
        mean life
    link_rhythm : whether link rates follow the hours of the day
    measures_gains : whether visits may bring what searchers gain by them
    """
    if estimator not in ESTIMATORS:
        raise ConfigError(f"there is no estimator {estimator!r}: choose one of {', '.join(ESTIMATORS)}")
    needs, options = policy.model.needs, policy.options
    learner = ESTIMATORS[estimator](prior or PriorPoints(), "doubt" in needs)
    if not measures_gains and {"gain", "query_weight"} & needs:
        raise ConfigError(
            f"policy {policy.name} cannot learn: what visits gain for searchers is not measured"
        )
    if "recall" in needs:
        learner = SignalLearner(learner)
    if "plateau" in needs:
        learner = CurveLearner(learner, risk=options.longevity_risk, learning=options.longevity_learning)
    if "interval" in needs:
        learner = BoundsLearner(
            learner,
            threshold=options.threshold,
            risk=options.longevity_risk,
            learning=options.longevity_learning,
        )
    if "link_rate" in needs:
        learner = LinkLearner(
            learner,
            profit=profit,
            decay=1 / profit_life_seconds,
            with_leaving="leaving" in needs,
            follows_clock=link_rhythm,
        )
    if "noticed_rate" in needs:
        return GainLearner(learner)
    if "gain" in needs:
        return LinearGainLearner(GainRecorder(learner))
    if "query_weight" in needs:
        return ChangeWorthLearner(learner)
    return GainRecorder(learner) if measures_gains else learner
