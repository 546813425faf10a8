"""The life of a WebSub subscription: asked for, confirmed, renewed before its lease ends, given up.

What is decided here is done by whoever has the connections; the time is an argument.
"""

from enum import StrEnum, auto

from scrapy_freshness.errors import PingError
from scrapy_freshness.model import Subscription
from scrapy_freshness.signals.websub import Intent, is_same_topic

#: A lease is renewed when this part of it is left: time enough for a hub that is away for a while.
_LEFT = 0.25
#: How long a hub has for its question until it is asked again; then twice as long each time.
_FIRST_PATIENCE_SECONDS, _LONGEST_PATIENCE_SECONDS = 60.0, 86_400.0
#: A hub that has said no is left alone for so long.
_DENIED_SECONDS = 86_400.0
#: How often a hub is asked to end a subscription; then it ends with its lease.
_GOODBYES = 3
_NOT_FOUND, _GONE = 404, 410


class Step(StrEnum):
    """What to do about a subscription."""

    WAIT = auto()
    SUBSCRIBE = auto()
    UNSUBSCRIBE = auto()
    FORGET = auto()


def next_step(subscription: Subscription, now: float) -> Step:
    """Return what is to be done now.

    >>> asked = Subscription(token="t", callback="http://b.example/t", topic="http://a.example/feed",
    ...                      hub="http://hub.example/", secret="s", found_at="http://a.example/feed")
    >>> next_step(asked, now=5.0)
    <Step.SUBSCRIBE: 'subscribe'>
    """
    if subscription.is_ending and (subscription.expires_at <= now or subscription.failures >= _GOODBYES):
        return Step.FORGET
    if now < subscription.next_try_at:
        return Step.WAIT
    if subscription.is_ending:
        return Step.UNSUBSCRIBE
    return Step.SUBSCRIBE if now >= renewal_at(subscription) else Step.WAIT


def renewal_at(subscription: Subscription) -> float:
    """Return when the lease is to be renewed."""
    return subscription.expires_at - _LEFT * subscription.lease_seconds


def asked(subscription: Subscription, now: float) -> None:
    """Note that the hub is being asked; without its question, it is asked again after a while."""
    patience = min(_FIRST_PATIENCE_SECONDS * 2.0**subscription.failures, _LONGEST_PATIENCE_SECONDS)
    # A short lease would end while nothing is done.
    if subscription.expires_at > now:
        patience = min(patience, max((subscription.expires_at - now) / 2, 1.0))
    subscription.is_asked = True
    subscription.next_try_at = now + patience
    subscription.failures = min(subscription.failures + 1, 30)


def given_up(subscription: Subscription, now: float) -> None:
    """Note that a subscription is not wanted any more."""
    if not subscription.is_ending:
        subscription.is_ending, subscription.is_asked = True, False
        subscription.failures, subscription.next_try_at = 0, now


def confirmed(subscription: Subscription, intent: Intent, longest_seconds: float, now: float) -> bool:
    """Note what a hub asks or says, and return whether the subscription has ended with it.

    Raises
    ------
    PingError
        It was not meant: nobody asked for it, or that question has been answered before.
    """
    if not is_same_topic(intent.topic, subscription.topic):
        raise PingError(_NOT_FOUND, "another topic than that of the subscription", "not_meant")
    if intent.mode == "denied":
        subscription.is_asked = False
        subscription.expires_at, subscription.next_try_at = 0.0, now + _DENIED_SECONDS
        return subscription.is_ending
    if not subscription.is_asked or (intent.mode == "unsubscribe") != subscription.is_ending:
        raise PingError(_NOT_FOUND, f"nobody asked to {intent.mode}", "not_meant")
    subscription.is_asked, subscription.failures = False, 0
    if subscription.is_ending:
        return True
    subscription.lease_seconds = min(intent.lease_seconds or longest_seconds, longest_seconds)
    subscription.expires_at = now + subscription.lease_seconds
    subscription.next_try_at = 0.0
    return False


def check_lease(subscription: Subscription, now: float) -> None:
    """Refuse what comes when the lease has ended, or before the hub has confirmed it."""
    if subscription.is_ending or subscription.expires_at <= now:
        raise PingError(_GONE, "the subscription has ended", "expired")
