"""Fitted divergence curves: against the value models' curves, simulated pages and a second solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares

from scrapy_freshness.estimation.divergence_curve import FittedCurve, fit_curve
from scrapy_freshness.estimation.scroll_shapes import STAGES, shapes
from scrapy_freshness.value.curves import Scroll, curve

DAY = 86400.0
Profile = tuple[np.ndarray, np.ndarray]


def exact_shape(plateau: float, stages: float, z: np.ndarray) -> np.ndarray:
    """h, as the value models compute it."""
    share = np.full(len(z), plateau / (2 - plateau))
    return curve(Scroll(np.full(len(z), stages), share), z).divergence


def simulated(
    rng: np.random.Generator, plateau: float, rate: float, stages: int, *, profiles: int, visits: int
) -> list[Profile]:
    """Change profiles of a page whose updates replace one of its items each."""
    found = []
    share = plateau / (2 - plateau)
    for _ in range(profiles):
        times = np.cumsum(rng.exponential(1 / rate, visits))
        updates = np.cumsum(rng.poisson(rate * np.diff(times, prepend=0)))
        replaced = np.minimum(updates, stages) * share / stages
        found.append((times.astype(np.float32), (2 * replaced / (1 + replaced)).astype(np.float32)))
    return found


def expected_profile(plateau: float, rate: float, stages: int, ages: np.ndarray) -> Profile:
    return ages, plateau * exact_shape(plateau, stages, rate * ages)


@pytest.mark.parametrize("plateau", [0.01, 0.3, 0.77, 1.0])
def test_the_shapes_are_those_of_the_value_models(plateau: float) -> None:
    z = np.geomspace(1e-3, 250, 300)
    found = shapes(np.full(len(STAGES), plateau), np.broadcast_to(np.log(z), (len(STAGES), 1, 300)))

    for row, stages in zip(found[:, 0], STAGES, strict=True):
        assert row == pytest.approx(exact_shape(plateau, stages, z), abs=0.01)


def test_a_simulated_page_has_the_shape_on_average() -> None:
    rng = np.random.default_rng(1)
    plateau, stages, z = 0.8, 8, 5.0
    updates = np.minimum(rng.poisson(z, 200_000), stages)
    replaced = updates / stages * plateau / (2 - plateau)
    divergence = 2 * replaced / (1 + replaced)

    kind = STAGES.tolist().index(stages)
    found = shapes(np.full(len(STAGES), plateau), np.full((len(STAGES), 1, 1), np.log(z)))[kind, 0, 0]

    assert plateau * found == pytest.approx(divergence.mean(), abs=0.008)


@pytest.mark.parametrize("stages", STAGES.tolist())
@pytest.mark.parametrize(("plateau", "wrong_by"), [(0.3, 1.0), (0.9, 1.5), (0.6, 0.7)])
def test_an_exact_curve_is_found_again(plateau: float, wrong_by: float, stages: int) -> None:
    rate = 1 / DAY
    ages = np.linspace(0.05, 3, 40) * stages * DAY

    # The mean of many profiles: so many outweigh what is believed beforehand.
    profiles = [expected_profile(plateau, rate, stages, ages)] * 20
    found = fit_curve(profiles, rate * wrong_by, log_deviation=2.0)

    assert found.plateau == pytest.approx(plateau, abs=0.03)
    z, true_z = found.rate * ages, rate * ages
    fitted = found.plateau * exact_shape(found.plateau, found.stages, z)
    assert fitted == pytest.approx(plateau * exact_shape(plateau, stages, true_z), abs=0.03)
    if wrong_by == 1:
        assert found.stages == stages
        assert found.rate == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize(("plateau", "stages"), [(0.5, 1), (0.8, 1), (0.5, 8), (0.9, 16), (0.3, 4)])
def test_simulated_pages_are_recognised(plateau: float, stages: int) -> None:
    rng = np.random.default_rng(3)
    found = [
        fit_curve(simulated(rng, plateau, 1 / DAY, stages, profiles=5, visits=12 + 2 * stages), 1 / DAY, 0.3)
        for _ in range(60)
    ]

    assert np.median([each.plateau for each in found]) == pytest.approx(plateau, abs=0.06)
    assert np.median([each.rate for each in found]) == pytest.approx(1 / DAY, rel=0.25)
    assert np.median([each.stages for each in found]) == pytest.approx(stages, rel=0.5, abs=1)


def test_most_intervals_contain_the_truth() -> None:
    rng = np.random.default_rng(4)
    found = [fit_curve(simulated(rng, 0.6, 1 / DAY, 4, profiles=5, visits=12), 1 / DAY) for _ in range(150)]

    for covered in (
        [each.plateau_low <= 0.6 <= each.plateau_high for each in found],
        [each.rate_low <= 1 / DAY <= each.rate_high for each in found],
    ):
        assert np.mean(covered) >= 0.9 - 3 * np.sqrt(0.09 / 150)


def squared_error(found: FittedCurve, profile: Profile) -> float:
    ages, divergence = profile
    fitted = found.plateau * exact_shape(found.plateau, found.stages, found.rate * ages)
    steps = np.diff(ages, prepend=0)
    weight = (steps + np.append(steps[1:], 0)) / 2
    return float(weight @ (fitted - divergence) ** 2 / weight.sum())


def test_no_other_curve_is_much_closer() -> None:
    """scipy's least squares, for each number of stages, from several starts."""
    rng = np.random.default_rng(6)
    ages = np.sort(rng.uniform(0.1, 30, 25))
    profile = ages, np.clip(0.6 * (1 - np.exp(-ages / 7)) + rng.normal(0, 0.05, 25), 0.001, 1)
    steps = np.diff(ages, prepend=0)
    root_weight = np.sqrt((steps + np.append(steps[1:], 0)) / 2)

    best = np.inf
    for stages in STAGES:

        def residuals(theta: np.ndarray, stages: int = int(stages)) -> np.ndarray:
            fitted = theta[0] * exact_shape(theta[0], stages, np.exp(theta[1]) * ages)
            residual: np.ndarray = root_weight * (fitted - profile[1])
            return residual

        for start in (-3.0, -1.0, 1.0):
            other = least_squares(residuals, [0.5, start], bounds=([0, -8], [1, 5]))
            best = min(best, 2 * other.cost / float(root_weight @ root_weight))

    found = fit_curve([profile], change_rate=1 / 7, log_deviation=10.0)

    assert squared_error(found, profile) < best + 0.03**2


def test_the_inside_of_a_plateau_may_be_forgotten() -> None:
    ages = np.arange(1.0, 41.0)
    divergence = np.where(ages < 4, 0.0, np.where(ages < 12, 0.2, 0.5))
    is_end = np.append(True, np.diff(divergence) != 0) | np.append(np.diff(divergence) != 0, True)

    every_visit = fit_curve([(ages, divergence)], 0.1)
    ends_only = fit_curve([(ages[is_end], divergence[is_end])], 0.1)

    assert ends_only.plateau == pytest.approx(every_visit.plateau, abs=0.03)
    assert ends_only.stages == every_visit.stages
    assert ends_only.rate == pytest.approx(every_visit.rate, rel=0.15)


def test_points_with_equal_times_count_as_their_average() -> None:
    ages = np.arange(1.0, 11.0) * DAY
    high, low = 0.8 * -np.expm1(-ages / DAY / 2), 0.4 * -np.expm1(-ages / DAY / 2)

    apart, averaged = (
        fit_curve(each, 0.5 / DAY) for each in ([(ages, high), (ages, low)], [(ages, (high + low) / 2)])
    )

    assert apart.plateau == pytest.approx(averaged.plateau, abs=0.02)
    assert apart.rate == pytest.approx(averaged.rate, rel=0.05)
    assert apart.error > averaged.error


@given(scale=st.floats(1e-3, 1e6), seed=st.integers(0, 1000))
def test_the_unit_of_time_does_not_matter(scale: float, seed: int) -> None:
    (ages, divergence), *_ = simulated(np.random.default_rng(seed), 0.5, 1.0, 4, profiles=1, visits=10)
    ages = ages.astype(float)

    one, other = fit_curve([(ages, divergence)], 1.0), fit_curve([(ages * scale, divergence)], 1 / scale)

    assert other.plateau == pytest.approx(one.plateau, abs=0.03)
    assert other.rate * scale == pytest.approx(one.rate, rel=0.3)


def test_a_page_that_was_never_seen_to_change_is_believed_to_move_at_its_change_rate() -> None:
    watched = np.array([DAY, 5 * DAY]), np.zeros(2)
    for profiles in ([], [watched], [(np.zeros(0), np.zeros(0))]):
        found = fit_curve(profiles, 2e-6)

        assert (found.plateau, found.rate, found.stages) == (0.5, 2e-6, 1)
        assert (found.plateau_low, found.plateau_high) == (0, 1)
        assert found.rate_low < 2e-7 < 2e-5 < found.rate_high


def test_the_plateau_of_an_unchanged_page_is_that_of_least_squares_through_zeros() -> None:
    """Visits at the plateau that all saw 0, and one of weight .3 that saw .5."""
    watched = np.array([5 * DAY]), np.zeros(1)
    for visits in (0, 1, 4, 50):
        root_weight = np.sqrt(np.append(np.ones(visits), 0.3))
        seen = np.append(np.zeros(visits), 0.5)
        (closest,), *_ = np.linalg.lstsq(root_weight[:, None], root_weight * seen)

        assert fit_curve([watched], 2e-6, unchanged_visits=visits).plateau == pytest.approx(closest)


def test_visits_without_a_change_do_not_matter_once_a_page_has_moved() -> None:
    moved = np.array([DAY, 5 * DAY]), np.array([0.0, 0.4])

    assert fit_curve([moved], 2e-6, unchanged_visits=9) == fit_curve([moved], 2e-6)


profile_points = st.lists(
    st.tuples(st.floats(1e-2, 1e9), st.floats(0, 1)), max_size=12, unique_by=lambda point: point[0]
)


@given(
    drawn=st.lists(profile_points, max_size=5),
    change_rate=st.floats(1e-9, 1.0),
    log_deviation=st.floats(0, 20),
)
def test_curves_are_curves_whatever_was_seen(
    drawn: list[list[tuple[float, float]]], change_rate: float, log_deviation: float
) -> None:
    profiles = []
    for points in drawn:
        columns = np.array(sorted(points), np.float32).reshape(len(points), 2)
        profiles.append((columns[:, 0], columns[:, 1]))

    found = fit_curve(profiles, change_rate, log_deviation)

    assert 0 <= found.plateau_low <= found.plateau <= found.plateau_high <= 1
    assert 0 < found.rate_low <= found.rate <= found.rate_high < np.inf
    assert 1 <= found.stages <= 64
    assert 0 <= found.error <= 2
