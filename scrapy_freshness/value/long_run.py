r"""How fresh is a copy on average if its page is visited at a fixed interval?

Over an interval :math:`I` between visits the mean freshness is :math:`\frac1I\int_0^I f(\tau)\,d\tau`, with
the freshness :math:`f` of the value model. It may fall within a small part of the interval, so that part is
halved again and again, and each piece is integrated by Gauss's rule with two points.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.value.contract import Beliefs, FloatArray, ValueModel

#: How often the interval is halved: a copy that is fresh for a thousandth of it is still seen.
_HALVINGS = 14
#: Longer intervals count as this one, in seconds.
_LONGEST = 1e11
_GAUSS = 0.5 / np.sqrt(3)


def _rule() -> tuple[FloatArray, FloatArray]:
    """Places in the interval from 0 to 1, and their weights."""
    ends = np.concatenate([[0.0], 2.0 ** -np.arange(_HALVINGS, -1, -1)])
    middle, width = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
    places = np.concatenate([middle - _GAUSS * width, middle + _GAUSS * width])
    return places, np.concatenate([width, width]) / 2


_PLACES, _WEIGHTS = _rule()


def mean_freshness(model: ValueModel, beliefs: Beliefs, intervals: NDArray[np.float64]) -> FloatArray:
    """Mean freshness of each page's copy if it is visited every so many seconds.

    >>> from scrapy_freshness.value.greedy import Greedy
    >>> pages = Beliefs(importance=np.ones(2), change_rate=np.array([1.0, 1e-3]))
    >>> mean_freshness(Greedy(), pages, np.array([2.0, 2.0])).round(4)  # (1 - exp(-x)) / x
    array([0.4323, 0.999 ])
    """
    seconds = np.clip(intervals, 0.0, _LONGEST)
    total = np.zeros(len(beliefs))
    for place, weight in zip(_PLACES.tolist(), _WEIGHTS.tolist(), strict=True):
        total += weight * model.freshness(beliefs, place * seconds)
    return total
