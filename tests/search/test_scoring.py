"""Every scoring function passes the same examination; one that is added to `SCORINGS` is examined, too."""

import numpy as np
import pytest

from scrapy_freshness.search.scoring import SCORINGS, Scoring

each_scoring = pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)


@each_scoring
def test_a_page_has_a_score_if_and_only_if_it_has_the_term(scoring: Scoring) -> None:
    tf = np.array([0.0, 1.0, 5.0, 65535.0])
    base = scoring.base(tf, np.full(4, 70_000.0), np.array([9.0, 0.0, 3.0, 1e6]))

    assert (base > 0).tolist() == [False, True, True, True]
    assert np.all(np.isfinite(base))
    assert scoring.base(np.zeros(1), np.zeros(1), np.zeros(1)).tolist() == [0.0]


@each_scoring
def test_more_of_a_term_or_more_links_never_lower_a_score(scoring: Scoring) -> None:
    rising = np.arange(1.0, 50.0)
    same = np.full(49, 500.0)

    assert np.all(np.diff(scoring.base(rising, same, same)) >= 0)
    assert np.all(np.diff(scoring.base(same, same * 2, rising)) >= 0)


@each_scoring
def test_weights_are_above_nothing_and_rare_terms_weigh_no_less(scoring: Scoring) -> None:
    weight = scoring.weight(np.arange(0, 1001), 1000)

    assert np.all(weight > 0)
    assert np.all(np.diff(weight) <= 0)
    assert np.all(np.isfinite(scoring.weight(np.zeros(3, np.int64), 0)))


@each_scoring
def test_a_query_of_one_term_has_the_score_of_the_term(scoring: Scoring) -> None:
    base, weight = np.array([[0.3], [0.0]]), np.array([2.5])

    scores = scoring.query_score(base, weight * scoring.weight(np.array([4]), 10) / 2.5)

    assert scores == pytest.approx(base[:, 0] * scoring.weight(np.array([4]), 10))


@each_scoring
def test_a_page_answers_a_query_only_if_it_has_all_its_terms(scoring: Scoring) -> None:
    base = np.array([[0.3, 0.3], [0.3, 0.0], [0.0, 0.0]])

    assert (scoring.query_score(base, np.array([1.0, 2.0])) > 0).tolist() == [True, False, False]


def test_tf_idf_is_the_cosine_with_the_query_but_for_the_length_of_the_page() -> None:
    """Lucene: sum of sqrt(tf) idf^2 / sqrt(length) over the norm of the query's idf."""
    tf, idf, length = np.array([4.0, 9.0]), np.array([2.0, 3.0]), 100.0
    scoring = SCORINGS["tf-idf"]

    base = scoring.base(tf, np.full(2, length), np.zeros(2))

    expected = (2 * 2.0**2 + 3 * 3.0**2) / np.sqrt(length) / np.hypot(2.0, 3.0)
    assert scoring.query_score(base[None], idf)[0] == pytest.approx(expected)
