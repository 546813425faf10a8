"""WebSub: a hub sends the new content of a topic to whoever has subscribed (W3C Recommendation, 2018).

The three messages that a subscriber takes part in: its request to the hub (section 5.1), the hub's question
whether it was meant (5.3), and the hub's deliveries, signed with a shared secret (7 and 8).
"""

import hashlib
import hmac
from typing import NamedTuple
from urllib.parse import parse_qs

from scrapy_freshness.errors import PingError
from scrapy_freshness.signals.addresses import read_address

#: The secret must be shorter than this (section 5.1).
_SECRET_BYTES = 200
_METHODS = frozenset({"sha1", "sha256", "sha384", "sha512"})  # section 7.1
_LONGEST_LEASE_SECONDS = 366 * 86_400
_LONGEST_CHALLENGE = 4096
_NOT_FOUND = 404


def subscription_form(
    *, callback: str, topic: str, secret: str, lease_seconds: int, subscribe: bool = True
) -> dict[str, str]:
    """Return the form fields of a request to a hub.

    The callback is to be hard to guess, and for this topic only (section 5.1).

    >>> subscription_form(callback="http://b.example/1", topic="http://a.example/feed", secret="s",
    ...                   lease_seconds=864000)["hub.mode"]
    'subscribe'
    """
    if len(secret.encode()) >= _SECRET_BYTES:
        raise ValueError(f"the secret must be shorter than {_SECRET_BYTES} bytes")
    fields = {
        "hub.callback": callback,
        "hub.mode": "subscribe" if subscribe else "unsubscribe",
        "hub.topic": topic,
    }
    if subscribe:
        fields |= {"hub.lease_seconds": str(lease_seconds), "hub.secret": secret}
    return fields


class Intent(NamedTuple):
    """What a hub asks or says about a subscription."""

    mode: str  #: "subscribe", "unsubscribe" or "denied"
    topic: str
    challenge: str = ""  #: to be sent back, as text/plain with status 200, if it was meant
    lease_seconds: int | None = None  #: how long the subscription lasts; None if it does not say
    reason: str = ""  #: why it was denied


def read_intent(query: str) -> Intent:
    """Read the query of a hub's GET request to the callback.

    >>> read_intent("hub.mode=subscribe&hub.topic=http://a.example/feed&hub.challenge=x&hub.lease_seconds=60")
    Intent(mode='subscribe', topic='http://a.example/feed', challenge='x', lease_seconds=60, reason='')

    Raises
    ------
    PingError
        It is none, or cannot be used; status 404 tells the hub that it was not meant.
    """
    try:
        fields = parse_qs(query, max_num_fields=20, keep_blank_values=True)
    except ValueError:
        raise PingError(_NOT_FOUND, "the query cannot be read") from None
    mode, topic, challenge, lease, reason = (
        fields.get(f"hub.{name}", [""])[0]
        for name in ("mode", "topic", "challenge", "lease_seconds", "reason")
    )
    if mode not in ("subscribe", "unsubscribe", "denied"):
        raise PingError(_NOT_FOUND, f"hub.mode {mode!r:.40} is not known")
    if not topic:
        raise PingError(_NOT_FOUND, "hub.topic is missing")
    if mode == "denied":
        return Intent(mode, topic, reason=reason[:1000])
    if not challenge or len(challenge) > _LONGEST_CHALLENGE:
        raise PingError(_NOT_FOUND, "hub.challenge is missing or too long")
    seconds = int(lease) if lease.isascii() and lease.isdigit() and len(lease) < 12 else 0
    return Intent(mode, topic, challenge, min(seconds, _LONGEST_LEASE_SECONDS) or None)


def is_same_topic(topic: str, other: str) -> bool:
    """Whether two addresses are the same topic: letter by letter, but for the spelling of scheme and host.

    >>> is_same_topic("HTTP://A.example:80/feed", "http://a.example/feed")
    True
    >>> is_same_topic("http://a.example/feed", "http://a.example/feed/")
    False
    """
    first, second = read_address(topic), read_address(other)
    if first is None or second is None:
        return False
    return _spelled(first.url, first.host) == _spelled(second.url, second.host)


def _spelled(url: str, host: str) -> tuple[str, str, str]:
    scheme, _, rest = url.partition("://")
    return scheme, host, rest.partition("/")[2]


def is_signed(body: bytes, signature: str, secret: str) -> bool:
    """Whether the header X-Hub-Signature (``method=hexdigest``) proves that the sender knows the secret.

    >>> is_signed(b"", "sha256=" + hmac.new(b"s", b"", "sha256").hexdigest(), "s")
    True
    """
    method, _, digest = signature.strip().partition("=")
    method = method.lower()
    if method not in _METHODS or not secret:
        return False
    expected = hmac.new(secret.encode(), body, getattr(hashlib, method)).hexdigest()
    return hmac.compare_digest(expected.encode(), digest.strip().lower().encode("utf-8", "replace"))
