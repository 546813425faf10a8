"""A crawler that knows the truth: what the papers call known parameters."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType

import numpy as np

from scrapy_freshness.estimation.rhythm import Rhythm
from scrapy_freshness.model import PageRecord, SignalSource
from scrapy_freshness.planning.learner import NEVER_DEAF, Columns, QuietVisit
from scrapy_freshness.value.contract import Beliefs, FloatArray

#: What the planner itself keeps.
_STATE = {"importance", "signals"}
#: What follows from a known change rate: there is no doubt about it.
CERTAIN = frozenset({"mean_rate", "doubt"})
#: What is true where no page is a source of links, and no signals come.
NOTHING_ELSE: Mapping[str, float] = MappingProxyType(
    {
        "link_rate": 0.0,
        "profit": 0.0,
        "decay": 1e-12,
        "leaving": 0.0,
        "recall": 0.0,
        "false_rate": 0.0,
    }
)


class KnownTruth:
    """A learner that has nothing to learn; pages are known by the number that is their fingerprint.

    Parameters
    ----------
    truth : what value models need
    weights : by name, of the signals of each source, if there are several
    needs : names of the beliefs that somebody needs, beside change rates; None: all
    """

    def __init__(
        self,
        truth: Beliefs,
        weights: Mapping[str, FloatArray] | None = None,
        needs: Container[str] | None = None,
    ) -> None:
        names = [each.name for each in fields(truth) if each.name not in _STATE]
        columns = {name: getattr(truth, name) for name in names}
        certain = {"mean_rate": truth.change_rate, "doubt": np.zeros(len(truth))}
        nothing_else = {name: np.full(len(truth), value) for name, value in NOTHING_ELSE.items()}
        known = {name: column for name, column in columns.items() if column is not None}
        told: Columns = certain | nothing_else | known
        if needs is not None:
            told = {name: column for name, column in told.items() if name == "change_rate" or name in needs}
        self._truth: Columns = told | dict(weights or {})

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """The truth about a page."""
        return {name: float(column[page.fingerprint]) for name, column in self._truth.items()}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """The truth about pages."""
        numbers = np.array([page.fingerprint for page in pages])
        known = {name: column[numbers] for name, column in self._truth.items()}
        return known | {"change_rate_low": known["change_rate"], "change_rate_high": known["change_rate"]}

    def expect(self, seconds_between_visits: float) -> None:
        """Of no use to who knows."""

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        """All signals count, unless the settings say otherwise."""
        return NEVER_DEAF

    def told_afterwards(self, host: str, source: SignalSource, visit: QuietVisit) -> None:
        """Of no use to who knows."""

    def rhythm_of(self, host: str) -> Rhythm | None:
        """Links come at a constant rate."""
        return None

    def take_groups(self) -> Mapping[str, bytes]:
        """Nothing was learned."""
        return {}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Nothing to take over."""

    def be_told(self, groups: Mapping[str, bytes]) -> None:
        """Nothing to take over."""
