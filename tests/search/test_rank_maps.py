"""From score to rank and back by three pieces: exact where the scores allow it, monotone everywhere."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.search.index import SearchIndex
from scrapy_freshness.search.map_fitting import fitted_maps
from scrapy_freshness.search.rank_maps import RankMaps, fitted
from scrapy_freshness.search.scoring import InLinks, TfIdf
from scrapy_freshness.search.workload import PageTerms

score_lists = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60)


def map_of(scores: list[float]) -> RankMaps:
    return fitted(np.zeros(len(scores), np.int64), np.array(scores), 1)


def rank(maps: RankMaps, *scores: float) -> list[float]:
    return maps.rank(np.zeros(len(scores), np.intp), np.array(scores)).tolist()


def score(maps: RankMaps, *ranks: float) -> list[float]:
    return maps.score(np.zeros(len(ranks), np.intp), np.array(ranks)).tolist()


@pytest.mark.parametrize("steepness", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 27, 1000])
def test_scores_that_are_a_power_of_the_rank_are_mapped_exactly(count: int, steepness: float) -> None:
    ranks = np.arange(1.0, count + 1)
    maps = map_of((5.0 * ranks**-steepness).tolist())

    assert score(maps, *ranks) == pytest.approx(5.0 * ranks**-steepness, rel=1e-4)
    if steepness:
        assert rank(maps, *(5.0 * ranks**-steepness)) == pytest.approx(ranks, rel=1e-3)


def test_the_scores_at_the_knots_are_exact() -> None:
    scores = np.sort(np.random.default_rng(1).lognormal(size=1000))[::-1]
    maps = map_of(scores.tolist())

    assert score(maps, 1, 10, 100, 1000) == pytest.approx(scores[[0, 9, 99, 999]], rel=1e-5)
    assert rank(maps, *scores[[0, 9, 99, 999]]) == pytest.approx([1, 10, 100, 1000], rel=1e-3)


@given(score_lists, st.lists(st.floats(1e-7, 1e7), min_size=2, max_size=9))
def test_a_higher_score_never_has_a_worse_rank(scores: list[float], asked: list[float]) -> None:
    maps = map_of(scores)
    ranks = rank(maps, *sorted(asked))

    assert all(1 <= each <= len(scores) * (1 + 1e-12) for each in ranks)
    assert all(better >= worse - 1e-9 for better, worse in pairwise(ranks))


@given(score_lists)
def test_scores_fall_with_the_rank_and_stay_within_those_of_the_results(scores: list[float]) -> None:
    found = score(map_of(scores), *range(1, len(scores) + 1))

    assert all(high >= low * (1 - 1e-6) for high, low in pairwise(found))
    assert max(found) == pytest.approx(max(scores), rel=1e-5)
    assert min(found) == pytest.approx(min(scores), rel=1e-4)


@given(score_lists, st.floats(0, 1))
def test_the_inverse_is_the_inverse(scores: list[float], share: float) -> None:
    maps = map_of(scores)
    place = float(len(scores) ** share)
    there = score(maps, place)[0]

    assert score(maps, rank(maps, there)[0])[0] == pytest.approx(there, rel=1e-4)


def test_what_is_not_there_has_no_rank_and_no_score() -> None:
    maps = map_of([2.0, 1.0])

    assert rank(maps, 0.0) == [np.inf]
    assert score(maps, 3.0, np.inf) == [0.0, 0.0]
    unknown = fitted(np.empty(0, np.int64), np.empty(0), 2)
    assert unknown.results.tolist() == [0, 0]
    assert score(unknown, 1.0) == [0.0]
    assert rank(unknown, 1.0, 0.0) == [1.0, np.inf]


def test_pages_with_the_same_score_are_in_the_middle_of_their_ranks() -> None:
    alike = map_of([3.0] * 27)
    assert 1 < rank(alike, 3.0)[0] < 27
    assert rank(alike, 4.0, 2.0) == pytest.approx([1.0, 27.0])

    at_both_ends = map_of([9.0] * 8 + [3.0] * 3 + [1.0] * 16)
    assert rank(at_both_ends, 10.0, 0.5) == pytest.approx([1.0, 27.0])
    assert 1 < rank(at_both_ends, 9.0)[0] <= 8
    assert 9 <= rank(at_both_ends, 1.0)[0] <= 27


@pytest.mark.parametrize("scoring", [TfIdf(), InLinks()], ids=["tf-idf", "in-links"])
def test_several_passes_over_an_index_give_the_same_maps_as_one(scoring: TfIdf | InLinks) -> None:
    rng = np.random.default_rng(2)
    index = SearchIndex(np.ones(50), scoring)
    links = rng.pareto(1.0, 200)
    for page in range(200):
        count = int(rng.integers(1, 30))
        terms = np.sort(rng.choice(50, count, replace=False)).astype(np.int32)
        index.refresh(page, PageTerms(terms, rng.integers(1, 9, count).astype(np.uint16), 100 + page))

    one, several = (fitted_maps(index.postings, scoring, links, at_once=at_once) for at_once in (10**6, 150))

    assert np.array_equal(one.results, index.postings.df)
    assert np.array_equal(one.results, several.results)
    assert np.array_equal(one.knots, several.knots)
