r"""Distributions of a page's change rate on a grid of log rates, and how observations move them.

The rate :math:`r` of a page is one of 48 values, evenly spaced on a logarithmic scale from one change in
30 years to one a second. An observation after a time :math:`t` multiplies the chance of each with its
likelihood, :math:`1-e^{-rt}` if the page changed and :math:`e^{-rt}` if not.

Rates drift, and pages fall silent. So before each observation the page begins anew with a small
probability :math:`\varepsilon`, with a rate drawn from its prior :math:`\pi`:

.. math:: p_k(r) \propto [(1-\varepsilon)\,p_{k-1}(r) + \varepsilon\,\pi(r)]\; P(observation_k \mid r),

the exact filter of that model, in which half of what was learned is forgotten after
:math:`\log 2/\varepsilon` observations. Observations without a change that follow each other count as one.

Changes come in bursts and by the clock, not as a Poisson process, so that observations tell less than their
likelihood says: it is taken to the power :math:`\eta` (a *tempered* posterior [1]_).

References
----------
.. [1] Grünwald, van Ommen: Inconsistency of Bayesian inference for misspecified linear models, and a proposal
   for repairing it, Bayesian Analysis 12(4), 2017.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.estimation.history import n_observations, observations

FloatArray = NDArray[np.float64]

_SLOWEST, _FASTEST, N_RATES = 1 / (30 * 365.25 * 86400), 1.0, 48
LOG_RATES = np.linspace(np.log(_SLOWEST), np.log(_FASTEST), N_RATES)
RATES = np.exp(LOG_RATES)
_STEP = float(LOG_RATES[1] - LOG_RATES[0])

#: Observations that count; earlier ones are nearly forgotten and cost time.
MOST_OBSERVATIONS = 32
#: A longer time counts as this: it must not be impossible even for the slowest rate.
_LONGEST_SECONDS = 1e10
_LEAST_EXPONENT = -300.0  # what is less likely than this is impossible, and numbers that underflow are slow
#: Standard normal quantile of a two-sided 90 % interval.
_Z90 = 1.6448536269514722

#: R1(x)/x, with R1(x) = 1 - (1+x)exp(-x), is largest at this x.
_TOP = 1.7932821


def broad(seconds: float = 20 * 86400.0) -> FloatArray:
    """What is believed before anything was seen: a change in so many seconds, give or take a factor of 20.

    A normal distribution of the log rate with a standard deviation of 3, and 2 % spread over all rates.

    >>> float(broad().sum().round(12))
    1.0
    """
    bell = np.exp(-0.5 * ((LOG_RATES + np.log(seconds)) / 3) ** 2)
    mixed: FloatArray = 0.98 * bell / bell.sum() + 0.02 / N_RATES
    return mixed


def filtered(
    prior: FloatArray, histories: Sequence[bytes], forgetting: float, power: float = 1.0
) -> FloatArray:
    """Distributions of the rates after the observations.

    Parameters
    ----------
    prior : (n, 48) array, pi, one distribution a page, > 0
    histories : n histories (see `history.py`)
    forgetting : epsilon, chance that a page begins anew before an observation, 0 to 1
    power : eta, to which the likelihood of an observation is taken, above 0 to 1
    """
    seen = _aligned(histories)
    seconds, is_changed = np.minimum(np.abs(seen), _LONGEST_SECONDS), (seen < 0).astype(np.float64)
    believed = np.ascontiguousarray(prior.T)  # one column a page: sums over the rates are faster
    anew, likelihood = forgetting * believed, np.empty_like(believed)
    for waited, changed in zip(seconds, is_changed, strict=True):
        np.multiply(RATES[:, None], -waited, out=likelihood)
        np.maximum(likelihood, _LEAST_EXPONENT, out=likelihood)
        np.exp(likelihood, out=likelihood)
        likelihood *= 1 - 2 * changed
        likelihood += changed
        if power != 1:
            np.power(likelihood, power, out=likelihood)
        believed = ((1 - forgetting) * believed + anew) * likelihood
        believed /= believed.sum(axis=0)
    return np.ascontiguousarray(believed.T)


def matched_rate(believed: FloatArray, seconds: FloatArray) -> FloatArray:
    r"""The rate of a page that is worth as much as these pages are expected to be.

    A crawl after :math:`\tau` is worth :math:`V = R_1(r\tau)/r`, so that the expected value is
    :math:`\sum_r p(r)R_1(r\tau)/r`. Two rates are worth that, one below 1.79/:math:`\tau` and one above; the
    one on the side of the median is taken. The mean rate is no substitute: after a single change most of it
    comes from rates that the page need not have, and with them its value would be next to nothing for ever.

    Parameters
    ----------
    believed : (n, 48) array, p, distributions of the rates
    seconds : (n,) array, tau, when the page is likely to be looked at, > 0
    """
    expected = np.log(np.einsum("ij,ij->i", believed, np.exp(_log_value(np.log(RATES * seconds[:, None])))))
    below = np.cumsum(believed, axis=1)
    is_fast = RATES[np.argmax(below >= 0.5 * below[:, -1:], axis=1)] * seconds > _TOP
    slow = np.where(expected < _SLOW_VALUE[0], expected + np.log(2), np.interp(expected, _SLOW_VALUE, _SLOW))
    fast = np.where(expected < -_FAST_VALUE[-1], -expected, np.interp(-expected, _FAST_VALUE, _FAST))
    matched: FloatArray = np.exp(np.where(is_fast, fast, slow)) / seconds
    return matched


def _log_value(log_x: FloatArray) -> FloatArray:
    """log(R1(x)/x), which is x/2 for small x and 1/x for large ones."""
    x: FloatArray = np.exp(log_x)
    # 1 - (1+x)e^-x loses its digits where x is small.
    large = np.maximum(x, 1e-4)
    value: FloatArray = np.where(x < 1e-4, log_x - np.log(2), np.log1p(-(1 + large) * np.exp(-large)) - log_x)
    return value


_SLOW, _FAST = np.linspace(np.log(1e-7), np.log(_TOP), 2000), np.linspace(np.log(_TOP), np.log(1e7), 2000)
#: Values of the rates below and above the top; the latter fall, so they are kept negative.
_SLOW_VALUE, _FAST_VALUE = _log_value(_SLOW), -_log_value(_FAST)


def interval(believed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rates below which 5 % and 95 % of a distribution are, each value standing for its step of the grid."""
    below = np.cumsum(believed, axis=1)
    rows = np.arange(len(below))
    ends = []
    for share in (0.05, 0.95):
        first = np.minimum((below < share).sum(axis=1), N_RATES - 1)
        missing = (share - below[rows, first]) / np.maximum(believed[rows, first], 1e-300)
        ends.append(np.exp(LOG_RATES[first] + _STEP * (0.5 + np.clip(missing, -1, 0))))
    return ends[0], ends[1]


def bells(estimate: RateEstimate) -> FloatArray:
    """Log-normal distributions with these 90 % intervals; nothing for a page without one (low = 0).

    >>> page = RateEstimate(np.array([2e-5]), np.array([1e-5]), np.array([4e-5]))
    >>> float(np.exp(bells(page)[0] @ LOG_RATES).round(6))
    2e-05
    """
    is_known = estimate.low > 0
    low, high = (np.log(np.where(is_known, end, 1.0))[:, None] for end in (estimate.low, estimate.high))
    deviation = np.maximum((high - low) / (2 * _Z90), _STEP / 2)
    bell = np.exp(-0.5 * ((LOG_RATES - np.clip((low + high) / 2, LOG_RATES[0], 0.0)) / deviation) ** 2)
    bell *= (is_known / bell.sum(axis=1))[:, None]
    return bell


def _aligned(histories: Sequence[bytes]) -> FloatArray:
    """The latest observations, one row for each place from the end, the last one in the last row.

    What is missing is 0: no time, no change, no information.
    """
    lengths = [min(n_observations(history), MOST_OBSERVATIONS) for history in histories]
    longest = max(lengths, default=0)
    joined = b"".join(
        history[len(history) - 4 * n :].rjust(4 * longest, b"\0")
        for history, n in zip(histories, lengths, strict=True)
    )
    return observations(joined).reshape(len(histories), longest).T.astype(np.float64)
