"""The short way to the number of a page leads to the same number as Scrapy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_freshness.commands.importing import number_of

HOSTS = st.sampled_from(
    ["a.example", "www.a-b.example", "A.example", "a.example:80", "xn--bcher-kva.example", "a..b"]
)
PARTS = st.sampled_from(
    [
        "",
        "a",
        "B.html",
        ".",
        "..",
        "...",
        "a.",
        ".a",
        "~x_-",
        "%41",
        "a b",
        "é",
        "a;b",
        "a=b",
        "a+b",
        "a:b",
        "a@b",
        "(",
        "*",
    ]
)
ENDS = st.sampled_from(["", "/", "?", "?b=1&a=2", "#x", "//"])


@given(
    scheme=st.sampled_from(["http", "https", "HTTP"]),
    host=HOSTS,
    parts=st.lists(PARTS, max_size=4),
    end=ENDS,
)
def test_the_number_is_that_of_scrapy(scheme: str, host: str, parts: list[str], end: str) -> None:
    url = f"{scheme}://{host}" + "".join(f"/{part}" for part in parts) + end
    expected = int.from_bytes(fingerprint(Request(url))[:8], "big", signed=True)

    assert number_of(url) == expected


@pytest.mark.parametrize("url", ["", "nothing", "/path", "javascript"])
def test_what_is_no_address_has_no_number(url: str) -> None:
    with pytest.raises(ValueError):
        number_of(url)
