"""Standard errors of shares: against resampling, and against the truth of drawn pages and times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_histories import fetches, webs

from scrapy_freshness.simulator.link_metrics import LinkFinds, profit
from scrapy_freshness.simulator.metrics import freshness
from scrapy_freshness.simulator.recorded import web_of
from scrapy_freshness.simulator.trace import Version
from scrapy_freshness.simulator.trial import Trial
from scrapy_freshness.simulator.uncertainty import MANY_PAGES, Parts, fresh_parts, profit_parts


def trial_of(history: list[list[Version]], fetched: list[tuple[int, int]]) -> Trial:
    pages, times = np.array([*zip(*fetched, strict=True)] if fetched else [[], []])
    web = web_of(version for page in history for version in page)
    return Trial(web, pages.astype(int), times.astype(float), 2.0, 25.0)


@given(history=webs(), fetched=fetches(), cuts=st.lists(st.floats(2.5, 24.5), max_size=4))
def test_the_parts_of_the_freshness_add_up(
    history: list[list[Version]], fetched: list[tuple[int, int]], cuts: list[float]
) -> None:
    trial = trial_of(history, fetched)
    parts = fresh_parts(trial, [2.0, *sorted(cuts), 25.0])

    assert parts.share == pytest.approx(freshness(trial), nan_ok=True)
    assert np.all(parts.had <= parts.possible + 1e-9)
    for page in range(len(trial.web.pages)):
        there = trial.spans.is_there & (trial.spans.page == page)
        assert parts.possible[page].sum() == pytest.approx(trial.spans.seconds[there].sum())


@given(history=webs(with_hubs=True), fetched=fetches())
def test_the_parts_of_the_profit_add_up(history: list[list[Version]], fetched: list[tuple[int, int]]) -> None:
    finds = LinkFinds.of(trial_of(history, fetched))
    parts = profit_parts(finds, 3, 4, life_seconds=7.0)

    assert parts.share == pytest.approx(profit(finds, 7.0), nan_ok=True)
    assert parts.possible.shape == (3, 4)


def resampled_stderr(parts: Parts, axis: int, rng: np.random.Generator) -> float:
    """Bootstrap of whole pages (axis 0) or whole blocks of time (axis 1)."""
    had, possible = parts.had.sum(axis=1 - axis), parts.possible.sum(axis=1 - axis)
    chosen = rng.integers(0, len(had), (20_000, len(had)))
    return float(np.std(had[chosen].sum(axis=1) / possible[chosen].sum(axis=1)))


def test_with_few_pages_it_is_that_of_resampled_times() -> None:
    rng = np.random.default_rng(1)
    possible = rng.uniform(0.5, 1.5, (5, 20))
    parts = Parts(possible * rng.beta(5, 2, (5, 20)), possible)

    # The bootstrap divides by n where an unbiased variance divides by n - 1.
    assert parts.stderr == pytest.approx(resampled_stderr(parts, 1, rng) * np.sqrt(20 / 19), rel=0.03)


def test_with_many_pages_it_is_that_of_resampled_pages_if_times_are_all_alike() -> None:
    rng = np.random.default_rng(2)
    possible = np.tile(rng.uniform(0.5, 1.5, (200, 1)), (1, 20))
    parts = Parts(possible * rng.beta(5, 2, (200, 1)), possible)

    assert parts.stderr == pytest.approx(resampled_stderr(parts, 0, rng), rel=0.03)


@pytest.mark.parametrize(
    ("page_effect", "time_effect"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)], ids=str
)
def test_it_is_how_far_shares_of_drawn_pages_and_times_in_fact_scatter(
    page_effect: float, time_effect: float
) -> None:
    """Each page has its own level, and each time as well; what is left is noise."""
    rng = np.random.default_rng(3)
    shares, stderrs = [], []
    for _ in range(400):
        had = (
            page_effect * 0.3 * rng.standard_normal((60, 1))
            + time_effect * 0.1 * rng.standard_normal((1, 20))
            + 0.5 * rng.standard_normal((60, 20))
        )
        parts = Parts(had, np.ones((60, 20)))
        shares.append(parts.share)
        stderrs.append(parts.stderr)

    assert np.sqrt(np.mean(np.square(stderrs))) == pytest.approx(np.std(shares), rel=0.15)


def test_what_is_hard_for_both_cancels_in_a_difference() -> None:
    rng = np.random.default_rng(4)
    possible = np.ones((50, 20))
    level = rng.uniform(0.2, 0.9, (50, 20))
    one, other = (Parts(level + 0.01 * rng.standard_normal(level.shape), possible) for _ in range(2))

    assert (one - other).share == pytest.approx(one.share - other.share)
    assert (one - other).stderr < one.stderr / 10
    assert (one - one).stderr == 0.0


def test_pages_and_times_without_anything_do_not_count() -> None:
    rng = np.random.default_rng(5)
    parts = Parts(rng.random((4, 6)), np.ones((4, 6)))
    padded = Parts(np.pad(parts.had, ((0, MANY_PAGES), (0, 3))), np.pad(parts.possible, ((0, 20), (0, 3))))

    assert padded.stderr == pytest.approx(parts.stderr)


@pytest.mark.parametrize("shape", [(3, 1), (3, 0), (0, 5)])
def test_nothing_is_told_from_too_little(shape: tuple[int, int]) -> None:
    parts = Parts(np.ones(shape), np.ones(shape))

    assert np.isnan(parts.stderr)
