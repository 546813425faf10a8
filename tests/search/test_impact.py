"""The measured gain of a refresh: against the sums it stands for, and against the exact gain."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.search.attention import looks
from scrapy_freshness.search.impact import TOP, Impact
from scrapy_freshness.search.quality import exact_gain
from scrapy_freshness.search.rank_maps import RankMaps, fitted

scores_or_none = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))


def impact_of(scores: list[float], worth: float = 1.0) -> tuple[Impact, RankMaps]:
    maps = fitted(np.zeros(len(scores), np.int64), np.array(scores), 1)
    return Impact(maps, np.array([worth])), maps


def gain(impact: Impact, before: float, after: float) -> float:
    return float(impact.gains(np.zeros(1, np.intp), np.array([before]), np.array([after]))[0])


def summed(maps: RankMaps, before: float, after: float) -> float:
    """All sums one by one, over all ranks, in Python: who is passed gains or loses a rank."""
    count = int(maps.results[0])
    none = np.zeros(1, np.intp)
    others = [float(maps.score(none, np.array([rank]))[0]) for rank in range(1, count + 1)]
    old = float(maps.rank(none, np.array([before]))[0]) if before else count + 1.0
    total = 0.0
    for rank, other in enumerate(others, 1):
        if after < before and other > after:
            total += min(max(rank - old, 0), 1) * (looks(max(rank - 1, 0.5)) - looks(rank)) * (other - after)
        if after > before and other < after:
            total += min(max(old - rank, 0), 1) * (looks(rank) - looks(rank + 1)) * (after - other)
    if before == 0:
        total += looks(count + 1.0) * after
    return float(total)


@pytest.mark.parametrize("count", [0, 1, 2, TOP - 1, TOP, TOP + 1, 40, 200])
@pytest.mark.parametrize("spread", [0.0, 0.7, 2.0])
def test_gains_are_the_sums_over_the_pages_that_are_passed(count: int, spread: float) -> None:
    """Beyond the top an integral stands for the sum."""
    rng = np.random.default_rng(count)
    results = np.exp(spread * rng.standard_normal(count))
    impact, maps = impact_of(results.tolist())
    scale = max(results.max(initial=1.0), 3.0)
    moves = (
        [(a, b) for a in (*rng.choice(results, 6), 0.0) for b in (*rng.lognormal(0, spread, 6), 0.0)]
        if count
        else [(0.0, 2.0)]
    )
    for before, after in moves:
        expected = summed(maps, before, after)
        assert gain(impact, before, after) == pytest.approx(expected, rel=0.02, abs=1e-3 * scale)


@given(st.lists(st.floats(1e-3, 1e3), max_size=60), scores_or_none, scores_or_none)
def test_no_refresh_does_harm(results: list[float], before: float, after: float) -> None:
    assert gain(impact_of(results)[0], before, after) >= 0


@given(st.lists(st.floats(1e-3, 1e3), max_size=60), scores_or_none)
def test_a_page_that_stays_where_it_is_gains_nothing(results: list[float], score: float) -> None:
    impact = impact_of([*results, score] if score else results)[0]

    assert gain(impact, score, score) == pytest.approx(0.0, abs=1e-6 * max(score, 1))


@given(
    st.lists(st.floats(1e-2, 1e2), min_size=1, max_size=60),
    scores_or_none,
    st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=6),
)
def test_a_longer_move_gains_more(results: list[float], before: float, after: list[float]) -> None:
    impact = impact_of(results)[0]
    rises = [gain(impact, before, score) for score in sorted(after) if score > before]
    falls = [gain(impact, before, score) for score in sorted(after, reverse=True) if score < before]

    for gains in (rises, falls):
        assert all(less <= more * (1 + 1e-9) + 1e-9 for less, more in pairwise(gains))


@given(st.floats(0.1, 100), scores_or_none, scores_or_none)
def test_gains_are_in_proportion_to_what_looks_are_worth(worth: float, before: float, after: float) -> None:
    results = (np.arange(1.0, 30.0) ** -0.8).tolist()

    assert gain(impact_of(results, worth)[0], before, after) == pytest.approx(
        worth * gain(impact_of(results)[0], before, after)
    )


def test_a_page_that_is_alone_gains_what_is_found_on_it() -> None:
    nobody = Impact(fitted(np.empty(0, np.int64), np.empty(0), 1), np.ones(1))

    assert gain(nobody, 0.0, 3.0) == pytest.approx(looks(1.0) * 3)
    assert gain(impact_of([3.0])[0], 3.0, 0.0) == 0, "nobody is left to take its place"


@pytest.mark.parametrize("count", [5, 30, 400])
def test_where_the_map_is_exact_the_gain_is(count: int) -> None:
    """Scores that are a power of the rank are mapped exactly, and then only rounding of ranks is left."""
    results = 10 * np.arange(1.0, count + 1) ** -0.7
    impact, _ = impact_of(results.tolist())
    rng = np.random.default_rng(7)
    measured, exact = [], []
    for page in rng.integers(0, count, 40).tolist():
        moved_to = float(rng.choice([0.0, rng.uniform(0, 12), results[rng.integers(count)] * 1.001]))
        copies, live = results[None].copy(), results[None].copy()
        live[0, page] = moved_to
        measured.append(gain(impact, float(results[page]), moved_to))
        exact.append(exact_gain(copies, live, np.ones(1), page))

    assert measured == pytest.approx(exact, rel=0.03, abs=2e-3)


def test_what_is_found_is_looks_times_scores() -> None:
    impact, _ = impact_of([8.0, 4.0, 2.0, 1.0], worth=3.0)
    found = impact.found(np.zeros(3, np.intp), np.array([8.0, 1.0, 0.0]))

    assert found == pytest.approx([3 * 8 * looks(1.0), 3 * looks(4.0), 0.0], rel=1e-4)
