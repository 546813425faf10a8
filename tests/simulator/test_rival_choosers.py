"""What ECHO and the user-centric policy are compared with: choosers and beliefs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.pacing.schedule import solve_schedule
from scrapy_freshness.simulator.echo_graph import EchoGraph, drawn_echo_graph
from scrapy_freshness.simulator.echo_references import (
    BreadthFirst,
    Chooser,
    Frontier,
    OnSchedule,
    breadth_first,
    fixed_quota,
    frequency,
)
from scrapy_freshness.simulator.user_centric_references import embarrassment_beliefs, staleness_beliefs

DAY = 86400.0


def crawled(graph: EchoGraph, chooser: Chooser, per_second: float, horizon: float) -> tuple[float, float]:
    """Share of the upper bound that a chooser earns, and the share of its fetches that are polls."""
    sources = len(graph.births)
    owners = graph.births.owners
    frontier = Frontier(np.zeros(sources), waiting=0, last_was_poll=False)
    found: list[int] = []
    earned = polls = 0.0
    ticks = np.arange(1, int(horizon * per_second)) / per_second
    for now in ticks.tolist():
        source = chooser.source(frontier, now)
        frontier.last_was_poll = source is not None
        if source is None:
            link = found.pop()
            delay = now - float(graph.births.times[link])
            earned += graph.link_profit[link] * np.exp(-graph.decay[owners[link]] * delay)
        else:
            polls += 1
            found += graph.shown(source, float(frontier.polled_at[source]), now).tolist()
            frontier.polled_at[source] = now
        frontier.waiting = len(found)
    return earned / graph.link_profit.sum(), polls / len(ticks)


@pytest.fixture(scope="module")
def graph() -> EchoGraph:
    return drawn_echo_graph(10, 60, 0.02, 2 * DAY, np.random.default_rng(4))


def choosers(graph: EchoGraph, per_second: float) -> dict[str, Chooser]:
    columns = (graph.link_rate, graph.profit, graph.decay)
    return {
        "bfs": breadth_first(60, np.random.default_rng(1)),
        "quota": fixed_quota(*columns, per_second),
        "frequency": frequency(graph.link_rate, graph.decay, per_second),
        "schedule": OnSchedule(solve_schedule(*columns, per_second).intervals),
    }


def test_the_solved_schedule_earns_more_than_what_it_is_compared_with(graph: EchoGraph) -> None:
    for per_second in (0.005, 0.01, 0.02):
        earned = {
            name: crawled(graph, chooser, per_second, 2 * DAY)[0]
            for name, chooser in choosers(graph, per_second).items()
        }
        rivals = max(earned[name] for name in ("bfs", "quota", "frequency"))
        assert earned["schedule"] > 1.1 * rivals


def test_with_plenty_of_fetches_everybody_finds_nearly_everything(graph: EchoGraph) -> None:
    for name, chooser in choosers(graph, 0.1).items():
        assert crawled(graph, chooser, 0.1, 2 * DAY)[0] > 0.98, name


def test_the_quota_makes_at_least_every_other_fetch_a_poll(graph: EchoGraph) -> None:
    _, scarce = crawled(graph, choosers(graph, 0.01)["quota"], 0.01, 2 * DAY)
    _, plenty = crawled(graph, choosers(graph, 0.1)["quota"], 0.1, 2 * DAY)

    assert scarce == pytest.approx(0.5, abs=0.05)
    assert plenty > 0.75, "pages run out"


@given(n_sources=st.integers(1, 30), seed=st.integers(0, 100))
def test_breadth_first_polls_every_source_once_in_each_round(n_sources: int, seed: int) -> None:
    chooser = breadth_first(n_sources, np.random.default_rng(seed))
    frontier = Frontier(np.zeros(n_sources), waiting=0, last_was_poll=True)

    rounds = [[chooser.source(frontier, 0.0) for _ in range(n_sources)] for _ in range(3)]

    assert rounds[0] == rounds[1] == rounds[2]
    assert sorted(source for source in rounds[0] if source is not None) == list(range(n_sources))


def test_breadth_first_fetches_what_it_found_before_it_goes_on() -> None:
    chooser = BreadthFirst(np.array([0, 1]))

    assert chooser.source(Frontier(np.zeros(2), waiting=1, last_was_poll=True), 0.0) is None
    assert chooser.source(Frontier(np.zeros(2), waiting=0, last_was_poll=False), 0.0) == 0


def test_sources_that_were_never_polled_are_the_latest_of_all() -> None:
    frontier = Frontier(np.array([0.0, -np.inf, -np.inf]), waiting=5, last_was_poll=False)

    assert OnSchedule(np.array([1.0, 100.0, np.inf])).source(frontier, 50.0) == 1


def test_frequency_does_not_know_profits(graph: EchoGraph) -> None:
    frontier = Frontier(np.zeros(60), waiting=0, last_was_poll=False)

    chosen = frequency(graph.link_rate, graph.decay, 0.05).source(frontier, 1.0)

    assert chosen == int(np.argmax(graph.link_rate))


def test_staleness_counts_updates_beyond_the_threshold() -> None:
    """Poisson updates with uniform shares: at threshold theta a share 1 - theta of them counts."""
    rng = np.random.default_rng(2)
    updates = [rng.random(rng.poisson(5000)) for _ in range(3)]

    for threshold in (0.0, 0.3, 0.9):
        beliefs = staleness_beliefs(updates, 1000.0, threshold)
        assert beliefs.change_rate == pytest.approx(5 * (1 - threshold), rel=0.1)
        assert beliefs.importance.tolist() == [1, 1, 1]


def test_embarrassment_is_clicks_times_the_chance_of_an_irrelevant_answer() -> None:
    rng = np.random.default_rng(3)
    updates = [rng.random(rng.poisson(5000)) for _ in range(2)]

    for threshold in (0.0, 0.4, 0.8):
        beliefs = embarrassment_beliefs(updates, 1000.0, threshold, np.array([1.0, 10.0]))
        assert beliefs.importance == pytest.approx(np.array([1.0, 10.0]) * (1 - threshold), rel=0.1)
        assert beliefs.change_rate == pytest.approx(5, rel=0.1)


def test_the_threshold_itself_counts_for_embarrassment_but_not_for_staleness() -> None:
    updates = [np.array([0.5])]

    assert staleness_beliefs(updates, 1.0, 0.5).change_rate[0] < 1e-9
    assert embarrassment_beliefs(updates, 1.0, 0.5, np.ones(1)).importance[0] == 1


def test_pages_without_updates_are_neither_stale_nor_embarrassing() -> None:
    nothing = [np.empty(0)]

    assert 0 < staleness_beliefs(nothing, 1.0, 0.5).change_rate[0] < 1e-9
    assert embarrassment_beliefs(nothing, 1.0, 0.5, np.ones(1)).importance[0] == 0
