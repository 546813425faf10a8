"""The index of known pages is a dict in few bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_freshness.planning.fingerprints import FingerprintIndex

LEAST, MOST = -(2**63), 2**63 - 1
#: First and last fingerprints of buckets, of either sign.
edges = st.builds(
    lambda bucket, offset: max(LEAST, min(MOST, (bucket << 52) + offset)),
    st.integers(-2048, 2048),
    st.integers(-2, 2),
)
fingerprints = st.one_of(st.integers(LEAST, MOST), edges, st.integers(-5, 5))
rows = st.integers(0, 2**31 - 1)


@settings(max_examples=40)  # an empty index has 8,192 arrays
@given(known=st.lists(fingerprints, unique=True), added=st.lists(st.tuples(fingerprints, rows)))
def test_it_maps_as_a_dict_does(known: list[int], added: list[tuple[int, int]]) -> None:
    index, expected = FingerprintIndex(), {number: row for row, number in enumerate(known)}
    index.fill(np.array(known, np.int64))
    for fingerprint, row in added:
        index.add(fingerprint, row)
        expected[fingerprint] = row

        assert index.get(fingerprint) == row

    assert len(index) == len(expected)
    assert {number: index.get(number) for number in expected} == expected


@settings(max_examples=40)
@given(known=st.lists(fingerprints, unique=True), others=st.lists(fingerprints))
def test_what_was_not_added_is_not_known(known: list[int], others: list[int]) -> None:
    filled, grown = FingerprintIndex(), FingerprintIndex()
    filled.fill(np.array(known, np.int64))
    for row, number in enumerate(known):
        grown.add(number, row)

    for number in set(others) - set(known):
        assert filled.get(number) is None
        assert grown.get(number) is None


@pytest.mark.parametrize("fingerprint", [LEAST, -1, 0, 1, MOST, (1 << 52) - 1, 1 << 52, -(1 << 52)])
def test_both_ends_and_the_edges_of_buckets(fingerprint: int) -> None:
    index = FingerprintIndex()
    index.add(fingerprint, 7)

    assert index.get(fingerprint) == 7
    assert index.get(fingerprint ^ 1) is None


def test_many_random_fingerprints_are_found_again() -> None:
    rng = np.random.default_rng(1)
    known = rng.integers(LEAST, MOST, 50_000)
    index = FingerprintIndex()
    index.fill(known)

    assert [index.get(int(number)) for number in known[::100]] == list(range(0, 50_000, 100))
    assert len(index) == 50_000
