r"""GREEDY-NCIS: the value of a crawl of a page whose changes are announced by noisy signals.

With the notation of `signals.py`, crawling whenever the effective age reaches :math:`\iota` has the
marginal value [1]_

.. math:: V(\iota) = \mu\,(w(\iota) - e^{-\alpha\iota}\psi(\iota)), \qquad
   w = \sum_i \frac{\nu^i}{(\Delta+\nu)^{i+1}} R^i((\alpha+\gamma)(\iota-i\beta)),

where :math:`w` is the mean time for which the copy is fresh. Because :math:`V' = \mu\alpha
e^{-\alpha\iota}\psi`, the same without a difference is

.. math:: V = \frac{\mu}{\Delta+\nu} \sum_{i\ge 0,\ i\beta<\iota} \theta^i\, G_{i+1}(y_i), \qquad
   \theta = \frac{\nu}{\Delta+\nu}, \quad y_i = (\alpha+\gamma)(\iota-i\beta),

with :math:`G_m(y)` of `silent.py`, the chance that a change went without a signal after the first
:math:`m` of Poisson(:math:`y`) events. It grows from 0 to :math:`\mu/\Delta`; :math:`\nu=0` gives GREEDY-CIS,
:math:`\lambda=0` gives GREEDY. Terms far below the sum are left out, first terms with
:math:`R^i=1` are summed in one go, and where :math:`\psi` is a straight line :math:`V` is its integral. All
results are exact to rounding.

References
----------
.. [1] Busa-Fekete et al.: A scalable crawling algorithm utilizing noisy change-indicating signals,
   Theorem 1, Lemma 2 and section 5.1.
"""

from typing import ClassVar

import numpy as np
from scipy.special import gammainc, gammaln

from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.crossing import first_crossing
from scrapy_freshness.value.signals import (
    Rows,
    Signalled,
    numbers_between,
    seconds_to_age,
    sooner_by_signals,
)
from scrapy_freshness.value.silent import column_sums, silent_after, silent_after_first

#: log of the share of the sum below which a term is left out.
_LOG_EPSILON = -33.0
#: Numbers of the terms of a binomial series, as a column.
_BINOMIAL = np.arange(1.0, 16.0)[:, None]


class Ncis:
    """V = mu * (w - exp(-alpha*iota) * psi), at the effective age iota = elapsed + beta * signals.

    Parameters
    ----------
    last_step : of the way to the time of a price; see `crossing.py`
    """

    needs: ClassVar[frozenset[str]] = frozenset({"recall", "false_rate", "signals"})
    _terms = np.inf

    def __init__(self, *, last_step: float = 1e-4) -> None:
        self._last_step = last_step

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> page = Beliefs(
        ...     importance=np.ones(1), change_rate=np.array([0.5]),
        ...     recall=np.array([0.5]), false_rate=np.array([0.3]), signals=np.zeros(1),
        ... )
        >>> Ncis().value(page, np.array([5.0])).round(8)
        array([0.8098853])
        """
        gained = beliefs.importance * seconds_gained(Signalled.of(beliefs, elapsed), self._terms)
        return np.minimum(gained, self.first_value(beliefs))

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """A page without a copy is stale for sure: the limit of V for an infinitely old copy."""
        return beliefs.importance / beliefs.change_rate

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value by Newton's method; dV/dtau = mu * alpha * exp(-v) * psi."""
        pages = Signalled.of(beliefs, np.zeros(len(beliefs)))

        def growth(rows: Rows, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
            few = pages.at(rows)._replace(elapsed=elapsed)
            slope = few.alpha * np.exp(-few.v) * seconds_to_age(few, self._terms)
            importance = beliefs.importance[rows]
            return importance * seconds_gained(few, self._terms), importance * slope

        start, has_signals = np.zeros(len(beliefs)), beliefs.need("signals").nonzero()[0]
        if len(has_signals):
            gained = seconds_gained(pages.at(has_signals), self._terms)
            start[has_signals] = beliefs.importance[has_signals] * gained
        guess = _guess(beliefs.importance, pages, price)
        bound = self.first_value(beliefs)
        return first_crossing(growth, start, bound, price, guess, last_step=self._last_step)

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """Earlier by beta for every signal: it ages a copy as so much time would."""
        return sooner_by_signals(beliefs, elapsed, more)

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Probability of no change since the last visit, given the signals."""
        return np.exp(-Signalled.of(beliefs, elapsed).v)


class NcisApprox(Ncis):
    """GREEDY-NCIS-APPROX-J: the first J terms of both sums.

    It saturates at (mu/Delta) * (1 - theta^J), so it starves pages with many false signals when the
    budget is small.
    """

    def __init__(self, terms: int) -> None:
        if terms < 1:
            raise ValueError(f"an approximation has at least 1 term, not {terms}")
        super().__init__()
        self._terms = float(terms)

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """The limit of the approximation for an infinitely old copy."""
        nu = beliefs.need("false_rate")
        with np.errstate(divide="ignore", over="ignore"):
            left_out = np.expm1(-self._terms * np.log1p(beliefs.change_rate / nu))
        return -left_out * beliefs.importance / beliefs.change_rate


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _guess(importance: FloatArray, pages: Signalled, price: float) -> FloatArray:
    """About the time of the price: the later one of those with psi = v/alpha and with the straight line."""
    silent = _age_on_line(np.zeros(len(importance)), price * pages.alpha / importance)
    v = np.maximum(silent, _age_on_line(pages.bend, price * pages.drift / importance))
    seconds = np.maximum(v - pages.v, v / 100) / pages.alpha
    return np.where(np.isfinite(seconds), np.clip(seconds, 1e-250, 1e250), 1.0)


def _age_on_line(bend: FloatArray, area: FloatArray) -> FloatArray:
    """About the v at which the integral of exp(-v) * (v + bend) is so large; two steps of Newton's method."""
    total = 1 + bend
    area = np.minimum(area, 0.999 * total)
    twice = -2 * total * np.log1p(-area / total)
    v: FloatArray = twice / (bend + np.hypot(bend, np.sqrt(twice)))
    for _ in range(2):
        missing = area + np.expm1(-v) * total + v * np.exp(-v)
        v += missing * np.exp(v) / (v + bend)
    return v


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def seconds_gained(pages: Signalled, terms: float = np.inf) -> FloatArray:
    """V/mu, the seconds of freshness that a crawl gains; or the first *terms* terms of its sum."""
    line = np.zeros(len(pages.b))
    if terms == np.inf:
        straight = (pages.v > pages.line_from * pages.b).nonzero()[0]
        if len(straight):
            line[straight] = _line_seconds(pages.at(straight))
            elapsed, signals = pages.elapsed.copy(), pages.signals.copy()
            elapsed[straight], signals[straight] = 0.0, pages.line_from[straight]
            pages = pages._replace(elapsed=elapsed, signals=signals)
    return line + _summed(pages, line * pages.total, terms) / pages.total


def _line_seconds(pages: Signalled) -> FloatArray:
    """Integral of exp(-v) * psi over v, where psi is a straight line."""
    start = pages.line_from * pages.b
    grown = pages.v - start
    area = gammainc(2, grown) - (start + pages.bend) * np.expm1(-grown)
    seconds: FloatArray = np.exp(-start) * area / pages.drift
    return seconds


def _summed(pages: Signalled, known: FloatArray, terms: float) -> FloatArray:
    """The sum of theta^i * G_{i+1}(y_i).

    Terms far below it, or below what is *known* beside it, are left out: while fewer than i+2 events are
    expected, G_{i+1} is less than delta * (i+2) times the chance of so many.
    """
    full = np.minimum(pages.n_full(), terms)
    total = silent_after_first(pages.v, pages.y, pages.delta, pages.rho)
    many = full.nonzero()[0]
    if len(many):
        total[many] = _full_terms(pages.at(many), full[many])
    log_theta = np.log(pages.theta)
    stop = np.minimum(np.minimum(pages.n_terms(), np.ceil(_LOG_EPSILON / -np.abs(log_theta))), terms)
    rows, i = numbers_between(np.maximum(full, 1.0), stop)
    weight = i * log_theta[rows]
    y = (pages.total * pages.elapsed)[rows] + (pages.signals[rows] - i) * pages.eta[rows]
    least = np.log((total + known) / pages.delta) + _LOG_EPSILON
    log_chance = (i + 2) * np.log(y) - y - gammaln(i + 2)
    counts = ((weight + log_chance > least[rows]) | (y > i + 2)).nonzero()[0]
    if len(counts):
        rows, i, y = rows[counts], i[counts], y[counts]
        v = (pages.alpha * pages.elapsed)[rows] + (pages.signals[rows] - i) * pages.b[rows]
        chance = silent_after(i + 1, v, y, pages.delta[rows], pages.rho[rows])
        total += np.bincount(rows, np.exp(weight[counts]) * chance, minlength=len(total))
    return total


def _full_terms(pages: Signalled, n: FloatArray) -> FloatArray:
    r"""The first n terms, all with R^i = 1: :math:`\sum_{i<n} \theta^i - n\rho^{-1}e^{-v}`."""
    changes = np.minimum(pages.delta - pages.rho * np.expm1(-pages.b), 1.0)  # 1 - theta, share of all events
    fresh = np.log1p(pages.alpha / pages.gamma) - pages.v
    total = -np.expm1(n * np.log1p(-changes)) / changes - n * np.exp(fresh)
    few = (n * changes < 0.5).nonzero()[0]
    if len(few):
        # 1 - theta^i summed over i < n, by the binomial series.
        n, changes = n[few], changes[few]
        ratios = (_BINOMIAL - n) / (_BINOMIAL + 1) * changes
        missing = -n * column_sums(np.cumprod(ratios, axis=0))
        total[few] = -n * np.expm1(fresh[few]) - missing
    return total
