"""What every learner offers: beliefs about pages, from what their visits saw."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.rhythm import Rhythm
from scrapy_freshness.estimation.signal_counts import N_SOURCES
from scrapy_freshness.model import PageRecord, SignalSource

#: Who does not listen to signals does not know that they are late.
NEVER_DEAF = (0.0,) * N_SOURCES
#: A number a page, by the name of the belief.
Columns = dict[str, NDArray[np.float64]]


class QuietVisit(NamedTuple):
    """A visit before which nothing was heard of the page."""

    seconds: float  #: after the visit before
    rate: float  #: per second, at which the page was believed to change
    changed: bool  #: what the visit found


class Learner(Protocol):
    """Turns records into beliefs: the change rate with its 90 % interval, and what else a model needs."""

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """What is believed about a page before its first visit."""
        ...

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """What is believed about pages that have just been visited; called once for each visit."""
        ...

    def expect(self, seconds_between_visits: float) -> None:
        """Be told about how often a page is visited on average: known pages over the crawl rate."""
        ...

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        """How long after a visit signals of each source announce, as a rule, what the visit has seen."""
        ...

    def told_afterwards(self, host: str, source: SignalSource, visit: QuietVisit) -> None:
        """A signal says that a page of the host had changed before a visit that was learned from already."""
        ...

    def rhythm_of(self, host: str) -> Rhythm | None:
        """How new links of a host follow the clock; None if they do not, as far as is known."""
        ...

    def take_groups(self) -> Mapping[str, bytes]:
        """What was learned of groups of pages since the last call, by the name of the group."""
        ...

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Take over what was learned of groups in earlier runs; what is not known here is left alone."""
        ...

    def be_told(self, groups: Mapping[str, bytes]) -> None:
        """Take over what others have found out meanwhile: what pages of sources earn, by clicks."""
        ...


class AroundRates:
    """A learner of further beliefs, built around one of change rates, whose groups it hands on."""

    def __init__(self, rates: Learner) -> None:
        self._rates = rates

    def expect(self, seconds_between_visits: float) -> None:
        """Handed on to the learner of rates."""
        self._rates.expect(seconds_between_visits)

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        """Handed on to the learner of rates."""
        return self._rates.deaf_seconds(host)

    def told_afterwards(self, host: str, source: SignalSource, visit: QuietVisit) -> None:
        """Handed on to the learner of rates."""
        self._rates.told_afterwards(host, source, visit)

    def rhythm_of(self, host: str) -> Rhythm | None:
        """Handed on to the learner of rates."""
        return self._rates.rhythm_of(host)

    def take_groups(self) -> Mapping[str, bytes]:
        """Those of the rates."""
        return self._rates.take_groups()

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Go on where an earlier run ended."""
        self._rates.restore(groups)

    def be_told(self, groups: Mapping[str, bytes]) -> None:
        """Handed on to the learner of rates."""
        self._rates.be_told(groups)
