"""Change profiles: what is observed, kept and stored."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.content.profiles import Profile, observe, pack, unpack
from scrapy_freshness.content.sketch import divergence, sketch

DAY = 86_400.0
START = 1_700_000_000.0
LIMITS = {"max_profiles": 5, "max_observations": 12, "size": 64}


def version(*fragments: int) -> np.ndarray:
    return np.array(sorted(fragments), np.uint32)


def walk(versions, *, start=START, step=DAY, **limits) -> tuple[Profile, ...]:
    profiles: tuple[Profile, ...] = ()
    for number, found in enumerate(versions):
        profiles = observe(profiles, start + number * step, found, **{**LIMITS, **limits})
    return profiles


def pairs(profile: Profile) -> list[tuple[float, float]]:
    return list(zip(profile.elapsed.tolist(), profile.divergence.round(6).tolist(), strict=True))


def bounds(elapsed, moved, times):
    """Lower and upper bound of the divergence (section 4.3), at times up to the last observation."""
    elapsed, moved = np.append(0, elapsed), np.append(0, moved)
    return moved[np.searchsorted(elapsed, times, "right") - 1], moved[np.searchsorted(elapsed, times, "left")]


VERSIONS = st.lists(st.sets(st.integers(0, 12), min_size=1).map(lambda found: version(*found)), max_size=25)
GROWING = st.lists(st.integers(0, 3), min_size=1, max_size=40).map(np.cumsum)


def test_the_example_of_the_paper():
    """(10, 0), (12, 0.2), (15, 0.2), (23, 0.3): times since the base 2, 5, 13."""
    base = version(*range(20))
    profiles = observe((), 10.0, base, **LIMITS)
    for now, replaced in (12.0, 2), (15.0, 2), (23.0, 3):
        found = version(*range(replaced, 20), *range(100, 100 + replaced))
        profiles = observe(profiles, now, found, **LIMITS)

    assert profiles[0].base_at == 10.0
    assert profiles[0].elapsed.tolist() == [2.0, 5.0, 13.0]
    assert profiles[0].divergence == pytest.approx(np.array([4 / 22, 4 / 22, 6 / 23]))
    assert [profile.base_at for profile in profiles] == [10.0, 12.0, 23.0]


def test_the_first_visit_opens_a_profile_without_observations():
    (profile,) = walk([version(1, 2, 3)])

    assert profile.base_at == START
    assert profile.sketch.tolist() == [1, 2, 3]
    assert pairs(profile) == []


def test_a_version_seen_before_opens_no_profile():
    profiles = walk([version(1), version(2), version(1), version(2)])

    assert [profile.base_at for profile in profiles] == [START, START + DAY]
    assert pairs(profiles[0]) == [(DAY, 1.0), (2 * DAY, 0.0), (3 * DAY, 1.0)]
    assert pairs(profiles[1]) == [(DAY, 1.0), (2 * DAY, 0.0)]


def test_the_oldest_profiles_go_first():
    profiles = walk([version(number) for number in range(9)], max_profiles=3)

    assert [profile.sketch.tolist() for profile in profiles] == [[6], [7], [8]]


def test_an_unchanging_page_has_one_observation():
    profiles = walk([version(1, 2)] * 50)

    assert pairs(*profiles) == [(49 * DAY, 0.0)]


@given(VERSIONS)
def test_visits_that_find_nothing_changed_need_not_be_noted_one_by_one(versions):
    limits = {**LIMITS, "max_observations": 1000}
    each: tuple[Profile, ...] = ()
    last: tuple[Profile, ...] = ()
    seen_at = None
    for number, found in enumerate(versions):
        now = START + number * DAY
        each = observe(each, now, found, **limits)
        last = observe(last, now, found, unchanged_until=seen_at, **limits)
        assert list(map(pairs, last)) == list(map(pairs, each))
        for seen_at in (now + DAY / 3, now + DAY / 2):
            each = observe(each, seen_at, found, **limits)


@given(VERSIONS, st.integers(1, 6))
def test_bases_are_different_and_every_profile_knows_the_last_visit(versions, max_profiles):
    profiles = walk(versions, max_profiles=max_profiles)

    assert len(profiles) <= max_profiles
    assert [profile.base_at for profile in profiles] == sorted(profile.base_at for profile in profiles)
    for one, other in pairwise(profiles):
        assert divergence(one.sketch, other.sketch, 64) > 0
    for profile in profiles:
        last = START + (len(versions) - 1) * DAY
        assert (np.diff(profile.elapsed) > 0).all()
        if profile.base_at < last:
            assert profile.elapsed[-1] == last - profile.base_at
            assert profile.divergence[-1] == np.float32(divergence(profile.sketch, versions[-1], 64))


@given(GROWING)
def test_leaving_out_the_middle_of_a_flat_run_does_not_move_the_bounds(replaced):
    everything = [version(*range(count, 200 + count)) for count in (0, *replaced)]
    profile = walk(everything, step=1.0, max_profiles=1000, max_observations=1000, size=1000)[0]
    full = [divergence(everything[0], found, 1000) for found in everything[1:]]
    times = np.arange(1, 4 * len(full) + 1) / 4

    kept = bounds(profile.elapsed, profile.divergence, times)
    assert kept == pytest.approx(np.array(bounds(np.arange(1, len(full) + 1), full, times)), abs=1e-6)
    for before, middle, after in zip(full, full[1:], full[2:], strict=False):
        if before == middle == after:
            assert profile.elapsed.size < len(full)


@given(GROWING, st.integers(2, 6))
def test_thinning_keeps_the_ends_and_widens_the_bounds_least(replaced, most):
    everything = [version(*range(count, 200 + count)) for count in (0, *replaced)]
    profiles = walk(everything, step=1.0, max_profiles=1000, max_observations=1000, size=1000)[:1]
    full = profiles[0]
    limits = {"max_profiles": 1000, "max_observations": most, "size": 1000}
    thin, *_ = observe(profiles, full.base_at + len(replaced), everything[-1], **limits)

    assert thin.elapsed.size == min(full.elapsed.size, most)
    assert thin.elapsed[[0, -1]].tolist() == full.elapsed[[0, -1]].tolist()
    assert set(pairs(thin)) <= set(pairs(full))
    if full.elapsed.size == most + 1:
        choices = [
            np.delete(np.stack((full.elapsed, full.divergence)), gone, axis=1) for gone in range(1, most)
        ]
        assert gap(thin.elapsed, thin.divergence) <= min(gap(*choice) for choice in choices) + 1e-5


def gap(elapsed, moved) -> float:
    """Area between the bounds."""
    return float(np.diff(elapsed, prepend=0) @ np.diff(moved, prepend=0))


def test_a_clock_that_was_set_back_drops_what_lies_in_the_future():
    profiles = walk([version(1), version(1, 2), version(1, 2, 3), version(1, 2, 3, 4)])
    profiles = observe(profiles, START + 1.5 * DAY, version(1, 2), **LIMITS)

    assert pairs(profiles[0]) == [(DAY, 0.5), (1.5 * DAY, 0.5)]
    assert pairs(profiles[3]) == []


def test_a_smaller_sketch_of_old_is_compared_at_its_size():
    rng = np.random.default_rng(3)
    values = rng.integers(2**32, size=1000, dtype=np.uint32)
    old = observe((), START, sketch(values, 16), **{**LIMITS, "size": 16})
    (profile,) = observe(old, START + DAY, sketch(values, 64), **LIMITS)

    assert pairs(profile) == [(DAY, 0.0)]


@given(VERSIONS, st.integers(1, 64))
def test_profiles_survive_storage(versions, size):
    profiles = walk([found[:size] for found in versions], start=START + 1 / 3, size=size)
    again = unpack(pack(profiles))

    assert len(again) == len(profiles)
    for stored, profile in zip(again, profiles, strict=True):
        assert (stored.base_at, stored.size) == (profile.base_at, profile.size)
        for name in ("sketch", "elapsed", "divergence"):
            assert getattr(stored, name).tolist() == getattr(profile, name).tolist()
            assert getattr(stored, name).dtype == getattr(profile, name).dtype
    assert pack(again) == pack(profiles)


def test_an_empty_version_survives_storage():
    (profile,) = unpack(pack(walk([version()])))

    assert profile.sketch.size == 0


def test_the_stored_form_is_the_same_for_ever():
    profiles = walk([version(1, 2), version(2, 3)], start=1000.0, step=1.0)

    assert pack(profiles).hex() == (
        "01027b2221f303000000010000000200000003000000c0600000000000408f40400001000000803f"
        "abaa2a3f0000000000488f4040000000"
    )
    assert unpack(b"") == ()


def test_five_similar_bases_take_less_room_than_two_apart():
    rng = np.random.default_rng(4)
    values = rng.integers(2**32, size=1000, dtype=np.uint32)
    versions = []
    for _ in range(5):
        values = values.copy()
        values[rng.integers(1000, size=50)] = rng.integers(2**32, size=50, dtype=np.uint32)
        versions.append(sketch(values, 64))

    assert len(pack(walk(versions))) < 2 * 4 * 64 + 5 * 40


@given(st.data())
def test_damaged_bytes_are_refused(data):
    packed = bytearray(pack(walk([version(1, 2), version(2, 3), version(3, 4)])))
    if data.draw(st.booleans()):
        damaged = packed[: data.draw(st.integers(1, len(packed) - 1))]
    else:
        place = data.draw(st.integers(6, len(packed) - 1).filter(lambda place: not 6 <= place < 10))
        packed[place] ^= data.draw(st.integers(1, 255))
        damaged = packed
    with pytest.raises(ValueError, match="change profiles are damaged"):
        unpack(bytes(damaged))


def test_another_version_is_refused_by_name():
    with pytest.raises(ValueError, match="version 99 cannot be read, only of version 1"):
        unpack(b"\x63" + pack(walk([version(1)]))[1:])


@given(st.binary(min_size=1, max_size=200))
def test_what_was_never_packed_is_refused(packed):
    with pytest.raises(ValueError, match="change profiles"):
        unpack(packed)


@pytest.mark.parametrize(
    ("limits", "message"), [({"max_profiles": 0}, "one profile"), ({"max_observations": 1}, "two obs")]
)
def test_limits_that_keep_nothing_are_refused(limits, message):
    with pytest.raises(ValueError, match=message):
        walk([version(1), version(2)], **limits)
