r"""How good are change signals?  Maximum likelihood of their precision and recall.

A page changes at rate :math:`\Delta`. A share :math:`\lambda` (recall) of its changes is announced by a
signal; false signals come at rate :math:`\nu`. So silent changes come at rate
:math:`\alpha=(1-\lambda)\Delta`, all signals at rate :math:`\gamma=\lambda\Delta+\nu`, and a visit
:math:`\tau` seconds and :math:`n` signals after the one before finds the page unchanged with probability

.. math:: e^{-(\alpha\tau + bn)}, \qquad b = \alpha\beta = -\log(\nu/\gamma) = -\log(1-precision) ,

which is a concave log-likelihood of :math:`(\alpha, b)` [1]_. The signal count gives :math:`\gamma`, and then
:math:`\lambda\Delta=\gamma(1-e^{-b})`. Several independent sources have a :math:`b_k` and
:math:`\gamma_k` each, and their exponents add up [2]_.

To estimate one quality for pages that change at different rates :math:`\Delta_i`, hand in
:math:`\Delta_i\tau` instead of seconds: rates are then relative to the page's own.

References
----------
.. [1] Busa-Fekete et al.: Optimal scheduling of web crawls with noisy change-indicating signals, appendix E
   (in which z has to mean *unchanged*).
.. [2] The same, section 3, footnote 2.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.unchanged_fit import Observations, fit_unchanged

FloatArray = NDArray[np.float64]

#: Standard normal quantile of a two-sided 90 % interval.
_Z90 = 1.6448536269514722
#: Largest half width of an interval on a logarithmic scale: nothing is known, but numbers stay finite.
_WIDEST = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalPrior:
    """What is believed of signals before a visit has tested them.

    Half of the signals true and half of the changes announced lies between sitemaps whose dates are mostly
    right and the precision below .2 and recall below .5 that the paper's section 2 found.
    """

    change_rate: float | FloatArray  #: Delta, per second; one number, or one a group
    precision: float | FloatArray = 0.5  #: above 0, below 1; one number, or (g, K), one a group and source
    recall: float | FloatArray = 0.5  #: of all sources, above 0, below 1; or (g, K), which add up to that
    weight: float | FloatArray = (
        2.0  #: > 0, observations that the belief counts for; or (g, K), one a precision
    )


class Uncertain(NamedTuple):
    """Estimates and the ends of their 90 % intervals."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalQuality:
    """What signals are worth, for g groups of pages, K kinds of signals and S sources, each of some kinds."""

    silent_rate: FloatArray  #: alpha, (g,), per second
    exponent: FloatArray  #: b = alpha * beta, (g, K): what one signal adds to -log P(unchanged)
    signal_rate: FloatArray  #: gamma, (g, K), per second
    change_rate: Uncertain  #: Delta, (g,), per second
    recall: Uncertain  #: lambda, (g,), share of the changes that any source announces
    source_recall: Uncertain  #: (g, S), share of the changes that each source announces
    precision: Uncertain  #: (g, S), share of the signals that announce a change
    false_rate: Uncertain  #: nu, (g, S), per second


def fit_signals(
    seconds: FloatArray,
    signals: FloatArray,
    changed: NDArray[np.bool_],
    group: NDArray[np.int64],
    n_groups: int,
    prior: SignalPrior,
) -> SignalQuality:
    """Estimate the quality of signals from what visits found.

    The prior is a pair of pseudo-observations for each parameter, weighted so that it alone gives the prior;
    it also keeps the rates above 0. Newton's method, shortened where it would not gain. Intervals are
    those of the normal approximation: of log(Delta), log(nu), logit(lambda) and b.

    Parameters
    ----------
    seconds : (N,) array, tau, between two visits, >= 0
    signals : (N, K) array, n, of each source in that time
    changed : (N,) array, whether the later visit found a change
    group : (N,) array, which group the page belongs to, 0 to n_groups - 1

    Examples
    --------
    >>> found = fit_signals(np.zeros(0), np.zeros((0, 1)), np.zeros(0, bool), np.zeros(0, int), 1,
    ...     SignalPrior(change_rate=0.01, precision=0.6, recall=0.3))
    >>> [float(each.round(6).item()) for each in (found.change_rate[0], found.precision[0], found.recall[0])]
    [0.01, 0.6, 0.3]
    """
    x = np.column_stack([seconds, signals])
    seen = Observations(x, changed.astype(np.float64), (~changed).astype(np.float64), group)
    sums = seen.per_group(x, n_groups)
    return fit_observed(seen, sums[:, 0], sums[:, 1:], prior)


def fit_observed(
    seen: Observations,
    watched: FloatArray,
    counts: FloatArray,
    prior: SignalPrior,
    inflation: FloatArray | float = 1.0,
    source: NDArray[np.intp] | None = None,
) -> SignalQuality:
    """Estimate the quality of signals from observations that may have weights.

    Parameters
    ----------
    seen : of (time, signals of each kind); alike ones may be one
    watched : (g,) array, time in which the signals of each group were counted
    counts : (g, K) array, signals in that time
    inflation : (g, K + 1) array, by which the variances of alpha and b are larger than the weights say
    source : (K,) array, 0 to S - 1, of each kind of signals; left out, each kind is a source of its own
    """
    n_groups, n_sources = counts.shape
    change_rate = np.broadcast_to(np.asarray(prior.change_rate, np.float64), (n_groups,))
    recall = np.asarray(prior.recall, np.float64)
    precision, recall = (
        np.broadcast_to(each, (n_groups, n_sources))
        for each in (prior.precision, recall if recall.ndim else recall / n_sources)
    )
    silent = (1 - recall.sum(axis=1)) * change_rate
    # In units of the prior's time between silent changes, all parameters are of a similar size.
    scale = np.concatenate([silent[:, None], np.ones((n_groups, n_sources))], axis=1)
    seen = seen._replace(x=seen.x * scale[seen.group])
    weight = np.broadcast_to(np.asarray(prior.weight, np.float64), (n_groups, n_sources))
    weights = np.column_stack([weight.max(axis=1), weight])
    theta, covariance = fit_unchanged(seen.with_prior(_shares(precision), weights, n_groups), n_groups)

    usual = recall * change_rate[:, None] / precision
    time = watched[:, None] + weight / usual
    gamma = (counts + weight) / time
    scale = scale * np.sqrt(inflation)
    covariance = covariance * scale[:, :, None] * scale[:, None, :]
    is_of = np.eye(n_sources) if source is None else (np.arange(source.max() + 1)[:, None] == source) * 1.0
    return _quality(theta[:, 0] * silent, theta[:, 1:], covariance, gamma, gamma / time, is_of)


def _shares(precision: FloatArray) -> FloatArray:
    """Chance of a change after one unit of time alone, and after one signal of each source alone."""
    return np.column_stack([np.full(len(precision), -np.expm1(-1.0)), precision])


def _quality(
    alpha: FloatArray,
    b: FloatArray,
    covariance: FloatArray,
    gamma: FloatArray,
    gamma_variance: FloatArray,
    is_of: FloatArray,
) -> SignalQuality:
    """All that follows from the parameters, with intervals by the delta method.

    is_of : (S, K) array, 1 for the kinds of each source, else 0
    """
    precision, false = -np.expm1(-b), np.exp(-b)
    signalled = (gamma * precision).sum(axis=1)
    change_rate = alpha + signalled

    def deviation(by_alpha: FloatArray | float, by_b: FloatArray, by_gamma: FloatArray) -> FloatArray:
        slope = np.concatenate([np.broadcast_to(by_alpha, (len(alpha),))[:, None], by_b], axis=1)
        variance = np.einsum("gi,gij,gj->g", slope, covariance, slope)
        root: FloatArray = np.sqrt(np.maximum(variance + (by_gamma**2 * gamma_variance).sum(axis=1), 0))
        return root

    def recall_of(is_own: FloatArray) -> Uncertain:
        """Of all signals of some kinds."""
        own = (is_own * gamma * precision).sum(axis=1)
        back = (is_own - (own / change_rate)[:, None]) / change_rate[:, None]
        spread = deviation(-own / change_rate**2, back * gamma * false, back * precision)
        return _between(own / change_rate, spread)

    def precision_of(is_own: FloatArray) -> Uncertain:
        """Of the mean signal of some kinds, with an interval that is symmetric in its b."""
        share = is_own * gamma / (is_own * gamma).sum(axis=1, keepdims=True)
        wrong = (share * false).sum(axis=1)
        of_b = deviation(0.0, share * false, np.zeros_like(gamma)) / wrong
        ends = (-np.log(wrong), np.maximum(-np.log(wrong) - _Z90 * of_b, 0), -np.log(wrong) + _Z90 * of_b)
        return Uncertain(*(-np.expm1(-end) for end in ends))

    def false_rate_of(is_own: FloatArray) -> Uncertain:
        """Of all signals of some kinds."""
        rate = (is_own * gamma * false).sum(axis=1)
        return _around(rate, deviation(0.0, -is_own * gamma * false, is_own * false) / rate)

    return SignalQuality(
        silent_rate=alpha,
        exponent=b,
        signal_rate=gamma,
        change_rate=_around(change_rate, deviation(1.0, gamma * false, precision) / change_rate),
        recall=recall_of(np.ones(len(is_of.T))),
        source_recall=_side_by_side(recall_of(is_own) for is_own in is_of),
        precision=_side_by_side(precision_of(is_own) for is_own in is_of),
        false_rate=_side_by_side(false_rate_of(is_own) for is_own in is_of),
    )


def _side_by_side(columns: Iterable[Uncertain]) -> Uncertain:
    return Uncertain(*(np.stack(ends, axis=1) for ends in zip(*columns, strict=True)))


def _around(value: FloatArray, log_deviation: FloatArray) -> Uncertain:
    factor = np.exp(np.minimum(_Z90 * log_deviation, _WIDEST))
    return Uncertain(value, value / factor, value * factor)


def _between(share: FloatArray, deviation: FloatArray) -> Uncertain:
    """A share with an interval that is symmetric in its log odds."""
    spread = np.exp(np.minimum(_Z90 * deviation / (share * (1 - share)), _WIDEST))
    odds = share / (1 - share)
    return Uncertain(share, odds / (odds + spread), odds * spread / (1 + odds * spread))
