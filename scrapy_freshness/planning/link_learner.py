r"""What do the links of a source bring?  Link rates from polls, profits from what is known of clicks.

What a page of a source earns is estimated from clicks, where there are any, and handed in as groups: of the
source itself, of any on its host, and of any at all. A page that was found on a source has the source's
profit and decay while it waits for its first visit: who discovers it hands them in with its record. Other
pages are not ephemeral, and have a profit of 0.

A source that was never polled twice is expected to be as good as the one that a typical link comes from, on
its host or anywhere: its link rate is the mean over links, :math:`\sum\lambda^2/\sum\lambda`. Most sources
bring little and a few bring nearly all, and with the mean over sources these few might never be polled to
find it out.

How fast links leave a source is learned for a model that asks for it, which also gets link rates that allow
for what was missed; those of the paper do not.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.links import LAST_POLLS, link_rates
from scrapy_freshness.estimation.polls import poll_columns
from scrapy_freshness.estimation.rhythm import Rhythm, operational_seconds
from scrapy_freshness.estimation.stays import COUNTS, leaving_rates
from scrapy_freshness.model import PageKind, PageRecord
from scrapy_freshness.planning.learner import AroundRates, Columns, Learner
from scrapy_freshness.planning.learning import group_name, groups_named
from scrapy_freshness.planning.link_rhythm import HostRhythm

FloatArray = NDArray[np.float64]

#: Decay of what does not fade within a human life.
_SLOWEST = 1e-12
#: Sources that the mean of all counts for in the mean of a host.
_STRENGTH = 2.0
#: Links that a source shows between two visits, before anything is known of any. If they are too many, that
#: is found out by a few polls; if they are too few, a source may never be polled because others are known.
_FIRST_LINKS = 30.0
_STATE = struct.Struct("<dd")  # of `_Sources`
#: What clicks tell of a source: profit, decay, and how many pages and clicks they were.
PROFIT_STATE = struct.Struct("<dddd")


def showed_first(source: PageRecord) -> int | None:
    """Id of a source that shows a new page: None if all that it shows is new, at its first visit."""
    is_telling = source.kind is PageKind.SOURCE and source.last_visit_at is not None
    return source.page_id if is_telling else None


def inherited_beliefs(source: PageRecord) -> dict[str, float]:
    """What is believed of a page because of the page that it was found on: nothing, if that is no source."""
    if source.kind is not PageKind.SOURCE:
        return {}
    return {name: value for name, value in source.beliefs.items() if name in ("profit", "decay")}


def beliefs_of_links(learner: Learner, source: PageRecord) -> dict[str, float]:
    """Profit and decay of pages that a source shows, whatever it was; none if the learner knows none."""
    if source.kind is not PageKind.SOURCE:
        source = replace(source, kind=PageKind.SOURCE, beliefs={})
    return inherited_beliefs(replace(source, beliefs=dict(learner.prior(source))))


@dataclass(slots=True)
class _Sources:
    """Link rates of the sources of a host, or of all, that were polled at least twice."""

    rates: float = 0.0  #: their sum, per second
    squares: float = 0.0  #: sum of their squares

    def replace(self, before: float, rate: float) -> None:
        """A source has another rate than before, when it had none if that is 0."""
        self.rates = max(self.rates + rate - before, 0.0)
        self.squares = max(self.squares + rate**2 - before**2, 0.0)

    def mean(self, around: float) -> float:
        """Link rate of the source of a typical link, drawn to that of the sources around."""
        return (_STRENGTH * around**2 + self.squares) / (_STRENGTH * around + self.rates)


class LinkLearner(AroundRates):
    """Adds link rate, profit and decay to the beliefs of a learner of change rates.

    Parameters
    ----------
    profit, decay : of sources without clicks, requests per page and per second; small, but never 0
    last_polls : polls that the link rate is estimated from
    follows_clock : whether link rates follow the hours of the day
    with_leaving : whether to learn how fast links leave, too
    """

    def __init__(
        self,
        rates: Learner,
        *,
        profit: float = 1.0,
        decay: float = 1 / 86400,
        last_polls: int = LAST_POLLS,
        follows_clock: bool = True,
        with_leaving: bool = False,
    ) -> None:
        super().__init__(rates)
        self._profit = profit
        self._decay = decay
        self._last_polls = last_polls
        self._follows_clock = follows_clock
        self._with_leaving = with_leaving
        self._first_rate = 1 / 86400  #: links per second of a source before anything is known
        self._sources: dict[tuple[str, ...], _Sources] = {(): _Sources()}  #: all, and those of each host
        self._taught: set[str] = set()
        #: Profit and decay by clicks: of any source, of those of a host, and of single ones by page id.
        self._profits: dict[tuple[str, ...], tuple[float, float]] = {}
        self._rhythms: dict[str, HostRhythm] = {}
        self._heard: set[str] = set()  #: hosts whose rhythms were learned from since they were written

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """Of a source, the link rate of others; of a page, what it was found with."""
        return {**self._rates.prior(page), **self._expected(page)}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Link rates of the sources among these pages; profits and decays stay as they are."""
        known = self._rates.learn(pages)
        link_rate, profit, decay = np.zeros(len(pages)), np.zeros(len(pages)), np.full(len(pages), _SLOWEST)
        # Most pages are no sources and were found on none: they do not fade.
        rows = [
            row
            for row, page in enumerate(pages)
            if page.kind is PageKind.SOURCE or page.beliefs.get("profit")
        ]
        if rows:
            before = [self._expected(pages[row]) for row in rows]
            profit[rows], decay[rows] = ([each[name] for each in before] for name in ("profit", "decay"))
        learned = {"link_rate": link_rate, "profit": profit, "decay": decay}
        sources = [row for row in rows if pages[row].kind is PageKind.SOURCE]
        polled = [pages[row] for row in sources]
        found, seconds = poll_columns([page.polls for page in polled])
        stay: FloatArray | float = np.inf
        if self._with_leaving:
            learned["leaving"] = np.zeros(len(pages))
        if self._with_leaving and sources:
            counts = {name: np.array([page.beliefs.get(name, 0.0) for page in polled]) for name in COUNTS}
            leaving = learned["leaving"][sources] = leaving_rates(*counts.values())
            for name, column in counts.items():  # kept with the source for the next poll
                learned[name] = np.full(len(pages), np.nan)
                learned[name][sources] = column
            stay = 1 / np.maximum(leaving, _SLOWEST)
        if sources:
            link_rate[sources] = self._polled(polled, found, seconds, stay)
        return known | learned

    def _polled(
        self, sources: Sequence[PageRecord], found: FloatArray, seconds: FloatArray, stay: FloatArray | float
    ) -> FloatArray:
        """Link rates of sources that have just been polled, which others learn from."""
        self._learn_rhythms(sources, found, seconds)
        seconds = self._operational(sources, seconds)
        usual = np.array([self._mean_rate(page.host) for page in sources])
        rates = link_rates(
            found, seconds, last_polls=self._last_polls, stay_seconds=stay, unknown_rate=usual
        ).rate
        for page, rate, polls in zip(sources, rates.tolist(), np.count_nonzero(seconds, axis=1), strict=True):
            if polls:
                self._teach(page, rate, is_new=polls == 1)
        return rates

    def rhythm_of(self, host: str) -> Rhythm | None:
        """How the links of a host follow the clock; None if they do not, as far as is known."""
        return self._rhythms[host].rhythm() if self._follows_clock and host in self._rhythms else None

    def _learn_rhythms(self, sources: Sequence[PageRecord], found: FloatArray, seconds: FloatArray) -> None:
        """Learn from the last poll of each source."""
        for page, n, elapsed in zip(sources, found[:, -1:].tolist(), seconds[:, -1:].tolist(), strict=True):
            rate = page.beliefs.get("link_rate", 0.0)
            if elapsed and elapsed[0] > 0 and page.last_visit_at is not None and rate > 0:
                rhythm = self._rhythms.setdefault(page.host, HostRhythm())
                rhythm.add(page.last_visit_at - elapsed[0], page.last_visit_at, n[0], rate)
                self._heard.add(page.host)

    def _operational(self, sources: Sequence[PageRecord], seconds: FloatArray) -> FloatArray:
        """Seconds between polls, weighted by how much usually happens at those hours."""
        weighted = seconds.copy()
        for row, page in enumerate(sources):
            rhythm = self.rhythm_of(page.host)
            if rhythm is not None and page.last_visit_at is not None:
                ends = page.last_visit_at - np.concatenate((np.cumsum(seconds[row, :0:-1])[::-1], [0.0]))
                weighted[row] = operational_seconds(rhythm, ends - seconds[row], ends)
        return weighted

    def expect(self, seconds_between_visits: float) -> None:
        """Before anything is known, many links are expected in that time."""
        super().expect(seconds_between_visits)
        self._first_rate = _FIRST_LINKS / seconds_between_visits

    def take_groups(self) -> Mapping[str, bytes]:
        """The sources of hosts that were polled since the last call, beside the groups of the rates."""
        keys = [(), *((host,) for host in self._taught)] if self._taught else []
        self._taught.clear()
        own = {group_name("links", key): self._packed(key) for key in keys}
        rhythms = {group_name("link_rhythm", (host,)): self._rhythms[host].packed() for host in self._heard}
        self._heard.clear()
        return {**super().take_groups(), **own, **rhythms}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Go on where an earlier run ended."""
        super().restore(groups)
        self._take_profits(groups)
        for key, state in groups_named("links", groups).items():
            if len(state) == _STATE.size:
                self._sources[key] = _Sources(*_STATE.unpack(state))
        for (host,), state in groups_named("link_rhythm", groups).items():
            self._rhythms[host] = HostRhythm.unpacked(state)

    def be_told(self, groups: Mapping[str, bytes]) -> None:
        """Put what clicks tell of sources in the place of what they told before."""
        super().be_told(groups)
        self._take_profits(groups)

    def _take_profits(self, groups: Mapping[str, bytes]) -> None:
        self._profits = {
            key: PROFIT_STATE.unpack(state)[:2]
            for key, state in groups_named("profits", groups).items()
            if len(state) == PROFIT_STATE.size
        }

    def _packed(self, key: tuple[str, ...]) -> bytes:
        sources = self._sources[key]
        return _STATE.pack(sources.rates, sources.squares)

    def _teach(self, page: PageRecord, rate: float, *, is_new: bool) -> None:
        """Put a source's link rate in the place of the one that was learned before."""
        before = 0.0 if is_new else page.beliefs.get("link_rate", 0.0)
        for key in ((), (page.host,)):
            self._sources.setdefault(key, _Sources()).replace(before, rate)
        self._taught.add(page.host)

    def _mean_rate(self, host: str) -> float:
        """Links per second of a source of which nothing is known but its host."""
        everywhere = self._sources[()].mean(self._first_rate)
        return self._sources.get((host,), _Sources()).mean(everywhere)

    def _expected(self, page: PageRecord) -> dict[str, float]:
        """Link rate, profit and decay of a page by its kind, or as it was found."""
        is_source = page.kind is PageKind.SOURCE
        usual = {
            "link_rate": self._mean_rate(page.host) if is_source else 0.0,
            "profit": self._profit if is_source else 0.0,
            "decay": self._decay if is_source else _SLOWEST,
        }
        if not is_source or page.beliefs.get("profit"):  # else it was a page like others until now
            usual |= {name: value for name, value in page.beliefs.items() if name in usual}
        if is_source and self._profits:
            usual |= zip(("profit", "decay"), self._by_clicks(page), strict=True)
        return usual

    def _by_clicks(self, source: PageRecord) -> tuple[float, float]:
        """Profit and decay of a source, or of those that it is most like."""
        for key in ((source.host, str(source.page_id)), (source.host,), ()):
            if key in self._profits:
                return self._profits[key]
        return self._profit, self._decay
