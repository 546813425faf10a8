"""Change profiles: how far a page has moved away from earlier versions of itself.

Olston and Pandey, Recrawl scheduling based on information longevity, WWW 2008, section 4.1: a profile is a
base version and a sequence of pairs (time since the base, divergence from the base); up to h profiles
with different bases are kept.
"""

import struct
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_freshness.content.shingles import distinct
from scrapy_freshness.content.sketch import divergence

_VERSION = 1
_HEADER = struct.Struct("<BBII")  # version, profiles, checksum of the rest, fragments in the pool
_PROFILE = struct.Struct("<dHH")  # base_at, size, observations; then bits of the pool and both columns


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One base version and the observations made since; the base's own (0, 0) is implied."""

    base_at: float  #: unix seconds
    sketch: NDArray[np.uint32]  #: of the base version
    size: int  #: what the sketch was limited to; a shorter one has all fragments of the base
    elapsed: NDArray[np.float32]  #: seconds since the base, ascending
    divergence: NDArray[np.float32]  #: from the base, 0 to 1, one for each time


def observe(
    profiles: tuple[Profile, ...],
    now: float,
    sketch: NDArray[np.uint32],
    *,
    max_profiles: int,
    max_observations: int,
    size: int,
    unchanged_until: float | None = None,
) -> tuple[Profile, ...]:
    """Profiles after a visit that found the version with this sketch, newest base last.

    The paper opens a profile at every refresh. Here it is opened only if the version differs from every
    kept base: a second profile of the same version would repeat the observations of the first. When
    there are more than ``max_profiles``, the oldest go.

    A run of equal divergences is kept as its first and last observation (a run of zeros begins with
    the implied base). For the bounds of section 4.3 that loses nothing: between two equal observations
    the upper and the lower bound coincide, with or without others in between. The same holds for
    every fit that weighs an observation by the time it stands for. It does not hold for plain least
    squares over the pairs (section 4.2): there a plateau of many visits counts as two.

    Beyond ``max_observations`` the one goes, neither the first nor the last, without which the area
    between the bounds, the sum of (step in time) * (step in divergence), grows least.

    Parameters
    ----------
    now : unix seconds; observations that are not earlier (the clock was set back) are dropped
    sketch : of the version found, made with ``size``
    max_profiles : h, at least 1
    max_observations : kept per profile, at least 2
    size : m; bases whose sketches were made with a smaller one are compared at theirs
    unchanged_until : unix seconds of the last visit that found the version before this one; visits that
        find nothing changed need not be noted one by one

    Examples
    --------
    >>> first, second = np.array([1, 2, 3, 4], np.uint32), np.array([2, 3, 4, 5], np.uint32)
    >>> limits = {"max_profiles": 5, "max_observations": 12, "size": 64}
    >>> profiles = observe((), 1000.0, first, **limits)
    >>> profiles = observe(profiles, 1010.0, second, **limits)
    >>> profiles[0].elapsed.tolist(), profiles[0].divergence.round(2).tolist()
    ([10.0], [0.4000000059604645])
    >>> profiles[1].base_at, profiles[1].elapsed.tolist()
    (1010.0, [])
    """
    if max_profiles < 1:
        raise ValueError(f"at least one profile must be kept, got {max_profiles}")
    if max_observations < 2:
        raise ValueError(f"at least two observations must be kept, got {max_observations}")
    moved = [divergence(profile.sketch, sketch, min(size, profile.size)) for profile in profiles]
    kept = tuple(
        _extended(profile, now, moved_by, unchanged_until, max_observations)
        for profile, moved_by in zip(profiles, moved, strict=True)
    )
    if all(moved):
        nothing = np.empty(0, np.float32)
        kept += (Profile(now, sketch[:size].copy(), size, nothing, nothing),)
    return kept[-max_profiles:]


def pack(profiles: tuple[Profile, ...]) -> bytes:
    """Profiles as bytes; no profiles are no bytes.

    Successive versions share most of their fragments, so those of all bases are stored once, with one bit
    per base that says whether it has the fragment. Numbers are little-endian; the rest is checksummed.

    >>> pack(())
    b''
    """
    if not profiles:
        return b""
    sketches = [profile.sketch for profile in profiles]
    fragments = np.concatenate(sketches)
    pool = distinct(fragments)
    has = np.zeros((len(profiles), pool.size), bool)
    has[
        np.repeat(np.arange(len(profiles)), [base.size for base in sketches]), pool.searchsorted(fragments)
    ] = 1
    parts = [pool.astype("<u4").tobytes(), np.packbits(has, axis=1).tobytes()]
    for profile in profiles:
        parts += (
            _PROFILE.pack(profile.base_at, profile.size, profile.elapsed.size),
            profile.elapsed.astype("<f4").tobytes(),
            profile.divergence.astype("<f4").tobytes(),
        )
    body = b"".join(parts)
    return _HEADER.pack(_VERSION, len(profiles), xxhash.xxh32_intdigest(body), pool.size) + body


@lru_cache(maxsize=64)  # a visit compares with the profiles that it will be added to
def unpack(packed: bytes) -> tuple[Profile, ...]:
    """Profiles from what :func:`pack` made of them.

    Raises
    ------
    ValueError
        The bytes are damaged or of a later version.
    """
    if not packed:
        return ()
    if packed[0] != _VERSION:
        raise ValueError(f"change profiles of version {packed[0]} cannot be read, only of version {_VERSION}")
    body = packed[_HEADER.size :]
    if len(packed) < _HEADER.size or xxhash.xxh32_intdigest(body) != _HEADER.unpack_from(packed)[2]:
        raise ValueError(f"change profiles are damaged: {len(packed)} bytes do not match their checksum")
    _, count, _, fragments = _HEADER.unpack_from(packed)
    pool = np.frombuffer(body, "<u4", fragments).astype(np.uint32)
    row_bytes = -(-fragments // 8)
    bits = np.frombuffer(body, np.uint8, count * row_bytes, pool.nbytes).reshape(count, row_bytes)
    position = pool.nbytes + bits.nbytes
    profiles = []
    for has in np.unpackbits(bits, axis=1, count=fragments).view(bool):
        base_at, size, observations = _PROFILE.unpack_from(body, position)
        position += _PROFILE.size
        columns = np.frombuffer(body, "<f4", 2 * observations, position).astype(np.float32)
        position += columns.nbytes
        profiles.append(Profile(base_at, pool[has], size, columns[:observations], columns[observations:]))
    return tuple(profiles)


def _extended(
    profile: Profile, now: float, moved: float, unchanged_until: float | None, max_observations: int
) -> Profile:
    """Profile with what a visit saw, and without observations that this makes needless."""
    # For a dozen numbers, lists are several times faster than arrays.
    times, values = profile.elapsed.tolist(), profile.divergence.tolist()
    if unchanged_until is not None:
        _append(times, values, unchanged_until - profile.base_at, values[-1] if values else 0.0)
    _append(times, values, now - profile.base_at, moved)
    while len(times) > max_observations:
        needless = min(range(1, len(times) - 1), key=partial(_area_without, times, values))
        del times[needless], values[needless]
    columns = np.array((times, values), np.float32)
    return Profile(profile.base_at, profile.sketch, profile.size, columns[0], columns[1])


def _append(times: list[float], values: list[float], elapsed: float, moved: float) -> None:
    elapsed, moved = _as_stored(elapsed), _as_stored(moved)
    while times and times[-1] >= elapsed:
        del times[-1], values[-1]
    if elapsed <= 0:
        return
    # With the implied base in front, the last observation is inside a run if its neighbours are equal to it.
    before_last = values[-2] if len(values) > 1 else 0.0
    if values and values[-1] == before_last == moved:
        del times[-1], values[-1]
    times.append(elapsed)
    values.append(moved)


def _as_stored(number: float) -> float:
    return float(np.float32(number))


def _area_without(times: list[float], values: list[float], place: int) -> float:
    """How much the area between the bounds grows without the observation at a place."""
    before, after = times[place] - times[place - 1], times[place + 1] - times[place]
    rise, fall = abs(values[place] - values[place - 1]), abs(values[place + 1] - values[place])
    return before * fall + after * rise
