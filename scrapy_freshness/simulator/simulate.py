"""Policies on the same webs, again and again: means, standard errors, and differences that are paired."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.worlds.contract import Metric, Outcome, Size, World

#: Called with the share of the whole work that has been done since the last call.
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a policy reached by one metric on some webs of one size."""

    world: str
    policy: str
    pages: int
    rate: float
    horizon: float
    seed: int
    repeat: int
    learn: bool
    metric: str
    values: tuple[float, ...]  #: one for each web; nan: cannot be said
    fetches: float  #: mean of what was fetched

    @property
    def size(self) -> Size:
        """The size of the webs."""
        return Size(self.pages, self.rate, self.horizon)

    @property
    def mean(self) -> float:
        """Mean over the webs of which it can be said; nan if there are none."""
        return mean(said(self.values))

    @property
    def stderr(self) -> float:
        """Standard error of the mean; nan of a single web."""
        return standard_error(said(self.values))


def said(values: Sequence[float]) -> list[float]:
    """What can be said: all that is not nan."""
    return [value for value in values if not math.isnan(value)]


def mean(values: Sequence[float]) -> float:
    """Of some values; nan if there are none."""
    return math.fsum(values) / len(values) if values else math.nan


def standard_error(values: Sequence[float]) -> float:
    """Of the mean of independent values; nan if there are fewer than two.

    >>> standard_error([1.0, 3.0])
    1.0
    """
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def simulate(
    name: str,
    world: World,
    sizes: Sequence[Size],
    policies: Sequence[str],
    *,
    seed: int,
    repeat: int,
    learn: bool,
    progress: Progress | None = None,
) -> list[Result]:
    """Let all policies crawl the same webs, *repeat* of each size.

    Web number k is drawn from ``default_rng([seed, k])``, so that also webs of different rates have the same
    pages. What cannot be played is refused before anything is.
    """
    if repeat < 1:
        raise ConfigError(f"--repeat must be at least 1, got {repeat}")
    if not policies:
        raise ConfigError("there is no policy to simulate: give --policy")
    sizes = list(dict.fromkeys(world.sized(size) for size in sizes))
    for size in sizes:
        for policy in policies:
            world.check(policy, size, learn=learn)
    report = _Share(progress, len(sizes) * repeat * len(policies))
    results: list[Result] = []
    for size in sizes:
        outcomes: dict[str, list[Outcome]] = {policy: [] for policy in policies}
        for number in range(repeat):
            drawn = world.draw(size, np.random.default_rng([seed, number]))
            for policy in policies:
                outcomes[policy].append(drawn.play(policy, learn=learn, advance=report.advance))
                report.done()
        results += [
            Result(
                world=name,
                policy=policy,
                pages=size.pages,
                rate=size.rate,
                horizon=size.horizon,
                seed=seed,
                repeat=repeat,
                learn=learn,
                metric=metric.name,
                values=tuple(outcome.measures[metric.name] for outcome in outcomes[policy]),
                fetches=float(np.mean([outcome.fetches for outcome in outcomes[policy]])),
            )
            for metric in world.metrics
            for policy in policies
        ]
    return results


@dataclass(frozen=True, slots=True)
class Standing:
    """A result and how far it is from the best of its kind."""

    result: Result
    behind: float  #: mean difference to the best, 0 for itself; negative if less, whatever is better
    behind_error: float  #: its standard error, the webs being the same; nan if it cannot be said


def standings(results: Iterable[Result], metric: Metric) -> list[Standing]:
    """Results by one metric and of one size, best first, or as they came if none is better than others.

    >>> def result(policy: str, *values: float) -> Result:
    ...     return Result(world="w", policy=policy, pages=1, rate=1.0, horizon=1.0, seed=0, repeat=2,
    ...         learn=False, metric="m", values=values, fetches=1.0)
    >>> table = standings([result("a", 0.2, 0.4), result("b", 0.5, 0.6)], Metric("m", "", is_gain=True))
    >>> [(each.result.policy, round(each.behind, 3), round(each.behind_error, 3)) for each in table]
    [('b', 0.0, nan), ('a', -0.25, 0.05)]
    """
    sign = {True: -1.0, False: 1.0, None: 0.0}[metric.is_gain]
    ranked = sorted(results, key=lambda each: (math.isnan(each.mean), sign * each.mean))
    best = ranked[0]
    table = [Standing(best, 0.0, math.nan)]
    for each in ranked[1:]:
        differences = said(np.subtract(each.values, best.values).tolist())
        table.append(Standing(each, mean(differences), standard_error(differences)))
    return table


class _Share:
    """Adds up shares of plays to shares of the whole work."""

    def __init__(self, progress: Progress | None, n_plays: int) -> None:
        self._progress = progress
        self._n_plays = n_plays
        self._told = 0.0

    def advance(self, share: float) -> None:
        """So much of the present play is done."""
        # Bars need no more than this, and plays may call at every tick.
        if self._progress is not None and share - self._told >= 0.01:
            self._progress((share - self._told) / self._n_plays)
            self._told = share

    def done(self) -> None:
        """All of the present play is done."""
        if self._progress is not None:
            self._progress((1.0 - self._told) / self._n_plays)
        self._told = 0.0
