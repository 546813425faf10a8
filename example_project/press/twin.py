"""The press without sockets: the planner of a crawl, or a reference, on the same web by a manual clock."""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import PolicyOptions, policy_named
from scrapy_freshness.simulator.echo_graph import EchoGraph
from scrapy_freshness.simulator.echo_references import Chooser, breadth_first, fixed_quota, frequency
from scrapy_freshness.simulator.echo_web import EchoWeb, KnownProfits, KnownSources, crawl_by_chooser
from scrapy_freshness.simulator.run import crawl
from scrapy_freshness.simulator.web import Fetches

REFERENCES = ("bfs", "fixed-quota", "frequency")


def simulated_fetches(
    graph: EchoGraph,
    policy: str,
    ticks: NDArray[np.float64],
    per_second: float,
    *,
    participation: bool = True,
    learn: bool = False,
    polled_at: float | None = None,
    reprice_seconds: float = np.inf,
) -> Fetches:
    """Return what a policy fetches if it may make a fetch at each of *ticks*.

    Parameters
    ----------
    learn : link rates are learned from polls; what is known of profits and decays stays known
    polled_at : when everybody has polled all hubs for the first time, at no cost; None: nobody has
    """
    web = EchoWeb(graph)
    if policy in REFERENCES:
        return crawl_by_chooser(web, _reference(graph, policy, per_second), ticks)
    chosen = policy_named(policy, PolicyOptions(participation=participation))
    learner: Learner = KnownProfits(learner_for(chosen), graph) if learn else KnownSources(graph)
    planner = Planner(chosen, Hosts(5.0, 3600.0), learner, crawls_per_second=per_second)
    return crawl(web, planner, ticks, start=polled_at, reprice_seconds=reprice_seconds)


def _reference(graph: EchoGraph, policy: str, per_second: float) -> Chooser:
    if policy == "bfs":
        return breadth_first(len(graph.link_rate), np.random.default_rng(0))
    if policy == "fixed-quota":
        return fixed_quota(graph.link_rate, graph.profit, graph.decay, per_second)
    return frequency(graph.link_rate, graph.decay, per_second)
