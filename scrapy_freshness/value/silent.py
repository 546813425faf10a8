r"""The chance that a change went without a signal after the first few events of a page.

Of the events of a page a share :math:`\delta` are changes without a signal, the others,
:math:`\rho=1-\delta`, are signals. Of :math:`N\sim` Poisson(:math:`y`) events let the first :math:`m` not
count; the chance that one of the others is a change without a signal is

.. math:: G_m(y) = E[1-\rho^{(N-m)^+}] = P(m, y) - \rho^{-m}e^{-\delta y}P(m, \rho y) .

The difference loses its digits where :math:`\delta` is small. Then

.. math:: G_m(y) = (1-\rho^{-m}e^{-\delta y})\,P(m, y)
   + \rho^{-m}e^{-\delta y} \int_{\rho y}^{y} \frac{t^{m-1}e^{-t}}{(m-1)!}\,dt

keeps them, with the integral over a short interval by Gauss-Legendre quadrature. For :math:`m=1`, the
largest of all, every digit counts also where :math:`y` is small:

.. math:: G_1(y) = 1 - e^{-\delta y} - \delta e^{-\delta y}\,\frac{1-e^{-\rho y}}{\rho}
   = \delta\int_0^y e^{-\delta t}\,\frac{1-e^{-\rho t}}{\rho}\,dt .

The expected number of events is given as :math:`y` and as :math:`v=\delta y`, because :math:`y` may be huge
where :math:`\delta` is 0.
"""

import numpy as np
from scipy.special import gammainc, gammaln

from scrapy_freshness.value.contract import FloatArray

_nodes, _weights = np.polynomial.legendre.leggauss(6)
#: Nodes of the quadrature on (0, 1) and their weights, as columns.
_NODES, _WEIGHTS = (_nodes[:, None] + 1) / 2, _weights[:, None] / 2
#: Share of changes without a signal below which the difference is replaced by the integral, unless so many
#: of them are expected that it has all its digits.
_FEW = 0.1


@np.errstate(divide="ignore", invalid="ignore")
def silent_after_first(v: FloatArray, y: FloatArray, delta: FloatArray, rho: FloatArray) -> FloatArray:
    """G_1, for all shares: rho may be 0.

    >>> half = np.array([0.5])
    >>> silent_after_first(np.array([0.5]), np.array([1.0]), half, half).round(6)
    array([0.154818])
    """
    fallen = np.expm1(-v)
    # Where v is infinite nothing is left to subtract, however long the wait was.
    chance = -fallen - delta * np.where(fallen > -1, (1 + fallen) * _waited(y, rho), 0.0)
    few = (y < 1).nonzero()[0]
    if len(few):
        share, until = delta[few], y[few]
        t = _NODES * until
        chance[few] = share * until * column_sums(_WEIGHTS * np.exp(-share * t) * _waited(t, rho[few]))
    return chance


def column_sums(terms: FloatArray) -> FloatArray:
    """Sums of the columns, added up row by row: the last digit does not depend on the number of pages."""
    sums: FloatArray = np.cumsum(terms, axis=0)[-1]
    return sums


def _waited(y: FloatArray, rho: FloatArray) -> FloatArray:
    """(1 - exp(-rho*y)) / rho, which is y for rho = 0."""
    return np.where(rho > 1e-150, -np.expm1(-rho * y) / rho, y)


def silent_after(
    m: FloatArray, v: FloatArray, y: FloatArray, delta: FloatArray, rho: FloatArray
) -> FloatArray:
    """G_m for m >= 1, y > 0 and rho > 0.

    >>> half = np.array([0.5])
    >>> silent_after(np.array([2.0]), half, np.array([1.0]), half, half).round(6)
    array([0.045395])
    """
    log_odds = m * np.log1p(delta / rho) - v
    many = gammainc(m, y)
    chance: FloatArray = many - np.exp(log_odds) * gammainc(m, rho * y)
    few = ((delta < _FEW) & (v < 1)).nonzero()[0]
    if len(few):
        m, v, y, log_odds = m[few], v[few], y[few], log_odds[few]
        t = y - _NODES * v
        between = v * column_sums(_WEIGHTS * np.exp((m - 1) * np.log(t) - t - gammaln(m)))
        chance[few] = np.exp(log_odds) * between - np.expm1(log_odds) * many[few]
    return np.maximum(chance, 0.0)
