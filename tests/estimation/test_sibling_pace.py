"""What visits to siblings found, as the pace at which time passes for a page."""

import struct

import numpy as np
import pytest

from scrapy_freshness.estimation.sibling_pace import SiblingPaces


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def random_visits(rng, count=400, pages=20, gap=1.0):
    """Visits to pages of one group in the order of time: page, begin, end, whether changed, expected."""
    last = np.zeros(pages)
    found = []
    for number in range(count):
        page, now = int(rng.integers(pages)), (number + 1) * gap
        found.append((page, last[page], now, rng.random() < 0.4, rng.random()))
        last[page] = now
    return found, last


def watched(visits, group=3, at_once=1):
    paces = SiblingPaces()
    for first in range(0, len(visits), at_once):
        page, begin, end, changed, expected = map(
            np.array, zip(*visits[first : first + at_once], strict=True)
        )
        paces.observe(np.full(len(page), group), page, begin, end, changed, expected)
    return paces


def brute_force(visits, since):
    """The pace by its definition, over all visits."""
    seen = came = 0.0
    for _, begin, end, changed, expected in visits:
        share = max(end - max(begin, since), 0.0) / (end - begin)
        seen += share * changed
        came += share * expected
    return np.sqrt((1 + seen) / (1 + came))


@pytest.mark.parametrize("at_once", [1, 7])
def test_the_pace_is_that_of_the_definition(rng, at_once) -> None:
    visits, last = random_visits(rng)
    paces = watched(visits, at_once=at_once)

    # The mean wait is about 20. Nothing older than four of them is remembered for certain, and over the last
    # quarter of one there is a straight line: pages that were visited then are not due again soon.
    recent = last[(last > len(visits) - 60) & (last < len(visits) - 10)]
    found = paces.paces(np.full(len(recent), 3), recent)

    assert len(recent) > 5
    assert found == pytest.approx([brute_force(visits, since) for since in recent], rel=0.05)


def test_a_burst_makes_those_old_who_have_not_been_visited_since() -> None:
    quiet = [(page, 0.0, 10.0 + page, False, 0.1) for page in range(10)]
    burst = [(page, 10.0 + page, 30.0 + page, True, 0.1) for page in range(5)]
    paces = watched(quiet + burst)

    before, within, after = paces.paces(np.full(3, 3), np.array([12.0, 25.0, 34.0]))

    assert before > within > after == pytest.approx(1, abs=0.15)
    assert before > 1.5


def test_siblings_at_rest_slow_time_down() -> None:
    paces = watched([(page, 0.0, 10.0 + page, False, 0.9) for page in range(10)])

    assert paces.paces(np.array([3]), np.array([0.0])) < 0.5


def test_a_page_without_siblings_has_no_pace() -> None:
    paces = watched([(1, float(time), time + 1.0, True, 0.1) for time in range(20)])

    assert not paces.have_pace(np.array([3])).any()
    assert paces.paces(np.array([3, 4]), np.array([5.0, 5.0])).tolist() == [1, 1]
    assert paces.pack(3) is None


def test_a_page_that_was_never_visited_has_no_pace(rng) -> None:
    paces = watched(random_visits(rng)[0])

    assert paces.paces(np.array([3]), np.array([np.nan])) == 1


def test_groups_beyond_the_limit_are_left_out() -> None:
    paces = SiblingPaces(max_groups=1)
    for group in (0, 1):
        for page in (1, 2):
            paces.observe(*map(np.array, ([group], [page], [0.0], [9.0], [True], [0.1])))

    assert paces.have_pace(np.array([0, 1])).tolist() == [True, False]


def test_what_is_packed_is_known_again(rng) -> None:
    visits, last = random_visits(rng)
    paces, restored = watched(visits), SiblingPaces()

    restored.unpack({8: paces.pack(3)})

    assert restored.paces(np.full(20, 8), last) == pytest.approx(paces.paces(np.full(20, 3), last))
    assert restored.pack(8) == paces.pack(3)


@pytest.mark.parametrize("state", [b"", b"x" * 7, b"\xff" * 288, b"\0" * 288])
def test_what_cannot_be_read_is_left_out(state) -> None:
    paces = SiblingPaces()
    paces.unpack({0: state})

    assert paces.paces(np.array([0]), np.array([1.0])) == 1


def test_a_long_silence_forgets(rng) -> None:
    visits, _ = random_visits(rng)
    later = [(page, 1e6, 1e6 + 1.0 + page, False, 0.0) for page in range(2)]

    assert watched(visits + later).paces(np.array([3]), np.array([399.0])) == pytest.approx(1, abs=0.05)


def test_the_sums_of_a_very_large_host_do_not_drift() -> None:
    """Where every fifth visit finds a change, as expected, time passes as it does, however many there are."""
    paces, so_far, count = SiblingPaces(), 5e6, 10_000
    paces.unpack({0: struct.pack("<ddd66f", 0.0, 1.0, 4.0, *(so_far,) * 66)})
    for _ in range(10):
        paces.observe(
            np.zeros(count, np.intp),
            np.arange(count),
            np.full(count, 20.0),
            np.full(count, 24.0),
            np.arange(count) % 5 == 0,
            np.full(count, 0.2),
        )

    assert paces.paces(np.array([0]), np.array([3.0])) == pytest.approx(1.0, abs=1e-6)


def test_of_many_groups_those_are_taken_over_that_can_be_read_and_have_room(rng) -> None:
    state = watched(random_visits(rng)[0]).pack(3)
    paces = SiblingPaces(max_groups=20)

    paces.unpack({group: state if group % 2 else state[::-1] for group in range(60)})

    assert paces.have_pace(np.arange(60)).nonzero()[0].tolist() == list(range(1, 40, 2))
    assert {paces.pack(group) for group in range(1, 40, 2)} == {state}
