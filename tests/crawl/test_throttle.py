"""How often strangers may come."""

import numpy as np

from scrapy_freshness.crawl.throttle import Throttle, sender_of


def test_a_sender_has_a_burst_and_then_its_rate() -> None:
    throttle = Throttle(per_sender=2.0, total=100.0)

    at_once = sum(throttle.admit("a", 0.0) for _ in range(100))
    later = sum(throttle.admit("a", 0.0 + tick / 10) for tick in range(1, 1001))

    assert at_once == 20
    assert later == 200


def test_all_senders_together_have_a_limit() -> None:
    throttle = Throttle(per_sender=1.0, total=5.0)

    assert sum(throttle.admit(f"sender {number}", 0.0) for number in range(1000)) == 50


def test_who_was_sent_away_pays_nothing() -> None:
    throttle = Throttle(per_sender=0.1, total=100.0)
    assert throttle.admit("a", 0.0)

    assert not any(throttle.admit("a", float(second)) for second in range(1, 10))
    assert throttle.admit("a", 10.5)


def test_what_costs_more_is_paid_off_later() -> None:
    throttle = Throttle(per_sender=1.0, total=100.0)
    assert throttle.admit("a", 0.0)
    throttle.charge("a", 29.0, 0.0)  # 20 more than there is

    assert not throttle.admit("a", 20.0)
    assert throttle.admit("a", 21.0)
    assert throttle.admit("b", 0.0)


def test_a_clock_that_is_set_back_takes_nothing_away() -> None:
    throttle = Throttle(per_sender=1.0, total=100.0)
    assert throttle.admit("a", 1000.0)

    assert throttle.admit("a", 0.0)


def test_the_number_of_senders_that_are_remembered_is_bounded() -> None:
    throttle = Throttle(per_sender=0.01, total=1e9)
    senders = [f"sender {number}" for number in range(20_001)]
    assert all(throttle.admit(sender, 0.0) for sender in senders)

    assert throttle.admit(senders[0], 0.0)  # forgotten
    assert not throttle.admit(senders[-1], 0.0)


def test_one_customer_of_a_provider_is_one_sender() -> None:
    rng = np.random.default_rng(1)
    addresses = [f"2001:db8:0:1:{a:x}:{b:x}::{c:x}" for a, b, c in rng.integers(0, 65_536, (20, 3))]

    assert {sender_of(address) for address in addresses} == {"2001:db8:0:1"}
    assert sender_of("fe80::1%eth0") == sender_of("fe80::2%eth1")
    assert sender_of("") == ""
