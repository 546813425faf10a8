"""The world of ECHO: the planner polls sources and fetches new pages where that earns most."""

import numpy as np
import pytest

from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import PolicyOptions, policy_named
from scrapy_freshness.simulator.echo_graph import EchoGraph, drawn_echo_graph
from scrapy_freshness.simulator.echo_references import breadth_first, fixed_quota, frequency
from scrapy_freshness.simulator.echo_web import EchoWeb, KnownSources, crawl_by_chooser
from scrapy_freshness.simulator.run import crawl, ticks_at
from scrapy_freshness.simulator.streams import EventStream
from scrapy_freshness.simulator.web import Fetches
from scrapy_freshness.value.echo import remaining_profit

DAY = 86400.0
ECHO = ("echo-newpages", "echo-schedule", "echo-greedy")


def few_sources(profit: tuple[float, ...], link_rate: tuple[float, ...], horizon: float) -> EchoGraph:
    """Sources with links at regular times that stay for ever."""
    births = [np.arange(1, int(rate * horizon) + 1) / rate for rate in link_rate]
    stream = EventStream(np.concatenate(births), np.cumsum([0, *map(len, births)]))
    return EchoGraph(
        host=np.zeros(len(profit), np.int64),
        link_rate=np.array(link_rate),
        profit=np.array(profit),
        decay=np.full(len(profit), 1 / DAY),
        births=stream,
        gone_at=np.full(len(stream.times), np.inf),
        link_profit=np.array(profit)[stream.owners],
    )


def fetches_of(graph: EchoGraph, name: str, rate: float, *, learn: bool = False, **options: bool) -> Fetches:
    policy = policy_named(name, PolicyOptions(**options))
    learner = learner_for(policy) if learn else KnownSources(graph)
    planner = Planner(policy, Hosts(5.0, 3600.0), learner, crawls_per_second=rate)
    horizon = float(graph.births.times.max())
    return crawl(EchoWeb(graph), planner, ticks_at(rate, 0.0, horizon), reprice_seconds=DAY / 4)


def earned(graph: EchoGraph, fetches: Fetches) -> float:
    horizon = float(graph.births.times.max())
    return EchoWeb(graph).profit(fetches, horizon / 4, horizon)


@pytest.mark.parametrize("name", [*ECHO, "holistic"])
def test_every_page_is_fetched_once_and_after_its_link_was_seen(name: str) -> None:
    graph = drawn_echo_graph(3, 20, 0.01, 2 * DAY, np.random.default_rng(1))

    fetches = fetches_of(graph, name, 0.02)

    links = fetches.pages[fetches.pages >= 20] - 20
    assert len(np.unique(links)) == len(links) > 500
    assert np.all(fetches.times[fetches.pages >= 20] > graph.births.times[links])


@pytest.mark.parametrize("name", [*ECHO, "holistic"])
def test_what_does_not_pay_for_its_fetch_is_left_alone(name: str) -> None:
    graph = few_sources((10.0, 0.01), (0.005, 0.005), 4 * DAY)

    fetches = fetches_of(graph, name, 0.006)
    late = fetches.pages[fetches.times > DAY]

    worthless = late[(late >= 2) & (graph.births.owners[late - 2] == 1)]
    assert np.count_nonzero(late == 1) <= 3
    assert len(worthless) == 0
    assert earned(graph, fetches) > 0.95


def test_new_pages_come_first_or_sources_on_time() -> None:
    graph = drawn_echo_graph(3, 30, 0.02, 2 * DAY, np.random.default_rng(2))

    pages = {name: fetches_of(graph, name, 0.01, participation=False).pages for name in ECHO}

    # With half the fetches that all pages need, new pages leave little room for polls that are not on time.
    polls = {name: np.count_nonzero(each[len(each) // 2 :] < 30) for name, each in pages.items()}
    assert polls["echo-schedule"] > polls["echo-newpages"]


def test_echo_earns_more_than_its_references_and_participation_more_than_the_original() -> None:
    gains, rivals = [], []
    for seed in range(4):
        graph = drawn_echo_graph(10, 150, 0.02, 3 * DAY, np.random.default_rng(seed))
        web, rate = EchoWeb(graph), 0.01
        with_participation, original = (
            earned(graph, fetches_of(graph, "echo-newpages", rate, participation=each))
            for each in (True, False)
        )
        gains.append(with_participation - original)
        ticks = ticks_at(rate, 0.0, float(graph.births.times.max()))
        choosers = (
            breadth_first(150, np.random.default_rng(seed)),
            fixed_quota(graph.link_rate, graph.profit, graph.decay, rate),
            frequency(graph.link_rate, graph.decay, rate),
        )
        rivals.append(
            with_participation - max(earned(graph, crawl_by_chooser(web, c, ticks)) for c in choosers)
        )

    for differences in (gains, rivals):
        assert np.mean(differences) > 2 * np.std(differences, ddof=1) / len(differences) ** 0.5


def test_link_rates_are_learned_from_polls_alone() -> None:
    graph = few_sources((1.0, 1.0), (0.02, 0.0005), DAY / 2)

    pages = fetches_of(graph, "holistic", 0.03, learn=True).pages

    late = pages[len(pages) // 2 :]
    assert np.count_nonzero(late == 0) > 3 * np.count_nonzero(late == 1) > 0


def test_the_profit_of_a_crawl_is_that_of_its_pages_at_their_ages() -> None:
    graph = few_sources((2.0,), (0.001,), DAY)
    times = graph.births.times + 3600.0
    fetches = Fetches(1 + np.arange(len(times)), times)

    expected = float(remaining_profit(np.ones(1), np.array([1 / DAY]), np.array([3600.0]))[0])
    assert EchoWeb(graph).profit(fetches, 0.0, DAY) == pytest.approx(expected)


def test_a_wider_spread_of_profits_leaves_links_alone_and_makes_sources_less_equal() -> None:
    even, uneven = (
        drawn_echo_graph(3, 20, 0.01, 2 * DAY, np.random.default_rng(1), profit_spread=spread)
        for spread in (0.0, 2.0)
    )

    assert np.ptp(even.profit) == 0
    assert np.log(uneven.profit).std() == pytest.approx(2.0, rel=0.5)
    assert np.array_equal(even.births.times, uneven.births.times)


@pytest.mark.parametrize("name", [*ECHO, "holistic"])
def test_a_source_with_more_pages_than_there_are_fetches_is_polled_nevertheless(name: str) -> None:
    graph = few_sources(profit=(1.0,), link_rate=(10 / 3600,), horizon=3 * DAY)

    fetches = fetches_of(graph, name, 6 / 3600)

    # Six of ten pages an hour, minus the polls.
    assert 0.4 < earned(graph, fetches) < 0.6
