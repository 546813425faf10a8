"""Pages that change as Poisson processes, with signals: section 6 of the noisy-signals paper.

Metric `accuracy`: share of requests that meet a fresh copy, where all copies are fresh at the start. Requests
are counted by their expected number, which has the same mean as drawn ones and no noise.

The paper has no unit of time. Here it is a day: the priors of whoever learns are in seconds. To policies that
know the truth it makes no difference.

`optimum` is the best that a crawl can do which only its mean rate binds; it is computed, not run. It and
`lds` know the truth also where others have to learn it. With late signals, it is the optimum without delay.

References
----------
Busa-Fekete et al.: A scalable crawling algorithm utilizing noisy change-indicating signals, section 6 and
appendices C and D.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from scrapy_freshness.config import setting
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.signal_counts import N_SOURCES
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.policy import PolicyOptions
from scrapy_freshness.simulator.bandwidth import Bandwidth
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import (
    RIVAL_NAMES,
    Contest,
    check_policy,
    columns_of,
    enter,
    playable,
)
from scrapy_freshness.simulator.instances import (
    SIGNALS,
    Events,
    Instance,
    corrupted,
    drawn_events,
    drawn_instance,
)
from scrapy_freshness.simulator.optimum import optimum
from scrapy_freshness.simulator.streams import EventStream
from scrapy_freshness.simulator.worlds.contract import (
    Advance,
    Metric,
    Outcome,
    Round,
    Size,
    Usual,
    refuse_unknown,
)
from scrapy_freshness.units import choice, numbers, share, whole
from scrapy_freshness.value.contract import Beliefs

DAY = 86400.0


def rates_over_time(value: Any) -> Bandwidth | None:
    """Parse crawl rates with the times from which on they hold.

    >>> rates_over_time("100@0, 150@133")
    Bandwidth(changes=((0.0, 100.0), (133.0, 150.0)))
    """
    if not str(value).strip():
        return None
    try:
        pairs = [piece.split("@") for piece in str(value).split(",")]
        changes = tuple((float(time), float(rate)) for rate, time in pairs)
    except ValueError:
        raise ValueError('write rates and times such as "100@0,150@133,100@266"') from None
    if changes[0][0] != 0 or not np.isfinite(changes).all():
        raise ValueError("the first rate must hold from time 0 on, and all must be finite")
    return Bandwidth(changes)


@dataclass(frozen=True, kw_only=True)
class Poisson:
    """Pages whose change rates and importances are uniform on (0, 1)."""

    time_unit: ClassVar[str] = "days"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("accuracy", "share of requests that meet a fresh copy", is_gain=True),
    )
    usual: ClassVar[Usual] = Usual(
        pages=1000, rate=100.0, horizon=100.0, repeat=4, policies=("greedy", "uniform", "lds", "optimum")
    )

    signals: str = setting("none", choice(*SIGNALS), f"Signals that announce changes: {', '.join(SIGNALS)}.")
    corruption: float = setting(
        "0.1", share, "With corrupted signals: share of noise in what is believed of precision and recall."
    )
    sources: int = setting(
        "1",
        whole(1, N_SOURCES),
        f"Sources of signals, each of a quality of its own: 1 to {N_SOURCES}.",
    )
    deaf: float = setting(
        "0", numbers(0), "Time after a crawl in which signals of the page are ignored (appendix C: 5/R)."
    )
    rates: Bandwidth | None = setting(
        "", rates_over_time, "Changing rates such as 100@0,150@133,100@266, in place of --rate."
    )

    def policy_names(self) -> tuple[str, ...]:
        """Ours as far as there is a truth about what they need, all rivals and the optimum."""
        known = columns_of(_truth(drawn_instance(1, "noisy", np.random.default_rng(0))))
        learning_only = ("longevity-bounds",)
        return (*sorted((*playable(known), *learning_only)), *RIVAL_NAMES, "optimum")

    def sized(self, size: Size) -> Size:
        """With the mean of the changing rates, if there are any."""
        if self.rates is None:
            return size
        mean = self.rates.mean(0.0, size.horizon)
        if mean * size.horizon < 1:
            raise ConfigError("--rates leave no time for a single crawl")
        return replace(size, rate=mean)

    def check(self, policy: str, size: Size, *, learn: bool) -> None:
        """Refuse unknown policies, and corrupted beliefs of those who have none."""
        refuse_unknown(policy, self.policy_names())
        if learn and self.signals == "corrupted":
            raise ConfigError(
                "--signals corrupted tells policies what is wrong; with --learn they are told nothing"
            )
        if self.sources > 1 and (policy == "optimum" or self.signals == "corrupted"):
            what = "the optimum of several sources" if policy == "optimum" else "a corrupted belief in them"
            raise ConfigError(f"--sources {self.sources}: nobody knows {what}; leave one of them away")
        if policy != "optimum":
            known = columns_of(_truth(drawn_instance(1, "noisy", np.random.default_rng(0))))
            check_policy(policy, learner_for=learner_for if learn else None, known=known)

    def draw(self, size: Size, rng: np.random.Generator) -> Round:
        """Draw pages, then changes and signals, then the noise in what is believed."""
        instance = drawn_instance(size.pages, self.signals, rng, sources=self.sources)  # type: ignore[arg-type]
        late_by = 1 / size.rate if self.signals == "delayed" else 0.0
        events = drawn_events(instance, size.horizon, rng, late_by=late_by)
        believed = corrupted(instance, self.corruption, rng) if self.signals == "corrupted" else instance
        return _Round(self, size, instance, events, believed)


class _Round:
    def __init__(
        self, world: Poisson, size: Size, instance: Instance, events: Events, believed: Instance
    ) -> None:
        rates = world.rates or Bandwidth(((0.0, size.rate),))
        web = ChangingWeb(_in_seconds(events.changes), numbered(instance.importance))
        self._web = web
        self._true = _truth(_per_second(instance))
        self._has_signals = world.signals != "none"
        self._options = PolicyOptions(deaf_seconds=world.deaf * DAY)
        self._contest = Contest(
            web=web,
            fetches_per_second=size.rate / DAY,
            start=0.0,
            end=size.horizon * DAY,
            signals=_in_seconds(events.signals) if self._has_signals else None,
            truth=_truth(_per_second(believed)),
            weights=believed.weights,
            bandwidth=rates.scaled(DAY),
        )

    def play(self, policy: str, *, learn: bool, advance: Advance) -> Outcome:
        contest, n_ticks = self._contest, self._contest.fetches
        if policy == "optimum":
            return Outcome({"accuracy": self._best()}, n_ticks)
        fetches = enter(
            contest,
            policy,
            learner_for=learner_for if learn else None,
            options=self._options,
            progress=lambda tick: advance(tick / n_ticks),
        )
        accuracy = self._web.freshness(fetches, contest.start, contest.end, first_copy_at=contest.start)
        return Outcome({"accuracy": accuracy}, len(fetches))

    def _best(self) -> float:
        """Accuracy of the continuous optimum, averaged over the rates."""
        pages = (
            self._true
            if self._has_signals
            else replace(self._true, recall=None, false_rate=None, signals=None)
        )
        length = self._contest.end - self._contest.start
        return sum(
            (until - begin) / length * (optimum(pages, rate).accuracy if rate > 0 else 0.0)
            for begin, until, rate in self._contest.rates.pieces(self._contest.start, self._contest.end)
        )


def _truth(instance: Instance) -> Beliefs:
    """All that a policy may want to know of pages of which a change leaves nothing."""
    ones = np.ones(len(instance.importance))
    return replace(
        instance.beliefs,
        plateau=ones,
        stages=ones,
        patience=np.inf * ones,
        gain=instance.importance * instance.change_rate,
    )


def _per_second(instance: Instance) -> Instance:
    return replace(
        instance,
        change_rate=instance.change_rate / DAY,
        false_rate=instance.false_rate / DAY,
        source_false_rate=None if instance.source_false_rate is None else instance.source_false_rate / DAY,
    )


def _in_seconds(stream: EventStream) -> EventStream:
    return replace(stream, times=stream.times * DAY)


WORLD = Poisson
