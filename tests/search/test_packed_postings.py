"""Postings of pages as bytes: what goes in comes out, and what is damaged harms nobody else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.search.packed import generation_of, pack, unpack, unpack_many

PAGES = st.tuples(
    st.dictionaries(st.integers(1, 2**31 - 1), st.integers(1, 65_535), max_size=20),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**31 - 1),
)


def packed(terms: dict[int, int], length: int, generation: int) -> bytes:
    ids = sorted(terms)
    tf = np.array([terms[number] for number in ids], np.uint16)
    return pack(np.array(ids, np.int64), tf, length, generation)


@given(st.lists(PAGES, max_size=6))
def test_pages_come_back_as_they_were(pages: list[tuple[dict[int, int], int, int]]) -> None:
    found = unpack_many([packed(*page) for page in pages])

    assert found.is_readable.all()
    assert found.length.tolist() == [length for _, length, _ in pages]
    assert found.generation.tolist() == [generation for *_, generation in pages]
    postings = zip(found.page.tolist(), found.term_id.tolist(), found.tf.tolist(), strict=True)
    assert list(postings) == [
        (number, term, terms[term]) for number, (terms, _, _) in enumerate(pages) for term in sorted(terms)
    ]
    for page in pages:
        assert generation_of(packed(*page)) == page[2]


@given(st.lists(st.binary(max_size=12), max_size=5))
def test_damage_stays_where_it_is(damaged: list[bytes]) -> None:
    good = packed({7: 1, 300: 2}, 50, 400)
    found = unpack_many([part for bad in damaged for part in (bad, good)])

    assert found.is_readable[1::2].all()
    assert found.term_id[np.isin(found.page % 2, [1])].tolist() == [7, 300] * len(damaged)
    for bad in damaged:
        alone = unpack(bad)
        assert generation_of(bad) == 0 or bad[:1] == b"\1"
        assert len(alone.term_id) == 0 or alone.is_readable.all()
