"""Pages of regions, and the offline policies that know all about them."""

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import gammainc

from scrapy_freshness.content.sketch import divergence, sketch
from scrapy_freshness.simulator.longevity_references import (
    dynamic_refreshes,
    fragment_static_period,
    holistic_static_period,
    mean_divergences,
)
from scrapy_freshness.simulator.regions import Regions, drawn_regions, drawn_versions
from scrapy_freshness.simulator.versions import PageVersions

CHURN = Regions(static=50, churn=25, churn_rate=0.25)
SCROLL = Regions(static=50, items=10, item_size=5, scroll_rate=0.25)


def made(times: list[float], numbers: list[list[int]], end: float) -> PageVersions:
    return PageVersions(np.array(times), [np.array(each, np.uint32) for each in numbers], end)


def utility(page: PageVersions, copied_at: float, now: float, *, holistic: bool) -> float:
    """Of a refresh now, by adding up the true divergence on a fine grid."""
    copy = int(page.at(copied_at))
    moved = np.array([page.divergence(copy, number) for number in range(len(page.times))])
    if holistic:
        moved = (moved > 0).astype(float)
    grid = np.linspace(copied_at, now, 20_001)[:-1]
    area = float(np.mean(moved[page.at(grid)])) * (now - copied_at)
    return (now - copied_at) * float(moved[int(page.at(now))]) - area


@given(
    static=st.integers(0, 40),
    churn=st.integers(0, 20),
    items=st.integers(0, 6),
    item_size=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_versions_diverge_as_their_regions_say(
    static: int, churn: int, items: int, item_size: int, seed: int
) -> None:
    regions = Regions(
        static=static, churn=churn, churn_rate=0.1, items=items, item_size=item_size, scroll_rate=0.2
    )
    page = drawn_versions(regions, 60.0, np.random.default_rng(seed))
    whole = static + churn + items * item_size
    rng = np.random.default_rng(seed)
    churned, scrolled = (np.sort(rng.uniform(0, 60.0, rng.poisson(rate * 60.0))) for rate in (0.1, 0.2))

    for number, at in enumerate(page.times.tolist()):
        replaced = churn * bool(np.count_nonzero(churned <= at))
        gone = item_size * min(np.count_nonzero(scrolled <= at), items)
        moved = replaced + gone
        expected = 2 * moved / (whole + moved) if whole else 0.0
        assert page.fragments[number].size == whole == np.unique(page.fragments[number]).size
        assert page.divergence(0, number) == pytest.approx(expected)


def test_sketches_of_drawn_pages_estimate_without_bias() -> None:
    """The shingles' hashes are as good as random ones."""
    errors = []
    for seed in range(400):
        page = drawn_versions(
            Regions(static=100, churn=100, churn_rate=1.0), 5.0, np.random.default_rng(seed)
        )
        a, b = (sketch(page.fragments[number], 32) for number in (0, -1))
        errors.append(divergence(a, b, 32) - page.divergence(0, len(page.times) - 1))

    assert np.mean(errors) == pytest.approx(0, abs=4 * np.std(errors) / np.sqrt(400))
    assert np.std(errors) == pytest.approx(np.sqrt(2 / 9 / 32), rel=0.25), "that of a random sample"


def test_fragments_of_a_scroll_live_as_long_as_k_updates() -> None:
    page = drawn_versions(SCROLL, 4000.0, np.random.default_rng(3))
    born: dict[int, float] = {}
    lives = []
    before: set[int] = set(page.fragments[0].tolist())
    for at, fragments in zip(page.times[1:].tolist(), page.fragments[1:], strict=True):
        shown = set(fragments.tolist())
        born.update(dict.fromkeys(shown - before, at))
        lives += [at - born[each] for each in before - shown if each in born]
        before = shown

    assert np.mean(lives) == pytest.approx(10 / 0.25, rel=0.1)
    # Five fragments an item, so a fifth of them are independent.
    assert np.std(lives[::5]) == pytest.approx(np.sqrt(10) / 0.25, rel=0.15)


def test_most_pages_are_static_and_a_third_of_the_others_scroll() -> None:
    pages = drawn_regions(6000, np.random.default_rng(1), updates_per_second=2.0)
    churning = [page for page in pages if page.churn_rate]
    scrolling = [page for page in pages if page.scroll_rate]

    assert len(churning) == pytest.approx(2000, abs=150)
    assert len(scrolling) == pytest.approx(1000, abs=120)
    rates = [page.churn_rate + page.scroll_rate for page in churning + scrolling]
    assert np.median(rates) == pytest.approx(2.0, rel=0.1)


def test_versions_that_make_no_history_are_refused() -> None:
    with pytest.raises(ValueError, match="2 times do not fit 1 versions"):
        made([0.0, 1.0], [[1]], 5.0)
    with pytest.raises(ValueError, match="ascend"):
        made([1.0, 0.0], [[1], [2]], 5.0)
    with pytest.raises(ValueError, match="ascend"):
        made([0.0, 9.0], [[1], [2]], 5.0)


def test_the_change_rate_does_not_count_versions_that_are_the_same() -> None:
    assert made([0.0, 1.0, 2.0], [[1], [1], [2]], 10.0).change_rate == pytest.approx(0.1)


def test_the_mean_divergence_of_a_churning_page_is_that_of_its_model() -> None:
    page = drawn_versions(CHURN, 8000.0, np.random.default_rng(5))
    curve = list(islice(mean_divergences(page, 4.0), 6))

    assert curve == pytest.approx(0.5 * -np.expm1(-0.25 * 4.0 * np.arange(6)), abs=0.02)


def test_the_static_period_of_a_churning_page_solves_its_utility() -> None:
    """An independent implementation: 3.8451, 6.7134 and 10.7705 days at T = .5, 1 and 1.5."""
    page = drawn_versions(CHURN, 6000.0, np.random.default_rng(6))

    for threshold, period in ((0.5, 3.8451), (1.0, 6.7134)):
        exact = brentq(lambda t, u=threshold: 0.5 / 0.25 * gammainc(2, 0.25 * t) - u, 0.1, 100)
        assert exact == pytest.approx(period, abs=1e-4)
        assert fragment_static_period(page, threshold, 2.0) == pytest.approx(period, rel=0.1)
    assert fragment_static_period(page, 20.0, 2.0, longest_seconds=50.0) == math.inf


def test_the_static_period_of_a_scrolling_page_is_longer_at_first() -> None:
    """It scrolls as often as the other churns; at a low threshold it may wait, at a high one it may not."""
    churn, scroll = (drawn_versions(each, 3000.0, np.random.default_rng(7)) for each in (CHURN, SCROLL))

    assert fragment_static_period(scroll, 0.5, 2.0) > fragment_static_period(churn, 0.5, 2.0)
    assert math.isinf(fragment_static_period(churn, 2.5, 2.0, longest_seconds=100.0))
    assert fragment_static_period(scroll, 2.5, 2.0) < 40


def test_a_static_page_is_never_refreshed() -> None:
    page = made([0.0], [[1, 2, 3]], 100.0)

    assert math.isinf(fragment_static_period(page, 0.1, 2.0))
    assert math.isinf(holistic_static_period(page, 0.1))
    assert len(dynamic_refreshes(page, 0.1, holistic=False)) == 0


def test_the_holistic_period_knows_only_how_often_a_page_changes() -> None:
    churn, scroll = (drawn_versions(each, 40_000.0, np.random.default_rng(8)) for each in (CHURN, SCROLL))

    exact = brentq(lambda t: gammainc(2, 0.25 * t) / 0.25 - 1.0, 0.1, 100)
    assert holistic_static_period(churn, 1.0) == pytest.approx(exact, rel=0.05)
    assert holistic_static_period(scroll, 1.0) == pytest.approx(exact, rel=0.05)
    assert math.isinf(holistic_static_period(churn, 4.5))


@pytest.mark.parametrize("holistic", [False, True])
@given(seed=st.integers(0, 1000), threshold=st.floats(0.2, 6.0))
def test_dynamic_refreshes_come_exactly_when_the_utility_is_reached(
    holistic: bool, seed: int, threshold: float
) -> None:
    regions = Regions(static=20, churn=10, churn_rate=0.03, items=8, item_size=3, scroll_rate=0.2)
    page = drawn_versions(regions, 80.0, np.random.default_rng(seed))

    refreshes = dynamic_refreshes(page, threshold, holistic=holistic)

    assert np.all(np.isin(refreshes, page.times))
    copied = [float(page.times[0]), *refreshes.tolist()]
    for number, copied_at in enumerate(copied):
        until = copied[number + 1] if number + 1 < len(copied) else page.end
        for at in page.times[(page.times > copied_at) & (page.times <= until)].tolist():
            gained = utility(page, copied_at, at, holistic=holistic)
            if number + 1 < len(copied) and at == until:
                assert gained >= threshold - 0.05
            else:
                assert gained <= threshold + 0.05


def test_a_page_that_churns_too_soon_is_given_up_for_ever() -> None:
    """All that can change has changed 1 second after the copy: the utility stands still at half a second."""
    page = made([0.0, 1.0, 5.0, 9.0], [[1, 2, 3], [1, 4, 5], [1, 6, 7], [1, 8, 9]], 1000.0)

    assert len(dynamic_refreshes(page, 1.1, holistic=False)) == 0
    assert len(dynamic_refreshes(page, 1.1, holistic=True)) == 0
    assert dynamic_refreshes(page, 0.9, holistic=True).tolist() == [1.0, 5.0, 9.0]


def test_fragments_that_come_back_take_utility_away() -> None:
    page = made([0.0, 4.0, 5.0, 12.0], [[1, 2], [3, 4], [1, 2], [3, 4]], 50.0)

    assert dynamic_refreshes(page, 6.0, holistic=True).tolist() == [12.0]
    assert dynamic_refreshes(page, 11.5, holistic=True).tolist() == []
