"""The set of links that were seen: exact, bounded in what it writes, and the same after a restart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.sources.keys import link_keys
from scrapy_freshness.sources.seen import SEGMENT_KEYS, SeenLinks

keys = st.lists(st.integers(0, 40) | st.integers(0, 2**64 - 1), max_size=30)


@given(batches=st.lists(keys, max_size=5), asked=keys, restarts=st.sets(st.integers(0, 4)))
def test_it_is_a_set_also_after_restarts(
    batches: list[list[int]], asked: list[int], restarts: set[int]
) -> None:
    seen, known, stored = SeenLinks(), set[int](), dict[int, bytes]()
    for number, batch in enumerate(batches):
        seen.add(batch)
        known.update(batch)
        stored.update(seen.take_changed())
        if number in restarts:
            seen = SeenLinks(stored.items())

    assert seen.unseen(np.array(asked, np.uint64)).tolist() == [key not in known for key in asked]
    assert len(seen) == len(known)
    assert seen.is_saved


def test_a_flush_writes_little_however_many_links_a_host_has() -> None:
    seen = SeenLinks()
    everything = np.random.default_rng(1).integers(0, 2**64, 50_000, np.uint64, endpoint=False)
    seen.add(everything.tolist())
    first = seen.take_changed()
    seen.add([1, 2, 3])
    later = seen.take_changed()

    assert sum(len(packed) for _, packed in first) == 8 * 50_000
    assert len(later) == 1
    assert len(later[0][1]) <= 8 * SEGMENT_KEYS
    assert seen.take_changed() == []


def test_what_is_written_twice_or_cut_off_does_no_harm() -> None:
    seen = SeenLinks()
    seen.add(range(10))
    ((number, packed),) = seen.take_changed()

    again = SeenLinks([(number, packed), (number + 1, packed[:20])])
    assert not again.unseen(np.arange(10, dtype=np.uint64)).any()
    assert len(again) == 10


def test_of_a_hundred_thousand_new_links_none_is_taken_for_a_known_one() -> None:
    known, new = (
        link_keys((f"http://a.example/{kind}/{number}" for number in range(100_000)), ()) for kind in "ab"
    )
    seen = SeenLinks()
    seen.add(known.tolist())

    assert seen.unseen(new).all()
    assert not seen.unseen(known).any()
