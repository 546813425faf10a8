"""The inverted index: after any number of updates what it would be had it been built from scratch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.search.postings import PostingColumns, Postings
from scrapy_freshness.search.workload import NO_TERMS, PageTerms

N_TERMS = 30


def terms_of(counts: dict[int, int], length: int | None = None) -> PageTerms:
    ordered = sorted(counts)
    return PageTerms(
        np.array(ordered, np.int32),
        np.array([counts[term] for term in ordered], np.uint16),
        sum(counts.values()) + 3 if length is None else length,
    )


def state(index: Postings) -> tuple[dict[int, dict[int, int]], list[int], int, int]:
    """All that an index says."""
    pages = {
        page: dict(zip(index.of(page).terms.tolist(), index.of(page).tf.tolist(), strict=True))
        for page in np.flatnonzero(index.lengths).tolist()
    }
    return pages, index.df.tolist(), index.size, len(index)


page_counts = st.dictionaries(st.integers(0, N_TERMS - 1), st.integers(1, 9), max_size=25)
updates = st.lists(st.tuples(st.integers(0, 12), st.one_of(page_counts, st.none())), max_size=40)


@given(updates)
def test_updates_leave_no_trace(changes: list[tuple[int, dict[int, int] | None]]) -> None:
    updated, scratch = Postings(N_TERMS), Postings(N_TERMS)
    present: dict[int, dict[int, int]] = {}
    for page, counts in changes:
        updated.replace(page, NO_TERMS if counts is None else terms_of(counts))
        present.pop(page, None)
        if counts is not None:
            present[page] = counts
    for page, counts in present.items():
        scratch.replace(page, terms_of(counts))

    assert state(updated) == state(scratch)
    assert state(updated)[0] == present
    assert updated.df.sum() == updated.size == sum(map(len, present.values()))


@given(updates)
def test_what_is_exported_can_be_imported(changes: list[tuple[int, dict[int, int] | None]]) -> None:
    index, copy, in_parts = (Postings(N_TERMS) for _ in range(3))
    for page, counts in changes:
        index.replace(page, NO_TERMS if counts is None else terms_of(counts))
    columns = index.columns()
    shuffled = np.random.default_rng(1).permutation(len(columns.page))
    copy.load(PostingColumns(*(column[shuffled] for column in columns)), index.lengths)
    for part in (slice(0, 6), slice(6, None)):
        lengths = np.zeros_like(index.lengths)
        lengths[part] = index.lengths[part]
        mine = lengths[columns.page] > 0
        in_parts.load(PostingColumns(*(column[mine] for column in columns)), lengths)

    assert state(copy) == state(index) == state(in_parts)
    chunks = list(index.chunks(7))
    assert sum(len(chunk.page) for chunk in chunks) == index.size
    if chunks:
        joined = [np.concatenate(each) for each in zip(*chunks, strict=True)]
        assert all(np.array_equal(one, other) for one, other in zip(joined, columns, strict=True))
    copy.replace(3, terms_of({1: 2}))
    assert state(copy)[0][3] == {1: 2}


@given(page_counts, page_counts)
def test_a_change_names_the_terms_that_are_there_more_or_less_often(
    old: dict[int, int], new: dict[int, int]
) -> None:
    index = Postings(N_TERMS)
    index.replace(0, terms_of(old, 100))
    change = index.replace(0, terms_of(new, 105))

    assert change.length == (100, 105)
    assert {
        term: (before, after)
        for term, before, after in zip(change.terms.tolist(), *change.tf.tolist(), strict=True)
    } == {
        term: (old.get(term, 0), new.get(term, 0))
        for term in old.keys() | new.keys()
        if old.get(term, 0) != new.get(term, 0)
    }


def test_a_page_that_grew_much_has_changed_in_all_its_terms() -> None:
    index = Postings(N_TERMS)
    index.replace(0, terms_of({1: 1, 2: 2}, 100))

    assert index.replace(0, terms_of({1: 1, 2: 2}, 111)).terms.tolist() == [1, 2]


def test_places_that_become_free_are_taken_again() -> None:
    rng = np.random.default_rng(4)
    index = Postings(400)
    for _ in range(5000):
        count = int(rng.integers(1, 200))
        terms = np.sort(rng.choice(400, count, replace=False)).astype(np.int32)
        index.replace(int(rng.integers(100)), PageTerms(terms, np.ones(count, np.uint16), count))

    assert index.bytes < 100 * 200 * 6 * 2 + 100_000


def test_a_page_that_is_there_is_not_loaded_again() -> None:
    index = Postings(N_TERMS)
    index.replace(0, terms_of({1: 1}))

    with pytest.raises(ValueError, match="already"):
        index.load(index.columns(), index.lengths.copy())


def test_postings_of_a_page_without_a_length_are_refused() -> None:
    columns = PostingColumns(np.array([2]), np.array([1], np.int32), np.array([1], np.uint16))

    for lengths in (np.array([5, 0, 0]), np.array([5])):
        with pytest.raises(ValueError, match="without a length"):
            Postings(N_TERMS).load(columns, lengths)


def test_a_page_that_was_never_indexed_has_no_terms() -> None:
    assert Postings(N_TERMS).of(10**6) == NO_TERMS
    assert state(Postings(0)) == ({}, [], 0, 0)
