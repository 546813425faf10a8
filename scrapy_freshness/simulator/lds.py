r"""LDS: a low-discrepancy schedule, which spreads the visits of each page evenly over time.

Page :math:`i` is to get the share :math:`p_i` of the ticks (:math:`\sum_i p_i = 1`). Tijdeman's algorithm
[1]_ chooses at tick :math:`t` among the pages with :math:`t\,p_i - c_i \ge \varepsilon`, :math:`c_i`
being the visits made so far, the one whose deadline :math:`(c_i + 1 - \varepsilon)/p_i` comes first, with
:math:`\varepsilon = 1/(2n-2)`. Then

.. math:: |c_i(t) - t\,p_i| \le 1 - \frac{1}{2n-2}

for all :math:`n` pages at all times, and no algorithm can promise less. It is earliest-deadline-first
scheduling [2]_ with one slot a tick: two heaps, O(log n) a tick. With the rates of the continuous optimum
it is the rival LDS of the noisy-signals paper, which takes it from [3]_.

References
----------
.. [1] Tijdeman: The chairman assignment problem, Discrete Mathematics 32, 1980.
.. [2] Liu, Layland: Scheduling algorithms for multiprogramming in a hard-real-time environment,
   Journal of the ACM 20, 1973.
.. [3] Azar et al.: Tractable near-optimal policies for crawling, PNAS 115(32), 2018.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def low_discrepancy(rates: FloatArray) -> Iterator[int]:
    """Yield for each tick the number of the page to visit, for ever.

    Parameters
    ----------
    rates : (n,) array, crawls per second of each page, >= 0, not all 0; a tick is 1/sum seconds

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(low_discrepancy(np.array([3.0, 0.0, 1.0])), 8))
    [0, 0, 2, 0, 0, 0, 2, 0]
    """
    total = float(np.sum(rates))
    if not (total > 0 and np.all(rates >= 0) and np.isfinite(total)):
        raise ValueError("rates must be finite, none below 0 and not all 0")
    visited = np.flatnonzero(rates > 0)
    period = total / rates[visited]  # ticks between the visits of a page
    slack = 0.5 / max(len(visited) - 1, 1)
    released = list(zip((slack * period).tolist(), visited.tolist(), period.tolist(), strict=True))
    heapify(released)
    due: list[tuple[float, int, float, float]] = []  # deadline, page, period, release of the next visit
    tick = 0
    while True:
        tick += 1
        # Rounding may leave a tick without a released page: then the next one is early by a hair.
        while released and (released[0][0] <= tick or not due):
            at, page, each = heappop(released)
            heappush(due, (at + (1 - 2 * slack) * each, page, each, at + each))
        _, page, each, again = due[0]
        if again <= tick + 1:
            heapreplace(due, (again + (1 - 2 * slack) * each, page, each, again + each))
        else:
            heappop(due)
            heappush(released, (again, page, each))
        yield page
