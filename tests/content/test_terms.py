"""Terms of queries and pages: whatever people type, the same word is the same term."""

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_freshness.content.shingles import word_hashes, words
from scrapy_freshness.content.terms import (
    MAX_QUERY_TERMS,
    MAX_TERM_CHARS,
    normalised,
    query_terms,
    term_frequencies,
    term_hash,
    term_hashes,
)

WORDS = st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("", ()),
        ("   \t\n", ()),
        ("?!...", ()),
        ("the of and", ("the", "of", "and")),
        ("New-York hotels", ("new", "york", "hotels")),
        ("CAFÉ", ("café",)),
        ("cafe\u0301", ("café",)),
        ("cafe", ("cafe",)),
        ("ﬁsh", ("fish",)),
        ("Ｔｏｋｙｏ", ("tokyo",)),
        ("STRASSE straße", ("strasse",)),
        ("ΣΊΣΥΦΟΣ σίσυφος", ("σίσυφοσ",)),
        ("погода Москва", ("погода", "москва")),
        ("طقس القاهرة", ("طقس", "القاهرة")),
        ("दिल्ली मौसम", ("दिल्ली", "मौसम")),
        ("東京の天気", ("東京", "京の", "の天", "天気")),
        ("東 京, 茶", ("東", "京", "茶")),
        ("สวัสดี hotel", ("สว", "วั", "ัส", "สด", "ดี", "hotel")),
        ("寿司🍣寿司", ("寿司", "🍣")),
        ("pizza 🍕 recipe 🍕", ("pizza", "🍕", "recipe")),
        ("👩‍🚀", ("👩", "🚀")),
        ("a" * MAX_TERM_CHARS, ("a" * MAX_TERM_CHARS,)),
        ("a" * 10_000, ()),
        ("1 2 3", ("1", "2", "3")),
        ("\ud800 lone", ("lone",)),
    ],
)
def test_a_query_has_the_terms_that_a_reader_sees(query: str, terms: tuple[str, ...]) -> None:
    assert query_terms(query) == terms


def test_a_query_of_ten_kilobytes_counts_by_its_first_terms() -> None:
    query = " ".join(f"word{number}" for number in range(1500))

    assert query_terms(query) == tuple(f"word{number}" for number in range(MAX_QUERY_TERMS))


@given(st.text(max_size=200))
@example("ẞ ß ŉ ǰ ΐ İ ı ſ Å")
def test_any_text_is_taken_and_its_terms_are_terms_again(text: str) -> None:
    terms = query_terms(text)

    assert len(set(terms)) == len(terms) <= MAX_QUERY_TERMS
    for term in terms:
        assert 1 <= len(term) <= MAX_TERM_CHARS
        assert term_hash(term) >= 0


@given(st.lists(WORDS, max_size=8), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_capitals_and_the_form_of_composition_do_not_count(parts: list[str], form: str) -> None:
    text = " ".join(parts)
    written = unicodedata.normalize(form, text)

    assert term_hashes(written)[0].tolist() == term_hashes(text)[0].tolist()
    ascii_only = text.encode("ascii", "ignore").decode()
    assert term_hashes(ascii_only.upper())[0].tolist() == term_hashes(ascii_only)[0].tolist()


@given(st.text(max_size=200))
def test_the_terms_of_a_page_are_found_by_the_terms_of_a_query(text: str) -> None:
    on_page = set(term_hashes(text)[0].tolist())

    for term in query_terms(text):
        assert term_hash(term) in on_page


@given(st.text(max_size=200))
def test_words_are_those_that_are_hashed(text: str) -> None:
    found = words(text)

    assert [int(word_hashes(word)[0]) for word in found] == word_hashes(text).tolist()
    assert "".join(found) == "".join(words(" ".join(found)))


def test_pages_are_searched_for_characters_and_for_pairs_of_them() -> None:
    hashes, length = term_hashes("東京都の天気 in Tokyo")

    assert length == 8
    assert len(hashes) == 8 + 5
    for term in ("東京", "京都", "天気", "都", "tokyo"):
        assert term_hash(term) in hashes
    for term in ("京天", "東都"):
        assert term_hash(term) not in hashes


def test_text_that_needs_no_change_has_the_hashes_of_fragments() -> None:
    text = "It rains in Zürich, all day long."

    assert normalised(text) == text.casefold()
    assert np.array_equal(term_hashes(text)[0], word_hashes(text))


def test_frequencies_of_terms_are_the_sums_over_their_queries() -> None:
    queries = [("rain tokyo", 5), ("Tokyo", 2.5), ("tokyo TOKYO", 1), ("...", 100), ("", 7)]

    assert term_frequencies(queries) == {"rain": 5.0, "tokyo": 8.5}
    assert term_frequencies([]) == {}


@pytest.mark.parametrize("count", [-1, float("nan"), float("inf")])
def test_a_count_that_is_none_is_refused(count: float) -> None:
    with pytest.raises(ValueError, match="0 times or more"):
        term_frequencies([("rain", count)])
