"""What every world offers: webs drawn at random, and a judgement of each policy that crawls one.

A module of this package has a class that keeps to `World` and names it `WORLD`. It is a frozen dataclass;
its fields are the options that only this world has, declared with :func:`scrapy_freshness.config.setting`
(default as a user would write it, parser, one sentence of help): `late_by` is `--late-by`. What all worlds
take (pages, rate, horizon) comes as a `Size`.

Times of a `Size` are in the world's own unit. Inside, all times are seconds, as in a crawl: policies learn
with priors in seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.units import parsed

#: Called now and then with the share of a play that is done, 0 to 1.
Advance = Callable[[float], None]

#: More would not fit into memory.
_MAX_CRAWLS, _MAX_PAGES = 10**9, 10**8


@dataclass(frozen=True, slots=True)
class Size:
    """How large a web is, and for how long it is crawled at what rate."""

    pages: int
    rate: float  #: crawls per unit of time, of all pages together
    horizon: float  #: units of time

    def __post_init__(self) -> None:
        if self.pages < 1:
            raise ConfigError(f"a world without pages is empty: --pages must be at least 1, got {self.pages}")
        if self.pages > _MAX_PAGES:
            raise ConfigError(f"--pages must be at most {_MAX_PAGES:,}, got {self.pages:,}")
        if not 0 < self.rate < float("inf"):
            raise ConfigError(f"--rate must be above 0 and finite, got {self.rate:g}")
        if not 0 < self.horizon < float("inf"):
            raise ConfigError(f"--horizon must be above 0 and finite, got {self.horizon:g}")
        crawls = self.rate * self.horizon
        if not 1 <= crawls <= _MAX_CRAWLS:
            raise ConfigError(
                f"--rate {self.rate:g} and --horizon {self.horizon:g} make {crawls:g} crawls, "
                f"which is not between 1 and {_MAX_CRAWLS:g}"
            )


class Metric(NamedTuple):
    """A number by which policies are compared."""

    name: str
    meaning: str  #: a few words, for tables and plots
    is_gain: bool | None = False  #: whether more is better; None: neither more nor less is


class Outcome(NamedTuple):
    """What a policy achieved on a web."""

    measures: Mapping[str, float]  #: by the name of the metric; nan: cannot be said
    fetches: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What a user gets who does not say."""

    pages: int
    rate: float
    horizon: float
    repeat: int
    policies: tuple[str, ...]


class Round(Protocol):
    """One web: every policy that plays meets the same changes at the same times."""

    def play(self, policy: str, *, learn: bool, advance: Advance) -> Outcome:
        """Let a policy crawl; it knows the truth, or learns from visits only."""
        ...


class World(Protocol):
    """A kind of artificial web."""

    time_unit: ClassVar[str]  #: of horizon and rate, plural: "days"
    metrics: ClassVar[tuple[Metric, ...]]  #: the most important one first
    usual: ClassVar[Usual]

    def policy_names(self) -> tuple[str, ...]:
        """Policies that make sense here, as a user would write them."""
        ...

    def sized(self, size: Size) -> Size:
        """The size that the world's own options make of one; as a rule the same."""
        ...

    def check(self, policy: str, size: Size, *, learn: bool) -> None:
        """Refuse, with `ConfigError`, what cannot be played."""
        ...

    def draw(self, size: Size, rng: np.random.Generator) -> Round:
        """Draw a web; equal generators draw the same pages whatever the rate."""
        ...


WorldT = TypeVar("WorldT", bound=World)


def option_names(world: type[World]) -> dict[str, tuple[str, Any, str]]:
    """Field, default and help of the options that only this world has, by what a user writes."""
    return {
        "--" + each.name.replace("_", "-"): (each.name, each.metadata["written"], each.metadata["help"])
        for each in fields(world)  # type: ignore[arg-type]
    }


def made_world(world: type[WorldT], given: Mapping[str, str]) -> WorldT:
    """A world with options as a user wrote them, by the names of the fields."""
    parsers = {each.name: each.metadata["parse"] for each in fields(world)}  # type: ignore[arg-type]
    values = {
        field: parsed(option, given[field], parsers[field])
        for option, (field, _, _) in option_names(world).items()
        if field in given
    }
    return world(**values)


def refuse_unknown(policy: str, names: Sequence[str]) -> None:
    """Refuse a policy that is not among the names; those that end in -J stand for many."""
    stems = tuple(name[:-1] for name in names if name.endswith("-J"))
    if policy not in names and not policy.startswith(stems or "\0"):
        raise ConfigError(f"there is no policy {policy!r} here: choose one of {', '.join(names)}")
