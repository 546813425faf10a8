"""Known pages that change and sources of new pages that fade: one budget for both.

Metric `fresh`: share of all requests that meet a fresh copy of a document, or a new page that was fetched.
A new page meets all its requests, as many as its profit, after its link appeared; those of the warm-up do
not count, nor those of pages that appear in the last tenth of the time, which might not be found any more.
`--pages` is the number of documents; there is a source for every three of them. Half of the requests are
for new pages (`--news`), which appear by day rather than at night (`--rhythm`).

`holistic` compares all fetches with each other. The references `quota-J` give J per cent of the fetches to
the documents, by `greedy-expected-ncis`, and the rest to sources and new pages, by `echo-newpages`.

Who learns gets change rates and link rates from visits alone; profits and how they fade are known, as from a
click log that is long enough.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from scrapy_freshness.config import setting
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import Policy, policy_named
from scrapy_freshness.simulator.changing import ChangingWeb
from scrapy_freshness.simulator.echo_graph import drawn_echo_graph
from scrapy_freshness.simulator.echo_web import EchoWeb, KnownProfits, KnownSources
from scrapy_freshness.simulator.known import KnownTruth
from scrapy_freshness.simulator.mixed_web import KnownMixed, MixedWeb, in_turns, judged_apart
from scrapy_freshness.simulator.run import crawl, ticks_at
from scrapy_freshness.simulator.streams import poisson_events
from scrapy_freshness.simulator.web import Address, Fetches, FloatArray, Web
from scrapy_freshness.simulator.worlds.contract import (
    Advance,
    Metric,
    Outcome,
    Size,
    Usual,
    refuse_unknown,
)
from scrapy_freshness.units import numbers, share
from scrapy_freshness.value.contract import Beliefs

HOUR = 3600.0
_DOCUMENTS_PER_SOURCE = 3
_PER_HOST = 20
#: Documents change between once an hour and once a week.
_SLOWEST, _FASTEST = 1 / (168 * HOUR), 1 / HOUR
#: Standard deviation of the logarithm of a document's importance.
_IMPORTANCE_SPREAD = 1.5
#: Share of the time at its end in which new pages do not count.
_TAIL = 0.1


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """Documents and sources on the same budget."""

    time_unit: ClassVar[str] = "hours"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("fresh", "share of all requests that meet fresh content", is_gain=True),
    )
    usual: ClassVar[Usual] = Usual(
        pages=300,
        rate=30.0,
        horizon=120.0,
        repeat=4,
        policies=("holistic", "quota-25", "quota-50", "quota-75"),
    )

    news: float = setting("0.5", share, "Share of all requests that are for new pages.")
    links: float = setting("0.25", numbers(1e-9), "New links per hour and source, on average.")
    rhythm: float = setting(
        "0.7",
        share,
        "How much more than on average appears at noon, and less at midnight; 0: the same always.",
    )
    warm_up: float = setting("0.25", numbers(0, 0.89), "Share of the time that is not judged.")

    def policy_names(self) -> tuple[str, ...]:
        """The one that knows both, and fixed quotas."""
        return (*self.usual.policies, "quota-J")

    def sized(self, size: Size) -> Size:
        """Every size is played as it is."""
        return size

    def check(self, policy: str, size: Size, *, learn: bool) -> None:
        """Refuse unknown policies."""
        refuse_unknown(policy, self.policy_names())
        if policy.startswith("quota-"):
            _quota(policy)

    def draw(self, size: Size, rng: np.random.Generator) -> "MixedRound":
        """Draw documents, sources and their links."""
        n_sources = -(-size.pages // _DOCUMENTS_PER_SOURCE)
        end = size.horizon * HOUR
        graph = drawn_echo_graph(
            -(-n_sources // _PER_HOST), n_sources, self.links * n_sources / HOUR, end, rng
        )
        # Requests are counted by their expected number, which has the same mean and less noise.
        expected = graph.profit[graph.births.owners]
        graph = replace(graph.at(by_day(end, self.rhythm)), link_profit=expected)
        change_rate = np.exp(rng.uniform(np.log(_SLOWEST), np.log(_FASTEST), size.pages))
        importance = np.exp(_IMPORTANCE_SPREAD * rng.standard_normal(size.pages))
        for_news = float(np.sum(graph.link_rate * graph.profit))
        for_documents = for_news * (1 - self.news) / self.news if self.news else 1.0
        importance *= for_documents / importance.sum()
        addresses = [
            Address(f"http://docs{number % 5}.example/{number}", f"docs{number % 5}.example", weight)
            for number, weight in enumerate(importance.tolist())
        ]
        documents = ChangingWeb(poisson_events(change_rate, end, rng), addresses)
        return MixedRound(self, size, MixedWeb(EchoWeb(graph), documents), importance, change_rate)


WORLD = Mixed


@dataclass(frozen=True, slots=True)
class MixedRound:
    """One web of both kinds."""

    world: Mixed
    size: Size
    web: MixedWeb
    importance: FloatArray
    change_rate: FloatArray

    def play(self, policy: str, *, learn: bool, advance: Advance) -> Outcome:
        """Let one planner crawl everything, or two planners a fixed part each."""
        per_second, end = self.size.rate / HOUR, self.size.horizon * HOUR
        ticks = ticks_at(per_second, 0.0, end)
        judged = self.world.warm_up * end, (1 - _TAIL) * end
        if policy == "holistic":
            chosen = policy_named(policy)
            knows_all = KnownMixed(self.web.news.graph, self.change_rate)
            learner = self._learns_links(chosen) if learn else knows_all
            fetches = _crawled(self.web, chosen, learner, ticks, per_second, advance, learn=learn)
            requests = self.web.judged(fetches, *judged, first_copy_at=0.0)
            return Outcome({"fresh": requests.share}, len(fetches))
        quota = _quota(policy)
        for_documents, for_news = in_turns(ticks, quota)
        refresh, discover = policy_named("greedy-expected-ncis"), policy_named("echo-newpages")
        rates = (
            learner_for(refresh)
            if learn
            else KnownTruth(Beliefs(importance=self.importance, change_rate=self.change_rate))
        )
        links = self._learns_links(discover) if learn else KnownSources(self.web.news.graph)
        some, others = quota * per_second, (1 - quota) * per_second
        documents = _crawled(
            self.web.documents, refresh, rates, for_documents, some, lambda made: None, learn=learn
        )
        news = _crawled(self.web.news, discover, links, for_news, others, advance, learn=learn)
        requests = judged_apart(self.web, documents, news, *judged, first_copy_at=0.0)
        return Outcome({"fresh": requests.share}, len(documents) + len(news))

    def _learns_links(self, policy: Policy) -> Learner:
        return KnownProfits(learner_for(policy), self.web.news.graph)


def _crawled(
    web: Web,
    policy: Policy,
    learner: Learner,
    ticks: FloatArray,
    per_second: float,
    advance: Advance,
    *,
    learn: bool,
) -> Fetches:
    """What a planner fetches at some ticks; all documents and sources were fetched at the start."""
    if not len(ticks):
        return Fetches(np.empty(0, np.int64), ticks)
    planner = Planner(policy, Hosts(5.0, 3600.0), learner, crawls_per_second=per_second, learns=learn)
    return crawl(web, planner, ticks, start=0.0, progress=lambda made: advance(made / len(ticks)))


def by_day(end: float, rhythm: float) -> Callable[[FloatArray], FloatArray]:
    """A map of times that makes more happen at noon than at midnight; the numbers of whole days stay.

    >>> (by_day(48 * HOUR, 0.7)(np.array([0.0, 12.0, 15.0, 24.0, np.inf]) * HOUR) / HOUR).round(2)
    array([ 0.  , 12.  , 13.79, 24.  ,   inf])
    """
    day = 24 * HOUR
    times = np.linspace(0.0, end, max(int(end / 60), 2))
    passed = times - rhythm * day / (2 * np.pi) * np.sin(2 * np.pi * times / day)

    def warped(homogeneous: FloatArray) -> FloatArray:
        moved: FloatArray = np.interp(homogeneous, passed, times)
        return np.where(np.isfinite(homogeneous), moved, homogeneous)

    return warped


def _quota(policy: str) -> float:
    """The share of the fetches that documents get."""
    text = policy.removeprefix("quota-")
    if not re.fullmatch("[0-9]{1,3}", text) or int(text) > 100:
        raise ConfigError(f"{policy} is no quota: write quota-J with J per cent, 0 to 100")
    return int(text) / 100
