"""Quality of signals: recovered from simulated visits, by a second solver, and where counting goes wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from scrapy_freshness.estimation.signal_quality import (
    SignalPrior,
    SignalQuality,
    Uncertain,
    fit_signals,
)

Visits = tuple[np.ndarray, np.ndarray, np.ndarray]


def simulated(
    rng: np.random.Generator, change_rate: float, qualities: list[tuple[float, float]], waits: np.ndarray
) -> Visits:
    """Visits of one page: waits, signals of each source (recall, precision), and whether it changed."""
    recalls = np.array([recall for recall, _ in qualities])
    changed = rng.poisson((1 - recalls.sum()) * change_rate * waits) > 0
    signals = []
    for recall, precision in qualities:
        true = rng.poisson(recall * change_rate * waits)
        false = rng.poisson(recall * change_rate * (1 - precision) / precision * waits)
        changed |= true > 0
        signals.append(true + false)
    return waits, np.stack(signals, axis=1).astype(float), changed


def fit(visits: Visits, prior: SignalPrior) -> SignalQuality:
    waits, signals, changed = visits
    return fit_signals(waits, signals, changed, np.zeros(len(waits), np.int64), 1, prior)


def covers(estimate: Uncertain, truth: np.ndarray) -> np.ndarray:
    return (estimate.low <= truth) & (truth <= estimate.high)


def paper_pages(n_pages: int, horizon: float) -> tuple[list[Visits], np.ndarray]:
    """Appendix E: precision, recall from .2 to .95; 2 to 20 between changes; crawls 1/4 to 4 times that."""
    rng = np.random.default_rng(5)
    pages, truth = [], []
    for _ in range(n_pages):
        precision, recall = rng.uniform(0.2, 0.95, 2)
        change_rate = 1 / rng.uniform(2, 20)
        crawl_rate = change_rate * 4 ** rng.uniform(-1, 1)
        waits = rng.exponential(1 / crawl_rate, int(horizon * crawl_rate))
        pages.append(simulated(rng, change_rate, [(recall, precision)], waits))
        truth.append((precision, recall, change_rate))
    return pages, np.array(truth)


def counted_quality(signals: np.ndarray, changed: np.ndarray) -> tuple[float, float]:
    """Precision and recall by counting intervals between visits, a reference that is biased.

    An interval with a signal and a change need not have a change that was signalled, and a longer interval
    has more of both: the shares are far too high.
    """
    both = int(np.count_nonzero((signals > 0) & changed))
    n_signalled, n_changed = int(np.count_nonzero(signals > 0)), int(np.count_nonzero(changed))
    return both / max(n_signalled, 1), both / max(n_changed, 1)


def test_counting_is_biased_and_the_likelihood_is_not() -> None:
    """The horizon of the paper's appendix E; the likelihood's error is the asymptotic one, about .01."""
    pages, truth = paper_pages(40, horizon=100_000)
    prior = SignalPrior(change_rate=0.1)
    counted = np.array([counted_quality(signals[:, 0], changed) for _, signals, changed in pages])
    found = [fit(visits, prior) for visits in pages]
    fitted = np.array([(each.precision.value[0, 0], each.recall.value[0]) for each in found])

    bias = (counted - truth[:, :2]).mean(axis=0)
    assert np.all((bias > 0.15) & (bias < 0.35))
    assert np.abs(fitted - truth[:, :2]).mean() < 0.015
    assert np.all(np.abs((fitted - truth[:, :2]).mean(axis=0)) < 0.006)


def test_nine_of_ten_intervals_contain_the_truth() -> None:
    pages, truth = paper_pages(300, horizon=2000)
    sizes = [len(waits) for waits, _, _ in pages]
    waits, signals, changed = (np.concatenate(column) for column in zip(*pages, strict=True))
    found = fit_signals(
        waits, signals, changed, np.repeat(np.arange(300), sizes), 300, SignalPrior(change_rate=0.1)
    )
    false_rate = truth[:, 1] * truth[:, 2] * (1 / truth[:, 0] - 1)

    for estimate, true in (
        (Uncertain(*(each[:, 0] for each in found.precision)), truth[:, 0]),
        (found.recall, truth[:, 1]),
        (found.change_rate, truth[:, 2]),
        (Uncertain(*(each[:, 0] for each in found.false_rate)), false_rate),
    ):
        assert np.mean(covers(estimate, true)) == pytest.approx(0.9, abs=3 * np.sqrt(0.09 / 300) + 0.02)


def test_two_sources_are_told_apart() -> None:
    rng = np.random.default_rng(9)
    visits = simulated(rng, 0.1, [(0.5, 0.9), (0.2, 0.1)], rng.exponential(8, 40_000))

    found = fit(visits, SignalPrior(change_rate=0.1))

    assert found.precision.value[0] == pytest.approx([0.9, 0.1], abs=0.02)
    assert found.recall.value[0] == pytest.approx(0.7, abs=0.02)
    assert found.change_rate.value[0] == pytest.approx(0.1, rel=0.03)
    assert found.false_rate.value[0] == pytest.approx([0.05 / 9, 0.18], rel=0.15)


def test_no_other_parameters_are_likelier() -> None:
    """L-BFGS-B on the log-likelihood, prior included, written down a second time."""
    rng = np.random.default_rng(2)
    waits, signals, changed = simulated(rng, 0.02, [(0.4, 0.5), (0.3, 0.8)], rng.exponential(40, 200))
    prior = SignalPrior(change_rate=0.05, precision=0.4, recall=0.3, weight=3.0)
    alpha0 = 0.7 * 0.05

    def unlikelihood(log_theta: np.ndarray) -> float:
        alpha, *b = np.exp(log_theta)
        eta = alpha * waits + signals @ b
        total = np.log(-np.expm1(-eta[changed])).sum() - eta[~changed].sum()
        own = alpha / alpha0
        total += 3 * ((1 - np.exp(-1)) * np.log(-np.expm1(-own)) - np.exp(-1) * own)
        for each in b:
            total += 3 * (0.4 * np.log(-np.expm1(-each)) - 0.6 * each)
        return -float(total)

    start, exact = np.log([0.02, 0.5, 0.5]), {"ftol": 1e-14, "gtol": 1e-9}
    expected = np.exp(minimize(unlikelihood, start, method="L-BFGS-B", options=exact).x)
    found = fit((waits, signals, changed), prior)

    assert found.silent_rate[0] == pytest.approx(expected[0], rel=1e-3)
    assert found.exponent[0] == pytest.approx(expected[1:], rel=1e-3)


def test_pages_that_change_at_different_rates_share_one_quality_in_units_of_their_own_rate() -> None:
    rng = np.random.default_rng(4)
    pages = []
    for change_rate in np.geomspace(1e-6, 1e-2, 40):
        waits, signals, changed = simulated(
            rng, change_rate, [(0.6, 0.7)], rng.exponential(1 / change_rate, 200)
        )
        pages.append((waits * change_rate, signals, changed))
    together = tuple(np.concatenate(column) for column in zip(*pages, strict=True))

    found = fit(together, SignalPrior(change_rate=1.0))  # type: ignore[arg-type]

    assert found.change_rate.value[0] == pytest.approx(1, abs=0.05)
    assert found.recall.value[0] == pytest.approx(0.6, abs=0.03)
    assert found.precision.value[0, 0] == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize(("precision", "recall"), [(0.9, 0.2), (0.3, 0.8)])
def test_without_visits_the_prior_is_believed(precision: float, recall: float) -> None:
    nothing = np.zeros(0), np.zeros((0, 2)), np.zeros(0, bool)
    found = fit(nothing, SignalPrior(change_rate=1e-6, precision=precision, recall=recall))

    assert found.precision.value[0] == pytest.approx([precision, precision])
    assert found.recall.value[0] == pytest.approx(recall)
    assert found.change_rate.value[0] == pytest.approx(1e-6)
    assert found.change_rate.low[0] < 1e-6 / 1.5
    assert found.recall.high[0] - found.recall.low[0] > 0.4


def test_signals_that_say_nothing_are_found_out() -> None:
    rng = np.random.default_rng(6)
    waits = rng.exponential(1, 20_000)
    changed = rng.random(20_000) < -np.expm1(-0.5 * waits)

    found = fit((waits, rng.poisson(waits)[:, None].astype(float), changed), SignalPrior(change_rate=0.5))

    assert found.precision.low[0, 0] <= 0.02
    assert found.recall.value[0] < 0.05
    assert found.change_rate.value[0] == pytest.approx(0.5, rel=0.05)


def test_signals_that_never_fail_are_trusted() -> None:
    rng = np.random.default_rng(6)
    visits = simulated(rng, 0.5, [(1.0, 1.0)], rng.exponential(1, 5000))

    found = fit(visits, SignalPrior(change_rate=0.5))

    assert found.precision.value[0, 0] > 0.99
    assert found.recall.value[0] > 0.99
    assert found.false_rate.value[0, 0] < 0.01


@given(
    seen=st.lists(st.tuples(st.floats(0, 1e9), st.integers(0, 50), st.booleans()), min_size=0, max_size=30),
    change_rate=st.floats(1e-9, 1e3),
)
def test_estimates_are_finite_and_in_order_whatever_was_seen(
    seen: list[tuple[float, int, bool]], change_rate: float
) -> None:
    waits = np.array([wait for wait, _, _ in seen])
    signals = np.array([[float(n)] for _, n, _ in seen]).reshape(len(seen), 1)
    changed = np.array([each for _, _, each in seen], bool)

    found = fit((waits, signals, changed), SignalPrior(change_rate=change_rate))

    for estimate in (found.change_rate, found.recall, found.precision, found.false_rate):
        low, value, high = (each.ravel()[0] for each in (estimate.low, estimate.value, estimate.high))
        assert 0 <= low <= value <= high < np.inf
    assert found.recall.high[0] <= 1
    assert found.precision.high[0, 0] <= 1


def test_groups_are_estimated_each_alone() -> None:
    rng = np.random.default_rng(8)
    one = simulated(rng, 0.1, [(0.5, 0.5)], rng.exponential(5, 300))
    other = simulated(rng, 1e-6, [(0.9, 0.2)], rng.exponential(1e6, 50))
    prior = SignalPrior(change_rate=np.array([0.1, 1e-6]))
    group = np.repeat([0, 1], [300, 50])
    waits, signals, changed = (np.concatenate(each) for each in zip(one, other, strict=True))

    together = fit_signals(waits, signals, changed, group, 2, prior)

    for number, (visits, rate) in enumerate([(one, 0.1), (other, 1e-6)]):
        alone = fit(visits, SignalPrior(change_rate=rate))
        assert together.recall.value[number] == pytest.approx(alone.recall.value[0], rel=1e-6)
        assert together.change_rate.high[number] == pytest.approx(alone.change_rate.high[0], rel=1e-6)
