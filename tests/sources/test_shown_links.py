"""Which links of a page may be followed, and which are boilerplate."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.config import BOILERPLATE
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.sources.links import LinkReader, says_nofollow

URL = "http://a.example/x/"


def read(html: str, **options: bool) -> dict[str, bool]:
    """Address -> whether it is boilerplate."""
    links = LinkReader(BOILERPLATE, **options).read(html.encode(), URL)
    return {link.url: link.is_boilerplate for link in links}


def test_addresses_are_made_absolute_and_named_once() -> None:
    html = '<a href="b">1</a><a href="/x/b#top">2</a><a href="//c.example/d">3</a><a href="#e">4</a>'

    assert list(read(html)) == ["http://a.example/x/b", "http://c.example/d"]


def test_the_base_of_a_page_counts() -> None:
    assert list(read('<base href="/y/"><a href="b">1</a>')) == ["http://a.example/y/b"]


def test_what_is_no_page_is_left_out() -> None:
    html = "".join(
        f'<a href="{href}">x</a>'
        for href in (
            "mailto:a@b",
            "javascript:x()",
            "http://u:p@a.example/",
            "/a.JPG?x",
            "/b.zip",
            "",
            "/story",
        )
    )

    assert list(read(html)) == ["http://a.example/story"]


@pytest.mark.parametrize(
    "html",
    [
        "<nav><ul><a href=/n>n</a></ul></nav>",
        "<body><header><div><a href=/n>n</a></div></header></body>",
        "<footer><a href=/n>n</a></footer>",
        "<div role=navigation><a href=/n>n</a></div>",
    ],
)
def test_links_around_the_content_are_boilerplate(html: str) -> None:
    assert read(html) == {"http://a.example/n": True}


def test_headlines_are_not() -> None:
    assert read("<article><header><h2><a href=/n>n</a></h2></header></article>") == {
        "http://a.example/n": False
    }


def test_what_is_shown_in_the_content_as_well_is_no_boilerplate() -> None:
    assert read("<nav><a href=/n>n</a></nav><p><a href=/n>n</a></p>") == {"http://a.example/n": False}


def test_boilerplate_in_boilerplate_and_behind_it() -> None:
    html = "<nav><nav><a href=/n>n</a></nav><a href=/o>o</a></nav><footer></footer><a href=/p>p</a>"

    assert read(html) == {"http://a.example/n": True, "http://a.example/o": True, "http://a.example/p": False}


@pytest.mark.parametrize(
    "html",
    [
        b"<x>" * 15_000 + b"<a href=/x>" * 5_000,
        b"<x>" * 4_000 + b"<a href=/x>" * 4_000,
        b"<nav>" * 3_000 + b"<a href=/x>y</a>" * 3_000,
    ],
)
def test_pages_that_are_nested_deep_cost_no_more_than_others(html: bytes) -> None:
    begun = time.thread_time()
    LinkReader(BOILERPLATE).read(html, URL)

    assert time.thread_time() - begun < 0.6


def test_anchors_that_are_not_ended_leave_the_links_of_a_long_page() -> None:
    html = "".join(f"<p><a name={number}><a href=/{number}>x</a>" for number in range(4000))

    assert len(read(html)) == 4000


def test_nofollow_is_obeyed_unless_the_settings_say_otherwise() -> None:
    link = '<a rel="noopener NoFollow" href=/n>n</a>'
    page = '<meta name="Robots" content="noindex, nofollow"><a href=/n>n</a>'

    assert read(link) == read(page) == {}
    assert len(read(link, obeys_nofollow=False)) == len(read(page, obeys_nofollow=False)) == 1


def test_headers_for_other_robots_say_nothing() -> None:
    assert says_nofollow("none")
    assert not says_nofollow("googlebot: nofollow")


def test_selectors_that_are_none_are_refused() -> None:
    with pytest.raises(ConfigError, match="CSS"):
        LinkReader(["nav["])


@given(st.binary(max_size=300) | st.text("<a href='\"=/>#?&;navi ", max_size=200).map(str.encode))
def test_any_bytes_can_be_read(html: bytes) -> None:
    for link in LinkReader(BOILERPLATE).read(html, URL):
        assert link.url.startswith(("http://", "https://"))
        assert "#" not in link.url
