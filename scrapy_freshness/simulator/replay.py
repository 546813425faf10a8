"""Policies on a recorded web: each crawls it with the same budget and is judged by the true history."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from scrapy_freshness.config import Config
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.planning.policy import POLICY_NAMES, PolicyOptions, policy_named
from scrapy_freshness.planning.visits import Upkeep
from scrapy_freshness.simulator.contest import (
    RIVAL_NAMES,
    Contest,
    LearnerFor,
    enter,
    enter_by_price,
    takes_price,
)
from scrapy_freshness.simulator.contest_time import (
    brought_together,
    contest_span,
    spread_over_pages,
    time_blocks,
)
from scrapy_freshness.simulator.judgement import judge
from scrapy_freshness.simulator.known import CERTAIN
from scrapy_freshness.simulator.link_metrics import LINK_LIFE_SECONDS, LinkFinds
from scrapy_freshness.simulator.recorded import RecordedWeb
from scrapy_freshness.simulator.recorded_beliefs import recorded_beliefs
from scrapy_freshness.simulator.recorded_references import promised_freshness, scheduled_fetches
from scrapy_freshness.simulator.recorded_web import ReplayedWeb
from scrapy_freshness.simulator.rivals import rule_named
from scrapy_freshness.simulator.rule_run import crawl_by_rule
from scrapy_freshness.simulator.run import Progress
from scrapy_freshness.simulator.trial import Trial
from scrapy_freshness.simulator.uncertainty import Parts, fresh_parts, profit_parts
from scrapy_freshness.simulator.web import Fetches
from scrapy_freshness.value.contract import Beliefs

#: What can be replayed, as a user would write it.
REPLAYED_NAMES = (*POLICY_NAMES, *RIVAL_NAMES, "optimum")
#: Blocks of time that standard errors are told from.
N_BLOCKS = 20
#: Fetches of one run at most; more take hours.
MOST_FETCHES = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How one policy did."""

    fetches: int | None  #: while it was judged; None if it only promises
    measures: dict[str, float | None]  #: by the names of `judge`
    freshness: Parts | None = None  #: to compare it with that of other policies
    profit: Parts | None = None  #: the same, where there are hubs
    by_price: bool = False  #: whether fetches were made at one price


@dataclass(frozen=True, eq=False)
class Replay:
    """A recorded web and the time of the contest on it."""

    web: RecordedWeb
    start: float  #: everybody has copies of what has appeared by then, and gets them of what appears later
    end: float
    judged_from: float  #: what happens before is practice
    _known: dict[frozenset[str], Beliefs] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, web: RecordedWeb, *, aligned: bool | None = None, whole: bool = False, warm_up: float = 0.0
    ) -> "Replay":
        """The contest on a web.

        Parameters
        ----------
        aligned : whether sources are moved to the same time; None: if they were never recorded all at once
        whole : all of the record, not only the time in which at least half of the pages are there
        warm_up : share of the contest that is not judged, 0 to below 1
        """
        web = brought_together(web, aligned)
        start, end = contest_span(web, whole=whole)
        if not start < end:
            raise ConfigError("the record has only one point in time, so that there is nothing to replay")
        return cls(web, start, end, start + warm_up * (end - start))

    @property
    def has_hubs(self) -> bool:
        """Whether there are links to be found."""
        return any(page.links is not None for page in self.web.pages)

    def check_budget(self, fetches_per_second: float) -> None:
        """Refuse a budget that makes no fetch, or more of them than anybody wants to wait for."""
        length = self.end - self.start
        wanted, days = fetches_per_second * length, length / 86400
        told = f"a budget of {86400 * fetches_per_second:.6g}/day makes"
        if wanted < 1:
            raise ConfigError(f"{told} no fetch in the {days:.3g} days of the record")
        if wanted > MOST_FETCHES:
            raise ConfigError(
                f"{told} {wanted:.3g} fetches in the {days:.3g} days of the record: "
                f"{MOST_FETCHES:,} at most are replayed"
            )

    def run(
        self,
        name: str,
        fetches_per_second: float,
        *,
        config: Config | None = None,
        learner_for: LearnerFor | None = None,
        by_price: bool = False,
        progress: Progress | None = None,
    ) -> Outcome:
        """Let the policy of that name crawl, with these settings, or the defaults.

        Without *learner_for* it knows the mean rates of the record. With *by_price* it need not keep the rate
        constant, if it has a price (see `enter_by_price`).
        """
        if name == "optimum":
            promised = promised_freshness(self.web, self._truth(name), fetches_per_second, self._blocks)
            return Outcome(None, {"freshness": promised})
        bandwidth = spread_over_pages(self.web, fetches_per_second, self.start, self.end)
        if name == "lds":
            ticks = bandwidth.ticks(self.start, self.end)
            return self._judged(scheduled_fetches(self.web, self._truth(name), fetches_per_second, ticks))
        needs = frozenset[str]() if name in RIVAL_NAMES else policy_named(name).model.needs - CERTAIN
        config = config or Config()
        upkeep = Upkeep.of(config)
        contest = Contest(
            web=ReplayedWeb(self.web, sketch_size=upkeep.sketch_size if needs & _OF_FRAGMENTS else None),
            fetches_per_second=fetches_per_second,
            start=self.start,
            end=self.end,
            truth=None if learner_for else self._truth(name, needs),
            bandwidth=bandwidth,
            min_interval=config.min_interval_seconds,
        )
        options = _options_of(config)
        if by_price and takes_price(name):
            fetches, by_price = enter_by_price(
                contest, name, learner_for=learner_for, options=options, upkeep=upkeep, progress=progress
            )
            return replace(self._judged(fetches), by_price=by_price)
        fetches = enter(
            contest, name, learner_for=learner_for, options=options, upkeep=upkeep, progress=progress
        )
        return self._judged(fetches)

    def later(self, seconds: float) -> "Replay":
        """The same contest, begun a little later: at most a fifth of what is judged is left out."""
        seconds = min(seconds, (self.end - self.judged_from) / 5)
        return Replay(self.web, self.start + seconds, self.end, self.judged_from + seconds)

    def run_as_shipped(self, name: str) -> Outcome:
        """Let a rival crawl with the intervals that its crawler ships, whatever number of fetches that is."""
        try:
            fetches = crawl_by_rule(
                ReplayedWeb(self.web), rule_named(name), start=self.start, end=self.end, limit=MOST_FETCHES
            )
        except ConfigError as error:
            raise ConfigError(f"{name}, unscaled, makes {error}") from error
        return self._judged(fetches)

    def _judged(self, fetches: Fetches) -> Outcome:
        pages, times = fetches.pages, fetches.times
        has_practised = self.judged_from > self.start
        if has_practised:
            # The copies of the start are free, but before the trial begins they are fetches like others.
            first = np.flatnonzero([page.times[0] <= self.start for page in self.web.pages])
            pages = np.concatenate([first, pages])
            times = np.concatenate([np.full(len(first), self.start), times])
        trial = Trial(
            self.web, pages, times, self.judged_from, self.end, not has_practised, given=self._given
        )
        fresh = fresh_parts(trial, self._blocks)
        if not self.has_hubs:
            return Outcome(trial.n_fetches, judge(trial), fresh)
        profit = profit_parts(LinkFinds.of(trial), len(self.web.pages), N_BLOCKS)
        return Outcome(trial.n_fetches, judge(trial), fresh, profit)

    def _truth(self, name: str, needs: frozenset[str] = frozenset()) -> Beliefs:
        """What a policy gets to know that does not learn."""
        if needs not in self._known:
            try:
                self._known[needs] = recorded_beliefs(self.web, self.start, self.end, needs)
            except ConfigError as error:
                raise ConfigError(f"policy {name} has to learn (--learn): {error}") from error
        return self._known[needs]

    @cached_property
    def _given(self) -> Fetches:
        """The copies that everybody gets of pages that appear during the contest."""
        appears = np.array([float(page.times[0]) for page in self.web.pages])
        (later,) = ((appears > self.start) & (appears <= self.end)).nonzero()
        return Fetches(later.astype(np.int64), appears[later])

    @cached_property
    def _blocks(self) -> list[float]:
        return time_blocks(self.web, self.judged_from, self.end, N_BLOCKS)


def learning(config: Config) -> LearnerFor:
    """Learners of a replay: as the settings say, but for how fast links fade, which is as it is measured."""
    config = replace(config, profit_life_seconds=LINK_LIFE_SECONDS)
    return partial(learner_of, config=config, measures_gains=False)


def _options_of(config: Config) -> PolicyOptions:
    """What the settings say, where a replay does not say otherwise.

    The budget has the part of the threshold, there are no queries, and a poll of a recorded hub is all that
    it costs: what its links lead to is not fetched.
    """
    return replace(
        PolicyOptions.of(config), threshold=0.0, participation=False, query_importance=False, pages_cost=False
    )


#: Beliefs of models for which fetches are compared fragment by fragment.
_OF_FRAGMENTS = {"plateau", "stages", "gain"}


def check_name(name: str) -> None:
    """Refuse the name of a policy that does not exist."""
    if name in RIVAL_NAMES or name == "optimum":
        return
    try:
        policy_named(name)
    except ConfigError:
        names = ", ".join(REPLAYED_NAMES)
        raise ConfigError(f"there is no policy {name!r}: choose from {names}") from None
