r"""How much would refreshing a page have gained?  Bounds that assume only that divergence grows.

A change profile knows the divergence from its base version at some times. Between two of them the
divergence may have jumped right after the earlier one (upper bound) or right before the later one (lower
bound) [1]_. With the areas :math:`A_{max}` and :math:`A_{min}` under the bounds, averaged over the profiles,
the utility of a refresh after :math:`t` lies between

.. math:: U_{min} = t\,D(t) - A_{max}, \qquad U_{max} = t\,D(t) - A_{min} .

Where fragments come back and divergence falls, the larger of the two observations is the upper bound.

References
----------
.. [1] Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, sections 4.3 and 4.5.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Times since the base and divergences from it, ascending; the base's own (0, 0) is implied.
ProfilePoints = tuple[NDArray[np.floating], NDArray[np.floating]]

#: D_max: of fragments, none is left.
_MOST_DIVERGENCE = 1.0


class Bounds(NamedTuple):
    """Bounds on the area under a page's divergence curve and on the utility of refreshing it."""

    least_area: float  #: A_min, divergence * seconds
    most_area: float  #: A_max
    least_utility: float  #: U_min
    most_utility: float  #: U_max


def bounds(profiles: Sequence[ProfilePoints], seconds: float) -> Bounds:
    """Bounds over the first *seconds* after a refresh, as far as the profiles were observed.

    The paper keeps a profile of every refresh, so that all of them are known at the time that counts.
    Here a profile counts up to its last observation. Where no profile was observed, the divergence lies
    between the last ones known and 1. The value of a bound at the end is its own, so the two utilities,
    which belong to the two bounds, are exact bounds only if the divergence at the end was observed.

    Parameters
    ----------
    profiles : up to h change profiles of the page
    seconds : t - t_R, time since the refresh, > 0

    Examples
    --------
    >>> profile = np.array([2.0, 5.0, 13.0]), np.array([0.2, 0.2, 0.3])  # the example of section 4.1
    >>> [round(each, 6) for each in bounds([profile], 13.0)]
    [2.2, 3.4, 0.5, 1.7]
    """
    observed = [times[times < seconds] for times, _ in profiles]
    edges = np.unique(np.concatenate([[0.0, seconds], *observed]).astype(np.float64))
    lower, upper = _between(profiles, edges[1:])
    least, most = float(np.diff(edges) @ lower), float(np.diff(edges) @ upper)
    at_end = _between(profiles, np.array([seconds]), at_observations=True)
    utilities = seconds * float(at_end[1][0]) - most, seconds * float(at_end[0][0]) - least
    return Bounds(least, most, min(utilities), max(utilities))


def bound_curves(profiles: Sequence[ProfilePoints], seconds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of the divergence just before each time, the means over the profiles.

    >>> lower, upper = bound_curves([(np.array([2.0]), np.array([0.5]))], np.array([1.0, 2.0, 3.0]))
    >>> lower.tolist(), upper.tolist()
    ([0.0, 0.0, 0.5], [0.5, 0.5, 1.0])
    """
    return _between(profiles, seconds)


def next_period(
    bounds: Bounds, threshold: float, since_reference: float, period: float
) -> tuple[float, bool]:
    """The time to wait before the next refresh, and whether the reference time moves to this one.

    Parameters
    ----------
    threshold : T, utility at which a page is worth a refresh, divergence * seconds
    since_reference : t - t_R, seconds since the reference time
    period : the period in use, seconds

    Examples
    --------
    >>> next_period(Bounds(0, 0, 1.0, 2.0), 5.0, since_reference=30.0, period=10.0)  # too short
    (60.0, False)
    >>> next_period(Bounds(0, 0, 7.0, 9.0), 5.0, since_reference=30.0, period=10.0)  # too long
    (5.0, True)
    >>> next_period(Bounds(0, 0, 3.0, 7.0), 5.0, since_reference=30.0, period=10.0)  # who knows
    (10.0, False)
    """
    if bounds.most_utility < threshold:
        return 2 * since_reference, False
    if bounds.least_utility >= threshold:
        return period / 2, True
    return period, False


def longest_period(threshold: float, risk: float) -> float:
    """The longest period with which no wait costs more than *risk* thresholds: rho * T / D_max.

    >>> longest_period(threshold=3600.0, risk=100.0)
    360000.0
    """
    return risk * threshold / _MOST_DIVERGENCE


def _between(
    profiles: Sequence[ProfilePoints], times: FloatArray, *, at_observations: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Mean lower and upper bounds just before each time, or at each time with what was observed then."""
    lowest, highest, covered = np.zeros(len(times)), np.zeros(len(times)), np.zeros(len(times))
    last_known = np.zeros(len(times))
    for elapsed, divergence in profiles:
        at = np.concatenate([[0.0], elapsed])
        value = np.concatenate([[0.0], divergence])
        following = np.searchsorted(at, times, side="left")
        is_covered = following < len(at)
        later = np.minimum(following, len(at) - 1)
        before, after = value[np.maximum(later - 1, 0)], value[later]
        if at_observations:
            before = np.where(at[later] == times, after, before)
        lowest += is_covered * np.minimum(before, after)
        highest += is_covered * np.maximum(before, after)
        covered += is_covered
        last_known += value[-1]
    last_known /= max(len(profiles), 1)
    is_known = covered > 0
    n = np.maximum(covered, 1)
    return np.where(is_known, lowest / n, last_known), np.where(is_known, highest / n, _MOST_DIVERGENCE)
