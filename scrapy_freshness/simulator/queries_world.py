"""The world of searchers: evolving pages, what is asked of them, and policies that keep the answers good.

====================  ===================================================================================
user-centric          gains of changes that searchers notice, with a value that flattens
user-centric-linear   the paper's: mean gain per second times the time waited
sbr-THETA, ebr-THETA  staleness- and embarrassment-based refreshing with a threshold; in hindsight only
sbr, ebr              the same with the best threshold of .1, .2, ..., 1
rules of others       by which of their fetches found a change, at the same number of fetches
other policies        by change rates, all pages alike
====================  ===================================================================================

References
----------
Pandey, Olston: User-centric web crawling, WWW 2005, section 6.
"""

import re
from typing import NamedTuple

import numpy as np

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.pooled import Pooled
from scrapy_freshness.planning.gain_learner import GainLearner, LinearGainLearner
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.learning import PooledLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.search.scoring import SCORINGS
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import RIVAL_NAMES, Contest, enter
from scrapy_freshness.simulator.evolving_text import WEEK, TextShape
from scrapy_freshness.simulator.known import KnownTruth
from scrapy_freshness.simulator.queries_corpus import Corpus, drawn_corpus
from scrapy_freshness.simulator.queries_hindsight import Hindsight
from scrapy_freshness.simulator.queries_quality import QualityJudge
from scrapy_freshness.simulator.run import Progress, crawl, ticks_at
from scrapy_freshness.simulator.searched_web import SearchedWeb
from scrapy_freshness.simulator.web import Fetches, Web

#: Thresholds of SBR and EBR, as in the paper.
THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(1, 11))
_RIVAL = re.compile(r"(sbr|ebr)-(0(?:\.[0-9]+)?|1(?:\.0+)?)")


def is_reference(policy: str) -> bool:
    """Whether a policy is one of the paper's rivals, which know all updates in hindsight.

    >>> is_reference("sbr"), is_reference("ebr-0.3"), is_reference("greedy"), is_reference("sbr-2")
    (True, True, False, False)
    """
    return policy in ("sbr", "ebr") or _RIVAL.fullmatch(policy) is not None


class Played(NamedTuple):
    """What a policy achieved."""

    quality: float  #: repository quality, mean over time, 0 to 1
    fetches: int


class QueriesRound:
    """One corpus and one scoring function, on which policies are compared."""

    def __init__(self, corpus: Corpus, scoring: str, *, samples: int = 24) -> None:
        if scoring not in SCORINGS:
            raise ConfigError(f"there is no scoring {scoring!r}: choose one of {', '.join(SCORINGS)}")
        self._corpus = corpus
        self._scoring = SCORINGS[scoring]
        self._judge = QualityJudge(corpus, self._scoring, samples=samples)
        self._hindsight = Hindsight(corpus, self._scoring, self._judge)

    def play(
        self, policy: str, fetches_per_second: float, *, learn: bool = False, progress: Progress | None = None
    ) -> Played:
        """Let a policy crawl, and judge it."""
        if policy in ("sbr", "ebr"):
            tried = (self.play(f"{policy}-{theta}", fetches_per_second, learn=learn) for theta in THRESHOLDS)
            return max(tried, key=lambda played: played.quality)
        fetches = self.crawled(policy, fetches_per_second, learn=learn, progress=progress)
        return Played(self.quality(fetches), len(fetches))

    def crawled(
        self, policy: str, fetches_per_second: float, *, learn: bool = False, progress: Progress | None = None
    ) -> Fetches:
        """What a policy fetches at a constant rate, beginning with fresh copies of all pages.

        It knows the whole history's rates and gains, or, with *learn*, what its own visits have seen.
        """
        if policy in RIVAL_NAMES:
            return self._by_rule(policy, fetches_per_second)
        web, name, learner = self._to_learn(policy) if learn else self._known(policy)
        planner = Planner(
            policy_named(name), Hosts(5.0, 3600.0), learner, crawls_per_second=fetches_per_second
        )
        ticks = ticks_at(fetches_per_second, 0.0, self._corpus.horizon)
        return crawl(web, planner, ticks, start=0.0, progress=progress)

    def quality(self, fetches: Fetches) -> float:
        """Repository quality with these fetches, mean over time."""
        return self._judge.quality(fetches)

    def _by_rule(self, policy: str, fetches_per_second: float) -> Fetches:
        """What the rule of another crawler, or an even schedule of the optimal rates, fetches."""
        contest = Contest(
            web=ChangingWeb(self._corpus.updates),
            fetches_per_second=fetches_per_second,
            start=0.0,
            end=self._corpus.horizon,
            truth=self._hindsight.user_centric(),
        )
        return enter(contest, policy)

    def _known(self, policy: str) -> tuple[Web, str, Learner]:
        """The web, the policy of the planner and what it knows."""
        name, beliefs = policy, self._hindsight.user_centric()
        if rival := _RIVAL.fullmatch(policy):
            name = "greedy"
            kind = self._hindsight.staleness if rival[1] == "sbr" else self._hindsight.embarrassment
            beliefs = kind(float(rival[2]))
        web = ChangingWeb(self._corpus.updates, numbered(beliefs.importance))
        return web, name, KnownTruth(beliefs)

    def _to_learn(self, policy: str) -> tuple[Web, str, Learner]:
        """The web, the policy of the planner and how it learns."""
        if _RIVAL.fullmatch(policy):
            raise ConfigError(f"{policy} knows all updates in hindsight: it cannot learn them")
        if policy == "user-centric":
            return SearchedWeb(self._corpus, self._scoring), policy, GainLearner(PooledLearner(Pooled()))
        if policy == "user-centric-linear":
            learner = LinearGainLearner(PooledLearner(Pooled()))
            return SearchedWeb(self._corpus, self._scoring), policy, learner
        return ChangingWeb(self._corpus.updates), policy, learner_for(policy_named(policy))


def drawn_round(
    rng: np.random.Generator,
    *,
    pages: int = 500,
    horizon_seconds: float = 48 * WEEK,
    scoring: str = "tf-idf",
    queries: int = 300,
) -> QueriesRound:
    """Draw a corpus and what is asked of it.

    >>> drawn = drawn_round(np.random.default_rng(1), pages=30, horizon_seconds=10 * WEEK, queries=40)
    >>> 0 < drawn.play("uniform", 10 / WEEK).quality < 1
    True
    """
    corpus = drawn_corpus(rng, TextShape(pages=pages, horizon=horizon_seconds), queries=queries)
    return QueriesRound(corpus, scoring)
