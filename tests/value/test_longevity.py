"""Longevity and its curves: the paper's definition of utility, simulated pages and known periods."""

import numpy as np
import pytest
from believed import page, value
from crawl_process import z_score
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammainc

from scrapy_freshness.value.curves import Scroll, curve
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.longevity import Longevity

MODEL = Longevity()
CHURN = {"change_rate": 0.25, "plateau": 0.5, "stages": 1}  # S=50, C=25
SCROLL = {"change_rate": 0.25, "plateau": 0.5, "stages": 10}  # S=50, K=10, c=2.5


def divergence(stages: int, share: float, z: float) -> float:
    """D by the sum over stages, not divided by the plateau."""
    after = 2 * np.arange(stages + 1) * share / stages / (1 + np.arange(stages + 1) * share / stages)
    return float(np.sum(np.diff(after) * gammainc(np.arange(stages) + 1, z)))


@pytest.mark.parametrize(
    ("columns", "periods"),
    [(CHURN, (3.8451, 6.7134, 10.7705, np.inf)), (SCROLL, (8.2088, 11.8160, 14.6748, 17.1551))],
)
def test_the_refresh_periods_of_the_known_pages(
    columns: dict[str, float], periods: tuple[float, ...]
) -> None:
    found = [MODEL.elapsed_at(page(**columns), threshold)[0] for threshold in (0.5, 1.0, 1.5, 2.0)]

    assert found == pytest.approx(periods, abs=5e-5)


@pytest.mark.parametrize("stages", [1, 2, 5, 17, 64])
@pytest.mark.parametrize("plateau", [0.1, 0.7, 1.0])
def test_utility_is_the_area_over_the_curve(stages: int, plateau: float) -> None:
    share = plateau / (2 - plateau)
    for z in (1e-5, 0.1, 2.0, 20.0, 100.0, 400.0):
        area, _ = quad(
            lambda t, z=z: divergence(stages, share, z) - divergence(stages, share, t),
            0,
            z,
            epsrel=1e-11,
            limit=500,
        )

        assert value(MODEL, z, plateau=plateau, stages=stages) == pytest.approx(area, rel=1e-7)
        fresh = MODEL.freshness(page(plateau=plateau, stages=stages), np.array([z]))[0]
        assert fresh == pytest.approx(1 - divergence(stages, share, z), abs=1e-13)


@pytest.mark.parametrize(("stages", "size", "still"), [(1, 25.0, 50.0), (10, 2.5, 50.0), (4, 30.0, 10.0)])
def test_simulated_pages_diverge_as_the_curve_says(stages: int, size: float, still: float) -> None:
    """Fragments of the copy and of the page that scrolled on: all sets are counted, none is drawn."""
    updates = np.minimum(np.random.default_rng(4).poisson(3.0, 300_000), stages)
    changed = still + stages * size
    common = changed - updates * size
    sample = 1 - common / (2 * changed - common)
    share = stages * size / changed
    plateau = 2 * share / (1 + share)

    fresh = MODEL.freshness(page(plateau=plateau, stages=stages), np.array([3.0]))[0]

    assert abs(z_score(sample, 1 - fresh)) < 4


@given(rate=st.floats(1e-12, 1e6), plateau=st.floats(0.001, 1), changes=st.floats(1e-9, 1e3))
def test_churn_is_greedy_on_a_plateau(rate: float, plateau: float, changes: float) -> None:
    elapsed = changes / rate
    greedy = value(Greedy(), elapsed, change_rate=rate)

    assert value(MODEL, elapsed, change_rate=rate, plateau=plateau, stages=1) == pytest.approx(
        plateau * greedy
    )


@given(stages=st.integers(1, 64), plateau=st.floats(0, 1), z=st.floats(1e-150, 1e-6))
def test_just_after_a_visit_the_utility_grows_with_the_square_of_time(
    stages: int, plateau: float, z: float
) -> None:
    share = plateau / (2 - plateau)
    first = 2 * share / (stages + share)

    assert value(MODEL, z, plateau=plateau, stages=stages) == pytest.approx(
        first * z * z / 2, rel=1e-5, abs=1e-307
    )


def test_scrolls_of_many_stages_keep_their_pace() -> None:
    """A scroll of 128 items is taken as 64 that take twice as long: D rises as fast."""
    scroll = Scroll(np.array([64.0]), np.array([1.0]))
    for elapsed in (0.5, 30.0, 100.0, 200.0):
        exact = divergence(128, 1.0, elapsed)
        fresh = MODEL.freshness(page(plateau=1.0, stages=128), np.array([elapsed]))[0]
        assert 1 - fresh == pytest.approx(exact, abs=0.01)
        assert curve(scroll, np.array([elapsed / 2])).divergence[0] == pytest.approx(1 - fresh)


def test_a_static_page_is_worth_only_its_first_visit() -> None:
    static = page(plateau=0.0, stages=1)

    assert value(MODEL, 1e9, plateau=0.0, stages=1) == 0
    assert MODEL.elapsed_at(static, 1e-9)[0] == np.inf
    assert MODEL.first_value(static)[0] == 1
