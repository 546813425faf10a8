r"""Tables of the shapes that divergence curves have.

A page has a static part, and a part of which every update replaces one of :math:`K` items, the oldest. After
:math:`k` updates its divergence, relative to the plateau :math:`a`, is [1]_

.. math:: d_k = \frac{k(1+s)}{K+ks}, \qquad s = \frac{a}{2-a}, \qquad d_{k\ge K} = 1 ,

and when :math:`z` updates of a Poisson process are expected it is
:math:`h(z)=\sum_{k\le K}(d_k-d_{k-1})P(k,z)`, with the regularised incomplete gamma function :math:`P`.
:math:`K=1` is churn, :math:`h=1-e^{-z}`; more is a scroll.

References
----------
.. [1] Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, sections 2.1 and 3.3, with
   the divergence of the whole page.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

FloatArray = NDArray[np.float64]

#: K of the curves that are tried.
STAGES = np.array([1, 2, 4, 8, 16, 32, 64])

_STEP = 0.02
_LEAST, _MOST = _STEP * round(np.log(1e-4) / _STEP), np.log(300.0)
_LOG_Z = np.arange(_LEAST, _MOST, _STEP)
_SHARES = np.linspace(0, 1, 33)


def shapes(plateau: FloatArray, log_z: FloatArray) -> FloatArray:
    """Values of h, from the nearest entries of a table: exact to .01.

    Parameters
    ----------
    plateau : (len(STAGES),) array, a, 0 to 1, of a page with so many stages
    log_z : (len(STAGES), m, n) array, log of the updates that are expected

    Examples
    --------
    >>> log_z = np.broadcast_to(np.log([1e-6, 1.0, 1e9]), (len(STAGES), 1, 3))
    >>> shapes(np.full(len(STAGES), 0.5), log_z)[0].round(3)
    array([[0.   , 0.632, 1.   ]])
    """
    share = np.rint(plateau / (2 - plateau) * (len(_SHARES) - 1))
    first = (share * len(STAGES) + np.arange(len(STAGES))) * len(_LOG_Z) + 0.5
    place = np.clip((log_z - _LEAST) * (1 / _STEP), 0, len(_LOG_Z) - 1)
    place += first[:, None, None]
    found: FloatArray = _table().take(place.astype(np.intp))
    return found


@cache
def _table() -> FloatArray:
    """Shapes by share s, stages K and log z."""
    k = np.arange(1, STAGES[-1] + 1)[:, None]
    at_least_k = gammainc(k, np.exp(_LOG_Z))
    table = np.empty((len(_SHARES), len(STAGES), len(_LOG_Z)))
    for row, share in enumerate(_SHARES):
        for kind, stages in enumerate(STAGES):
            after = np.arange(stages + 1)
            reached = after * (1 + share) / (stages + after * share)
            table[row, kind] = np.diff(reached) @ at_least_k[:stages]
    return table
