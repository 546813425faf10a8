r"""How often does a page change, by what its visits found and the signals before them?

What is learned of the signals of a host is relative to how often its pages change, and an estimate of that
which was made before a visit is off in a way that matters. It is too high for pages that wait without
a signal, and too low for those that get one after the other, so that too few changes seem to be silent,
and the more so the less is known of the pages. So the rate is the one that is believed after the visit,
given all that is known of it: the mean of a Gamma distribution whose mean was :math:`m` before the first
one and whose shape is :math:`k`,

.. math:: \Delta = \frac{k + \sum_j c_j}{k/m + \sum_j \tau_j} ,

where :math:`c_j` is the number of changes to be expected in the :math:`\tau_j` seconds before visit j. It is
0 if the visit found none. Otherwise, if :math:`n_k` signals of precision :math:`p_k` came and a share
:math:`\alpha` of the changes is silent,

.. math:: c_j = \frac{\sum_k n_k p_k + \alpha\Delta\tau_j}{1 - e^{-\alpha\Delta\tau_j}\prod_k(1-p_k)^{n_k}} .

These are the steps of expectation and maximisation for the likelihood of rates and signals together [1]_, of
which what is learned of the signals is the other half. False signals say nothing of the rate.

References
----------
.. [1] Dempster, Laird, Rubin: Maximum likelihood from incomplete data via the EM algorithm, Journal of the
   Royal Statistical Society B 39(1), 1977.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: k, changes that the rate of siblings counts for: half a one, as in Jeffreys' prior of a rate.
_SHAPE = 0.5
_STEPS = 5
_LEAST = 1e-12


def shown_rates(
    seconds: FloatArray,
    signalled: FloatArray,
    exponent: FloatArray,
    changed: NDArray[np.bool_],
    page: NDArray[np.intp],
    usual_rate: FloatArray,
    silent: FloatArray,
) -> FloatArray:
    """Change rates of some pages, per second.

    Parameters
    ----------
    seconds : (N,) array, tau, between two visits
    signalled : (N,) array, sum of n * p, true signals to be expected in that time
    exponent : (N,) array, sum of -n * log(1 - p)
    changed : (N,) array, whether the later visit found a change
    page : (N,) array, which page it is, from 0
    usual_rate : (n,) array, m, of pages that are alike, per second
    silent : (n,) array, alpha, share of the changes that no signal announces

    Examples
    --------
    >>> def rate(n_signals, changed):
    ...     n = np.array([float(n_signals)])
    ...     return shown_rates(np.array([100.0]), 0.9 * n, 2.3 * n, np.array([changed]), np.array([0]),
    ...         np.array([0.01]), np.array([0.5])).round(4).item()
    >>> rate(0, False), rate(2, False), rate(0, True), rate(2, True)
    (0.0033, 0.0033, 0.0122, 0.023)
    """
    shape_seconds = _SHAPE / usual_rate
    watched = shape_seconds + np.bincount(page, seconds, len(usual_rate))
    seconds, signalled, exponent = (each[changed] for each in (seconds, signalled, exponent))
    page = page[changed]
    rate = (_SHAPE + np.bincount(page, minlength=len(usual_rate))) / watched
    for _ in range(_STEPS):
        in_silence = np.maximum((silent * rate)[page] * seconds, _LEAST)
        changes = (signalled + in_silence) / -np.expm1(-(exponent + in_silence))
        rate = (_SHAPE + np.bincount(page, changes, len(usual_rate))) / watched
    return rate
