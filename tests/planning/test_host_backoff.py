"""Hosts that ask for a pause get one, and those whose 304 answers are wrong are found out."""

import random
from collections import Counter

import pytest
from planning_world import LEARNED, Crawl, new_page

from scrapy_freshness.model import HostRecord, Outcome
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learning import RateLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named


@pytest.fixture
def hosts() -> Hosts:
    return Hosts(backoff_seconds=5.0, backoff_max_seconds=60.0)


def test_pauses_double_up_to_a_limit(hosts: Hosts) -> None:
    now, pauses = 0.0, []
    for _ in range(7):
        until = hosts.back_off("a", now, None)
        pauses.append(until - now)
        now = until

    assert pauses == [5, 10, 20, 40, 60, 60, 60]


def test_a_thousand_refusals_do_not_overflow(hosts: Hosts) -> None:
    now = 0.0
    for _ in range(2000):
        now = hosts.back_off("a", now, None)

    assert hosts.blocked_until("a") - now == 0
    assert hosts.back_off("a", now, None) == now + 60


def test_refusals_during_a_pause_do_not_double_it(hosts: Hosts) -> None:
    """Eight requests were under way when the host began to refuse."""
    for moment in range(8):
        hosts.back_off("a", moment / 10, None)

    assert hosts.blocked_until("a") == pytest.approx(5.7)
    assert hosts.record("a").failures == 1


def test_a_proper_answer_during_a_pause_does_not_shorten_the_next(hosts: Hosts) -> None:
    hosts.back_off("a", 0.0, None)
    hosts.answered("a")

    assert hosts.back_off("a", 4.0, None) == 9.0


def test_a_proper_answer_begins_the_pauses_anew(hosts: Hosts) -> None:
    hosts.back_off("a", 0.0, None)
    hosts.back_off("a", 5.0, None)
    hosts.answered("a")

    assert hosts.back_off("a", 100.0, None) == 105.0


@pytest.mark.parametrize(("asked", "granted"), [(30.0, 30.0), (1.0, 5.0), (0.0, 5.0), (86400.0, 60.0)])
def test_retry_after_is_obeyed_within_limits(hosts: Hosts, asked: float, granted: float) -> None:
    assert hosts.back_off("a", 0.0, asked) == granted


def test_a_pause_is_never_shortened(hosts: Hosts) -> None:
    hosts.back_off("a", 0.0, 50.0)

    assert hosts.back_off("a", 1.0, 2.0) == 50.0


def test_hosts_pause_independently_and_until_their_time(hosts: Hosts) -> None:
    hosts.back_off("a", 0.0, None)
    hosts.back_off("b", 0.0, 20.0)

    assert hosts.blocked(4.9) == {"a", "b"}
    assert hosts.blocked(5.0) == {"b"}
    assert hosts.blocked(20.0) == set()
    assert hosts.blocked_until("c") == 0.0


def test_a_host_is_paused_when_several_urls_fail_in_a_row(hosts: Hosts) -> None:
    assert [hosts.failed("a", f"/{number}", now=0.0) for number in range(3)] == [None, None, 5.0]
    assert hosts.failed("a", "/1", now=5.0) == 15.0, "one is enough as long as there is no proper answer"

    hosts.answered("a")
    assert [hosts.failed("a", url, now=100.0) for url in ("/1", "/2", "/2", "/1", "/2")] == [None] * 5
    hosts.answered("a")
    assert hosts.failed("a", "/3", now=100.0) is None


def test_a_host_that_was_paused_is_tried_with_one_request_at_a_time(hosts: Hosts) -> None:
    hosts.asked("a", 0.0)
    assert hosts.blocked_until("a") == 0.0

    now = hosts.back_off("a", 0.0, None)
    hosts.asked("a", now)
    assert hosts.blocked(now + 4.9) == {"a"}
    assert hosts.blocked(now + 5.0) == set()

    assert hosts.back_off("a", now + 1.0, None) == now + 11.0, "the pause was over, so the next is longer"
    hosts.asked("a", now + 11.0)
    hosts.answered("a")
    assert hosts.blocked(now + 11.0) == set()


def test_a_dead_host_takes_next_to_nothing_of_the_budget() -> None:
    hosts = Hosts(backoff_seconds=5.0, backoff_max_seconds=3600.0)
    crawl = Crawl(Planner(policy_named("greedy"), hosts, RateLearner(LEARNED), crawls_per_second=1.0))
    crawl.discover(*(new_page(number, "dead" if number % 2 else "good") for number in range(400)))
    fetches: dict[str, Counter[str]] = {"alive": Counter(), "dying": Counter(), "dead": Counter()}
    now = 0.0
    while now < 7200:
        visit = crawl.begin(now)
        now += 1.0
        if visit is not None:
            host = visit.record.host
            fails = host == "dead" and now > 1000
            attempts = 3 if fails else 1
            now += attempts - 1
            fetches["alive" if now <= 1000 else "dying" if now <= 1300 else "dead"][host] += attempts
            crawl.end(visit, now, Outcome.FAILED if fails else None)
            if fails:
                hosts.failed(host, visit.url, now)

    assert fetches["alive"]["dead"] == pytest.approx(fetches["alive"]["good"], rel=0.1)
    assert fetches["dead"]["dead"] < 0.1 * fetches["dead"]["good"]


def test_a_pause_lasts_over_a_restart() -> None:
    hosts = Hosts(5.0, 60.0)
    hosts.load([HostRecord(host="a", blocked_until=50.0, failures=3), HostRecord(host="b")])

    assert hosts.blocked(10.0) == {"a"}
    assert hosts.back_off("a", 50.0, None) == 50.0 + 40.0


def test_only_hosts_that_changed_are_written(hosts: Hosts) -> None:
    hosts.load([HostRecord(host="a"), HostRecord(host="b", failures=1)])
    hosts.answered("a")
    hosts.answered("unknown")
    assert hosts.take_changed() == []

    hosts.answered("b")
    hosts.back_off("c", 0.0, None)
    assert [record.host for record in hosts.take_changed()] == ["b", "c"]
    assert hosts.take_changed() == []


def test_a_host_is_honest_until_its_audits_say_otherwise(hosts: Hosts) -> None:
    assert hosts.is_honest("a")

    hosts.audited("a", was_honest=False)
    assert not hosts.is_honest("a")

    for _ in range(9):
        hosts.audited("a", was_honest=True)
    assert hosts.is_honest("a"), "one in ten may be bad luck"
    assert (hosts.record("a").audits, hosts.record("a").false_not_modified) == (10, 1)


def test_all_answers_are_audited_at_first_and_a_share_of_them_later(hosts: Hosts) -> None:
    rng = random.Random(1)
    assert all(hosts.is_audit_due("new", 0.02, rng) for _ in range(100))

    for _ in range(1000):
        hosts.audited("a", was_honest=True)
    due = sum(hosts.is_audit_due("a", 0.1, rng) for _ in range(10_000))
    assert due == pytest.approx(1000, abs=3 * 30)


def test_a_host_that_was_found_out_gets_a_chance_now_and_then_and_is_checked_each_time(hosts: Hosts) -> None:
    rng = random.Random(1)
    hosts.audited("a", was_honest=False)
    asked = sum(hosts.may_be_asked("a", 0.02, rng) for _ in range(10_000))

    assert asked == pytest.approx(200, abs=3 * 14)
    assert all(hosts.is_audit_due("a", 0.02, rng) for _ in range(100))
    assert not hosts.may_be_asked("a", 0.0, rng), "nobody would check its answers"
    assert all(hosts.may_be_asked("honest", 0.02, rng) for _ in range(100))


def test_no_audits_are_made_if_none_are_wanted(hosts: Hosts) -> None:
    rng = random.Random(1)

    assert not any(hosts.is_audit_due("a", 0.0, rng) for _ in range(100))
