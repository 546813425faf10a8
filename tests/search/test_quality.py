"""Repository quality, against a plain reading of its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scrapy_freshness.search.attention import LOOKS_AT_FIRST, looks
from scrapy_freshness.search.quality import exact_gain, quality, query_scores, ranks, usefulness
from scrapy_freshness.search.scoring import SCORINGS, Scoring

tables = arrays(np.float64, (4, 7), elements=st.one_of(st.just(0.0), st.floats(0.01, 100)))
frequencies = np.array([5.0, 2.0, 1.0, 0.5])


def plain_usefulness(copies: np.ndarray, live: np.ndarray) -> float:
    """Equation 3, query by query."""
    total = 0.0
    for frequency, copied, true in zip(frequencies, copies, live, strict=True):
        answer = sorted((page for page in range(len(copied)) if copied[page] > 0), key=lambda p: -copied[p])
        for rank, page in enumerate(answer, 1):
            total += frequency * LOOKS_AT_FIRST * rank**-1.5 * true[page]
    return total


@given(tables, tables)
def test_usefulness_is_what_the_definition_says(copies: np.ndarray, live: np.ndarray) -> None:
    assert usefulness(copies, live, frequencies) == pytest.approx(plain_usefulness(copies, live), rel=1e-12)


@given(tables, tables)
def test_no_repository_is_better_than_a_fresh_one(copies: np.ndarray, live: np.ndarray) -> None:
    assert 0 <= quality(copies, live, frequencies) <= 1 + 1e-12
    assert quality(live, live, frequencies) == pytest.approx(1)


@given(tables, tables, st.permutations(range(7)))
def test_the_gains_of_all_refreshes_add_up_to_what_was_lost(
    copies: np.ndarray, live: np.ndarray, order: list[int]
) -> None:
    lost = usefulness(live, live, frequencies) - usefulness(copies, live, frequencies)
    gained = 0.0
    for page in order:
        gained += exact_gain(copies, live, frequencies, page)
        copies = copies.copy()
        copies[:, page] = live[:, page]

    assert gained == pytest.approx(lost, abs=1e-9)


def test_looks_at_all_ranks_are_one_look() -> None:
    assert looks(np.arange(1.0, 1e6)).sum() == pytest.approx(1, abs=1e-3)
    assert looks(np.array([np.inf]))[0] == 0


@given(tables)
def test_ranks_are_a_permutation_of_the_results(scores: np.ndarray) -> None:
    for row, found in zip(scores, ranks(scores), strict=True):
        assert sorted(found[row > 0].tolist()) == list(range(1, np.count_nonzero(row) + 1))
        assert np.all(np.isinf(found[row == 0]))


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)
def test_scores_of_queries_are_those_of_each_query_alone(scoring: Scoring) -> None:
    rng = np.random.default_rng(3)
    base = rng.random((6, 20)) * (rng.random((6, 20)) < 0.7)
    weight = rng.uniform(1, 5, 6)
    queries = [(0,), (1, 4), (2, 3, 5), (5,), (0, 2)]

    together = query_scores(base, queries, weight, scoring)

    for row, query in enumerate(queries):
        terms = list(query)
        alone = [float(scoring.query_score(base[terms, page], weight[terms])) for page in range(20)]
        assert together[row] == pytest.approx(alone)
