"""Addresses of siblings have one pattern."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.estimation.url_pattern import url_pattern


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/2024/05/first", "https://a.example/2023/11/second"),
        ("https://a.example/news/one.html", "https://a.example/news/other.HTML"),
        ("https://a.example/list?page=1&sort=up", "https://a.example/items?sort=down&page=12"),
        ("https://A.example/x/1", "http://a.example/x/2#part"),
        ("https://a.example", "https://a.example/"),
        ("https://a.example/user17/photos", "https://a.example/user123/posts"),
        (
            "https://a.example/3f2504e04f8941d39a0c0305e82c3301/edit",
            "https://a.example/a8098c1af86e11dabd1a00112444be1e/view",
        ),
    ],
)
def test_siblings_share_a_pattern(one: str, other: str) -> None:
    assert url_pattern(one) == url_pattern(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/x", "https://b.example/x"),
        ("https://a.example/news/x", "https://a.example/blog/x"),
        ("https://a.example/news/x", "https://a.example/news/x/comments"),
        ("https://a.example/news/", "https://a.example/news/x"),
        ("https://a.example/x.pdf", "https://a.example/x.html"),
        ("https://a.example/x?page=1", "https://a.example/x?id=1"),
    ],
)
def test_pages_of_different_kinds_do_not(one: str, other: str) -> None:
    assert url_pattern(one) != url_pattern(other)


@given(st.text(max_size=80))
def test_whatever_is_called_an_address_has_a_pattern(text: str) -> None:
    assert isinstance(url_pattern(text), str)


@given(
    folders=st.lists(st.from_regex(r"[a-z0-9]{1,30}", fullmatch=True), max_size=6),
    numbers=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
)
def test_depth_counts_and_numbers_do_not(folders: list[str], numbers: tuple[int, int]) -> None:
    one, other = (
        url_pattern("/".join(["https://a.example", *folders, f"v{number}", f"{number}?id={number}"]))
        for number in numbers
    )

    assert one == other
    assert one.count("/") == len(folders) + 2
