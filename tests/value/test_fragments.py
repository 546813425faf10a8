"""FRAGMENTS-NCIS: the integral by quadrature and by simulation, and the models that it contains."""

from itertools import pairwise

import numpy as np
import pytest
from believed import many_pages, page, value
from crawl_process import crawl_intervals, z_score
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaln

from scrapy_freshness.value.contract import FloatArray
from scrapy_freshness.value.fragments import FragmentsNcis
from scrapy_freshness.value.longevity import Longevity
from scrapy_freshness.value.ncis import Ncis
from scrapy_freshness.value.signals import Signalled, seconds_to_age

MODEL = FragmentsNcis()


def weights(stages: int, plateau: float) -> FloatArray:
    """By how much each update raises the divergence."""
    x = np.arange(stages + 1) * plateau / (2 - plateau) / stages
    return np.diff(2 * x / (1 + x))


def by_quadrature(stages: int, plateau: float, elapsed: float, **columns: float) -> float:
    """The integral of D'(s)*psi(s), piece by piece between the kinks of psi."""
    pages = Signalled.of(page(**columns), np.array([elapsed]))
    alpha, beta, age = (float(x[0]) for x in (pages.alpha, pages.b / pages.alpha, pages.v / pages.alpha))
    updates, rises = np.arange(stages), weights(stages, plateau)

    def integrand(s: float) -> float:
        chance = np.exp(updates * np.log(alpha * s) - alpha * s - gammaln(updates + 1))
        state = pages._replace(elapsed=np.array([s]), signals=np.zeros(1))
        return alpha * float(np.sum(rises * chance)) * float(seconds_to_age(state)[0])

    knots = np.unique(np.append(np.arange(min(np.ceil(age / beta), 12)) * beta, [age]))
    return sum(quad(integrand, low, high, epsrel=1e-10, limit=200)[0] for low, high in pairwise(knots))


@pytest.mark.parametrize("stages", [2, 3, 8, 9, 20, 64])
@pytest.mark.parametrize(
    "signals",
    [
        {"recall": 0.5, "false_rate": 0.3, "signals": 0.0},
        {"recall": 0.2, "false_rate": 2.0, "signals": 3.0},
        {"recall": 0.9, "false_rate": 0.5, "signals": 1.0},
        {"recall": 0.97, "false_rate": 0.05, "signals": 0.5},
        {"recall": 0.05, "false_rate": 0.1, "signals": 0.0},
    ],
    ids=str,
)
def test_it_is_the_integral_of_the_slope_and_the_time(stages: int, signals: dict[str, float]) -> None:
    for elapsed in (1e-3, 0.7, 6.0, 25.0):
        expected = by_quadrature(stages, 0.8, elapsed, **signals)
        found = value(MODEL, elapsed, plateau=0.8, stages=stages, **signals)
        assert found == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("stages", "recall", "nu"), [(1, 0.5, 0.3), (3, 0.5, 0.3), (10, 0.8, 1.0)])
def test_simulated_crawls_gain_as_much(stages: int, recall: float, nu: float) -> None:
    """Draw the effective age at which a fragment leaves, then the time until the crawler's clock is there."""
    rng = np.random.default_rng(9)
    threshold, plateau = 6.0, 0.7
    rises = weights(stages, plateau)
    update = rng.choice(stages, 5000, p=rises / plateau)
    left_at = rng.gamma(update + 1) / (1 - recall)
    gained = np.zeros(len(left_at))
    for number in np.flatnonzero(left_at <= threshold):
        gained[number] = crawl_intervals(rng, 1, 1.0, recall, nu, left_at[number])[0][0]
    found = value(MODEL, threshold, plateau=plateau, stages=stages, recall=recall, false_rate=nu, signals=0)

    assert abs(z_score(plateau * gained, found)) < 4


@settings(max_examples=40)
@given(recall=st.floats(0, 1), nu=st.floats(0, 100), elapsed=st.floats(0, 1e3), n=st.integers(0, 9))
def test_churn_of_all_content_is_ncis(recall: float, nu: float, elapsed: float, n: int) -> None:
    columns = {"recall": recall, "false_rate": nu, "signals": n}

    found = value(MODEL, elapsed, plateau=1, stages=1, **columns)
    assert found == pytest.approx(value(Ncis(), elapsed, **columns), rel=1e-12)


@settings(max_examples=40)
@given(
    stages=st.integers(1, 100),
    plateau=st.floats(0, 1),
    nu=st.floats(0, 10),
    elapsed=st.floats(0, 1e3),
    n=st.integers(0, 9),
)
def test_without_useful_signals_it_is_longevity(
    stages: int, plateau: float, nu: float, elapsed: float, n: int
) -> None:
    longevity = value(Longevity(), elapsed, plateau=plateau, stages=stages)

    for recall, tolerance in ((0.0, 1e-12), (1e-9, 1e-6)):
        found = value(
            MODEL,
            elapsed,
            plateau=plateau,
            stages=stages,
            recall=recall,
            false_rate=nu,
            signals=n * (recall == 0),
        )
        assert found == pytest.approx(longevity, rel=tolerance, abs=1e-300)


def test_without_silent_changes_only_signals_count() -> None:
    """alpha = 0: the i-th of n signals finds the divergence that b*i updates caused, and waits 1/gamma."""
    nu, n, b = 0.7, 4, np.log1p(1 / 0.7)

    def diverged(z: float) -> float:
        return float(1 - Longevity().freshness(page(plateau=0.6, stages=5), np.array([z]))[0])

    expected = sum(diverged(n * b) - diverged(i * b) for i in range(n)) / (1 + nu)

    for recall, tolerance in ((1.0, 1e-12), (1 - 1e-12, 1e-9)):
        found = value(MODEL, 3.0, plateau=0.6, stages=5, recall=recall, false_rate=nu, signals=n)
        assert found == pytest.approx(expected, rel=tolerance)


def test_without_false_signals_a_signal_means_that_all_has_moved() -> None:
    for nu, tolerance in ((0.0, 1e-12), (1e-200, 1e-2)):
        columns = {"recall": 0.5, "false_rate": nu, "plateau": 0.6, "stages": 5}
        bound = 0.6 * MODEL.first_value(page(signals=0, **columns))[0]
        found = value(MODEL, 3.0, signals=1, **columns)
        assert found == pytest.approx(bound, rel=tolerance)


@settings(max_examples=40)
@given(
    recall=st.floats(0, 0.9), nu=st.floats(0.01, 10), stages=st.integers(1, 64), plateau=st.floats(0.01, 1)
)
def test_very_old_copies_are_worth_the_plateau_of_a_first_one(
    recall: float, nu: float, stages: int, plateau: float
) -> None:
    beliefs = page(recall=recall, false_rate=nu, signals=0, plateau=plateau, stages=stages)

    found = MODEL.value(beliefs, np.array([1e6]))[0]
    assert found == pytest.approx(plateau * MODEL.first_value(beliefs)[0], rel=1e-8)


@pytest.mark.parametrize("recall", [0.95, 0.99, 0.999])
def test_after_hundreds_of_good_but_rare_hits_the_line_is_close_enough(recall: float) -> None:
    """gamma*beta is 19, 99 and 999, and one signal in 1,000 is true: the sum has thousands of terms."""
    beliefs = page(recall=recall, false_rate=1000.0, signals=0, plateau=1.0, stages=3)

    found = MODEL.value(beliefs, np.array([1e6]))[0]
    assert found == pytest.approx(MODEL.first_value(beliefs)[0], rel=1e-5)


def test_the_stages_of_a_group_are_evaluated_like_each_alone() -> None:
    beliefs, elapsed = many_pages(2000)
    together = MODEL.value(beliefs, elapsed)
    some = np.arange(0, 2000, 67)

    assert np.array_equal(together[some], MODEL.value(beliefs.at(some), elapsed[some]))
