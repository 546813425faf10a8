"""Crawls without a budget: every page is visited at the very time at which it is worth the threshold."""

import numpy as np
import pytest

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import PolicyOptions, policy_named
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import Contest, enter_when_due
from scrapy_freshness.simulator.instances import Instance, drawn_events, drawn_instance
from scrapy_freshness.simulator.known import KnownTruth
from scrapy_freshness.simulator.run import crawl_when_due
from scrapy_freshness.simulator.streams import EventStream, event_stream
from scrapy_freshness.simulator.web import Look
from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.ncis import Ncis

HOURS = 3600.0


def contest_of(instance: Instance, changes: EventStream, horizon: float, **more) -> Contest:
    web = ChangingWeb(changes, numbered(instance.importance))
    return Contest(web=web, fetches_per_second=1.0, start=0.0, end=horizon, truth=instance.beliefs, **more)


def test_each_page_is_visited_at_its_own_interval() -> None:
    rng = np.random.default_rng(1)
    instance = drawn_instance(30, "none", rng)
    contest = contest_of(instance, drawn_events(instance, 100.0, rng).changes, 100.0)

    fetches = enter_when_due(contest, "greedy", options=PolicyOptions(threshold=0.8))

    beliefs = Beliefs(importance=instance.importance, change_rate=instance.change_rate)
    intervals = Greedy().elapsed_at(beliefs, 0.8)
    for page, times in enumerate(fetches.by_page(30)):
        expected = np.arange(intervals[page], 100.0, intervals[page]) if intervals[page] < 100 else []
        assert times == pytest.approx(np.array(expected), rel=1e-5)
    assert np.all(np.diff(fetches.times) >= 0)
    assert np.isinf(intervals).any(), "some pages change too often to be worth it"


def test_signals_make_pages_due_earlier_by_what_they_are_worth() -> None:
    instance = Instance(np.ones(1), np.array([0.5]), np.array([0.5]), np.array([0.3]))
    signals = event_stream([np.array([1.0, 1.5])])
    contest = contest_of(instance, event_stream([np.empty(0)]), 8.0, signals=signals)

    fetches = enter_when_due(contest, "greedy-ncis", options=PolicyOptions(threshold=0.8))

    alone = Ncis().elapsed_at(instance.beliefs, 0.8)
    first = max(1.5, float(Ncis().sooner(instance.beliefs, alone, np.full(1, 2.0))[0]))
    alone = float(alone[0])
    assert fetches.times == pytest.approx([first, first + alone], rel=1e-5)


class Growing(ChangingWeb):
    """A web in which page 1 appears later."""

    def appears_at(self, page: int) -> float:
        return 5.0 * page

    def look(self, page: int, now: float) -> Look:
        assert now >= self.appears_at(page)
        return super().look(page, now)


def test_everybody_has_a_copy_of_a_page_from_its_appearance_on() -> None:
    web = Growing(event_stream([np.empty(0), np.empty(0)]))
    truth = Beliefs(importance=np.ones(2), change_rate=np.ones(2))
    contest = Contest(web=web, fetches_per_second=1.0, start=0.0, end=7.0, truth=truth)

    fetches = enter_when_due(contest, "greedy", options=PolicyOptions(threshold=0.5))

    of_page = fetches.by_page(2)
    assert of_page[0][0] == pytest.approx(1.67835, rel=1e-5)
    assert of_page[1][0] == pytest.approx(5 + 1.67835, rel=1e-5)


def test_it_can_be_cut_short() -> None:
    instance = drawn_instance(10, "none", np.random.default_rng(2))
    contest = contest_of(instance, event_stream([np.empty(0)] * 10), 1000.0)

    assert len(enter_when_due(contest, "greedy", options=PolicyOptions(threshold=0.01), limit=25)) == 25


class Slow(Hosts):
    """No host may be visited before the third second."""

    def blocked_until(self, host: str) -> float:
        return 3.0


def test_what_is_due_waits_until_its_host_is_free() -> None:
    policy = policy_named("greedy", PolicyOptions(threshold=0.5))
    known = Beliefs(importance=np.ones(1), change_rate=np.ones(1))
    planner = Planner(policy, Slow(5.0, 60.0), KnownTruth(known, {}, policy.model.needs))

    fetches = crawl_when_due(ChangingWeb(event_stream([np.empty(0)])), planner, start=0.0, end=4.0)

    assert fetches.times == pytest.approx([3.0])


def test_rules_of_other_crawlers_are_run_as_they_are() -> None:
    contest = Contest(
        web=ChangingWeb(event_stream([np.empty(0)])), fetches_per_second=1.0, start=0.0, end=49 * HOURS
    )

    assert enter_when_due(contest, "fixed").times == pytest.approx([24 * HOURS, 48 * HOURS])


def test_without_a_threshold_nothing_is_ever_due() -> None:
    instance = drawn_instance(3, "none", np.random.default_rng(2))
    contest = contest_of(instance, event_stream([np.empty(0)] * 3), 10.0)

    with pytest.raises(ConfigError, match="no threshold"):
        enter_when_due(contest, "greedy")
