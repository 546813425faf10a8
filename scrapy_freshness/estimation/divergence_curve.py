r"""How far does a page move away from a copy?  Fits of churn and scroll curves to change profiles.

The pairs (time since the base, divergence) of all change profiles are one set of points, to which
:math:`D(t)=a\,h_K(\lambda t)` is fitted by least squares for several :math:`K`, and the closest is kept [1]_:
:math:`a` is the plateau, :math:`\lambda` the rate of updates, :math:`K=1` churn and :math:`K>1` a scroll (see
`scroll_shapes.py`). Points with equal times need not be averaged first: the fit is the same.

An observation weighs as much as the time it stands for, half of the way to its neighbours. Two equal
ones in a row stand for a plateau between them, on which the curve is compared at its middle too (Simpson's
rule). So it does not matter that change profiles keep only the ends of a plateau.

Few points allow any curve. So there is a pull, worth a fraction of an observation, towards the page's
change rate and a middling plateau. In the paper a curve fitted to zeros is zero. Here a page that
:math:`n` visits found unchanged keeps its change rate, and of the middling plateau :math:`a_0` the part

.. math:: a = a_0\,\frac{\kappa}{\kappa+n} ,

which is the least-squares plateau of :math:`n` zeros and a pull worth :math:`\kappa` of them. The change rate
falls with the time that was watched, but of a page that never changes it would never be low enough to
leave the page alone: together they make the page's waits grow with the square of :math:`n`.

References
----------
.. [1] Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, section 4.2.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.bounds import ProfilePoints
from scrapy_freshness.estimation.scroll_shapes import STAGES, shapes

FloatArray = NDArray[np.float64]

#: Plateau that is believed of a page that was never compared, a_0.
_USUAL_PLATEAU = 0.5
#: Visits without a change that the usual plateau counts for, kappa; .03 to .3 do equally well, 3 is too many.
_STATIC_PULL = 0.3
#: Observations at the plateau that the usual plateau counts for.
_PLATEAU_PULL = 0.1
#: Squared error of an observation that the pull towards the change rate supposes.
_NOISE = 0.03
#: Rates that are tried: first within a factor of 20 of the change rate, then around the best; logarithms.
_COARSE, _FINE = np.linspace(-3, 3, 13), np.linspace(-0.5, 0.5, 11)
#: Points whose times differ by less than this factor (a logarithm) count as one.
_SAME_TIME = 0.1
#: Observations that a profile counts for at most: they depend on each other.
_MOST_EACH = 4
#: Least mean squared error assumed of an observation (of sketches with 64 fragments, and of the model).
_LEAST_ERROR = 0.05**2
#: Standard normal quantile of a two-sided 90 % interval, and the largest half width of that of log(rate).
_Z90, _WIDEST = 1.6448536269514722, 5.0


class FittedCurve(NamedTuple):
    """A divergence curve D(t) = a * h_K(lambda * t), with 90 % intervals."""

    plateau: float  #: a, divergence after a long time, 0 to 1
    plateau_low: float
    plateau_high: float
    rate: float  #: lambda, updates per second
    rate_low: float
    rate_high: float
    stages: int  #: K, updates until a fragment has left the page; 1: churn
    error: float  #: root of the mean squared error, weighted by time


def fit_curve(
    profiles: Sequence[ProfilePoints],
    change_rate: float,
    log_deviation: float = 0.5,
    *,
    unchanged_visits: int = 0,
) -> FittedCurve:
    """Fit the divergence curve of one page.

    The observations of one profile are not independent, so the intervals suppose one for each profile.

    Parameters
    ----------
    profiles : times since the base (seconds) and divergences from it, of each change profile
    change_rate : what is believed of the page from its visits, per second, > 0
    log_deviation : standard deviation of the logarithm of that: log(high / low) / 3.3 of a 90 % interval
    unchanged_visits : n, how many visits found what the first one did, of a page that was never seen to
        change (profiles do not tell: they keep only the last of them)

    Examples
    --------
    >>> days = 86400.0 * np.arange(1, 15)
    >>> churn = fit_curve([(days, 0.6 * -np.expm1(-days / 172800))], change_rate=1 / 172800)
    >>> churn.stages, round(churn.plateau, 1), round(1 / churn.rate / 86400)
    (1, 0.6, 2)
    >>> fit_curve([], change_rate=1e-6).plateau
    0.5
    >>> round(fit_curve([(days, np.zeros(14))], change_rate=1e-6, unchanged_visits=14).plateau, 4)
    0.0105
    """
    times, moved, weight, n = _points(profiles)
    if not moved.any():
        plateau = _USUAL_PLATEAU * _STATIC_PULL / (_STATIC_PULL + unchanged_visits)
        rates = change_rate * np.exp([-_WIDEST, _WIDEST])
        return FittedCurve(plateau, 0.0, 1.0, change_rate, float(rates[0]), float(rates[1]), 1, 0.0)
    pull = _NOISE / max(log_deviation, 0.01) ** 2
    data = _Points.of(times, moved, weight * (n / weight.sum()), float(np.log(change_rate)), pull)

    kinds = np.arange(len(STAGES))
    log_rates = np.broadcast_to(data.log_change_rate + _COARSE, (len(STAGES), len(_COARSE)))
    tried = data.tried(log_rates, np.full(len(STAGES), moved.max()))
    best = tried.error.argmin(axis=1)
    log_rates = log_rates[kinds, best][:, None] + _FINE
    tried = data.tried(log_rates, tried.plateau[kinds, best])
    return _closest(tried, log_rates, n, len(profiles))


class _Tried(NamedTuple):
    """Fits for some rates: one row for each of the stages, one column a rate."""

    error: FloatArray  #: sum of squares, with the pulls
    plateau: FloatArray
    information: FloatArray  #: half the second derivative of the error by the plateau


class _Points(NamedTuple):
    """What the curves are fitted to."""

    log_times: FloatArray
    weight: FloatArray
    weighted: FloatArray  #: weight * divergence
    square: float  #: sum of weight * divergence^2
    log_change_rate: float
    pull: float  #: squared error of a rate e times faster or slower

    @classmethod
    def of(
        cls,
        times: FloatArray,
        moved: FloatArray,
        weight: FloatArray,
        log_change_rate: float,
        pull: float,
    ) -> "_Points":
        """Points with nearly the same time are one; all that matters of the rest is their sum of squares."""
        log_times = np.log(times)
        bins = ((log_times - log_times.min()) / _SAME_TIME).astype(np.intp)
        sums = [np.bincount(bins, each) for each in (weight, weight * log_times, weight * moved)]
        mass, log_time, weighted = np.array(sums, np.float64)[:, sums[0].nonzero()[0]]
        square = float(weight @ (moved * moved))
        return cls(log_time / mass, mass, weighted, square, log_change_rate, pull)

    def tried(self, log_rates: FloatArray, shape_plateau: FloatArray) -> _Tried:
        """Fit the plateau for given rates; the shape is that of a plateau known roughly."""
        shape = shapes(shape_plateau, log_rates[..., None] + self.log_times)
        product = shape @ self.weighted + _PLATEAU_PULL * _USUAL_PLATEAU
        information = np.square(shape) @ self.weight + _PLATEAU_PULL
        plateau = np.minimum(product / information, 1.0)
        error = (
            self.square + _PLATEAU_PULL * _USUAL_PLATEAU**2 - plateau * (2 * product - plateau * information)
        )
        error += self.pull * (log_rates - self.log_change_rate) ** 2
        return _Tried(error, plateau, information)


def _points(profiles: Sequence[ProfilePoints]) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Times, divergences and weights of the points to fit, and how many observations they count for."""
    base = np.zeros(1)
    at = np.concatenate([each for elapsed, _ in profiles for each in (base, elapsed)] or [base])
    moved = np.concatenate([each for _, divergence in profiles for each in (base, divergence)] or [base])
    # From a point to the next of the same profile; none leads to a base.
    steps = np.where(at[1:] > 0, np.diff(at), 0.0)
    is_flat = moved[1:] == moved[:-1]
    ends = np.where(is_flat, 1 / 6, 1 / 2) * steps
    weight = np.append(ends, 0.0) + np.append(0.0, ends)
    middle, observed = (is_flat & (steps > 0)).nonzero()[0], at.nonzero()[0]
    return (
        np.concatenate([at[observed], at[middle] + steps[middle] / 2]),
        np.concatenate([moved[observed], moved[middle]]),
        np.concatenate([weight[observed], 2 / 3 * steps[middle]]),
        min(len(observed), _MOST_EACH * len(profiles)),
    )


def _closest(tried: _Tried, log_rates: FloatArray, n: int, n_profiles: int) -> FittedCurve:
    """The curve with the least error, and how far others may be from it."""
    kind, place = divmod(int(tried.error.argmin()), tried.error.shape[1])
    middle = min(max(place, 1), tried.error.shape[1] - 2)
    near = slice(middle - 1, middle + 2)
    error, plateau = tried.error[kind, near].tolist(), tried.plateau[kind, near].tolist()
    least, step = error[place - middle + 1], float(_FINE[1] - _FINE[0])
    curvature = max(error[0] - 2 * error[1] + error[2], 1e-12)
    # The minimum of the parabola through three rates, in steps from the middle one.
    shift = min(max((error[0] - error[2]) / (2 * curvature), -1.0), 1.0)
    log_rate = float(log_rates[kind, middle]) + shift * step
    a = plateau[1] + shift * (
        (plateau[2] if shift > 0 else plateau[1]) - (plateau[1] if shift > 0 else plateau[0])
    )

    variance = max(least / n, _LEAST_ERROR) * n / n_profiles
    wide = min(_Z90 * math.sqrt(2 * variance / curvature) * step, _WIDEST)
    wide_a = _Z90 * math.sqrt(variance / float(tried.information[kind, middle]))
    wide_a += abs(plateau[2] - plateau[0]) / (2 * step) * wide
    return FittedCurve(
        plateau=a,
        plateau_low=max(a - wide_a, 0.0),
        plateau_high=min(a + wide_a, 1.0),
        rate=math.exp(log_rate),
        rate_low=math.exp(log_rate - wide),
        rate_high=math.exp(log_rate + wide),
        stages=int(STAGES[kind]),
        error=math.sqrt(max(least, 0.0) / n),
    )
