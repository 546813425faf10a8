r"""Links come by the clock: how many more than usual in each hour of the day, learned for each host.

A poll that found :math:`n` links spreads them over the hours since the poll before, in proportion to the time
and to what is believed of these hours. Compared with what the source's own rate would have brought, that
gives the relative intensity :math:`\rho_b` of each hour. A host without enough links, or whose hours do not
differ by more than chance, has no rhythm.

A source with link rate :math:`\lambda` has shown :math:`\lambda\int\rho` new links since its last poll.
"""

import struct

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from scrapy_freshness.estimation.rhythm import DAY, Rhythm, bin_seconds

FloatArray = NDArray[np.float64]

BINS = 24
#: Links at the mean rate that each hour starts with.
_SHRINK = 5.0
#: Links and days from which on a rhythm can be told from chance; links of one event come together.
_LEAST_LINKS, _LEAST_DAYS = 200.0, 3.0
#: Links after which what is old begins to count less.
_MOST_LINKS = 5000.0
_STATE = struct.Struct(f"<2d{2 * BINS}f")


class HostRhythm:
    """What was found on a host, and what was to be expected, in each hour of the day (UTC)."""

    def __init__(self) -> None:
        self._first_at, self._last_at = np.inf, -np.inf
        self._links = np.zeros(BINS)
        self._expected = np.zeros(BINS)

    def add(self, start: float, end: float, found: float, rate: float) -> None:
        """A poll of a source with this link rate found so many links that came between two times."""
        self._first_at, self._last_at = min(self._first_at, start), max(self._last_at, end)
        seconds = bin_seconds(np.array([start]), np.array([end]))[0]
        likely = seconds * self._relative()
        self._expected += rate * seconds
        if likely.sum() > 0:
            self._links += found * likely / likely.sum()
        if self._links.sum() > _MOST_LINKS:
            self._links, self._expected = self._links / 2, self._expected / 2

    def rhythm(self) -> Rhythm | None:
        """The rhythm of the host; None if there is none to be seen."""
        if self._links.sum() < _LEAST_LINKS or self._last_at - self._first_at < _LEAST_DAYS * DAY:
            return None
        level = np.maximum(self._level(), 1e-12)
        statistic = float(((self._links - level) ** 2 / level).sum())
        chance = float(gammaincc((BINS - 1) / 2, statistic / 2))
        found = Rhythm(self._relative(), statistic, chance)
        return found if found.is_real() else None

    def packed(self) -> bytes:
        """Bytes to be stored."""
        return _STATE.pack(self._first_at, self._last_at, *self._links, *self._expected)

    @classmethod
    def unpacked(cls, state: bytes) -> "HostRhythm":
        """What was packed; bytes of another length begin anew."""
        found = cls()
        if len(state) == _STATE.size:
            found._first_at, found._last_at, *counts = _STATE.unpack(state)
            found._links, found._expected = np.array(counts[:BINS]), np.array(counts[BINS:])
        return found

    def _level(self) -> FloatArray:
        """Links of each hour if they came at a constant rate."""
        level: FloatArray = self._expected * (self._links.sum() / max(self._expected.sum(), 1e-12))
        return level

    def _relative(self) -> FloatArray:
        relative: FloatArray = (self._links + _SHRINK) / (self._level() + _SHRINK)
        relative /= relative.mean()
        return relative


def mean_intensity(rhythm: Rhythm, start: FloatArray, end: FloatArray) -> FloatArray:
    """Mean relative intensity from each start to each end, which is later.

    >>> nights_off = Rhythm(np.repeat([0.0, 2.0], 12), 0.0, 1.0)
    >>> mean_intensity(nights_off, np.array([0.0, 6.0]) * 3600, np.array([6.0, 18.0]) * 3600)
    array([0., 1.])
    """
    seconds = bin_seconds(start, end)
    mean: FloatArray = (seconds @ rhythm.relative) / (end - start)
    return mean
