"""A search finds exactly the addresses that match, whichever way it takes."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.dashboard.url_search import UrlSearch
from scrapy_freshness.errors import InputError
from scrapy_freshness.storage.census import Census

LETTERS = st.text("ab/.?", max_size=6)


def census_of(urls: list[str]) -> Census:
    lines = [url.encode() for url in urls]
    return Census(
        spider="news",
        hosts=[],
        columns={"page_id": np.arange(len(urls))},
        beliefs={},
        urls=b"".join(line + b"\n" for line in lines),
        url_starts=np.cumsum([0, *(len(line) + 1 for line in lines)]),
        last_visit_id=0,
    )


@given(st.lists(LETTERS, max_size=30), st.text("ab/.", min_size=1, max_size=2), st.data())
def test_a_text_is_found_in_any_case(urls: list[str], text: str, data: st.DataObject) -> None:
    census = census_of([url.upper() for url in urls])
    order = np.array(data.draw(st.permutations(range(len(urls)))), np.intp)
    first = data.draw(st.integers(0, 5))
    expected = [row for row in order.tolist() if text in urls[row]]

    found = UrlSearch(text).find(census, order, first, 4)

    assert found.rows.tolist() == expected[first : first + 4]
    assert UrlSearch(text).mask(census).tolist() == [text in url for url in urls]
    if found.is_exact:
        assert found.total == len(expected)


def test_a_text_beyond_ascii_is_found_in_any_case() -> None:
    census = census_of(["http://a.example/stra\u00dfe/\u00c4pfel", "http://a.example/kiosk"])

    assert UrlSearch("\u00e4PFEL").mask(census).tolist() == [True, False]
    assert UrlSearch("KIOSK").mask(census).tolist() == [False, True]


PATTERNS = st.sampled_from(["^a", "b$", "a.b", "[^a]", "a|b", r"\.", "^$", "(?i)A"])


@given(st.lists(LETTERS, max_size=30), PATTERNS)
def test_an_expression_matches_within_one_address(urls: list[str], pattern: str) -> None:
    expected = [re.search(pattern, url) is not None for url in urls]

    assert UrlSearch(pattern, is_regex=True).mask(census_of(urls)).tolist() == expected


@pytest.mark.parametrize("pattern", ["(", "a)|(b", "[", r"(a)\1", "(?=a)"])
def test_what_cannot_be_searched_for_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match=r"regular expression that can be searched for: [a-z]"):
        UrlSearch(pattern, is_regex=True)
