r"""GREEDY in doubt: the value of a crawl expected over what the change rate may be, which no paper has.

Nobody knows a page's rate :math:`\Delta`. Let it be Gamma distributed with mean :math:`\bar\Delta` and
variance :math:`d\,\bar\Delta^2`; :math:`d` is the *doubt*. A copy of age :math:`\tau` is then fresh with
probability :math:`f(\tau)=(1+d\bar\Delta\tau)^{-1/d}`, and the value of GREEDY, expected over
:math:`\Delta`, is again of the form that all values have,

.. math:: V(\tau) = \mu\Bigl(\int_0^\tau f - \tau f(\tau)\Bigr)
   = \frac{\mu}{\bar\Delta} G(u), \qquad G(u) = \sum_{k\ge 1} d^{k-1} P(k+1, u)
   = \frac{1-e^{-(1-d)u}}{1-d} - \frac{e^{-(1-d)u}-e^{-u}}{d},

with :math:`f = e^{-u}`, :math:`u = \log(1+d\bar\Delta\tau)/d`. Without doubt :math:`G = R_1`, and this is
GREEDY. With much doubt the value goes on growing where GREEDY's stops: a page that seemed to change all the
time may have fallen silent, and is looked at again however little that promised to be worth. That is
what a rate that is plugged in cannot do: pages whose rate is thought to be too high are never
visited again, and nobody learns that they have come to rest.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.crossing import first_crossing

#: What lies further ahead is nobody's business: 30 years.
HORIZON_SECONDS = 1e9
#: Below this the difference of two exponentials loses more digits than four terms of the series.
_SMALL = 3e-3
#: Less doubt is none.
LEAST_DOUBT = 1e-9


class Expected:
    """V = mu * E[R1(Delta * elapsed)/Delta], the rate being Gamma distributed."""

    needs: ClassVar[frozenset[str]] = frozenset({"mean_rate", "doubt"})

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> certain, doubtful = (
        ...     Beliefs(importance=np.ones(1), change_rate=np.array([0.5]), mean_rate=np.array([0.5]),
        ...             doubt=np.array([doubt]))
        ...     for doubt in (0.0, 2.0)
        ... )
        >>> Expected().value(certain, np.array([3.0, 30.0])).round(6)
        array([0.884349, 1.99999 ])
        >>> Expected().value(doubtful, np.array([3.0, 30.0])).round(6)
        array([0.5    , 3.74737])
        """
        return self._growth(beliefs, elapsed)[0]

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """That of a copy as old as anything that counts."""
        return self.value(beliefs, np.full(len(beliefs), HORIZON_SECONDS))

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # At first V = mu * mean_rate * elapsed^2 / 2, whatever the doubt.
            guess = np.sqrt(2 * price / (beliefs.importance * beliefs.need("mean_rate")))

        def growth(rows: NDArray[np.intp], elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
            return self._growth(beliefs.at(rows), elapsed)

        return first_crossing(growth, np.zeros(len(beliefs)), self.first_value(beliefs), price, guess)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """The same: signals are not listened to."""
        return elapsed

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Expected probability of no change since the last visit."""
        doubt = np.maximum(beliefs.need("doubt"), LEAST_DOUBT)
        return np.exp(-np.log1p(doubt * beliefs.need("mean_rate") * elapsed) / doubt)

    def _growth(self, beliefs: Beliefs, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The value and its derivative by time."""
        gained, slope = doubtful_gain(beliefs.need("mean_rate"), beliefs.need("doubt"), elapsed)
        return beliefs.importance * gained, beliefs.importance * slope


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def doubtful_gain(rate: FloatArray, doubt: FloatArray, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """V/mu, the seconds of freshness that a crawl gains, and its derivative by time.

    >>> gained, slope = doubtful_gain(np.array([0.5]), np.array([2.0]), np.array([3.0]))
    >>> gained.round(6), slope.round(6)
    (array([0.5]), array([0.1875]))
    """
    doubt = np.maximum(doubt, LEAST_DOUBT)
    elapsed = np.minimum(elapsed, HORIZON_SECONDS)
    u = np.log1p(doubt * rate * elapsed) / doubt
    gone = np.exp(-u)
    grown = _closed(u, doubt, rate * elapsed * gone)
    small = np.maximum(doubt, 1.0) * u < _SMALL
    if small.any():
        grown = np.where(small, _series(u, doubt), grown)
    slope = rate * elapsed * np.exp(-(1 + doubt) * u)
    return grown / rate, np.where(elapsed < HORIZON_SECONDS, slope, 0.0)


def _closed(u: FloatArray, doubt: FloatArray, lost: FloatArray) -> FloatArray:
    """G by its second form; *lost* is its last term, x*f = (exp(-(1-d)u) - exp(-u))/d."""
    rest = 1 - doubt
    rest = np.where(np.abs(rest) < 1e-9, 1e-9, rest)
    return -np.expm1(-rest * u) / rest - lost


def _series(u: FloatArray, doubt: FloatArray) -> FloatArray:
    """G for small u: the integral of exp(-u) * expm1(d*u)/d, to the fourth order beyond the first."""
    second = doubt / 2 - 1
    third = doubt**2 / 6 - doubt / 2 + 0.5
    fourth = doubt**3 / 24 - doubt**2 / 6 + doubt / 4 - 1 / 6
    return u * u * (0.5 + u * (second / 3 + u * (third / 4 + u * fourth / 5)))
