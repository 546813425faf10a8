"""The terms that are asked for, found on pages."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.content.shingles import words
from scrapy_freshness.content.terms import term_frequencies
from scrapy_freshness.search.workload import MAX_TF, Workload

TEXTS = st.lists(
    st.sampled_from(["rain", "Tokyo", "café", "東", "京", "of", "🍕", "7", "straße"]), max_size=60
).map(" ".join)


@given(TEXTS, st.sets(st.sampled_from(["rain", "tokyo", "café", "東", "🍕", "snow"])))
def test_terms_are_counted(text: str, asked: set[str]) -> None:
    workload = Workload.of(dict.fromkeys(asked, 1.0))
    found = workload.terms_in(text)
    counted = Counter(words(text))

    assert {workload.terms[n]: c for n, c in zip(found.terms, found.tf, strict=True)} == {
        term: counted[term] for term in asked if counted[term]
    }
    assert found.length == counted.total()
    assert np.all(np.diff(found.terms) > 0)


def test_every_term_keeps_its_frequency() -> None:
    frequencies = term_frequencies((f"term{n} shared", n + 1) for n in range(1000))
    workload = Workload.of(frequencies)

    assert len(workload) == 1001
    assert dict(zip(workload.terms, workload.frequency.tolist(), strict=True)) == frequencies
    for term in ("shared", "term0", "term999"):
        number = workload.number(term)
        assert number is not None
        assert workload.terms[number] == term
    assert workload.number("nobody") is None


def test_nothing_is_found_where_nothing_is_asked_for_or_written() -> None:
    nothing, something = Workload.of({}), Workload.of({"rain": 1.0})

    assert len(nothing.terms_in("It rains").terms) == 0
    assert something.terms_in("").length == 0


def test_a_term_that_is_repeated_without_end_is_counted_to_the_limit() -> None:
    found = Workload.of({"rain": 1.0}).terms_in("rain " * (MAX_TF + 10))

    assert found.tf.tolist() == [MAX_TF]
    assert found.length == MAX_TF + 10


@pytest.mark.parametrize("term", ["two words", "", "..."])
def test_what_is_not_one_word_is_no_term(term: str) -> None:
    with pytest.raises(ValueError, match="one word"):
        Workload.of({term: 1.0})


def test_the_same_term_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="every term once"):
        Workload.of({"rain": 1.0, "RAIN": 2.0})
