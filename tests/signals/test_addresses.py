"""Addresses are made absolute or refused, never made into others."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.signals.addresses import host_of, read_address

BASE = "https://a.example/b/c?d"


@pytest.mark.parametrize(
    ("text", "url", "host"),
    [
        ("http://a.example", "http://a.example/", "a.example"),
        ("http://a.example?q", "http://a.example/?q", "a.example"),
        ("HTTP://A.Example/Path", "http://A.Example/Path", "a.example"),
        ("https://a.example:443/", "https://a.example:443/", "a.example"),
        ("http://a.example:443/", "http://a.example:443/", "a.example:443"),
        ("http://a.example./x", "http://a.example./x", "a.example"),
        ("http://a.example/x#y", "http://a.example/x", "a.example"),
        ("http://a.example/a\n  b", "http://a.example/a  b", "a.example"),
        ("http://[2001:db8::1]:8080/", "http://[2001:db8::1]:8080/", "[2001:db8::1]:8080"),
        ("http://bücher.example/ü", "http://bücher.example/ü", "xn--bcher-kva.example"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("//b.example/x", "https://b.example/x", "b.example"),
        ("/x", "https://a.example/x", "a.example"),
        ("x", "https://a.example/b/x", "a.example"),
        ("?x", "https://a.example/b/c?x", "a.example"),
        ("../../x", "https://a.example/x", "a.example"),
    ],
)
def test_an_address_and_its_host(text: str, url: str, host: str) -> None:
    address = read_address(text, BASE)

    assert address is not None
    assert (address.url, address.host) == (url, host)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "ftp://a.example/", "javascript:alert(1)", "mailto:a@b.example", "data:,x", "file:///etc/passwd",
        "http://", "http:///x", "http://a.example:99999/", "http://a.example:x/", "http://user:pw@a.example/",
        "http://user@a.example/", "http://a b.example/", "http://[::1/", "http://a.example/\x00",
        "http://a.example/caf\ufffd", "http://a.example/" + "x" * 2048, "http://a.example\\@b.example/",
        "http://<script>/", "http://\ud800.example/", "http://\u2100.example/", "http://a.example:\u0663/",
        "http://a\uff05b.example/", "http://a\uff3cb.example/", "http://a\uff1a80/", "http://[1]/",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused(text: str) -> None:
    assert read_address(text, BASE) is None


def test_a_relative_address_needs_a_base() -> None:
    assert read_address("/x") is None
    assert read_address("/x", "not a base") is None
    assert host_of("/x") is None


@given(st.text() | st.from_regex(r"https?://[a-z.:\[\]@%0-9]{0,20}[/?#]?\S{0,20}", fullmatch=True))
def test_whatever_is_accepted_is_read_again_as_the_same_address(text: str) -> None:
    address = read_address(text, BASE)

    if address is not None:
        again = read_address(address.url)
        assert again is not None
        assert (again.url, again.host) == (address.url, address.host)
        assert urlsplit(address.url).scheme in ("http", "https")
        assert urlsplit(address.url).username is None
