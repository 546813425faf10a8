r"""What do searchers gain by refreshes?  From measured gains to the size and rate of changes they notice.

A refresh of a page after :math:`\tau_j` seconds brought a gain :math:`G_j`. If changes that searchers notice
come at rate :math:`\nu` and each costs a quality :math:`x` until the page is refreshed, a refresh gains
:math:`x` with probability :math:`1-e^{-\nu\tau}` and nothing otherwise. Then

.. math:: x = \frac{\sum G_j^2}{\sum G_j}, \qquad n_x = \frac{(\sum G_j)^2}{\sum G_j^2}

are the size of a change and the number of refreshes that found one. Where gains differ, changes count by
their size: a clock that ticks between two rewritings does not make a page seem to change all the time. With
:math:`n_x` of :math:`n` refreshes in :math:`T=\sum\tau_j` seconds, as if at equal intervals (`naive.py`),

.. math:: \nu = -\frac{n}{T} \ln\frac{n-n_x+1/2}{n+1/2} .

Each page begins with :math:`\kappa` pseudo-refreshes, which found a change after the time that its change
rate lets one expect. What they gained is what changes of pages of the same *quality* gain: a page on which
searchers find much has much to lose. So a page whose refreshes gained nothing is believed to gain little,
but never nothing.

This is not in the paper [1]_, which takes the mean of :math:`G_j/\tau_j` for the gain per second, of a
page that gained nothing 0.

References
----------
.. [1] Pandey, Olston: User-centric web crawling, WWW 2005, section 6.4.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.naive import regular_rate

FloatArray = NDArray[np.float64]

#: Octaves of quality, from 2**-64 to 2**63.
_OCTAVES = 128
#: Pages of less than this share of the mean quality are like pages that have it: they may yet be found.
_LEAST_SHARE = 0.1
#: Changes for which the relation of all pages counts within an octave.
_STRENGTH = 2.0
#: Changes, of a page of mean quality, that all pages begin with and that cost everything. Few gains are
#: large, so that the first ones seem to show that none is, and what is believed to gain little is not looked
#: at again.
_FIRST_CHANGES = 10.0


class RefreshSums(NamedTuple):
    """Sums over the refreshes of each page."""

    refreshes: FloatArray  #: n
    seconds: FloatArray  #: T, since the refresh before
    gained: FloatArray  #: sum of G
    squares: FloatArray  #: sum of G^2


class NoticedChanges(NamedTuple):
    """Changes that searchers notice, of each page."""

    size: FloatArray  #: x, what one of them costs until the page is refreshed
    rate: FloatArray  #: nu, per second

    @property
    def gain(self) -> FloatArray:
        """Quality lost per second, as long as little has been lost."""
        return self.size * self.rate


def noticed_changes(
    sums: RefreshSums, expected_gain: FloatArray, change_rate: FloatArray, *, prior_refreshes: float
) -> NoticedChanges:
    """Estimate the changes that searchers notice.

    Parameters
    ----------
    sums : what refreshes gained
    expected_gain : of a change, before any refresh, > 0
    change_rate : of all changes, noticed or not, per second, > 0
    prior_refreshes : kappa > 0

    >>> nothing = RefreshSums(*np.zeros((4, 1)))
    >>> sometimes = RefreshSums(*np.array([[10.0], [1000.0], [6.0], [12.0]]))  # 2 gained three times
    >>> one = np.ones(1)
    >>> float(noticed_changes(nothing, 5 * one, 0.02 * one, prior_refreshes=0.3).size[0])
    5.0
    >>> learned = noticed_changes(sometimes, 5 * one, 0.02 * one, prior_refreshes=1e-9)
    >>> learned.size.round(6), learned.rate.round(4)
    (array([2.]), array([0.0034]))
    """
    kappa = prior_refreshes
    refreshes = sums.refreshes + kappa
    seconds = sums.seconds + kappa / change_rate
    gained = sums.gained + kappa * expected_gain
    size = (sums.squares + kappa * expected_gain**2) / gained
    found = np.minimum(gained / size, refreshes)
    return NoticedChanges(size, regular_rate(found, refreshes, seconds / refreshes))


class GainPool:
    """What a change gains, by the quality of the page: gains per change and quality, octave by octave.

    >>> pool = GainPool()
    >>> pool.expected(np.array([0.25]))  # nothing is known: all that searchers find may be lost
    array([0.25])
    >>> pool.add(np.full(1000, 0.25), gained=np.full(1000, 0.01), changes=np.ones(1000))
    >>> pool.expected(np.array([0.25, np.nan])).round(3)  # in the second, nothing is known of the page
    array([0.01, 0.01])
    """

    def __init__(self) -> None:
        self._gained = np.zeros(_OCTAVES)
        self._at_stake = np.zeros(_OCTAVES)  #: changes times quality
        self._quality = 0.0
        self._pages = 0

    def add(self, quality: FloatArray, gained: FloatArray, changes: FloatArray) -> None:
        """Note refreshes: the quality of the pages (nan: unknown), gains, and expected numbers of changes."""
        known = np.isfinite(quality)
        self._quality += float(quality[known].sum())
        self._pages += int(np.count_nonzero(known))
        quality = self._usual(quality)
        octave = _octave(quality)
        self._gained += np.bincount(octave, gained, _OCTAVES)
        self._at_stake += np.bincount(octave, changes * quality, _OCTAVES)

    def expected(self, quality: FloatArray) -> FloatArray:
        """What a change of each page gains, > 0."""
        quality = self._usual(quality)
        octave = _octave(quality)
        everything = _FIRST_CHANGES * self._mean_quality
        share = (self._gained.sum() + everything) / (self._at_stake.sum() + everything)
        gained, at_stake = (_with_neighbours(sums)[octave] for sums in (self._gained, self._at_stake))
        weight = _STRENGTH * quality
        expected: FloatArray = quality * ((gained + share * weight) / (at_stake + weight))
        return expected

    def packed(self) -> bytes:
        """All that is known, to be kept."""
        known = (self._gained, self._at_stake, [self._quality, self._pages])
        return np.concatenate(known).astype("<f8").tobytes()

    def restore(self, packed: bytes) -> None:
        """Go on with what was kept; what cannot be read is left alone."""
        known = np.frombuffer(packed, "<f8") if len(packed) == 8 * (2 * _OCTAVES + 2) else np.empty(0)
        if len(known) and np.isfinite(known).all():
            self._gained, self._at_stake = known[:_OCTAVES].copy(), known[_OCTAVES : 2 * _OCTAVES].copy()
            self._quality, self._pages = float(known[-2]), int(known[-1])

    @property
    def _mean_quality(self) -> float:
        """Of the pages seen so far; 1 if there are none, or nothing is found on them."""
        return self._quality / self._pages if self._quality > 0 else 1.0

    def _usual(self, quality: FloatArray) -> FloatArray:
        """Qualities, not too small ones; the mean where it is unknown."""
        mean = self._mean_quality
        return np.maximum(np.where(np.isfinite(quality), quality, mean), _LEAST_SHARE * mean)


def _octave(quality: FloatArray) -> NDArray[np.intp]:
    octave: NDArray[np.intp] = np.floor(np.log2(quality)).astype(np.intp) + _OCTAVES // 2
    return octave.clip(0, _OCTAVES - 1)


def _with_neighbours(sums: FloatArray) -> FloatArray:
    """Each sum with half of those beside it."""
    wide: FloatArray = np.concatenate([[0.0], sums, [0.0]])
    return sums + (wide[:-2] + wide[2:]) / 2
