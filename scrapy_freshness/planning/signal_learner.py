r"""What are the signals of a page worth?  Recall, false rate and weights from what visits found after them.

Each page is fitted by itself (`estimation/signal_quality.py`), starting from the trust that its host has
earned so far, source by source (`estimation/host_signals.py`). On a host that was never heard nothing is
fitted: of a signal that comes nevertheless as much is believed as of any first one.

To the value models all sources are one: its recall and its false rate are the sums, and its signals
add :math:`b=\log(\gamma/\nu)` to the effective age of a copy. A signal of source k adds :math:`b_k`, which is
:math:`b_k/b` of these mean signals: its weight.

The planner needs to know how signals compare with changes at the rates that it believes in. To people another
record of the same visits is shown, by the rates that visits have shown up to the present
(`estimation/shown_rates.py`): how many of a page's changes are announced has nothing to do with beliefs.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.history import ends_unchanged, n_observations, observations
from scrapy_freshness.estimation.host_signals import HostSignals, first_belief, trust_in
from scrapy_freshness.estimation.shown_rates import shown_rates
from scrapy_freshness.estimation.signal_counts import N_SOURCES, signal_counts
from scrapy_freshness.estimation.signal_quality import SignalPrior, fit_signals
from scrapy_freshness.model import PageRecord, SignalSource
from scrapy_freshness.planning.after_visit import heard_before
from scrapy_freshness.planning.learner import NEVER_DEAF, AroundRates, Columns, Learner, QuietVisit
from scrapy_freshness.planning.learning import group_name, groups_named
from scrapy_freshness.planning.table import MOST_WEIGHT, WEIGHTS

FloatArray = NDArray[np.float64]

#: Observations that the host's record counts for in the fit of a page.
_HOST_WEIGHT = 2.0
_MOST_RECALL = 0.999
#: Share of silent changes before a host was judged.
_FIRST_SILENT = 0.5
#: Names of the records of hosts.
_BELIEVED, _SHOWN = "signals", "shown signals"
_NEVER_HEARD = first_belief(np.zeros(N_SOURCES, np.bool_))


class SignalLearner(AroundRates):
    """Adds recall, false rate and weights of sources to the beliefs of a learner of change rates."""

    def __init__(self, rates: Learner) -> None:
        super().__init__(rates)
        self._hosts: dict[str, HostSignals] = {}
        self._shown: dict[str, HostSignals] = {}  #: the same visits, by the rates that were shown
        self._trust: dict[str, tuple[FloatArray, FloatArray]] = {}  #: precision and recall of each source
        self._silent: dict[str, float] = {}  #: alpha, in units of the pages' own rates
        self._taught: set[str] = set()

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """What signals of the page's host have been worth so far."""
        known = dict(self._rates.prior(page))
        found = self._by_trust([page], np.array([known["change_rate"]]))
        return known | {name: float(column[0]) for name, column in found.items()}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Rates of the pages and of their signals; the pages of a host learn from each other."""
        known = self._rates.learn(pages)
        noted = self._listen(pages, known["change_rate"])
        rows = np.array([number for number, page in enumerate(pages) if page.host in self._hosts], np.intp)
        if not len(rows):
            return known | _never_heard(known["change_rate"])
        of_heard = [pages[row] for row in rows]
        seen = _Seen.of(of_heard)
        self._show(of_heard, seen, [number in noted for number in rows.tolist()])
        found = known | self._by_trust(pages, known["change_rate"])
        heard = self._fitted(of_heard, seen, known["change_rate"][rows])
        if "mean_rate" in known:
            # Visits that follow signals find more changes than the page's rate would explain.
            heard["mean_rate"] = known["mean_rate"][rows] * heard["change_rate"] / known["change_rate"][rows]
        for name, column in heard.items():
            found[name] = found[name].copy()
            found[name][rows] = column
        return found

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        """As signals of each source of the host have turned out to be late."""
        known = self._hosts.get(host)
        return NEVER_DEAF if known is None else known.delays.deaf_seconds()

    def told_afterwards(self, host: str, source: SignalSource, visit: QuietVisit) -> None:
        """Count the visit as one after the signal."""
        for known in (self._hosts.get(host), self._shown.get(host)):
            if known is not None:
                known.told_afterwards(source, visit.rate * visit.seconds, visit.changed, rate=visit.rate)
                self._taught.add(host)

    def take_groups(self) -> Mapping[str, bytes]:
        """What was learned of hosts since the last call, beside the groups of the rates."""
        records = {_BELIEVED: self._hosts, _SHOWN: self._shown}
        own = {
            group_name(name, (host,)): record[host].pack()
            for name, record in records.items()
            for host in self._taught & record.keys()
        }
        self._taught.clear()
        return {**super().take_groups(), **own}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Go on where an earlier run ended."""
        super().restore(groups)
        self._hosts |= _records(_BELIEVED, groups)
        self._shown |= hosts_heard(groups)
        self._judge(list(self._hosts))

    def _listen(self, pages: Sequence[PageRecord], rates: FloatArray) -> set[int]:
        """Note what the visits found, and judge the hosts anew of which enough was seen.

        Returns the numbers of the pages of which something was noted.
        """
        due, noted = set(), set()
        for number, (page, rate) in enumerate(zip(pages, rates.tolist(), strict=True)):
            waited, heard = heard_before(page)
            if waited is None or not (page.host in self._hosts or any(heard.signals)):
                continue
            host = self._hosts.setdefault(page.host, HostSignals())
            # By the rate that was believed before the visit: what the visit found must not explain itself.
            believed = page.change_rate or rate
            x, changed = believed * waited, not ends_unchanged(page.history)
            host.add(x, heard.signals, changed, heard.late, rate=believed)
            if heard.only is not None and page.host in self._silent:
                precision, silent = self._trust[page.host][0], self._silent[page.host]
                host.delays.add(heard.only, x=x, changed=changed, silent=silent, precision=precision)
            self._taught.add(page.host)
            noted.add(number)
            if host.is_due():
                due.add(page.host)
        self._judge(sorted(due))
        return noted

    def _show(self, pages: Sequence[PageRecord], seen: "_Seen", is_noted: Sequence[bool]) -> None:
        """Note the same by the rates that visits have shown."""
        trust = np.array([self._trust.get(page.host, _NEVER_HEARD)[0] for page in pages])
        precision = trust[seen.owner]
        rates = shown_rates(
            seen.seconds,
            (seen.signals * precision).sum(axis=1),
            (seen.signals * -np.log1p(-precision)).sum(axis=1),
            seen.changed,
            seen.owner,
            np.array([self._rates.prior(page)["change_rate"] for page in pages]),
            np.array([min(self._silent.get(page.host, _FIRST_SILENT), 1.0) for page in pages]),
        )
        for page, rate, is_new in zip(pages, rates.tolist(), is_noted, strict=True):
            waited, heard = heard_before(page)
            if waited is not None and is_new:
                host = self._shown.setdefault(page.host, HostSignals())
                host.delays = self._hosts[page.host].delays
                changed = not ends_unchanged(page.history)
                host.add(rate * waited, heard.signals, changed, heard.late, rate=rate)

    def _judge(self, names: Sequence[str]) -> None:
        if not names:
            return
        hosts = [self._hosts[name] for name in names]
        # A page's own fit begins with what explains the visits of all pages, not with the mean over signals.
        trust = trust_in(hosts, by_pace=False)
        for number, (name, host) in enumerate(zip(names, hosts, strict=True)):
            recall = trust.recall.value[number]
            recall = recall / max(1.0, recall.sum() / _MOST_RECALL)
            self._trust[name] = trust.precision.value[number], recall
            self._silent[name] = float(trust.silent[number])
            host.since_fit = 0.0

    def _by_trust(self, pages: Sequence[PageRecord], rates: FloatArray) -> Columns:
        """What follows from the record of the hosts alone."""
        trust = np.array([self._trust.get(page.host, _NEVER_HEARD) for page in pages])
        precision, recall = trust.reshape(len(pages), 2, N_SOURCES).swapaxes(0, 1)
        false_rates = recall * rates[:, None] * (1 - precision) / precision
        return _as_one(rates, recall, false_rates, -np.log1p(-precision))

    def _fitted(self, pages: Sequence[PageRecord], seen: "_Seen", rates: FloatArray) -> Columns:
        """What was seen of each page, with the record of its host as the prior."""
        # A fit with all sources would take ten times as long as one with those that were ever heard.
        heard = np.any([self._hosts[page.host].heard > 0 for page in pages], axis=0)
        used = np.flatnonzero(heard | (np.arange(N_SOURCES) == 0))
        expected = np.array([self._trust.get(page.host, _NEVER_HEARD) for page in pages])[:, :, used]
        prior = SignalPrior(
            change_rate=rates, precision=expected[:, 0], recall=expected[:, 1], weight=_HOST_WEIGHT
        )
        found = fit_signals(seen.seconds, seen.signals[:, used], seen.changed, seen.owner, len(pages), prior)
        rate, recall = found.change_rate.value, np.zeros((len(pages), N_SOURCES))
        exponent, false_rate = np.zeros_like(recall), np.zeros_like(recall)
        recall[:, used] = found.source_recall.value
        exponent[:, used], false_rate[:, used] = found.exponent, found.false_rate.value
        return {"change_rate": rate} | _as_one(rate, recall, false_rate, exponent)


class _Seen(NamedTuple):
    """What the visits of some pages saw, one row a visit."""

    seconds: FloatArray
    signals: FloatArray  #: of each source, before
    changed: NDArray[np.bool_]
    owner: NDArray[np.intp]  #: number of the page

    @classmethod
    def of(cls, pages: Sequence[PageRecord]) -> "_Seen":
        """All that their records have kept."""
        counts = [n_observations(page.history) for page in pages]
        history = observations(b"".join(page.history for page in pages)).astype(np.float64)
        signals = [signal_counts(page.signalled, count) for page, count in zip(pages, counts, strict=True)]
        owner = np.repeat(np.arange(len(pages)), counts)
        return cls(np.abs(history), np.concatenate(signals).astype(np.float64), history < 0, owner)


def hosts_heard(groups: Mapping[str, bytes]) -> dict[str, HostSignals]:
    """What was found after the signals of hosts, by the rates that were shown if they are kept."""
    return _records(_BELIEVED, groups) | _records(_SHOWN, groups)


def _records(name: str, groups: Mapping[str, bytes]) -> dict[str, HostSignals]:
    """Of hosts; what cannot be read is left out."""
    found = {host: HostSignals.unpack(state) for (host, *_), state in groups_named(name, groups).items()}
    return {host: state for host, state in found.items() if state is not None}


def _never_heard(rate: FloatArray) -> Columns:
    """Recall and false rate of pages whose hosts were never heard; their signals weigh alike."""
    precision, recall = _NEVER_HEARD
    total = np.full(len(rate), recall.sum())
    return {"recall": total, "false_rate": total * rate * (1 - precision[0]) / precision[0]}


def _as_one(rate: FloatArray, recall: FloatArray, false_rate: FloatArray, exponent: FloatArray) -> Columns:
    """All sources as one, and the weights of their signals; rates of (g,) pages, others of (g, K)."""
    total, false = recall.sum(axis=1), false_rate.sum(axis=1)
    mean = np.log1p(total * rate / false)
    weights = np.clip(exponent / mean[:, None], 0.0, MOST_WEIGHT)
    return {"recall": total, "false_rate": false, **dict(zip(WEIGHTS, weights.T, strict=True))}
