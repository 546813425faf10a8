r"""How often searchers look at the result of a rank: I(r) = c r^(-3/2), 0 for what is not in the results.

With :math:`c = 1/\zeta(3/2)` every query is worth one look, over a list without end.

References
----------
Pandey, Olston: User-centric web crawling, WWW 2005, equation 2.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import zeta

FloatArray = NDArray[np.float64]

STEEPNESS = 1.5
LOOKS_AT_FIRST = float(1 / zeta(STEEPNESS))


def looks(rank: FloatArray) -> FloatArray:
    """Share of looks that go to each rank; ranks need not be whole, and inf has none.

    >>> looks(np.array([1.0, 4.0, np.inf])).round(4)
    array([0.3828, 0.0478, 0.    ])
    """
    share: FloatArray = LOOKS_AT_FIRST * np.asarray(rank, np.float64) ** -STEEPNESS
    return share
