"""Hosts that ask for a pause get one, and those whose 304 answers are wrong are found out."""

import random

import pytest

from scrapy_freshness.model import HostRecord
from scrapy_freshness.planning.hosts import Hosts


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
    assert hosts.is_honest("a"), "one change in ten may have come between the two answers"
    assert (hosts.record("a").audits, hosts.record("a").false_not_modified) == (10, 1)


def test_all_answers_are_audited_at_first_and_a_share_of_them_later(hosts: Hosts) -> None:
    rng = random.Random(1)
    assert all(hosts.is_audit_due("new", 0.02, rng) for _ in range(100))

    for _ in range(1000):
        hosts.audited("a", was_honest=True)
    due = sum(hosts.is_audit_due("a", 0.1, rng) for _ in range(10_000))
    assert due == pytest.approx(1000, abs=3 * 30)


def test_no_audits_are_made_if_none_are_wanted(hosts: Hosts) -> None:
    rng = random.Random(1)

    assert not any(hosts.is_audit_due("a", 0.0, rng) for _ in range(100))
