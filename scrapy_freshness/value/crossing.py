r"""When does a value reach a price?  Newton's method inside a bracket, for many pages at once.

Values grow like the square of time at first and approach a bound in the end. The transform

.. math:: T(V) = -\log(1-\sqrt{V/V_\infty})

makes both ends nearly straight, so that Newton's method for :math:`T(V(\tau)) = T(price)` takes a few steps
from anywhere. A step out of the bracket is replaced by one that halves it.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.value.contract import FloatArray

#: Values of the pages in some rows after some seconds, and their derivatives.
Growth = Callable[[NDArray[np.intp], FloatArray], tuple[FloatArray, FloatArray]]

_MAX_STEPS = 200
_ROUNDING = 1e-14
#: Seconds beyond which no page is followed.
_LONGEST = 1e300


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def first_crossing(
    growth: Growth,
    start: FloatArray,
    bound: FloatArray,
    price: float,
    guess: FloatArray,
    *,
    last_step: float = 1e-4,
) -> FloatArray:
    """Least elapsed time at which the value reaches the price; inf where it does not.

    Parameters
    ----------
    growth : values of the pages in some rows after some seconds, and their derivatives
    start : (n,) array, the value right after the visit: 0 if no signals have come
    bound : (n,) array, what the value approaches or stays below
    price : value to reach
    guess : (n,) array, seconds to begin with, > 0
    last_step : step, relative to the time, that is the last one; about the square of it is left as an error

    >>> from scrapy_freshness.value.contract import Beliefs
    >>> from scrapy_freshness.value.greedy import Greedy
    >>> page = Beliefs(importance=np.ones(1), change_rate=np.array([0.5]))
    >>> def growth(rows, elapsed):
    ...     x = page.change_rate[rows] * elapsed
    ...     return Greedy().value(page.at(rows), elapsed), page.importance[rows] * x * np.exp(-x)
    >>> first_crossing(growth, np.zeros(1), np.array([2.0]), 0.88434920, guess=np.ones(1)).round(6)
    array([3.])
    """
    seconds = np.where(start < price, np.inf, 0.0)
    rows = ((start < price) & (price < bound)).nonzero()[0]
    x = guess[rows]
    low, high = np.zeros(len(rows)), np.full(len(rows), np.inf)
    for _ in range(_MAX_STEPS):
        if len(rows) == 0:
            break
        reached, slope = growth(rows, x)
        is_below = reached < price
        low, high = np.where(is_below, x, low), np.where(is_below, high, x)
        step = _newton_step(reached, slope, bound[rows], price)
        found = (np.abs(step) <= last_step * x) | (high - low <= _ROUNDING * x)
        seconds[rows[found]] = np.clip(x + step, low, high)[found]
        following = _inside(x + step, x, low, high)
        is_flat = is_below & (slope == 0)
        goes_on = (~found & ~is_flat & (following < _LONGEST)).nonzero()[0]
        rows, x, low, high = rows[goes_on], following[goes_on], low[goes_on], high[goes_on]
    return seconds


def _newton_step(reached: FloatArray, slope: FloatArray, bound: FloatArray, price: float) -> FloatArray:
    """Step towards T(V) = T(price); infinite or nan where the value does not grow or is at its bound."""
    root, goal = np.sqrt(np.minimum(reached / bound, 1.0)), np.sqrt(price / bound)
    distance = np.log1p(-root) - np.log1p(-goal)
    step: FloatArray = distance * 2 * root * (1 - root) * bound / slope
    return step


def _inside(wanted: FloatArray, x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Where to look next: as wanted if that is inside the bracket, else where it becomes much smaller."""
    middle = np.where(low > high / 8, (low + high) / 2, np.maximum(np.sqrt(low) * np.sqrt(high), high / 64))
    middle = np.where(np.isinf(high), 64 * x, middle)
    # A flat piece may send Newton's method very far.
    wanted = np.minimum(wanted, 1e6 * x)
    return np.where((wanted > low) & (wanted < high), wanted, middle)
