"""Pings are accepted if they keep to the protocol and refused with the status that says why."""

import hashlib
import hmac
import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.errors import PingError
from scrapy_freshness.signals import indexnow, websub

KEY = "0123456789abcdef0123456789abcdef"
SITE = "https://a.example"
TOPIC = f"{SITE}/feed"


def body(**changes: object) -> bytes:
    fields = {"host": "a.example", "key": KEY, "urlList": [f"{SITE}/1", f"{SITE}/2"]} | changes
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


def test_one_url_is_submitted_by_a_query() -> None:
    query = urlencode({"url": f"{SITE}/?a=1&b=ü", "key": KEY})

    assert indexnow.read_query(query) == ("a.example", KEY, f"{SITE}/{KEY}.txt", [f"{SITE}/?a=1&b=ü"])


def test_many_urls_are_submitted_by_a_body() -> None:
    urls = [f"{SITE}/{number}" for number in range(10_000)]

    assert indexnow.read_body(body(urlList=urls)) == ("a.example", KEY, f"{SITE}/{KEY}.txt", urls)


@pytest.mark.parametrize("host", ["a.example", "A.EXAMPLE", "https://a.example", "a.example:443"])
def test_a_host_is_the_same_however_it_is_written(host: str) -> None:
    changes = {"host": host, "urlList": [f"{SITE}/1", "https://A.example:443/2", f"{SITE}/1"]}
    if host.endswith(":443"):  # a port without a scheme is that of http, where it is not the usual one
        changes["urlList"] = ["http://a.example:443/1"]

    assert len(indexnow.read_body(body(**changes)).urls) == (1 if host.endswith(":443") else 2)


def test_a_key_in_a_folder_is_valid_for_the_folder() -> None:
    location = f"{SITE}/shop/{KEY}.txt"
    submission = indexnow.read_body(body(keyLocation=location, urlList=[f"{SITE}/shop/1"]))

    assert submission.key_url == location
    with pytest.raises(PingError, match="not below /shop/"):
        indexnow.read_body(body(keyLocation=location, urlList=[f"{SITE}/shop/1", f"{SITE}/2"]))


REFUSED = {
    "short key": (body(key="1234567"), 400),
    "long key": (body(key="a" * 129), 400),
    "key with other letters": (body(key="../../etc/passwd"), 400),
    "no key": (body(key=None), 400),
    "no host": (body(host=None), 400),
    "no URLs": (body(urlList=None), 400),
    "empty list": (body(urlList=[]), 400),
    "not a list": (body(urlList=f"{SITE}/1"), 400),
    "not URLs": (body(urlList=[1, None]), 400),
    "relative URL": (body(urlList=["/1"]), 400),
    "another scheme": (body(urlList=["ftp://a.example/1"]), 400),
    "another host": (body(urlList=[f"{SITE}/1", "https://b.example/1"]), 422),
    "another host for the key": (body(keyLocation=f"https://b.example/{KEY}.txt"), 422),
    "too many": (body(urlList=[f"{SITE}/1"] * 10_001), 422),
    "not JSON": (b"url=1", 400),
    "not an object": (b"[]", 400),
    "not UTF-8": (b"\xff\xff", 400),
    "nested": (b"[" * 100_000, 400),
    "too long": (b" " * 10_485_761, 413),
}


@pytest.mark.parametrize(("submitted", "status"), REFUSED.values(), ids=REFUSED.keys())
def test_a_submission_that_breaks_the_rules_is_refused(submitted: bytes, status: int) -> None:
    with pytest.raises(PingError) as refusal:
        indexnow.read_body(submitted)

    assert refusal.value.status == status
    assert "\n" not in str(refusal.value)


@given(st.binary() | st.text().map(str.encode))
def test_no_submission_is_another_error(submitted: bytes) -> None:
    with pytest.raises(PingError):
        indexnow.read_body(submitted)
    with pytest.raises(PingError):
        indexnow.read_query(submitted.decode("latin-1"))


def test_the_file_of_a_key_contains_the_key_and_nothing_else() -> None:
    assert indexnow.shows_key(f"{KEY}\n".encode(), KEY)
    assert not indexnow.shows_key(f"{KEY}0".encode(), KEY)
    assert not indexnow.shows_key(f"<p>{KEY}</p>".encode(), KEY)
    assert not indexnow.shows_key(b"", KEY)


def test_a_subscription_asks_the_hub_for_a_topic() -> None:
    form = websub.subscription_form(
        callback="https://c.example/1", topic=TOPIC, secret="secret", lease_seconds=864_000
    )

    assert form == {
        "hub.callback": "https://c.example/1",
        "hub.mode": "subscribe",
        "hub.topic": TOPIC,
        "hub.lease_seconds": "864000",
        "hub.secret": "secret",
    }


def test_unsubscribing_needs_neither_lease_nor_secret() -> None:
    form = websub.subscription_form(
        callback="https://c.example/1", topic=TOPIC, secret="", lease_seconds=0, subscribe=False
    )

    assert form["hub.mode"] == "unsubscribe"
    assert form.keys() == {"hub.callback", "hub.mode", "hub.topic"}


def test_a_secret_that_hubs_would_refuse_is_refused() -> None:
    with pytest.raises(ValueError, match="200 bytes"):
        websub.subscription_form(callback="", topic=TOPIC, secret="ü" * 100, lease_seconds=1)


def query(**fields: object) -> str:
    return urlencode({f"hub.{name}": value for name, value in fields.items()})


def test_a_hub_asks_whether_a_subscription_was_meant() -> None:
    asked = query(mode="subscribe", topic=TOPIC, challenge="a b+c", lease_seconds=60)

    assert websub.read_intent(asked) == ("subscribe", TOPIC, "a b+c", 60, "")


def test_a_hub_denies_a_subscription() -> None:
    denied = websub.read_intent(query(mode="denied", topic=TOPIC, reason="full"))

    assert (denied.mode, denied.topic, denied.reason) == ("denied", TOPIC, "full")


@pytest.mark.parametrize("lease", ["", "0", "-1", "x", "1e9", "٣"])
def test_a_lease_that_cannot_be_read_is_none(lease: str) -> None:
    asked = query(mode="subscribe", topic=TOPIC, challenge="x", lease_seconds=lease)

    assert websub.read_intent(asked).lease_seconds is None


def test_a_lease_for_ever_ends_after_a_year() -> None:
    asked = query(mode="subscribe", topic=TOPIC, challenge="x", lease_seconds=10**11 - 1)

    assert websub.read_intent(asked).lease_seconds == 366 * 86_400


@pytest.mark.parametrize(
    "asked",
    [
        "",
        query(mode="publish", topic=TOPIC, challenge="x"),
        query(mode="subscribe", challenge="x"),
        query(mode="subscribe", topic=TOPIC),
        query(mode="subscribe", topic=TOPIC, challenge="x" * 5000),
        "&".join(["a=1"] * 100),
    ],
)
def test_what_is_no_question_of_a_hub_is_not_found(asked: str) -> None:
    with pytest.raises(PingError) as refusal:
        websub.read_intent(asked)

    assert refusal.value.status == 404


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (TOPIC, True),
        ("HTTPS://A.EXAMPLE:443/feed", True),
        ("http://a.example/feed", False),
        (f"{TOPIC}/", False),
        (f"{TOPIC}?x", False),
        ("https://a.example/FEED", False),
        ("https://b.example/feed", False),
        ("", False),
    ],
)
def test_topics_are_compared_letter_by_letter(other: str, is_same: bool) -> None:
    assert websub.is_same_topic(TOPIC, other) is is_same


@given(st.binary(), st.text(min_size=1), st.sampled_from(["sha1", "sha256", "sha384", "sha512"]))
def test_a_signature_with_the_secret_is_accepted_and_no_other(
    content: bytes, secret: str, method: str
) -> None:
    key = secret.encode("utf-8", "replace")
    digest = hmac.new(key, content, getattr(hashlib, method)).hexdigest()

    assert websub.is_signed(content, f"{method}={digest}", secret)
    assert websub.is_signed(content, f" {method.upper()}={digest.upper()}", secret)
    assert not websub.is_signed(content + b"!", f"{method}={digest}", secret)
    assert not websub.is_signed(content, f"{method}={digest}", secret + "!")
    assert not websub.is_signed(content, f"{method}={digest[:-1]}", secret)
    assert not websub.is_signed(content, f"md5={digest}", secret)
    assert not websub.is_signed(content, digest, secret)


@given(st.text())
def test_no_signature_is_an_error(signature: str) -> None:
    assert not websub.is_signed(b"content", signature, "secret")
    assert not websub.is_signed(b"content", signature, "")
