"""Sources of links whose interest fades: the world of the ECHO paper.

Metric `profit`: what the pages fetched have earned, as a share of what fetching each at once would earn;
links that appear during the warm-up do not count. A page costs a fetch, and so does a poll of a source.
`--pages` is the number of sources, which are spread over hosts of 20.

Who learns gets link rates from the polls alone; profits and how they fade are known, as from a click log
that is long enough.

References
----------
Lefortier et al.: Timely crawling of high-quality ephemeral new content, CIKM 2013, section 5.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scrapy_freshness.config import setting
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import PolicyOptions, policy_named
from scrapy_freshness.simulator.echo_graph import EchoGraph, drawn_echo_graph
from scrapy_freshness.simulator.echo_references import Chooser, breadth_first, fixed_quota, frequency
from scrapy_freshness.simulator.echo_web import EchoWeb, KnownProfits, KnownSources, crawl_by_chooser
from scrapy_freshness.simulator.run import crawl, ticks_at
from scrapy_freshness.simulator.web import Fetches
from scrapy_freshness.simulator.worlds.contract import (
    Advance,
    Metric,
    Outcome,
    Size,
    Usual,
    refuse_unknown,
)
from scrapy_freshness.units import numbers, share, switch

HOUR = 3600.0
_OURS = ("echo-greedy", "echo-newpages", "echo-schedule", "holistic")
_REFERENCES = ("bfs", "fixed-quota", "frequency")
_SOURCES_PER_HOST = 20


@dataclass(frozen=True, kw_only=True)
class Echo:
    """Sources with heavy tails of link rates and profits, whose links stay in a fixed number of places."""

    time_unit: ClassVar[str] = "hours"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("profit", "share of the profit of fetching every page at once", is_gain=True),
    )
    usual: ClassVar[Usual] = Usual(
        pages=300, rate=60.0, horizon=96.0, repeat=4, policies=(*_OURS, *_REFERENCES)
    )

    links: float = setting("0.25", numbers(1e-9), "New links per hour and source, on average.")
    profit_spread: float = setting(
        "1.5", numbers(0, 5), "Standard deviation of the logarithm of the sources' mean profits."
    )
    shared: float = setting(
        "0",
        share,
        "Share of the pages that a second source of their host links to, an hour later on average.",
    )
    stay: float = setting(
        "0", numbers(0), "Hours that a link stays at the most; 0: until newer ones take its place."
    )
    participation: bool = setting(
        True,
        switch,
        "Whether sources and new pages must pay for their own fetches; False: the paper's way.",
    )
    warm_up: float = setting("0.25", numbers(0, 0.99), "Share of the time that is not judged.")

    def policy_names(self) -> tuple[str, ...]:
        """Those that know sources, and what the paper compares them with."""
        return (*_OURS, *_REFERENCES)

    def sized(self, size: Size) -> Size:
        """Every size is played as it is."""
        return size

    def check(self, policy: str, size: Size, *, learn: bool) -> None:
        """Refuse unknown policies."""
        refuse_unknown(policy, self.policy_names())

    def draw(self, size: Size, rng: np.random.Generator) -> "EchoRound":
        """Draw sources and their links."""
        hosts = -(-size.pages // _SOURCES_PER_HOST)
        links_per_second = self.links * size.pages / HOUR
        graph = drawn_echo_graph(
            hosts,
            size.pages,
            links_per_second,
            size.horizon * HOUR,
            rng,
            profit_spread=self.profit_spread,
            shared=self.shared,
            stay_seconds=self.stay * HOUR if self.stay else np.inf,
        )
        return EchoRound(self, size, EchoWeb(graph), int(rng.integers(1 << 32)))


WORLD = Echo


@dataclass(frozen=True, slots=True)
class EchoRound:
    """One graph of sources."""

    world: Echo
    size: Size
    web: EchoWeb
    seed: int  #: of the order in which BFS goes round

    def play(self, policy: str, *, learn: bool, advance: Advance) -> Outcome:
        """Let a policy poll and fetch; references know the truth."""
        per_second, end = self.size.rate / HOUR, self.size.horizon * HOUR
        ticks = ticks_at(per_second, 0.0, end)
        if policy in _REFERENCES:
            fetches = crawl_by_chooser(self.web, self._reference(policy, per_second), ticks)
        else:
            chosen = policy_named(policy, PolicyOptions(participation=self.world.participation))
            graph = self.web.graph
            learner: Learner = KnownProfits(learner_for(chosen), graph) if learn else KnownSources(graph)
            hosts = Hosts(5.0, 3600.0)
            planner = Planner(chosen, hosts, learner, crawls_per_second=per_second, learns=learn)
            fetches = crawl(
                self.web,
                planner,
                ticks,
                progress=lambda made: advance(made / len(ticks)),
                reprice_seconds=HOUR / 2 if learn else np.inf,
            )
        return self._judged(fetches, end)

    def _judged(self, fetches: Fetches, end: float) -> Outcome:
        share = self.web.profit(fetches, self.world.warm_up * end, end)
        return Outcome({"profit": share}, len(fetches))

    def _reference(self, policy: str, per_second: float) -> Chooser:
        graph: EchoGraph = self.web.graph
        if policy == "bfs":
            return breadth_first(self.size.pages, np.random.default_rng(self.seed))
        if policy == "fixed-quota":
            return fixed_quota(graph.link_rate, graph.profit, graph.decay, per_second)
        return frequency(graph.link_rate, graph.decay, per_second)
