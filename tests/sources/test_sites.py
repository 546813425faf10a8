"""Which hosts belong together, without asking the network."""

import socket

import pytest

from scrapy_freshness.sources.site import site_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("www.example.com", "news.example.com"),
        ("example.co.uk", "sport.example.co.uk"),
        ("WWW.Example.com", "example.com"),
        ("www.example.com:8080", "example.com:8080"),
    ],
)
def test_hosts_under_one_registrable_domain_are_one_site(one: str, other: str) -> None:
    assert site_of(one) == site_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("one.co.uk", "other.co.uk"),
        ("one.blogspot.com", "other.blogspot.com"),
        ("one.github.io", "other.github.io"),
        ("127.0.0.1", "127.0.0.2"),
        ("127.0.0.1:8000", "127.0.0.1:8001"),
        ("example.com", "example.com:8080"),
        ("[::1]:80", "[::2]:80"),
        ("intranet", "wiki"),
    ],
)
def test_others_are_not(one: str, other: str) -> None:
    assert site_of(one) != site_of(other)


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("the network is not to be asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    site_of.cache_clear()

    assert site_of("a.b.never-seen-before.com") == "never-seen-before.com"
