r"""SBR and EBR: what the user-centric policy is compared with, as beliefs for the value model of GREEDY.

Both know of each page the share of its shingles that every update changed, and take the updates for a
Poisson process. Staleness-based refreshing (SBR) counts a copy as stale once more than a share
:math:`\theta` of its shingles is wrong, and all pages alike. Embarrassment-based refreshing (EBR) counts
a copy as stale after any update, and weighs a page by its clicks and by the probability :math:`d` that a
stale copy is irrelevant: the share of updates that change at least :math:`\theta` of the shingles. Under
a budget both crawl where :math:`(\mu/\lambda) R_1(\lambda t)` is largest.

References
----------
Pandey, Olston: User-centric web crawling, WWW 2005, section 6.3.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.value.contract import Beliefs

FloatArray = NDArray[np.float64]

#: A page without updates that count is believed to have one in 30,000 years.
_SLOWEST = 1e-12


def staleness_beliefs(updates: Sequence[FloatArray], seconds: float, threshold: float) -> Beliefs:
    """SBR: every page alike, changing as often as it had updates of more than a share of its shingles.

    Parameters
    ----------
    updates : of each page the share of shingles that each of its updates changed, 0 to 1
    seconds : time in which they came
    threshold : theta, 0 to 1

    >>> beliefs = staleness_beliefs([np.array([0.1, 0.5, 0.9]), np.array([0.2])], 100.0, 0.3)
    >>> beliefs.importance, beliefs.change_rate
    (array([1., 1.]), array([2.e-02, 1.e-12]))
    """
    counted = np.array([np.count_nonzero(shares > threshold) for shares in updates], float)
    return Beliefs(importance=np.ones(len(counted)), change_rate=np.maximum(counted / seconds, _SLOWEST))


def embarrassment_beliefs(
    updates: Sequence[FloatArray], seconds: float, threshold: float, clicks: FloatArray
) -> Beliefs:
    """EBR: pages by their clicks and the chance that a stale copy is irrelevant, changing with every update.

    Parameters
    ----------
    updates, seconds : as in :func:`staleness_beliefs`
    threshold : theta, 0 to 1
    clicks : per second, on each page

    >>> updates = [np.array([0.1, 0.5, 0.9, 0.3]), np.array([0.2])]
    >>> beliefs = embarrassment_beliefs(updates, 100.0, 0.3, np.array([4.0, 4.0]))
    >>> beliefs.importance, beliefs.change_rate
    (array([3., 0.]), array([0.04, 0.01]))
    """
    counted = np.array([len(shares) for shares in updates], float)
    drastic = np.array([np.count_nonzero(shares >= threshold) for shares in updates], float)
    irrelevant = drastic / np.maximum(counted, 1.0)
    return Beliefs(importance=clicks * irrelevant, change_rate=np.maximum(counted / seconds, _SLOWEST))
