r"""How far can the signals of a host be trusted?  The likelihood of what all its pages showed.

Pages of a host change at different rates :math:`\Delta_i`, but whoever announces their changes is the same.
So with the time between two visits in units of the page's own rate, :math:`x=\Delta_i\tau`, one
:math:`(\alpha, b_k)` holds for all of them (`signal_quality.py`): a visit finds the page unchanged with
probability :math:`e^{-(\alpha x+\sum b_k n_k)}`. A static page that is announced again and again
tells more about the announcements than any page that changes could.

False signals need not come in proportion to the changes. Where pages are announced by the clock, signals are
mostly true of those that change often and mostly false of the others, and one :math:`b` for all would be too
small: pages whose signals say little are visited after many of them, and count by each. So signals of
pages of a similar :math:`\Delta_i`, within a factor of three, have a :math:`b` of their own, of which that of
all pages is the prior. The precision of the source is the mean over its signals.

Some changes are announced after a visit has found them: signals are late, or sitemaps are polled rarely. If a
signal with a date tells that a page had changed before a visit, and nothing had been heard before that,
the visit counts as one after that signal, whatever it found. So recall is the share of the changes that are
announced at all.

The likelihood of visits without a change depends on sums only. Those with a change are kept in cells of
similar :math:`x` and number of signals, each as so many visits with the mean of the cell: a host takes some
thousand bytes, however many visits it had.

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
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.signal_counts import N_SOURCES
from scrapy_freshness.estimation.signal_delays import Delays
from scrapy_freshness.estimation.signal_quality import SignalPrior, SignalQuality, Uncertain, fit_observed
from scrapy_freshness.estimation.unchanged_fit import Observations
from scrapy_freshness.model import SignalSource

FloatArray = NDArray[np.float64]

#: W, signals, or visits without one, that count; what is older by so many has a weight of 1/e.
WINDOW = 500.0
_KEPT = 1 - 1 / WINDOW
_NONE = (0,) * N_SOURCES
_LONGEST = 20.0
#: Number of the pace of a page that changes every second, or faster.
_FASTEST = 15
#: Precision and recall that are believed before a source was tested, and visits that this counts for.
#:
#: Of the sitemaps with dates 79 % are right, 18 % wrong and 3 % partly; but sites that declared themselves
#: perfect had a precision below .2 and a recall below .5. Of the others nothing is known.
_FIRST_PRECISION = {SignalSource.SITEMAP: 0.6}
_USUAL_PRECISION, _FIRST_RECALL, _FIRST_WEIGHT = 0.5, 0.5, 2.0
#: Recall of a source before its first signal: hardly any change is expected to be announced.
_SILENT_RECALL = 1e-3
#: Visits that the precision of all pages counts for in that of pages of one pace.
_PACE_WEIGHT = 0.5
#: Least share of a source's signals that are believed to be about pages of one pace.
_LEAST_SHARE = 1e-3
#: A scale of weights beyond which they are made small again.
_LARGE = 1e6

_VERSION = 2
_HEAD = struct.Struct(f"<BHH{2 + 3 * N_SOURCES}f")
_CELL = struct.Struct(f"<H{2 + N_SOURCES}f")
_AGE = struct.Struct("<Bf")


class Cell(NamedTuple):
    """Where a visit is kept: the page's pace, who was heard, whether it had changed, and about x and n."""

    heard: int  #: a bit for each source
    changed: bool
    size: int  #: of x and of the number of signals, for those with a change
    pace: int  #: of the page's change rate, in powers of three

    @classmethod
    def of(cls, x: float, signals: Sequence[int], changed: bool, rate: float) -> "Cell":
        """The cell of a visit to a page that is believed to change at this rate per second."""
        heard = sum(1 << source for source, count in enumerate(signals) if count)
        pace = min(max(round(log(max(rate, 1e-9), 3)), -_FASTEST), 0) + _FASTEST
        if not changed:
            return cls(heard, False, 0, pace)
        # Thirds and threefolds of x; 1, 2 to 3, 4 to 7, more signals.
        time = min(max(round(log(max(x, 1e-9), 3)), -4), 3) + 4
        return cls(heard, True, 8 * time + min(sum(signals).bit_length(), 4), pace)

    def distance(self, other: "Cell") -> int:
        """By how many factors of three rates and times differ."""
        return abs(self.pace - other.pace) + abs(self.size // 8 - other.size // 8)

    @property
    def number(self) -> int:
        """As a number of 16 bits."""
        return self.pace << 12 | self.heard << 8 | self.changed << 7 | self.size

    @classmethod
    def numbered(cls, number: int) -> "Cell":
        """From its number."""
        return cls(number >> 8 & 15, bool(number >> 7 & 1), number & 127, number >> 12)


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
        self,
        x: float,
        signals: Sequence[int],
        changed: bool,
        late: Sequence[int] = _NONE,
        *,
        rate: float = 1.0,
    ) -> None:
        """A visit found a page changed or not, x changes of the page's own rate after the one before."""
        x = min(x, _LONGEST)
        self.watched = self.watched * _KEPT + x
        self.counted = self.counted * _KEPT + signals
        self.late = self.late * _KEPT + late
        self._put(Cell.of(x, signals, changed, rate), x, signals)
        self.visits += 1
        self.heard += np.add(signals, late)
        self.since_fit += 1

    def told_afterwards(self, source: SignalSource, x: float, changed: bool, *, rate: float = 1.0) -> None:
        """A source tells of a change before a visit that was added as one before which nothing was heard."""
        x = min(x, _LONGEST)
        quiet = [cell for cell in self._cells if not cell.heard and cell.changed == changed]
        if not quiet:
            return
        # Where it was put depends on the rate at that time: one visit goes, of the cells most similar.
        left = self._scale.get(0, 1.0)
        for cell in sorted(quiet, key=Cell.of(x, _NONE, changed, rate).distance):
            sums = self._cells[cell]
            if sums[0] > left:
                sums *= 1 - left / sums[0]
                break
            left -= float(sums[0])
            del self._cells[cell]
        signals = tuple(int(each is source) for each in SignalSource)
        self._put(Cell.of(x, signals, changed, rate), x, signals)
        self.counted += signals
        self.heard += signals

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

    def _put(self, cell: Cell, x: float, signals: Sequence[int]) -> None:
        # Who sends many signals at a time must not be remembered for longer.
        scale = self._scale[cell.heard] = self._scale.get(cell.heard, 1.0) / _KEPT ** max(sum(signals), 1)
        sums = self._cells.get(cell)
        if sums is None:
            sums = self._cells[cell] = np.zeros(2 + N_SOURCES)
        sums += scale * np.array((1.0, x, *signals))
        if scale > _LARGE:
            self._rescale(cell.heard)

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


def trust_in(hosts: Sequence[HostSignals], *, by_pace: bool = True) -> Trust:
    """How far the sources of hosts can be trusted, with 90 % intervals.

    With *by_pace*, as a mean over pages that change often and rarely; without, as one precision that
    explains the visits of all of them best.
    """
    heard = np.array([host.heard for host in hosts]).reshape(len(hosts), N_SOURCES) > 0
    # A fit with all sources would take ten times as long as one with those that were heard.
    used = np.flatnonzero(heard.any(axis=0) | (np.arange(N_SOURCES) == 0))
    first = np.array([first_belief(each) for each in heard]).reshape(len(hosts), 2, N_SOURCES)
    beliefs = first[:, :, used]
    found = _fitted(hosts, used, beliefs)
    if by_pace:
        found = _fitted_by_pace(hosts, used, beliefs, found)
    precision, recall = (Uncertain(*(first[:, number].copy() for _ in range(3))) for number in (0, 1))
    for all_sources, known in ((precision, found.precision), (recall, found.source_recall)):
        for end, column in zip(all_sources, known, strict=True):
            end[:, used] = column
    return Trust(precision, recall, found.silent_rate)


def _fitted(hosts: Sequence[HostSignals], used: NDArray[np.intp], first: FloatArray) -> SignalQuality:
    """One precision for each source, whatever the pages' pace; *first* is believed before."""
    prior = SignalPrior(change_rate=1.0, precision=first[:, 0], recall=first[:, 1], weight=_FIRST_WEIGHT)
    seen, _ = _observed(hosts, used, 1)
    return fit_observed(seen, _watched(hosts), _counted(hosts)[:, used], prior, _inflation(hosts, used, 1))


def _fitted_by_pace(
    hosts: Sequence[HostSignals], used: NDArray[np.intp], first: FloatArray, all_paces: SignalQuality
) -> SignalQuality:
    """One precision for each source and pace, which starts from that of all of them.

    What is believed *first* counts for as much as in the fit of all, by the pace's share of the signals.
    """
    n_paces = max((len(_paces(host)) for host in hosts), default=0) or 1
    seen, signals = _observed(hosts, used, n_paces)
    known = signals.sum(axis=2, keepdims=True)
    shares = np.divide(signals, known, out=np.zeros_like(signals), where=known > 0)
    expected = np.maximum(shares, _LEAST_SHARE)
    expected /= expected.sum(axis=2, keepdims=True)
    weight = _PACE_WEIGHT + _FIRST_WEIGHT * expected
    precision = _PACE_WEIGHT * all_paces.precision.value[:, :, None]
    precision = (precision + _FIRST_WEIGHT * expected * first[:, 0, :, None]) / weight
    recall = all_paces.source_recall.value[:, :, None] * expected
    counts = _counted(hosts)[:, used, None] * shares
    weight, precision, recall, counts = (
        each.reshape(len(hosts), -1) for each in (weight, precision, recall, counts)
    )
    change_rate = all_paces.change_rate.value
    prior = SignalPrior(change_rate=change_rate, precision=precision, recall=recall, weight=weight)
    inflation, sources = _inflation(hosts, used, n_paces), np.repeat(np.arange(len(used)), n_paces)
    return fit_observed(seen, _watched(hosts), counts, prior, inflation, sources)


def _watched(hosts: Sequence[HostSignals]) -> FloatArray:
    return np.array([host.watched for host in hosts])


def _counted(hosts: Sequence[HostSignals]) -> FloatArray:
    return np.array([host.counted for host in hosts]).reshape(len(hosts), N_SOURCES)


def _inflation(hosts: Sequence[HostSignals], used: NDArray[np.intp], n_paces: int) -> FloatArray:
    inflation = np.array([host.inflation() for host in hosts]).reshape(len(hosts), 1 + N_SOURCES)
    return np.concatenate([inflation[:, :1], np.repeat(inflation[:, 1 + used], n_paces, axis=1)], axis=1)


def _paces(host: HostSignals) -> list[int]:
    """Paces of the pages of which signals were heard."""
    return sorted({cell.pace for cell, _ in host.cells() if cell.heard})


def _observed(
    hosts: Sequence[HostSignals], used: NDArray[np.intp], n_paces: int
) -> tuple[Observations, FloatArray]:
    """The cells of all hosts, each as so many visits with its mean of time and of signals.

    Signals have a column for each source and pace, the slowest of the host first; with one pace, all are in
    it. Also returns how many there were, (hosts, sources, paces).
    """
    rows, weights, changed, group = [], [], [], []
    total = np.zeros((len(hosts), len(used), n_paces))
    for number, host in enumerate(hosts):
        place = {pace: min(order, n_paces - 1) for order, pace in enumerate(_paces(host))}
        for cell, sums in host.cells():
            signals = np.zeros((len(used), n_paces))
            signals[:, place.get(cell.pace, 0)] = sums[2 + used]
            total[number] += signals
            rows.append(np.concatenate([sums[1:2], signals.ravel()]) / sums[0])
            weights.append(sums[0])
            changed.append(cell.changed)
            group.append(number)
    x = np.array(rows).reshape(len(rows), 1 + len(used) * n_paces)
    weight, is_changed = np.array(weights), np.array(changed, np.bool_)
    seen = Observations(
        x, np.where(is_changed, weight, 0.0), np.where(is_changed, 0.0, weight), np.array(group, np.int64)
    )
    return seen, total
