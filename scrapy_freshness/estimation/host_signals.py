r"""How far can the signals of a host be trusted?  The likelihood of what all its pages showed.

Pages of a host change at different rates :math:`\Delta_i`, but whoever announces their changes is the same.
So with the time between two visits in units of the page's own rate, :math:`x=\Delta_i\tau`, one
:math:`(\alpha, b_k)` holds for all of them (`signal_quality.py`): a visit finds the page unchanged with
probability :math:`e^{-(\alpha x+\sum b_k n_k)}`. A static page that is announced again and again
tells more about the announcements than any page that changes could.

The likelihood of visits without a change depends on sums only. Those with a change are kept in cells of
similar :math:`x` and number of signals, each as so many visits with the mean of the cell: a host takes some
hundred bytes, however many visits it had.

Rates are estimates, and some are far too high. A visit after more than :math:`x=20` counts as one after 20.
To leave long waits out would be wrong: those that are left are short because a signal has ended them.

Hosts change their ways. Visits fade as others of their kind come, where the kind is the set of sources that
were heard: the latest :math:`W` signals of each, or visits without any, count most, so that rare signals are
not forgotten for visits without. Given :math:`(x, n)` the likelihood has nothing to do with how often
each kind comes. Because the weights of visits fade, variances are
:math:`\sum w^2/\sum w = 1-\sum w/(2W)` of those that the weights suggest.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.signal_counts import N_SOURCES
from scrapy_freshness.estimation.signal_delays import Delays
from scrapy_freshness.estimation.signal_quality import SignalPrior, Uncertain, fit_observed
from scrapy_freshness.estimation.unchanged_fit import Observations
from scrapy_freshness.model import SignalSource

FloatArray = NDArray[np.float64]

#: W, signals, or visits without one, that count; what is older by so many has a weight of 1/e.
WINDOW = 500.0
_LONGEST = 20.0
#: Precision and recall that are believed before a source was tested, and visits that this counts for.
#:
#: Of the sitemaps with dates 79 % are right, 18 % wrong and 3 % partly; but sites that declared themselves
#: perfect had a precision below .2 and a recall below .5. Of the others nothing is known.
_FIRST_PRECISION = {SignalSource.SITEMAP: 0.6}
_USUAL_PRECISION, _FIRST_RECALL, _FIRST_WEIGHT = 0.5, 0.5, 2.0
#: Recall of a source before its first signal: hardly any change is expected to be announced.
_SILENT_RECALL = 1e-3
#: A scale of weights beyond which they are made small again.
_LARGE = 1e6

_VERSION = 1
_HEAD = struct.Struct(f"<BHH{2 + 3 * N_SOURCES}f")
_CELL = struct.Struct(f"<H{2 + N_SOURCES}f")
_AGE = struct.Struct("<Bf")


class Cell(NamedTuple):
    """Where a visit is kept: which sources were heard, whether the page had changed, and about x and n."""

    heard: int  #: a bit for each source
    changed: bool
    size: int  #: of x and of the number of signals, for those with a change

    @classmethod
    def of(cls, x: float, signals: Sequence[int], changed: bool) -> "Cell":
        """The cell of a visit."""
        heard = sum(1 << source for source, count in enumerate(signals) if count)
        if not changed:
            return cls(heard, False, 0)
        # Thirds and threefolds of x; 1, 2 to 3, 4 to 7, more signals.
        time = min(max(round(np.log(max(x, 1e-9)) / np.log(3)), -4), 3) + 4
        return cls(heard, True, 8 * time + min(sum(signals).bit_length(), 4))

    @property
    def number(self) -> int:
        """As a number of 16 bits."""
        return self.heard << 8 | self.changed << 7 | self.size

    @classmethod
    def numbered(cls, number: int) -> "Cell":
        """From its number."""
        return cls(number >> 8, bool(number >> 7 & 1), number & 127)


@dataclass(slots=True)
class HostSignals:
    """What visits of a host's pages found after signals, and without any, since the first was heard.

    >>> host = HostSignals()
    >>> for _ in range(50):
    ...     host.add(0.2, (1, 0, 0, 0), changed=True)
    ...     host.add(0.8, (0, 0, 0, 0), changed=False)
    >>> precision, recall, _ = trust_in([host])
    >>> bool(precision.low[0, 0] > 0.85), bool(recall.low[0, 0] > 0.85)
    (True, True)
    """

    visits: float = 0.0  #: since the first signal
    heard: FloatArray = field(default_factory=lambda: np.zeros(N_SOURCES))  #: signals, all
    watched: float = 0.0  #: sum of x, faded
    counted: FloatArray = field(default_factory=lambda: np.zeros(N_SOURCES))  #: signals, faded likewise
    late: FloatArray = field(default_factory=lambda: np.zeros(N_SOURCES))  #: that came too soon, faded
    delays: Delays = field(default_factory=Delays)
    since_fit: float = np.inf  #: visits that the last fit has not seen
    _cells: dict[Cell, FloatArray] = field(default_factory=dict)  #: sums of weight, x and signals
    _scale: dict[int, float] = field(default_factory=dict)  #: weight of the next visit, by what is heard

    def add(
        self, x: float, signals: Sequence[int], changed: bool, late: Sequence[int] = (0,) * N_SOURCES
    ) -> None:
        """A visit found a page changed or not, x changes of the page's own rate after the one before."""
        kept = 1 - 1 / WINDOW
        x = min(x, _LONGEST)
        self.watched = self.watched * kept + x
        self.counted = self.counted * kept + signals
        self.late = self.late * kept + late
        cell = Cell.of(x, signals, changed)
        # Who sends many signals at a time must not be remembered for longer.
        scale = self._scale[cell.heard] = self._scale.get(cell.heard, 1.0) / kept ** max(sum(signals), 1)
        sums = self._cells.get(cell)
        if sums is None:
            sums = self._cells[cell] = np.zeros(2 + N_SOURCES)
        sums += scale * np.array((1.0, x, *signals))
        if scale > _LARGE:
            self._rescale(cell.heard)
        self.visits += 1
        self.heard += np.add(signals, late)
        self.since_fit += 1

    def is_due(self) -> bool:
        """Whether enough has been seen since the last fit for another."""
        return self.since_fit > min(self.visits, WINDOW) / 25

    def cells(self) -> list[tuple[Cell, FloatArray]]:
        """Sums of weight, x and signals of each cell."""
        return [(cell, sums / self._scale.get(cell.heard, 1.0)) for cell, sums in self._cells.items()]

    def inflation(self) -> FloatArray:
        """Variance of alpha and of each b over what the weights say."""
        weights = np.zeros(1 + N_SOURCES)
        for cell, sums in self.cells():
            weights += (sums[0] * (cell.heard == 0), *sums[2:])
        inflation: FloatArray = 1 - np.minimum(weights / WINDOW, 1) / 2
        return inflation

    def pack(self) -> bytes:
        """As bytes: 66, 26 a cell and 5 an age of signals."""
        cells, ages = self.cells(), self.delays.heeding_helps
        counts = (*self.heard.tolist(), *self.counted.tolist(), *self.late.tolist())
        head = _HEAD.pack(_VERSION, len(cells), len(ages), self.visits, self.watched, *counts)
        body = [_CELL.pack(cell.number, *sums.tolist()) for cell, sums in cells]
        return b"".join([head, *body, *(_AGE.pack(*each) for each in ages.items())])

    @classmethod
    def unpack(cls, packed: bytes) -> "HostSignals | None":
        """From bytes; None if they are damaged or of another version."""
        if len(packed) < _HEAD.size or packed[0] != _VERSION:
            return None
        _, n_cells, n_ages, visits, watched, *counts = _HEAD.unpack_from(packed)
        ages_from = _HEAD.size + n_cells * _CELL.size
        if len(packed) != ages_from + n_ages * _AGE.size:
            return None
        heard, counted, late = np.array(counts).reshape(3, N_SOURCES)
        cells = {
            Cell.numbered(number): np.array(sums)
            for number, *sums in _CELL.iter_unpack(packed[_HEAD.size : ages_from])
        }
        delays = Delays(dict(_AGE.iter_unpack(packed[ages_from:])))
        return cls(visits, heard, watched, counted, late, delays, np.inf, cells)

    def _rescale(self, heard: int) -> None:
        scale = self._scale.pop(heard)
        for cell, sums in self._cells.items():
            if cell.heard == heard:
                sums /= scale


def first_belief(heard: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Precision and recall of the sources of a host before they were tested.

    >>> [each.tolist() for each in first_belief(np.array([True, True, False, False]))]
    [[0.6, 0.5, 0.5, 0.5], [0.25, 0.25, 0.00025, 0.00025]]
    """
    known = np.array([_FIRST_PRECISION.get(source, _USUAL_PRECISION) for source in SignalSource])
    precision = np.where(heard, known, _USUAL_PRECISION)
    recall = np.where(heard, _FIRST_RECALL / max(1, int(heard.sum())), _SILENT_RECALL / N_SOURCES)
    return precision, recall


class Trust(NamedTuple):
    """Precision and recall of each source of some hosts, (hosts, sources)."""

    precision: Uncertain
    recall: Uncertain  #: by signals that count
    silent: FloatArray  #: alpha of each host, in units of the pages' own rates


def trust_in(hosts: Sequence[HostSignals]) -> Trust:
    """How far the sources of hosts can be trusted, with 90 % intervals."""
    heard = np.array([host.heard for host in hosts]).reshape(len(hosts), N_SOURCES) > 0
    # A fit with all sources would take ten times as long as one with those that were heard.
    used = np.flatnonzero(heard.any(axis=0) | (np.arange(N_SOURCES) == 0))
    first = np.array([first_belief(each) for each in heard]).reshape(len(hosts), 2, N_SOURCES)
    prior = SignalPrior(
        change_rate=1.0, precision=first[:, 0, used], recall=first[:, 1, used], weight=_FIRST_WEIGHT
    )
    watched = np.array([host.watched for host in hosts])
    counted = np.array([host.counted for host in hosts]).reshape(len(hosts), N_SOURCES)
    inflation = np.array([host.inflation() for host in hosts]).reshape(len(hosts), 1 + N_SOURCES)
    columns = np.append(0, 1 + used)
    found = fit_observed(_observed(hosts, columns), watched, counted[:, used], prior, inflation[:, columns])
    precision, recall = (Uncertain(*(first[:, number].copy() for _ in range(3))) for number in (0, 1))
    for all_sources, known in ((precision, found.precision), (recall, found.source_recall)):
        for end, column in zip(all_sources, known, strict=True):
            end[:, used] = column
    return Trust(precision, recall, found.silent_rate)


def _observed(hosts: Sequence[HostSignals], columns: NDArray[np.intp]) -> Observations:
    """The cells of all hosts, with some of time and signals, each as so many visits with its mean."""
    cells = [host.cells() for host in hosts]
    group = np.repeat(np.arange(len(hosts)), [len(each) for each in cells])
    kinds = [cell for each in cells for cell, _ in each]
    sums = np.array([sums for each in cells for _, sums in each]).reshape(len(kinds), 2 + N_SOURCES)
    weight, changed = sums[:, 0], np.array([cell.changed for cell in kinds], np.bool_)
    mean = sums[:, 1 + columns] / weight[:, None]
    return Observations(mean, np.where(changed, weight, 0.0), np.where(changed, 0.0, weight), group)
