r"""Do changes follow the clock?  Relative intensity by hour of the day.

The intensity in bin :math:`b` of the clock is :math:`\rho_b` times the page's mean rate :math:`r`. A visit
interval that spends :math:`e_b` seconds in each bin sees a change with probability :math:`1-e^{-\eta}`,
:math:`\eta=r\sum_b\rho_b e_b`. The estimate of :math:`\rho` maximises that likelihood by expectation and
maximisation: an interval with a change had :math:`r\rho_b e_b/(1-e^{-\eta})` changes in bin :math:`b` on
average. Each bin starts with some changes at the mean rate, which shrinks it towards flat.

Whether the clock matters at all is decided by the likelihood ratio against flat intensity. Intervals
longer than a day say little about the bins, and then it is small.

The integral of :math:`\rho` over a time interval is its *operational time*, in which changes come at a
constant rate. Estimates of the rate may use it in place of seconds. The value of a crawl should not: putting
operational time straight into the utility of a refresh was measured to lose up to .035 of freshness, since
it says how much has changed so far, not how much is about to.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

FloatArray = NDArray[np.float64]

HOUR, DAY = 3600.0, 86400.0
_BINS = 24
_MAX_STEPS = 200
_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Relative intensity of changes by the clock (UTC)."""

    relative: FloatArray  #: rho, of each hour; the mean is 1
    statistic: float  #: twice the log of the likelihood ratio against a flat intensity
    chance: float  #: of a statistic at least so large if the intensity is flat, at most

    def is_real(self, chance: float = 1e-3) -> bool:
        """Whether the data show that the clock matters."""
        return self.chance < chance


def fit_rhythm(
    start: FloatArray,
    end: FloatArray,
    changed: NDArray[np.bool_],
    change_rate: FloatArray | float,
    *,
    shrink_changes: float = 3.0,
) -> Rhythm:
    """Estimate the rhythm of some pages together.

    Parameters
    ----------
    start, end : (N,) arrays, unix seconds of a visit and of the one before it
    changed : (N,) array, whether the later one found a change
    change_rate : r, per second; one number, or the mean rate of each interval's page
    shrink_changes : changes at the mean rate that each bin starts with

    Examples
    --------
    >>> start = np.arange(0, 200 * DAY, HOUR)
    >>> in_the_morning = (start % DAY) == 8 * HOUR
    >>> found = fit_rhythm(start, start + HOUR, in_the_morning, 1 / DAY)
    >>> int(found.relative.argmax()), found.is_real()
    (8, True)
    """
    seconds = bin_seconds(start, end)
    exposure = seconds * np.broadcast_to(np.asarray(change_rate, np.float64), start.shape)[:, None]
    level = _fitted(exposure.sum(axis=1, keepdims=True), changed, 0.0)
    free = _fitted(exposure, changed, 0.0)
    statistic = 2 * max(
        _log_likelihood(exposure @ free, changed) - _log_likelihood(exposure.sum(axis=1) * level[0], changed),
        0.0,
    )
    shrunk = _fitted(exposure * level[0], changed, shrink_changes)
    chance = float(gammaincc((_BINS - 1) / 2, statistic / 2))
    return Rhythm(shrunk / shrunk.mean(), statistic, chance)


def operational_seconds(rhythm: Rhythm, start: FloatArray, end: FloatArray) -> FloatArray:
    """Integral of the relative intensity over each interval.

    >>> nights_off = Rhythm(np.repeat([0.0, 2.0], 12), 0.0, 1.0)
    >>> operational_seconds(nights_off, np.zeros(2), np.array([12 * HOUR, 5 * DAY])) / DAY
    array([0., 5.])
    """
    return bin_seconds(start, end) @ rhythm.relative


def bin_seconds(start: FloatArray, end: FloatArray) -> FloatArray:
    """Seconds that each interval spends in each hour of the day.

    >>> bin_seconds(np.array([30 * 60.0]), np.array([DAY + 2 * HOUR]))[0, :3] / HOUR
    array([1.5, 2. , 1. ])
    """
    return _seconds_until(end) - _seconds_until(start)


def _seconds_until(time: FloatArray) -> FloatArray:
    """Seconds spent in each hour of the day from the epoch to each time."""
    days, rest = np.divmod(time, DAY)
    inside = np.clip(rest[:, None] - HOUR * np.arange(_BINS), 0.0, HOUR)
    total: FloatArray = days[:, None] * HOUR + inside
    return total


def _fitted(exposure: FloatArray, changed: NDArray[np.bool_], shrink_changes: float) -> FloatArray:
    """Intensities relative to the rates in the exposure; the prior's mean is 1."""
    total = exposure.sum(axis=0) + shrink_changes + 1e-12
    with_change = exposure[changed]
    relative = np.ones(exposure.shape[1])
    for _ in range(_MAX_STEPS):
        chance = -np.expm1(-np.maximum(with_change @ relative, 1e-12))
        found = relative * (1 / chance @ with_change)
        previous, relative = relative, (found + shrink_changes + 1e-12) / total
        if np.max(np.abs(relative - previous)) <= _TOLERANCE:
            break
    return relative


def _log_likelihood(expected: FloatArray, changed: NDArray[np.bool_]) -> float:
    likely = np.log(-np.expm1(-np.maximum(expected[changed], 1e-300)))
    return float(likely.sum() - expected[~changed].sum())
