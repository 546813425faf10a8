"""The webs of the noisy-signals paper, section 6, and what policies reach on them.

The paper counts requests in t <= 1000. All copies are fresh at the start and what that brings is over after
40 time units, so a run of 120 tells the rest: a mean over the first 40 and over what follows, weighted as in
1000.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.planning.policy import PolicyOptions
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import Contest, enter
from scrapy_freshness.simulator.instances import Instance, Signals, corrupted, drawn_events, drawn_instance
from scrapy_freshness.simulator.optimum import Optimum, optimum
from scrapy_freshness.value.contract import Beliefs

RATE, HORIZON, SEED = 100.0, 1000.0, 8
#: Share of the pages of figure 8 with good signals.
_GOOD = 0.05

Kind = Signals | Literal["tails"]


@dataclass(frozen=True)
class Effort:
    """How long and how often."""

    webs: int  #: that are crawled, of each size
    optima: int  #: webs of which only the continuous optimum is computed
    fresh_start: float  #: after that, the fresh start is forgotten
    end: float
    pages: tuple[int, ...]


@dataclass(frozen=True)
class Played:
    """What a policy did on a web."""

    accuracy: float  #: share of requests met fresh in t <= 1000
    rates: NDArray[np.float64]  #: crawls of each page per time unit after the fresh start


class SignalledWeb:
    """One web; equal numbers have the same pages and changes whatever the signals."""

    def __init__(
        self, pages: int, signals: Kind, number: int, effort: Effort, corruption: float = 0.0
    ) -> None:
        rng = np.random.default_rng([SEED, number])
        self.instance = with_tails(pages, rng) if signals == "tails" else drawn_instance(pages, signals, rng)
        late_by = 1 / RATE if signals == "delayed" else 0.0
        events = drawn_events(self.instance, effort.end, rng, late_by=late_by)
        believed = corrupted(self.instance, corruption, rng) if corruption else self.instance
        self._web = ChangingWeb(events.changes, numbered(self.instance.importance))
        self._effort = effort
        self._contest = Contest(
            web=self._web,
            fetches_per_second=RATE,
            start=0.0,
            end=effort.end,
            signals=None if signals == "none" else events.signals,
            truth=believed.beliefs,
        )

    def play(self, policy: str, deaf: float = 0.0) -> Played:
        """Let a policy crawl; *deaf*: signals within that time after a crawl do not count."""
        fetches = enter(self._contest, policy, options=PolicyOptions(deaf_seconds=deaf))
        begin, end = self._effort.fresh_start, self._effort.end
        first, later = (
            self._web.freshness(fetches, *window, first_copy_at=0.0)
            for window in ((0.0, begin), (begin, end))
        )
        counted = fetches.pages[fetches.times > begin]
        rates = np.bincount(counted, minlength=len(self.instance.importance)) / (end - begin)
        return Played((begin * first + (HORIZON - begin) * later) / HORIZON, rates)


def drawn(pages: int, signals: Signals, number: int) -> Instance:
    """The pages of a web."""
    return drawn_instance(pages, signals, np.random.default_rng([SEED, number]))


def with_tails(pages: int, rng: np.random.Generator) -> Instance:
    """Pages of figure 8: one in twenty has good signals, the others have bad ones.

    The paper draws precision and recall from histograms of a search engine's pages, the best twentieth of
    which goes to the pages that GREEDY-CIS+ takes for good (precision above .7, recall above .6). Here they
    are uniform above these bounds, and on (.05, .5) for the others.
    """
    importance, change_rate = rng.random((2, pages))
    good = rng.random(pages) < _GOOD
    precision = np.where(good, rng.uniform(0.7, 1.0, pages), rng.uniform(0.05, 0.5, pages))
    recall = np.where(good, rng.uniform(0.6, 1.0, pages), rng.uniform(0.05, 0.5, pages))
    return Instance(importance, change_rate, recall, recall * change_rate * (1 - precision) / precision)


def best(instance: Instance, rate: float = RATE) -> Optimum:
    """The continuous optimum, with the signals that a web has."""
    if not instance.recall.any():
        return optimum(Beliefs(importance=instance.importance, change_rate=instance.change_rate), rate)
    return optimum(instance.beliefs, rate)


def optima(pages: int, signals: Kind, webs: int) -> list[float]:
    """Accuracies of the continuous optimum of many webs, the first of them being those that are crawled."""
    return [best(drawn(pages, signals, number)).accuracy for number in range(webs)]
