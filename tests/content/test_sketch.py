"""Sketches against exact sets."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.content.shingles import shingles
from scrapy_freshness.content.sketch import divergence, resemblance, sketch

HASHES = st.lists(st.integers(0, 2**32 - 1), max_size=60)
CROWDED = st.lists(st.integers(0, 40), max_size=60)
SIZES = st.integers(1, 40)


def hashes(values) -> np.ndarray:
    return np.array(list(values), np.uint32)


def jaccard(a: set, b: set) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def estimate(a: set, b: set, size: int) -> float:
    """The estimator in its own words: the share of the smallest of the union that is in both."""
    smallest = sorted(a | b)[:size]
    return sum(value in a and value in b for value in smallest) / len(smallest) if smallest else 1.0


@given(HASHES | CROWDED, SIZES)
def test_a_sketch_is_the_smallest_hashes(values, size):
    assert sketch(hashes(values), size).tolist() == sorted(set(values))[:size]


@given(CROWDED, CROWDED, SIZES)
def test_resemblance_is_the_share_of_the_smallest_of_the_union(a, b, size):
    found = resemblance(sketch(hashes(a), size), sketch(hashes(b), size), size)

    assert found == pytest.approx(estimate(set(a), set(b), size), abs=1e-12)


@given(CROWDED, CROWDED)
def test_small_sets_are_compared_exactly(a, b):
    found = divergence(sketch(hashes(a), 64), sketch(hashes(b), 64), 64)

    assert found == pytest.approx(1 - jaccard(set(a), set(b)), abs=1e-12)


@given(CROWDED, CROWDED, SIZES)
def test_divergence_is_symmetric_within_bounds_and_zero_for_the_same(a, b, size):
    one, other = sketch(hashes(a), size), sketch(hashes(b), size)

    assert divergence(one, other, size) == divergence(other, one, size)
    assert 0 <= divergence(one, other, size) <= 1
    assert divergence(one, one, size) == 0


@given(CROWDED, CROWDED, SIZES, SIZES)
def test_larger_sketches_can_be_compared_at_a_smaller_size(a, b, size, more):
    large = [sketch(hashes(values), size + more) for values in (a, b)]
    small = [sketch(hashes(values), size) for values in (a, b)]

    assert divergence(*large, size) == divergence(*small, size)


def test_nothing_is_the_same_as_nothing_and_unlike_everything():
    nothing, something = hashes([]), hashes([1, 2])

    assert divergence(nothing, nothing, 64) == 0
    assert divergence(nothing, something, 64) == divergence(something, nothing, 64) == 1


@given(st.lists(HASHES.map(set), min_size=2, max_size=5), SIZES)
def test_a_fragment_stays_sampled_while_nothing_smaller_comes(versions, size):
    """What was sampled and lives on is sampled again, unless smaller hashes push it out."""
    for before, after in pairwise(versions):
        now = sketch(hashes(after), size).tolist()
        for fragment in set(sketch(hashes(before), size).tolist()) & after:
            assert fragment in now or all(smaller < fragment for smaller in now)


@pytest.mark.parametrize("union", [500, 3000])
@pytest.mark.parametrize("common", [0.1, 0.5, 0.9])
def test_the_estimator_is_unbiased_with_the_stated_spread(union, common):
    rng = np.random.default_rng([union, int(common * 10)])
    size, trials, alone = 64, 4000, round(union * (1 - common) / 2)
    exact = 1 - 2 * alone / union
    found = np.empty(trials)
    for trial in range(trials):
        values = rng.integers(2**32, size=union, dtype=np.uint32)
        found[trial] = resemblance(sketch(values[alone:], size), sketch(values[: union - alone], size), size)
    spread = np.sqrt(exact * (1 - exact) / size * (union - size) / (union - 1))

    assert found.mean() == pytest.approx(exact, abs=3.5 * spread / np.sqrt(trials))
    assert found.std() == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("union", [500, 3000])
def test_the_mean_absolute_error_at_nine_tenths_is_three_hundredths(union):
    """The exact expectations (hypergeometric) are 0.02823 and 0.02984."""
    rng = np.random.default_rng(union)
    size, trials, alone = 64, 20_000, union // 20
    errors = np.empty(trials)
    for trial in range(trials):
        values = rng.integers(2**32, size=union, dtype=np.uint32)
        found = resemblance(sketch(values[alone:], size), sketch(values[: union - alone], size), size)
        errors[trial] = abs(found - 0.9)
    standard_error = errors.std() / np.sqrt(trials)

    assert standard_error < 0.0002
    assert errors.mean() == pytest.approx({500: 0.02823, 3000: 0.02984}[union], abs=3.5 * standard_error)
    assert errors.mean() <= 0.03


def test_the_estimate_is_unbiased_for_real_shingles():
    """The hash of words is random enough, also in a small vocabulary."""
    rng = np.random.default_rng(7)
    words = np.array(["rain", "sun", "wind", "snow", "fog", "ice", "hail", "mist", "dew", "frost"])
    errors = []
    for _ in range(1500):
        text = rng.choice(words, 400)
        edited = text.copy()
        edited[100:120] = rng.choice(words, 20)
        a, b = shingles(" ".join(text), 5), shingles(" ".join(edited), 5)
        exact = jaccard(set(a.tolist()), set(b.tolist()))
        errors.append(resemblance(sketch(a, 64), sketch(b, 64), 64) - exact)

    assert abs(np.mean(errors)) < 3.5 * np.std(errors) / np.sqrt(len(errors))
    assert np.std(errors) == pytest.approx(np.sqrt(0.88 * 0.12 / 64), rel=0.2)


def test_the_share_of_common_hashes_would_be_biased():
    """Why not simply count what two sketches have in common: 0.595 for 0.5 at m = 8."""
    rng = np.random.default_rng(8)
    naive, unbiased = [], []
    for _ in range(20_000):
        values = rng.integers(2**32, size=400, dtype=np.uint32)
        a, b = sketch(values[100:], 8), sketch(values[:300], 8)
        naive.append(len(set(a.tolist()) & set(b.tolist())) / 8)
        unbiased.append(resemblance(a, b, 8))

    assert np.mean(naive) == pytest.approx(0.595, abs=0.01)
    assert np.mean(unbiased) == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize(
    "use", [lambda: sketch(hashes([1]), 0), lambda: divergence(hashes([1]), hashes([2]), 0)]
)
def test_a_sketch_needs_a_size(use):
    with pytest.raises(ValueError, match="at least one hash, got 0"):
        use()
