"""The world of the living site: seeded, true to its rates, and a pure function of time."""

import math
import re
from itertools import pairwise

import pytest
from living_site.model import MAGAZINE, NOTICE, RIVER, TICKER, Document, Hub, Section
from living_site.parameters import Character, WorldParameters, characters_for
from living_site.text import churn_text, scroll_items, static_text
from living_site.world import World

HORIZON_SECONDS = 400.0


@pytest.fixture(scope="module")
def world() -> World:
    return World(WorldParameters(seed=3))


def words(paragraphs: list[str]) -> int:
    return sum(len(paragraph.split()) for paragraph in paragraphs)


def pages_of_kind(world: World, kind: type, character: Character | None = None) -> list:
    return [
        page for page in world.pages if isinstance(page, kind) and character in (None, page.host.character)
    ]


def test_the_default_world_is_large_enough_for_the_acceptance_tests(world):
    assert len(world.hosts) >= 24
    assert len(world.documents) >= 600
    assert {host.character for host in world.hosts} == set(Character)


def test_a_large_world_has_an_address_for_every_host():
    world = World(WorldParameters(characters=characters_for(300), pages_per_host=1))

    assert len({host.address for host in world.hosts}) == 300
    assert all(host.address.startswith("127.") for host in world.hosts)


def test_the_history_does_not_depend_on_the_port_or_on_the_order_of_the_questions(world):
    again = World(WorldParameters(seed=3), port=1234)
    for page, same in zip(world.pages, again.pages, strict=True):
        late_first = [again.version_at(same, time) for time in (HORIZON_SECONDS, 50.0, 0.0)]

        assert late_first[::-1] == [world.version_at(page, time) for time in (0.0, 50.0, HORIZON_SECONDS)]
        assert again.change_times(same, 10.0, 90.0) == world.change_times(page, 10.0, 90.0)
        assert again.changed_at(same, 20.0) == world.changed_at(page, 20.0)


def test_another_seed_is_another_history(world):
    other = World(WorldParameters(seed=4))

    assert [page.change_rate for page in other.documents] != [page.change_rate for page in world.documents]
    assert [other.version_at(page, 100.0) for page in other.documents] != [
        world.version_at(page, 100.0) for page in world.documents
    ]


def test_change_rates_are_log_uniform_over_more_than_two_and_a_half_decades(world):
    parameters = world.parameters
    low, high = math.log(parameters.slowest_change_rate), math.log(parameters.fastest_change_rate)
    positions = [(math.log(page.change_rate) - low) / (high - low) for page in world.documents]

    assert min(positions) >= 0
    assert max(positions) <= 1
    assert (max(positions) - min(positions)) * (high - low) > 2.5 * math.log(10)
    standard_error = math.sqrt(1 / 12 / len(positions))
    assert abs(sum(positions) / len(positions) - 0.5) < 3 * standard_error
    assert world.total_change_rate == pytest.approx(sum(page.change_rate for page in world.documents))


def test_change_counts_agree_with_the_rates(world):
    immortal = [page for page in world.documents if page.absence is None]
    counts = [len(world.change_times(page, 0.0, HORIZON_SECONDS)) for page in immortal]
    expected = [page.change_rate * HORIZON_SECONDS for page in immortal]

    assert abs(sum(counts) - sum(expected)) < 3 * math.sqrt(sum(expected))
    # Poisson counts: squared deviations in units of the variance average to 1, each with a variance of
    # 2 + 1/mean.
    squares = [(count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True)]
    standard_error = math.sqrt(sum(2 + 1 / mean for mean in expected)) / len(squares)
    assert abs(sum(squares) / len(squares) - 1) < 3 * standard_error


def test_versions_count_the_changes(world):
    for page in world.pages:
        times = world.change_times(page, 0.0, 120.0)
        before = world.version_at(page, 0.0)

        assert all(earlier < later for earlier, later in pairwise(times))
        assert [world.version_at(page, time) - before for time in times] == list(range(1, len(times) + 1))
        assert world.next_change(page, 0.0) > 0
        if times:
            assert world.next_change(page, 0.0) == times[0]
            assert world.changed_at(page, times[-1]) == times[-1]


def test_a_page_that_has_not_changed_is_older_than_the_site(world):
    page = min(world.documents, key=lambda page: page.change_rate)

    assert world.version_at(page, 1.0) == 0
    assert world.changed_at(page, 1.0) < 0


def test_importance_has_mean_one(world):
    values = [page.importance for page in world.documents]

    standard_error = math.sqrt((math.e - 1) / len(values))
    assert abs(sum(values) / len(values) - 1) < 3 * standard_error


@pytest.mark.parametrize("layout", [NOTICE, TICKER, MAGAZINE, RIVER])
def test_regions_stay_churn_or_scroll_as_their_layout_says(world, layout):
    page = next(page for page in world.documents if page.layout is layout)

    assert words(static_text(3, page)) == layout.static_words
    for version in range(4):
        old, new = churn_text(3, page, version), churn_text(3, page, version + 1)
        assert words(old) == words(new) == layout.churn_words
        assert not set(old) & set(new)
        old_items = [quote.text for quote in scroll_items(3, page, version)]
        new_items = [quote.text for quote in scroll_items(3, page, version + 1)]
        assert len(old_items) == len(new_items) == layout.scroll_items
        assert new_items[1:] == old_items[:-1]


def test_each_change_of_a_document_updates_exactly_one_region(world):
    for page in world.documents[:60]:
        if page.absence is None:
            for time in world.change_times(page, 0.0, 60.0):
                just_before = math.nextafter(time, 0.0)
                churned, scrolled = world.region_versions(page, time)
                before = world.region_versions(page, just_before)
                assert (churned - before[0]) + (scrolled - before[1]) == 1


def test_mortal_documents_die_and_some_come_back(world):
    mortal = [page for page in pages_of_kind(world, Document, Character.MORTAL) if page.absence]
    assert {page.absence.status for page in mortal} == {404, 410}
    assert {page.absence.end < math.inf for page in mortal} == {True, False}
    for page in mortal:
        start, end = page.absence.start, page.absence.end

        assert world.status_at(page, math.nextafter(start, 0)) == 200
        assert world.status_at(page, start) == page.absence.status
        assert start in world.change_times(page, 0.0, start)
        assert world.next_change(page, start) == end
        if end < math.inf:
            assert world.status_at(page, end) == 200
            before, after = world.region_versions(page, start), world.region_versions(page, end)
            assert sum(after) > sum(before)


def test_a_list_of_documents_changes_when_one_dies_or_comes_back(world):
    for section in pages_of_kind(world, Section, Character.MORTAL):
        absences = [page.absence for page in section.documents if page.absence]
        edges = sorted(edge for absence in absences for edge in (absence.start, absence.end) if edge < 1000)

        assert world.change_times(section, 0.0, 1000.0) == edges


def test_posts_appear_leave_the_hub_and_die(world):
    hubs = pages_of_kind(world, Hub)
    assert hubs
    for hub in hubs:
        posts = world.posts_born(hub, 0.0, HORIZON_SECONDS)
        expected = hub.posts_per_second * HORIZON_SECONDS
        assert abs(len(posts) - expected) < 3 * math.sqrt(expected)
        for post in posts:
            assert post in world.posts_listed(hub, post.born)
            assert post not in world.posts_listed(hub, post.delisted)
            assert world.post(post.host.address, post.path, post.born) is post
            assert world.post(post.host.address, post.path, math.nextafter(post.born, 0)) is None
            assert world.status_at(post, post.born) == 200
            assert world.status_at(post, post.dead) == 410
            assert post.delisted < post.dead


def test_a_hub_changes_when_its_list_does(world):
    for hub in pages_of_kind(world, Hub):
        lists = {world.version_at(hub, time): world.posts_listed(hub, time) for time in range(0, 200, 3)}
        for (_, old), (_, new) in pairwise(lists.items()):
            assert old != new


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pages_per_host", 0),
        ("characters", ()),
        ("slowest_change_rate", 0.0),
        ("fastest_change_rate", 0.0001),
        ("fastest_change_rate", math.nan),
        ("lie_share", 1.5),
        ("slow_seconds", -1.0),
        ("mean_life_seconds", 0.0),
        ("post_life_seconds", 1.0),
    ],
)
def test_numbers_that_make_no_world_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=re.escape(name)):
        WorldParameters(**{name: value})
