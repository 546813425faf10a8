r"""What are the signals of a page worth?  Recall, false rate and weights from what visits found after them.

Each page is fitted by itself (`estimation/signal_quality.py`), starting from what signals of its host have
been worth so far, source by source: means over the latest visits of the host's pages, so that they follow a
host whose behaviour changes. Of a source that was never heard on a host, hardly any change is expected to be
announced.

To the value models all sources are one: its recall and its false rate are the sums, and its signals
add :math:`b=\log(\gamma/\nu)` to the effective age of a copy. A signal of source k adds :math:`b_k`, which is
:math:`b_k/b` of these mean signals: its weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.history import n_observations, observations
from scrapy_freshness.estimation.signal_counts import N_SOURCES, signal_counts
from scrapy_freshness.estimation.signal_quality import SignalPrior, fit_signals
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.learner import AroundRates, Columns, Learner
from scrapy_freshness.planning.learning import group_name, groups_named
from scrapy_freshness.planning.table import MOST_WEIGHT, WEIGHTS

FloatArray = NDArray[np.float64]

#: Recall that is believed of a source before its first signal; precision, and recall of all, at that signal.
_SILENT_RECALL, _FIRST_PRECISION, _FIRST_RECALL = 1e-3, 0.5, 0.5
#: Visits that the first belief counts for, and that what was learned of a host counts for at most.
_FIRST_WEIGHT, _MOST_WEIGHT = 2.0, 200.0


def _nothing() -> FloatArray:
    return np.zeros(N_SOURCES)


@dataclass(slots=True)
class _Quality:
    """Sums over visits of pages of a host, of which the older ones fade; one of each source."""

    weight: FloatArray = field(default_factory=_nothing)  #: above 0 for sources that were heard
    precision: FloatArray = field(default_factory=_nothing)
    recall: FloatArray = field(default_factory=_nothing)

    def add(self, heard: NDArray[np.bool_], precision: FloatArray, recall: FloatArray) -> None:
        kept = 1 - heard / _MOST_WEIGHT
        self.weight = self.weight * kept + heard
        self.precision = self.precision * kept + heard * precision
        self.recall = self.recall * kept + heard * recall

    def mean(self, heard: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Precision and recall of each source on a typical page."""
        weight = _FIRST_WEIGHT + self.weight
        first = _FIRST_RECALL / max(1, int(heard.sum()))
        precision = (_FIRST_WEIGHT * _FIRST_PRECISION + self.precision) / weight
        recall = np.where(heard, (_FIRST_WEIGHT * first + self.recall) / weight, _SILENT_RECALL / N_SOURCES)
        return precision, recall / max(1.0, recall.sum() / 0.999)


class SignalLearner(AroundRates):
    """Adds recall, false rate and weights of sources to the beliefs of a learner of change rates."""

    def __init__(self, rates: Learner) -> None:
        super().__init__(rates)
        self._hosts: dict[str, _Quality] = {}
        self._heard: dict[str, NDArray[np.bool_]] = {}
        self._taught: set[str] = set()

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """What signals of the page's host have been worth so far."""
        known = dict(self._rates.prior(page))
        precision, recall = self._expected(page.host)
        false_rates = recall * known["change_rate"] * (1 - precision) / precision
        exponent = -np.log1p(-precision)
        found = _as_one(np.array([known["change_rate"]]), recall[None], false_rates[None], exponent[None])
        return known | {name: float(column[0]) for name, column in found.items()}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Rates of the pages and of their signals; the pages of a host learn from each other."""
        known = self._rates.learn(pages)
        counts = [n_observations(page.history) for page in pages]
        seen = observations(b"".join(page.history for page in pages)).astype(np.float64)
        signals = np.concatenate(
            [signal_counts(page.signalled, count) for page, count in zip(pages, counts, strict=True)]
        )
        owner = np.repeat(np.arange(len(pages)), counts)
        self._listen(pages, owner, signals)
        # A fit with all sources would take ten times as long as one with those that were ever heard.
        used = np.flatnonzero(np.any([*self._heard.values(), np.arange(N_SOURCES) == 0], axis=0))
        expected = np.array([self._expected(page.host) for page in pages])[:, :, used]
        prior = SignalPrior(change_rate=known["change_rate"], precision=expected[:, 0], recall=expected[:, 1])
        found = fit_signals(
            np.abs(seen), signals[:, used].astype(np.float64), seen < 0, owner, len(pages), prior
        )
        rate, recall = found.change_rate.value, np.zeros((len(pages), N_SOURCES))
        precision, exponent, false_rate = np.zeros_like(recall), np.zeros_like(recall), np.zeros_like(recall)
        precision[:, used], exponent[:, used] = found.precision.value, found.exponent
        recall[:, used] = found.signal_rate * found.precision.value / rate[:, None]
        false_rate[:, used] = found.false_rate.value
        for number, page in enumerate(pages):
            if page.host in self._heard:
                quality = self._hosts.setdefault(page.host, _Quality())
                quality.add(self._heard[page.host], precision[number], recall[number])
                self._taught.add(page.host)
        return known | {"change_rate": rate} | _as_one(rate, recall, false_rate, exponent)

    def take_groups(self) -> Mapping[str, bytes]:
        """What was learned of hosts since the last call, beside the groups of the rates."""
        own = {group_name("signals", (host,)): _packed(self._hosts[host]) for host in self._taught}
        self._taught.clear()
        return {**super().take_groups(), **own}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Go on where an earlier run ended."""
        super().restore(groups)
        for (host, *_), state in groups_named("signals", groups).items():
            if len(state) == 3 * 4 * N_SOURCES:
                sums = np.frombuffer(state, "<f4").reshape(3, N_SOURCES).astype(np.float64)
                self._hosts[host] = _Quality(*sums)
                self._heard[host] = sums[0] > 0

    def _listen(
        self, pages: Sequence[PageRecord], owner: NDArray[np.intp], signals: NDArray[np.uint8]
    ) -> None:
        """Note which sources were ever heard on which hosts."""
        for number in np.unique(owner[signals.any(axis=1)]).tolist():
            heard = signals[owner == number].any(axis=0)
            host = pages[number].host
            self._heard[host] = self._heard.get(host, False) | heard

    def _expected(self, host: str) -> tuple[FloatArray, FloatArray]:
        heard = self._heard.get(host, np.zeros(N_SOURCES, np.bool_))
        return (self._hosts.get(host) or _Quality()).mean(heard)


def _as_one(rate: FloatArray, recall: FloatArray, false_rate: FloatArray, exponent: FloatArray) -> Columns:
    """All sources as one, and the weights of their signals; rates of (g,) pages, others of (g, K)."""
    total, false = recall.sum(axis=1), false_rate.sum(axis=1)
    mean = np.log1p(total * rate / false)
    weights = np.clip(exponent / mean[:, None], 0.0, MOST_WEIGHT)
    return {"recall": total, "false_rate": false, **dict(zip(WEIGHTS, weights.T, strict=True))}


def _packed(quality: _Quality) -> bytes:
    return bytes(np.array([quality.weight, quality.precision, quality.recall], "<f4").tobytes())
