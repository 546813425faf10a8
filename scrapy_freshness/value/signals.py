r"""How signals age a copy: effective age, and the time it takes to reach it.

A page changes at rate :math:`\Delta`. Signals announce a share :math:`\lambda` of the changes, and signals
that announce nothing come at rate :math:`\nu`. So signals come at rate :math:`\gamma=\lambda\Delta+\nu`,
changes without one at rate :math:`\alpha=(1-\lambda)\Delta`, and a copy :math:`\tau` seconds old that has
seen :math:`n` signals is fresh with probability [1]_

.. math:: e^{-v}, \qquad v = \alpha\tau + bn, \qquad b = \log(\gamma/\nu) = \alpha\beta .

The paper's effective age is :math:`\iota = \tau+\beta n = v/\alpha`. Here it is kept as :math:`(\tau, n)`,
because :math:`\beta` may be 0 or infinite. A threshold on it is reached after :math:`\psi` seconds in the
mean,

.. math:: \gamma\psi = \sum_{i\ge 0,\ i\beta<\iota} R^i(\gamma(\iota-i\beta)),
   \qquad R^i(x) = 1-e^{-x}\sum_{j\le i}\frac{x^j}{j!} = P(i+1, x).

The crossing of the threshold is a renewal process with steps of :math:`\beta`, so after a few steps
:math:`\psi` is a straight line,

.. math:: \psi = \frac{1}{\kappa}\Bigl(v + \frac{\gamma b^2}{2\kappa}\Bigr), \qquad \kappa = \alpha+\gamma b,

up to terms :math:`e^{p\iota}` where :math:`p` solves :math:`p+\gamma=\gamma e^{-p\beta}`, which gives
:math:`p\beta = W_k(ce^c)-c` with :math:`c=\gamma\beta` and Lambert's :math:`W`. The line is not in the
paper; the tests compare it with the sum.

References
----------
.. [1] Busa-Fekete et al.: A scalable crawling algorithm utilizing noisy change-indicating signals,
   equation 1, Theorem 1 and Lemma 4.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from scrapy_freshness.value.contract import Beliefs, FloatArray

Rows = NDArray[np.intp]

#: In place of infinity where it is multiplied with 0.
HUGE = 1e290
#: Share of signals among all events below which there are none.
_TINY = 1e-200
#: Standard deviations of a Poisson count beyond which nothing is left of its distribution.
_SIGMAS = 9.0


class Signalled(NamedTuple):
    """Pages in some state: their rates, what follows from these, the time since the visit and the signals."""

    alpha: FloatArray  #: changes without a signal per second
    gamma: FloatArray  #: signals per second
    total: FloatArray  #: alpha + gamma, events per second
    delta: FloatArray  #: alpha / total
    rho: FloatArray  #: gamma / total
    theta: FloatArray  #: nu / total = rho * exp(-b)
    b: FloatArray  #: by how much a signal ages the copy, in v
    eta: FloatArray  #: the same in expected events, total * beta
    drift: FloatArray  #: kappa, mean growth of v per second
    line_from: FloatArray  #: signals from which on psi is a straight line, up to 1e-15 of beta
    elapsed: FloatArray  #: tau, seconds since the visit
    signals: FloatArray  #: n, signals since the visit

    @classmethod
    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def of(cls, beliefs: Beliefs, elapsed: FloatArray, speed: FloatArray | float = 1.0) -> "Signalled":
        """The pages *elapsed* seconds after their visits; signals do not age a page with recall 0.

        A *speed* below 1 slows v down, but neither signals nor effective age.
        """
        recall, nu = beliefs.need("recall"), beliefs.need("false_rate")
        alpha, signalled = speed * (1 - recall) * beliefs.change_rate, recall * beliefs.change_rate
        gamma = signalled + nu
        total = alpha + gamma
        delta, rho = alpha / total, gamma / total
        b = np.where(signalled > 0, np.minimum(speed * np.log1p(signalled / nu), HUGE), 0.0)
        eta = np.where(b > 0, np.minimum(b / delta, HUGE), 0.0)
        c = rho * eta
        line_from = 4.5 + 15 * np.sqrt(c) + (3 + 2 * c) * c
        rates = alpha, gamma, total, delta, rho, nu / total, b, eta, alpha + gamma * b, line_from
        return cls(*rates, elapsed, beliefs.need("signals"))

    def at(self, rows: Rows) -> "Signalled":
        """Some of the pages."""
        return Signalled(*np.array(self).take(rows, axis=1))

    @property
    def v(self) -> FloatArray:
        """Effective age; the copy is fresh with probability exp(-v)."""
        return self.alpha * self.elapsed + self.b * self.signals

    @property
    def y(self) -> FloatArray:
        """Events expected in the effective age, (alpha + gamma) * iota."""
        return self.total * self.elapsed + self.eta * self.signals

    @property
    def bend(self) -> FloatArray:
        """gamma b^2/(2 kappa): how far the straight line of psi begins before v = 0."""
        return np.where(self.b > 0, self.gamma * self.b / self.drift * self.b / 2, 0.0)

    def n_full(self) -> FloatArray:
        """How many of the first terms of the sums have R^i = 1."""
        c = self.rho * self.eta
        middle = np.maximum((self.rho * self.y - 1) / (1 + c), 0.0)  # the i that is just the expected count
        width = _SIGMAS**2 / 2 + np.sqrt(_SIGMAS**4 / 4 + _SIGMAS**2 * (middle + 1))
        return np.maximum(np.floor(middle - width / (1 + c)), 0.0)

    def n_terms(self, share: FloatArray | float = 1.0) -> FloatArray:
        """Number of terms after which nothing is left of P(i+1, x), where x is a share of the events.

        There are as many as i*beta fits into the effective age, but beyond 8 standard deviations of a
        Poisson count a term is 0.
        """
        events, step = share * self.total * self.elapsed, share * self.eta
        whole = np.floor(self.signals)
        fits = whole + np.where(step > 0, np.ceil(self.signals - whole + events / step), np.inf)
        middle = (events + self.signals * step) / (1 + step)
        n_terms: FloatArray = np.minimum(fits, np.floor(middle + (8 + 8 * np.sqrt(middle)) / (1 + step)) + 1)
        return n_terms


def numbers_between(start: FloatArray, stop: FloatArray) -> tuple[Rows, FloatArray]:
    """The numbers start, start+1, ..., below stop of all pages in a row, with the pages they belong to.

    >>> rows, numbers = numbers_between(np.array([0.0, 5.0]), np.array([2.0, 6.0]))
    >>> rows, numbers
    (array([0, 0, 1]), array([0., 1., 5.]))
    """
    counts = np.maximum(stop - start, 0.0).astype(np.intp)
    rows = np.arange(len(counts)).repeat(counts)
    first = start - (counts.cumsum() - counts)
    return rows, np.arange(len(rows)) + first[rows]


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def seconds_to_age(pages: Signalled, terms: float = np.inf) -> FloatArray:
    """psi, the mean time until the effective age is reached; or the first *terms* terms of its sum.

    >>> page = Beliefs(
    ...     importance=np.ones(1), change_rate=np.array([0.5]),
    ...     recall=np.array([0.5]), false_rate=np.array([0.3]), signals=np.zeros(1),
    ... )
    >>> seconds_to_age(Signalled.of(page, np.array([5.0]))).round(6)
    array([2.454568])
    """
    v, has_signals = pages.v, pages.rho > _TINY
    line = np.where(v > 0, (v + pages.bend) / pages.drift, 0.0)
    seconds: FloatArray = np.where(has_signals, line, pages.elapsed)
    by_sum = has_signals if terms < np.inf else has_signals & (v <= pages.line_from * pages.b)
    chosen = by_sum.nonzero()[0]
    part = pages.at(chosen)
    full = np.minimum(part.n_full(), terms)
    rows, i = numbers_between(full, np.minimum(part.n_terms(part.rho), terms))
    time, signals = part.elapsed[rows], part.signals[rows] - i
    expected = part.rho[rows] * (part.total[rows] * time + part.eta[rows] * signals)
    n_signals = full + np.bincount(rows, gammainc(i + 1, expected), minlength=len(chosen))
    seconds[chosen] = n_signals / part.gamma
    return seconds


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def sooner_by_signals(beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
    """Earlier by beta for each of *more* signals, the time that ages a copy as much as a signal does.

    -inf if a signal cannot be false, or if nothing else ages the page.

    >>> page = Beliefs(
    ...     importance=np.ones(1), change_rate=np.array([0.5]),
    ...     recall=np.array([0.5]), false_rate=np.array([0.3]),
    ... )
    >>> sooner_by_signals(page, np.array([5.0]), np.ones(1)).round(6)
    array([2.575457])
    """
    recall, nu = beliefs.need("recall"), beliefs.need("false_rate")
    signalled = recall * beliefs.change_rate
    alpha = (1 - recall) * beliefs.change_rate
    beta = np.where(signalled > 0, np.log1p(signalled / nu) / alpha, 0.0)
    nearer = np.multiply(beta, more, out=np.zeros(len(beta)), where=more > 0)
    return np.where(nearer == np.inf, -np.inf, elapsed - nearer)
