"""Rates of requests and curves of clicks: against simulated clicks, and against the plain way to count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_clicks import mean_cumulative_clicks

from scrapy_freshness.estimation.click_curves import observed_pages, source_profits
from scrapy_freshness.estimation.click_rates import Coverage, request_rates
from scrapy_freshness.estimation.click_sums import N_BINS, WEEK_SECONDS, clicks_by_age
from scrapy_freshness.estimation.profit import BIN_SECONDS, fit_grouped_profits


def test_no_other_shape_of_the_prior_predicts_rates_better() -> None:
    rng = np.random.default_rng(1)
    rates = rng.gamma(0.3, 1 / 0.3, 20_000) * 0.02
    seconds = rng.uniform(10, 500, len(rates))
    clicks = rng.poisson(rates * seconds).astype(float)
    found = request_rates(clicks, seconds, np.zeros(len(rates), np.intp), 1)
    assert found is not None
    mean = clicks.sum() / seconds.sum()

    def error(estimate: np.ndarray) -> float:
        return float(np.mean((estimate - rates) ** 2))

    rivals = [clicks / seconds, np.full(len(rates), mean)]
    rivals += [(clicks + shape) / (seconds + shape / mean) for shape in (0.03, 0.1, 1.0, 3.0)]
    assert error(found.page) < min(map(error, rivals))
    assert found.mean == pytest.approx(0.02, rel=0.05)
    assert np.all(found.page > 0)


@given(
    rows=st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e8), st.integers(0, 2)), min_size=1, max_size=8)
)
def test_rates_are_above_0_and_finite_whatever_was_clicked(rows: list[tuple[float, float, int]]) -> None:
    clicks, seconds, host = (np.array(column) for column in zip(*rows, strict=True))
    found = request_rates(clicks, seconds, host, 3)
    if found is not None:
        for rates in (found.page, found.host, np.array([found.mean])):
            assert np.all((rates > 0) & np.isfinite(rates))


def test_covered_time_is_that_of_a_second_count() -> None:
    rng = np.random.default_rng(2)
    spans = [
        (1000.0, 5000.0),
        (WEEK_SECONDS * 0.9, WEEK_SECONDS * 1.2),
        (WEEK_SECONDS * 2.5, WEEK_SECONDS * 2.6),
    ]
    log = Coverage(spans)
    drawn = rng.uniform(0, 3 * WEEK_SECONDS, 400_000)
    is_covered = np.any([(drawn > start) & (drawn < end) for start, end in spans], axis=0)
    for since in (0.0, 3000.0, WEEK_SECONDS, WEEK_SECONDS * 2.55):
        weight = is_covered * (drawn > since) * 0.5 ** (2 - drawn // WEEK_SECONDS)
        expected = weight.mean() * 3 * WEEK_SECONDS
        found = log.faded_seconds(np.array([since]), 2)[0]
        assert found == pytest.approx(expected, rel=0.03, abs=300)


def test_curves_from_sums_are_those_of_the_paper_where_all_was_observed() -> None:
    """All pages are watched for the whole time: the mean clicks by age are plain means."""
    rng = np.random.default_rng(3)
    n_pages, n_bins = 40, N_BINS
    born = rng.uniform(0, 1e5, n_pages)
    owner = rng.integers(0, n_pages, 3000)
    ages = rng.exponential(30_000, len(owner))
    plain, _ = mean_cumulative_clicks(np.full(n_pages, 1e9), owner, ages, n_bins)

    one = np.ones(len(owner), np.int64)
    _, age_bin, clicks = clicks_by_age(
        one, born[owner], born[owner] + ages, np.zeros(len(owner)), np.ones(len(owner))
    )
    observed = observed_pages(born, np.zeros(n_pages, np.intp), 1, Coverage([(-1.0, 1e9)]))
    curve = np.zeros(n_bins)
    curve[age_bin] = clicks

    assert observed[0] == pytest.approx(np.full(n_bins, n_pages))
    assert np.cumsum(curve / observed[0]) == pytest.approx(plain)


@pytest.mark.parametrize("seconds", [0.0, 86_400.0], ids=["by the second", "by the day"])
def test_profit_and_decay_are_found_though_the_log_sees_a_part(seconds: float) -> None:
    """Pages are born all the time, the log begins and ends in between, with a gap."""
    rng = np.random.default_rng(4)
    profit, life, n_pages = 8.0, 30_000.0, 3000
    born = rng.uniform(0, 30 * 86_400.0, n_pages)
    owner = np.repeat(np.arange(n_pages), rng.poisson(profit, n_pages))
    time = born[owner] + rng.exponential(life, len(owner))
    spans = [(5 * 86_400.0, 15 * 86_400.0), (20 * 86_400.0, 28 * 86_400.0)]
    seen = np.any([(time >= start) & (time < end) for start, end in spans], axis=0)
    time, owner = time[seen], owner[seen]
    if seconds:
        time = time // seconds * seconds
    source = owner % 2
    columns = clicks_by_age(source, born[owner], time, np.full(len(time), seconds), np.ones(len(time)))
    clicks = np.zeros((2, N_BINS))
    clicks[columns[0], columns[1]] = columns[2]
    observed = observed_pages(born, np.arange(n_pages) % 2, 2, Coverage(spans))
    found = source_profits(clicks, observed, np.zeros(2, np.intp), 1)
    assert found is not None

    assert found.source.profit == pytest.approx([profit] * 2, rel=0.06 if not seconds else 0.1)
    assert 1 / found.source.decay == pytest.approx([life] * 2, rel=0.1 if not seconds else 0.6)
    assert found.anywhere.profit[0] == pytest.approx(profit / 2, rel=0.1)


def test_a_source_is_more_like_those_of_its_host() -> None:
    ages = BIN_SECONDS * np.arange(1, 73)
    rich, poor = (profit * -np.expm1(-1e-4 * ages) for profit in (20.0, 2.0))
    clicks = np.stack([rich, rich, 0 * ages, poor, poor, 0 * ages])
    pages = np.outer([100.0, 100.0, 0.0, 100.0, 100.0, 0.0], np.ones(72))
    source, host, anywhere = fit_grouped_profits(clicks, pages, np.array([0, 0, 0, 1, 1, 1]), 3)

    assert source.profit[[0, 3]] == pytest.approx([20, 2], rel=0.05)
    assert source.profit[2] == pytest.approx(host.profit[0])
    assert source.profit[2] == pytest.approx(10, rel=0.05)
    assert source.profit[5] == pytest.approx(1, rel=0.3)
    assert host.profit[2] == pytest.approx(anywhere.profit[0])
    assert host.profit[1] < anywhere.profit[0] < host.profit[0]
