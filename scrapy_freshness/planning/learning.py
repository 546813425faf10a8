"""What is believed about pages after their visits: where content, estimation and value meet.

A learner turns the records of pages into beliefs. Some learn from single pages, others from groups of
pages that are alike; what they know of groups is kept by name, as bytes. Learners of further beliefs are
built around one that learns change rates (see `learners.py`).
"""

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.estimation.doubt import doubtful_estimates
from scrapy_freshness.estimation.pooled import Group, Pooled, PooledEstimate
from scrapy_freshness.estimation.rhythm import Rhythm
from scrapy_freshness.estimation.url_pattern import url_pattern
from scrapy_freshness.model import PageRecord, SignalSource
from scrapy_freshness.planning.learner import NEVER_DEAF, Columns, QuietVisit

#: Estimates change rates from the histories of some pages.
RateEstimator = Callable[[Sequence[bytes]], RateEstimate]

#: By so much the time between visits may differ from the one that priors were made for.
_NEARLY = 1.05
#: Names of groups are kept in an index, which takes no longer ones.
_LONGEST_PATTERN = 300
_NAMES = json.JSONEncoder(ensure_ascii=False)


def note_beliefs(pages: Sequence[PageRecord], beliefs: Columns) -> None:
    """Write what was learned of pages into their records."""
    own = ("change_rate", "change_rate_low", "change_rate_high")
    others = [name for name in beliefs if name not in own]
    columns = [beliefs[name].tolist() for name in (*own, *others)]
    for page, rate, low, high, *values in zip(pages, *columns, strict=True):
        page.change_rate, page.change_rate_low, page.change_rate_high = rate, low, high
        page.beliefs = dict(zip(others, values, strict=True))


class RateLearner:
    """Change rates of single pages, each from its own history; with *in_doubt*, also how sure they are."""

    def __init__(self, estimate: RateEstimator, *, in_doubt: bool = False) -> None:
        self._estimate = estimate
        self._in_doubt = in_doubt
        self._prior = prior_of(self._columns([b""]))

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """The rate that the estimator gives for an empty history."""
        return self._prior

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Rates of these pages."""
        return self._columns([page.history for page in pages])

    def expect(self, seconds_between_visits: float) -> None:
        """Of no use here."""

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        """Nothing is known of late signals."""
        return NEVER_DEAF

    def told_afterwards(self, host: str, source: SignalSource, visit: QuietVisit) -> None:
        """Nothing is learned of signals."""

    def rhythm_of(self, host: str) -> Rhythm | None:
        """Nothing is known of links."""
        return None

    def take_groups(self) -> Mapping[str, bytes]:
        """Nothing: pages are alone."""
        return {}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Nothing to take over."""

    def be_told(self, groups: Mapping[str, bytes]) -> None:
        """Nothing to take over."""

    def _columns(self, histories: Sequence[bytes]) -> Columns:
        estimate = self._estimate(histories)
        return rate_columns(estimate) | (doubtful_estimates(estimate)._asdict() if self._in_doubt else {})


def rate_columns(estimate: RateEstimate) -> Columns:
    """An estimate as beliefs."""
    return {
        "change_rate": estimate.rate,
        "change_rate_low": estimate.low,
        "change_rate_high": estimate.high,
    }


def prior_of(columns: Columns) -> Mapping[str, float]:
    """Beliefs of the first page, without the interval: a page that was never compared has none."""
    ends = ("change_rate_low", "change_rate_high")
    return {name: float(column[0]) for name, column in columns.items() if name not in ends}


class PooledLearner:
    """Change rates of pages that learn from their siblings: same host, same pattern of the address.

    Others may replace the rate, but the interval that a page is kept with must be the one from here: by it
    the page's part in its groups is taken out again at the next visit.
    """

    def __init__(self, pool: Pooled, *, in_doubt: bool = False) -> None:
        self._pool = pool
        self._in_doubt = in_doubt
        self._first_seconds = 86400.0  #: when a page that was never compared may be looked at
        self._taught: set[Group] = set()
        self._priors: dict[
            Group, Mapping[str, float]
        ] = {}  #: since the last lesson: pages are found in crowds

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """The rate of a typical sibling."""
        group = group_of(page)
        known = self._priors.get(group)
        if known is None:
            typical = self._pool.estimate([group], [b""], first_seconds=self._first_seconds)
            known = self._priors[group] = prior_of(self._columns(typical))
        return known

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Rates of these pages, which their siblings learn from."""
        self._priors.clear()
        groups = [group_of(page) for page in pages]
        previous = RateEstimate(
            rate=np.array([page.change_rate for page in pages]),
            low=np.array([page.change_rate_low for page in pages]),
            high=np.array([page.change_rate_high for page in pages]),
        )
        histories = [page.history for page in pages]
        present = self._pool.estimate(groups, histories, previous, first_seconds=self._first_seconds)
        # A page that was never compared has its siblings' opinion, which it must not confirm.
        present.low[[not history for history in histories]] = 0.0
        self._pool.learn(groups, previous, present)
        self._taught.update(groups)
        return self._columns(present)

    def expect(self, seconds_between_visits: float) -> None:
        """What a page is worth that was never compared depends on when it is looked at."""
        if not 1 / _NEARLY < seconds_between_visits / self._first_seconds < _NEARLY:
            self._first_seconds = seconds_between_visits
            self._priors.clear()

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        """Nothing is known of late signals."""
        return NEVER_DEAF

    def told_afterwards(self, host: str, source: SignalSource, visit: QuietVisit) -> None:
        """Nothing is learned of signals."""

    def rhythm_of(self, host: str) -> Rhythm | None:
        """Nothing is known of links."""
        return None

    def take_groups(self) -> Mapping[str, bytes]:
        """The groups of the pages visited since the last call, and those around them."""
        around = {group[:level] for group in self._taught for level in range(len(group) + 1)}
        self._taught.clear()
        return {group_name("rates", group): state for group, state in self._pool.state(around).items()}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Go on where an earlier run ended."""
        self._pool.restore(groups_named("rates", groups))

    def be_told(self, groups: Mapping[str, bytes]) -> None:
        """Nobody else finds out how often pages change."""

    def _columns(self, estimate: PooledEstimate) -> Columns:
        doubt = {"mean_rate": estimate.mean_rate, "doubt": estimate.doubt}
        return rate_columns(estimate) | (doubt if self._in_doubt else {})


def group_of(page: PageRecord) -> Group:
    """The innermost group of a page."""
    return page.host, url_pattern(page.url)[:_LONGEST_PATTERN]


def group_name(learner: str, group: Group) -> str:
    """The name by which a learner's group is kept.

    >>> group_name("rates", ("example.com", "example.com/news/*"))
    '["rates", "example.com", "example.com/news/*"]'
    """
    return _NAMES.encode([learner, *group])


def groups_named(learner: str, states: Mapping[str, bytes]) -> dict[Group, bytes]:
    """Those of the groups that are a learner's own.

    >>> groups_named("rates", {'["rates", "a.example"]': b"1", '["signals"]': b"2", "?": b"3"})
    {('a.example',): b'1'}
    """
    found: dict[Group, bytes] = {}
    for name, state in states.items():
        try:
            owner, *group = json.loads(name)
        except ValueError:
            continue
        if owner == learner:
            found[tuple(map(str, group))] = state
    return found
