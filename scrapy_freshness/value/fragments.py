r"""FRAGMENTS-NCIS: longevity and noisy signals together, which no paper has.

For any divergence curve :math:`D` of the effective age and signals of any quality, crawling when the
effective age reaches :math:`\iota` has the marginal value

.. math:: V(\iota) = \mu \int_0^\iota D'(s)\,\psi(s)\,ds ,

where :math:`\psi(s)`, of `signals.py`, is the mean time until the effective age is :math:`s`. Without
signals :math:`\psi(s)=s`, and this is the longevity utility; with :math:`D=1-e^{-\alpha s}` it is
GREEDY-NCIS. The curves are those of `curves.py`, :math:`a` times :math:`E\,d_N` with :math:`v=\alpha s`
expected updates.

Let :math:`T_i` be :math:`i\beta` plus the time of the :math:`(i+1)`-th signal. Then
:math:`\gamma\psi(s) = \sum_i P(T_i\le s)`, and its terms have the integrals
:math:`W_i = E[D(v) - d_{A(T_i)};\ T_i\le\iota]`. The number of updates :math:`A(T_i)` is Poisson with mean
:math:`ib` until :math:`i\beta`, and negative binomial from there to the signal:

.. math:: W_i = \sum_{l\ge 0} \binom{l+i}{i}\delta^l\rho^{i+1}\, P(l+i+1, y_i)\,
   (D(v) - E\,d_{l+Poisson(ib)}), \qquad V = \frac{\mu a}{\gamma}\sum_i W_i .

Where :math:`\psi` is a straight line, the integral is :math:`\kappa^{-1}(U + \frac{\gamma b^2}{2\kappa}D)`.
It counts as straight after 256 signals at the latest. That is exact to rounding if fewer than 9 signals
come in the time that one is worth (:math:`\gamma\beta<9`), and to 1e-5 of V otherwise.
"""

from typing import ClassVar

import numpy as np
from scipy.special import gammainc, gammaln

from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.crossing import first_crossing
from scrapy_freshness.value.curves import MOST_STAGES, Scroll, curve
from scrapy_freshness.value.ncis import seconds_gained
from scrapy_freshness.value.signals import (
    Rows,
    Signalled,
    numbers_between,
    seconds_to_age,
    sooner_by_signals,
)
from scrapy_freshness.value.silent import column_sums

#: Signals after which psi counts as a straight line at the latest.
_MOST_SIGNALS = 256.0
#: Updates beyond the stages whose chances are summed one by one, and the age v up to which that is all.
_BEYOND, _SHORT = 6, 0.01
#: Groups of pages by stages, from and to, and how many of a group are evaluated at a time.
_GROUPS, _AT_ONCE = ((2, 4), (5, 8), (9, 16), (17, 32), (33, int(MOST_STAGES))), 200
#: log of the share of the sum below which a term is left out.
_LOG_EPSILON = -33.0


class FragmentsNcis:
    """V = mu * integral of D'(s) * psi(s) over the effective age s."""

    needs: ClassVar[frozenset[str]] = frozenset({"recall", "false_rate", "signals", "plateau", "stages"})

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> page = Beliefs(
        ...     importance=np.ones(1), change_rate=np.array([0.5]),
        ...     recall=np.array([0.5]), false_rate=np.array([0.3]), signals=np.zeros(1),
        ...     plateau=np.array([0.8]), stages=np.array([5.0]),
        ... )
        >>> FragmentsNcis().value(page, np.array([5.0])).round(6)
        array([0.340959])
        """
        scroll, speed = Scroll.of(beliefs)
        gained = _gained(scroll, Signalled.of(beliefs, elapsed, speed))
        return beliefs.importance * beliefs.need("plateau") * gained

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """The limit of the value, as if all of the page moved like the part that moves.

        The first copy brings the part that never changes too.
        """
        scroll, speed = Scroll.of(beliefs)
        pages = Signalled.of(beliefs, np.zeros(len(beliefs)), speed)
        return beliefs.importance * _gained_for_ever(scroll, pages)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value; dV/dtau = mu * alpha * D'(v) * psi."""
        scroll, speed = Scroll.of(beliefs)
        pages = Signalled.of(beliefs, np.zeros(len(beliefs)), speed)
        bound = beliefs.need("plateau") * self.first_value(beliefs)
        scale = beliefs.importance * beliefs.need("plateau")

        def growth(rows: Rows, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
            return self._growth(beliefs.at(rows), elapsed)

        start = self.value(beliefs, np.zeros(len(beliefs)))
        return first_crossing(growth, start, bound, price, _guess(scroll, pages, scale, price))

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """Earlier by beta for every signal: it ages a copy as so much time would."""
        return sooner_by_signals(beliefs, elapsed, more)

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Expected share of common fragments of copy and page, 1 - D, given the signals."""
        scroll, speed = Scroll.of(beliefs)
        divergence = curve(scroll, Signalled.of(beliefs, elapsed, speed).v).divergence
        return 1 - beliefs.need("plateau") * np.minimum(divergence, 1.0)

    def _growth(self, beliefs: Beliefs, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The value and its derivative."""
        scroll, speed = Scroll.of(beliefs)
        pages = Signalled.of(beliefs, elapsed, speed)
        scale = beliefs.importance * beliefs.need("plateau")
        slope = pages.alpha * curve(scroll, pages.v).slope * seconds_to_age(pages)
        return scale * _gained(scroll, pages), scale * slope


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _guess(scroll: Scroll, pages: Signalled, scale: FloatArray, price: float) -> FloatArray:
    """Roughly the time of the price, from psi <= v/alpha and psi <= (v + b)/kappa."""
    seconds, final = price / scale, scroll.final_utility()
    line = np.minimum(seconds * pages.drift / (final + pages.b), 0.999)
    twice = -2 * (final + pages.b) * np.log1p(-line) / scroll.divergence_after(1.0)
    v = np.maximum(
        scroll.guess(seconds * pages.alpha / final), twice / (pages.b + np.hypot(pages.b, np.sqrt(twice)))
    )
    guess = np.maximum(v - pages.v, v / 100) / pages.alpha
    return np.where(np.isfinite(guess), np.clip(guess, 1e-250, 1e250), 1.0)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _gained(scroll: Scroll, pages: Signalled) -> FloatArray:
    """V/(mu a)."""
    gained = np.empty(len(pages.b))
    churning, scrolling = (scroll.stages == 1).nonzero()[0], (scroll.stages > 1).nonzero()[0]
    gained[churning] = seconds_gained(pages.at(churning))
    if len(scrolling):
        shape, part = scroll.at(scrolling), pages.at(scrolling)
        gained[scrolling] = np.minimum(_gained_scrolling(shape, part), _gained_for_ever(shape, part))
    return gained


def _gained_scrolling(scroll: Scroll, pages: Signalled) -> FloatArray:
    """The straight line's part and the sum's, a group of similar pages at a time."""
    signals = np.minimum(pages.line_from, _MOST_SIGNALS)
    v, start = pages.v, signals * pages.b
    now, then = curve(scroll, v), curve(scroll, np.minimum(start, v))
    is_straight = v > start
    line = now.utility - then.utility + pages.bend * (now.divergence - then.divergence)
    gained = np.where(is_straight, line / pages.drift, 0.0)
    elapsed = np.where(is_straight, 0.0, pages.elapsed)
    pages = pages._replace(elapsed=elapsed, signals=np.where(is_straight, signals, pages.signals))
    known = gained * pages.gamma
    for least, most in _GROUPS:
        rows = ((scroll.stages >= least) & (scroll.stages <= most) & (pages.b > 0)).nonzero()[0]
        for first in range(0, len(rows), _AT_ONCE):
            part = rows[first : first + _AT_ONCE]
            few = pages.at(part)
            n_signals = _summed(scroll.at(part), few, then.divergence[part], known[part], most + _BEYOND)
            gained[part] += n_signals / few.gamma
    return gained


def _summed(
    scroll: Scroll, pages: Signalled, divergence: FloatArray, known: FloatArray, n_updates: int
) -> FloatArray:
    """The sum of all W_i that are not far below the first, or below what is *known* beside it.

    W_i is less than the divergence times the chance of i+1 signals, and that of more is less than i+1 times
    that of so many while fewer are expected. Chances of fewer than *n_updates* updates are taken one by one.
    """
    stale_after = np.ceil((scroll.stages + 12 * np.sqrt(scroll.stages) + 40) / pages.b)
    n_terms = np.minimum(pages.n_terms(pages.rho), stale_after)
    rows, i = numbers_between(np.zeros(len(n_terms)), n_terms)
    y = (pages.total * pages.elapsed)[rows] + (pages.signals[rows] - i) * pages.eta[rows]
    expected = pages.rho[rows] * y
    log_chance = (i + 1) * np.log(expected) - expected - gammaln(i + 1)
    first = divergence * pages.rho * np.minimum(pages.y, 1.0) / 4
    least = np.log((first + known) / divergence) + _LOG_EPSILON
    counts = ((i == 0) | (expected > i) | (log_chance > least[rows])).nonzero()[0]
    rows, i, y = rows[counts], i[counts], y[counts]
    each, final = pages.at(rows), divergence[rows]
    # The signal comes in time, after so many updates since i*beta.
    updates = np.arange(float(n_updates))[:, None]
    odds = np.vstack([np.exp((i + 1) * np.log(each.rho)), each.delta * (1 + i / updates[1:])])
    in_time = _at_least(i + 1, y, n_updates)
    chance = np.cumprod(odds, axis=0) * in_time
    # The divergence then, with the updates before i*beta.
    then = scroll.at(rows).divergence_after(updates)
    later = (i > 0).nonzero()[0]
    then[:, later] = _mixed(then[:, later], (i * each.b)[later])
    gained = column_sums(chance * (final - then))
    still_more = np.maximum(gammainc(i + 1, each.rho * y) - column_sums(chance), 0.0)
    gained -= np.where(each.v > _SHORT, (1 - final) * still_more, 0.0)
    total: FloatArray = np.bincount(rows, np.maximum(gained, 0.0), len(n_terms)).astype(np.float64)
    return total


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _gained_for_ever(scroll: Scroll, pages: Signalled) -> FloatArray:
    r"""V/(mu a) for an infinitely old copy, :math:`\gamma^{-1}\sum_k (1-d_k)\sum_i P(A(T_i)=k)`.

    The inner sums, divided by rho, are the coefficients of :math:`1/(1-\delta z-\rho e^{-b(1-z)})`.
    """
    at_most = int(np.max(scroll.stages, initial=1.0))
    signals = pages.rho * np.exp(-pages.b)
    power = signals * pages.b
    denominator = [pages.delta - pages.rho * np.expm1(-pages.b), pages.delta + power]
    for k in range(2, at_most):
        power = power * pages.b / k
        denominator.append(power)
    visits = [1 / denominator[0]]
    gained = visits[0].copy()
    for k in range(1, at_most):
        visits.append(sum(denominator[j] * visits[k - j] for j in range(1, k + 1)) / denominator[0])
        gained += visits[k] * (1 - scroll.divergence_after(k))
    return gained / pages.total


def _mixed(curves: FloatArray, mean: FloatArray) -> FloatArray:
    """E f(k + Poisson(mean)) for each column f, which is 1 beyond its end."""
    n = len(curves)
    counts = np.arange(1.0, n)[:, None]
    chance = np.cumprod(np.vstack([np.exp(-mean), mean / counts]), axis=0)
    mixed: FloatArray = gammainc(n, mean) + np.cumsum(chance[::-1], axis=0) - chance[::-1]
    for k in range(n):
        mixed[: n - k] += chance[k] * curves[k:]
    return mixed


def _at_least(least: FloatArray, mean: FloatArray, n: int) -> FloatArray:
    """Chances of at least *least* + 0, 1, ..., n-1 events."""
    first = np.exp(least * np.log(mean) - mean - gammaln(least + 1))
    counts = np.arange(1.0, n)[:, None]
    chance = np.cumprod(np.vstack([first, mean / (least + counts)]), axis=0)
    tail: FloatArray = gammainc(least + n, mean) + np.cumsum(chance[::-1], axis=0)[::-1]
    return tail
