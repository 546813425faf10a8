"""What `scrapy freshness replay` is asked to do, checked before anything of it is done."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_freshness import units
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.git_history import git_versions
from scrapy_freshness.simulator.recorded import RecordedWeb, load_web, web_of
from scrapy_freshness.simulator.replay import Replay, check_name
from scrapy_freshness.simulator.rivals import RULES

_DAY_SECONDS = 86400.0
_MOST_PHASES = 100


@dataclass(frozen=True, slots=True)
class Record:
    """Where recorded histories are: a trace file, or files in a git repository."""

    path: str
    pattern: str | None = None  #: of the files in a repository

    @property
    def name(self) -> str:
        """As it is told in results."""
        return self.path if self.pattern is None else f"{self.path}:{self.pattern}"

    def load(self) -> RecordedWeb:
        """Read the histories."""
        return load_web(self.path) if self.pattern is None else web_of(git_versions(self.path, self.pattern))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every policy with every budget on every record."""

    records: Sequence[Record]
    policies: Sequence[str]
    budgets_per_day: Sequence[float]
    learn: bool
    warm_up: float
    aligned: bool | None
    whole: bool
    unscaled: bool
    pacing: str = "price"  #: of our own policies, or "rate"
    phases: int = 1  #: times at which contests begin

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Plan":
        """The plan of the command line; refuses what makes no sense."""
        records = [Record(path) for path in options.traces]
        if options.git:
            records.append(Record(options.git, options.path or "*"))
        elif options.path:
            raise ConfigError("--path tells which files of a repository are meant: name it with --git")
        if not records:
            raise ConfigError("name a TRACE, or a repository with --git")
        return cls(
            records=list(dict.fromkeys(records)),
            policies=_policies(options.policy),
            budgets_per_day=_budgets(options.budget),
            learn=options.learn,
            warm_up=units.parsed("--warm-up", options.warm_up, units.numbers(0, 0.99)),
            aligned=options.aligned,
            whole=options.whole,
            unscaled=options.unscaled,
            pacing=options.pacing,
            phases=units.parsed("--phases", options.phases, units.whole(1, _MOST_PHASES)),
        )

    @property
    def rules(self) -> list[str]:
        """Policies that are replayed with the intervals that they ship, too."""
        return [name for name in self.policies if name in RULES] if self.unscaled else []

    def replay(self, record: Record) -> Replay:
        """The contest on a record, for which all budgets make sense."""
        web = record.load()
        try:
            replay = Replay.of(web, aligned=self.aligned, whole=self.whole, warm_up=self.warm_up)
            for budget in self.budgets_per_day:
                replay.check_budget(budget / _DAY_SECONDS)
        except ConfigError as error:
            raise ConfigError(f"{record.name}: {error}") from error
        return replay


def per_day(text: str) -> float:
    """A budget, in fetches per day.

    >>> per_day("500/day"), per_day("0.5/h")
    (500.0, 12.0)
    """
    try:
        if "/" not in text:
            raise ValueError  # in settings this means per second, and here people mean per day
        return float(f"{units.rate(text) * _DAY_SECONDS:.12g}")
    except ValueError:
        raise ValueError('write a rate above 0 such as "500/day" or "2/min"') from None


def _budgets(text: str) -> list[float]:
    return list(dict.fromkeys(units.parsed("--budget", each.strip(), per_day) for each in text.split(",")))


def _policies(text: str) -> tuple[str, ...]:
    names = units.policy_names(text)
    if not names:
        raise ConfigError("--policy names no policy")
    for name in names:
        check_name(name)
    return names
