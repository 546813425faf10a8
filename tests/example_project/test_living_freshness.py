"""The freshness meter, against definitions that are too slow to use."""

from itertools import pairwise
from random import Random

import pytest
from living_site.freshness import (
    document_fetches,
    fetches_per_second,
    freshness_at,
    mean_freshness,
    most_in_any_second,
)
from living_site.parameters import Character, WorldParameters
from living_site.request_log import Entry
from living_site.world import World

START, END = 12.0, 60.0


@pytest.fixture(scope="module")
def world() -> World:
    characters = (Character.STRONG_ETAG, Character.MORTAL)
    return World(WorldParameters(seed=8, characters=characters, pages_per_host=9, mortal_share=0.8))


@pytest.fixture(scope="module")
def fetches(world):
    """Fetches at random times of random documents, in no order; one document is never fetched."""
    random = Random(2)
    return [(random.uniform(0.0, 70.0), random.choice(world.documents[:-1])) for _ in range(150)]


def fresh_by_definition(world, fetches, time):
    """Return the documents whose last copy has the version that the document has at `time`."""
    held = {}
    for fetched, page in sorted(fetches, key=lambda fetch: fetch[0]):
        if fetched <= time:
            held[page] = world.version_at(page, fetched)
    return [page for page, version in held.items() if version == world.version_at(page, time)]


def entry(page, *, time=1.0, status=200, method="GET", query=""):
    return Entry(
        time=time,
        answered=time + 0.25,
        host=page.host.address,
        method=method,
        path=page.path + query,
        status=status,
        conditional=status == 304,
        body_bytes=0,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_freshness_at_an_instant_follows_the_definition(world, fetches, weighted):
    total = sum(page.importance if weighted else 1 for page in world.documents)
    for time in range(0, 80, 3):
        fresh = fresh_by_definition(world, fetches, time)
        expected = sum(page.importance if weighted else 1 for page in fresh) / total

        assert freshness_at(world, fetches, time, weighted=weighted) == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_freshness_is_the_integral_of_the_definition(world, fetches, weighted):
    """Between two events nothing happens, so the definition in the middle holds for the whole of the gap."""
    events = {START, END, *(time for time, _ in fetches)}
    for page in world.documents:
        events.update(world.change_times(page, START, END))
    inside = sorted(time for time in events if START <= time <= END)
    total = sum(page.importance if weighted else 1 for page in world.documents)
    integral = 0.0
    for left, right in pairwise(inside):
        fresh = fresh_by_definition(world, fetches, (left + right) / 2)
        integral += (right - left) * sum(page.importance if weighted else 1 for page in fresh) / total

    measured = mean_freshness(world, fetches, START, END, weighted=weighted)
    assert measured == pytest.approx(integral / (END - START), abs=1e-12)


def test_mean_freshness_agrees_with_a_time_grid(world, fetches):
    step = 0.05
    steps = round((END - START) / step)
    grid = [START + (number + 0.5) * step for number in range(steps)]
    mean = sum(len(fresh_by_definition(world, fetches, time)) for time in grid) / steps / len(world.documents)

    # Each fetch and each change can be wrong by at most one step for one document.
    event_count = len(fetches) + sum(len(world.change_times(page, START, END)) for page in world.documents)
    bound = event_count * step / (END - START) / len(world.documents)
    assert abs(mean_freshness(world, fetches, START, END) - mean) < bound


def test_a_copy_that_was_never_made_is_stale(world):
    assert mean_freshness(world, [], START, END) == 0.0
    assert freshness_at(world, [], START) == 0.0


def test_a_copy_is_not_fresh_before_it_was_made(world):
    page = min(world.documents, key=lambda page: page.change_rate)
    fetches = [((START + END) / 2, page)]

    assert mean_freshness(world, fetches, START, END) == pytest.approx(0.5 / len(world.documents))
    assert mean_freshness(world, fetches, 0.0, START) == 0.0


def test_an_empty_stretch_of_time_has_no_freshness(world):
    with pytest.raises(ValueError, match="start must be before end"):
        mean_freshness(world, [], 5.0, 5.0)


def test_only_answers_that_show_a_document_are_fetches(world):
    page, other = world.documents[:2]
    root = world.pages[0]
    log = [
        entry(page, time=1.0),
        entry(page, time=2.0, status=304),
        entry(page, time=3.0, status=503),
        entry(page, time=4.0, method="HEAD"),
        entry(page, time=5.0, status=0),
        entry(root, time=6.0),
        entry(other, time=7.0, status=410),
        entry(other, time=8.0, query="?from=feed"),
    ]

    assert document_fetches(world, log) == [(1.25, page), (7.25, other), (8.25, other)]


def test_fetches_per_second_count_every_request_when_it_arrives(world):
    page = world.documents[0]
    log = [
        entry(page, time=time, status=status)
        for time, status in [(0.5, 200), (2.0, 304), (2.9, 0), (4.5, 200)]
    ]

    assert fetches_per_second(log, 0.0, 4.0) == [1, 0, 2, 0]
    assert fetches_per_second(log, 1.5, 4.0) == [1, 1, 0]


def test_the_busiest_second_may_begin_anywhere():
    random = Random(4)
    times = [random.uniform(0.0, 20.0) for _ in range(200)]
    brute_force = max(sum(begin <= time < begin + 1.0 for time in times) for begin in times)

    assert most_in_any_second(times) == brute_force
    assert most_in_any_second([]) == 0
