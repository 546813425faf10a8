"""The life of a subscription: asked for, confirmed, renewed before its lease ends, given up."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.errors import PingError
from scrapy_freshness.model import Subscription
from scrapy_freshness.signals.leases import (
    Step,
    asked,
    check_lease,
    confirmed,
    given_up,
    next_step,
    renewal_at,
)
from scrapy_freshness.signals.websub import Intent

TOPIC = "http://a.example/feed"
DAY = 86_400.0


def subscription(**fields: Any) -> Subscription:
    named = {
        "callback": "http://b.example/t",
        "topic": TOPIC,
        "hub": "http://hub.example/",
        "found_at": TOPIC,
    }
    return Subscription(token="t", secret="s", **{**named, **fields})


def question(mode: str = "subscribe", **fields: Any) -> Intent:
    return Intent(mode, TOPIC, challenge="x", **fields)


def active(now: float = 0.0, lease_seconds: int = 400) -> Subscription:
    """A subscription that a hub has just confirmed."""
    found = subscription()
    asked(found, now)
    assert not confirmed(found, question(lease_seconds=lease_seconds), 10 * DAY, now)
    return found


def test_a_new_subscription_is_asked_for_at_once_and_then_waits_for_the_hub() -> None:
    found = subscription()
    assert next_step(found, 5.0) is Step.SUBSCRIBE

    asked(found, 5.0)

    assert next_step(found, 6.0) is Step.WAIT
    assert next_step(found, 70.0) is Step.SUBSCRIBE


def test_a_hub_that_never_asks_back_is_asked_ever_more_rarely() -> None:
    found, now, waits = subscription(), 0.0, []
    for _ in range(15):
        asked(found, now)
        waits.append(found.next_try_at - now)
        now = found.next_try_at

    assert waits[:4] == [60.0, 120.0, 240.0, 480.0]
    assert waits[-1] == DAY


def test_a_lease_is_renewed_when_a_quarter_of_it_is_left() -> None:
    found = active()

    assert found.expires_at == 400.0
    assert renewal_at(found) == 300.0
    assert next_step(found, 299.0) is Step.WAIT
    assert next_step(found, 300.0) is Step.SUBSCRIBE


def test_a_renewal_is_tried_several_times_before_the_lease_ends() -> None:
    found, now, tries = active(), 0.0, 0
    while now < 400.0:
        if next_step(found, now) is Step.SUBSCRIBE:
            asked(found, now)
            tries += 1
        now += 1.0

    assert tries >= 3


def test_a_hub_that_grants_more_than_was_asked_for_is_not_relied_on() -> None:
    found = subscription()
    asked(found, 0.0)
    confirmed(found, question(lease_seconds=100 * int(DAY)), DAY, 0.0)

    assert found.expires_at == DAY


def test_a_hub_that_does_not_say_how_long_grants_what_was_asked_for() -> None:
    found = subscription()
    asked(found, 0.0)
    confirmed(found, question(), DAY, 0.0)

    assert found.expires_at == DAY


def test_a_question_is_answered_once() -> None:
    found = active()

    with pytest.raises(PingError, match="nobody asked") as refusal:
        confirmed(found, question(lease_seconds=10**6), 10 * DAY, 100.0)

    assert refusal.value.status == 404
    assert found.expires_at == 400.0


@pytest.mark.parametrize(
    "intent",
    [
        question("unsubscribe"),
        Intent("subscribe", "http://a.example/other", challenge="x"),
        Intent("denied", "http://a.example/other"),
    ],
)
def test_what_was_not_asked_for_is_not_meant(intent: Intent) -> None:
    found = subscription()
    asked(found, 0.0)
    with pytest.raises(PingError):
        confirmed(found, intent, DAY, 1.0)


def test_a_denied_subscription_takes_no_more_content_and_waits_a_day() -> None:
    found = active()
    assert not confirmed(found, Intent("denied", TOPIC), DAY, 10.0)

    with pytest.raises(PingError):
        check_lease(found, 11.0)
    assert next_step(found, 11.0) is Step.WAIT
    assert next_step(found, 11.0 + DAY) is Step.SUBSCRIBE


def test_content_is_taken_from_the_confirmation_to_the_end_of_the_lease() -> None:
    pending = subscription()
    asked(pending, 0.0)
    with pytest.raises(PingError):
        check_lease(pending, 1.0)

    found = active()
    check_lease(found, 399.0)
    with pytest.raises(PingError) as refusal:
        check_lease(found, 400.0)
    assert (refusal.value.status, refusal.value.counted_as) == (410, "expired")


def test_what_is_given_up_ends_when_the_hub_has_confirmed_it() -> None:
    found = active()
    given_up(found, 10.0)
    assert next_step(found, 10.0) is Step.UNSUBSCRIBE
    with pytest.raises(PingError):
        check_lease(found, 10.0)
    with pytest.raises(PingError):
        confirmed(found, question("unsubscribe"), DAY, 10.0)  # not asked yet

    asked(found, 10.0)

    assert confirmed(found, question("unsubscribe"), DAY, 11.0)


def test_what_is_given_up_is_forgotten_if_the_hub_does_not_care() -> None:
    found, now = active(), 10.0
    given_up(found, now)
    steps = []
    while (step := next_step(found, now)) is not Step.FORGET:
        if step is Step.UNSUBSCRIBE:
            asked(found, now)
            steps.append(step)
        now += 1.0

    assert 1 <= len(steps) <= 3
    assert now <= 400.0


@given(st.floats(1, 1e7), st.floats(0, 1e9))
def test_a_lease_is_renewed_before_it_ends_however_long_it_is(lease_seconds: float, now: float) -> None:
    found = active(now, int(lease_seconds))

    assert now <= renewal_at(found) < found.expires_at
