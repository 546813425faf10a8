"""Pages of static, churning and scrolling regions, as sets of shingles: the longevity paper.

Metric `staleness`: mean divergence (share of fragments that differ) of the copies from the live pages after
`--warm-up`. All policies make the same number of refreshes in that time, `--rate` a day for all pages
together. With `--pace threshold`, as in the paper, every page is refreshed when it is due, and the threshold
at which that takes as many refreshes is found by bisection; with `--pace budget` the best page is refreshed
at a constant rate, as in a live crawl.

================= ========================================================================================
longevity-curve   fitted divergence curves; without `--learn` it knows the curves
longevity-bounds  bounds on the utility; learns always
cgm               the change rate from visits, and the intervals that are freshest for it; learns always
fs-s, hs-s        know the mean divergence, or the change rate, of each page's whole history
fs-d, hs-d        know the page at every moment
uniform-dynamic   all pages that ever change in turn, the paper's Uniform
other policies    ours at a constant rate; rivals with their intervals scaled
================= ========================================================================================

References
----------
Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, sections 3.4 and 5.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.config import setting
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.policy import PolicyOptions
from scrapy_freshness.planning.visits import Upkeep
from scrapy_freshness.simulator.cgm import Cgm
from scrapy_freshness.simulator.contest import (
    RIVAL_NAMES,
    Contest,
    check_policy,
    columns_of,
    enter,
    enter_when_due,
    playable,
)
from scrapy_freshness.simulator.equal_budget import factor_for_fetches
from scrapy_freshness.simulator.longevity_references import (
    dynamic_refreshes,
    fragment_static_period,
    holistic_static_period,
)
from scrapy_freshness.simulator.regions import Regions, drawn_regions, drawn_versions
from scrapy_freshness.simulator.rule_run import crawl_by_rule
from scrapy_freshness.simulator.shingled import ShingledWeb
from scrapy_freshness.simulator.versions import PageVersions
from scrapy_freshness.simulator.web import Fetches, FloatArray
from scrapy_freshness.simulator.worlds.contract import (
    Advance,
    Metric,
    Outcome,
    Size,
    Usual,
    refuse_unknown,
)
from scrapy_freshness.units import choice, numbers, whole
from scrapy_freshness.value.contract import Beliefs

DAY = 86400.0
OFFLINE = ("fs-d", "fs-s", "hs-d", "hs-s", "uniform-dynamic")
#: Policies of the paper that have a threshold when they are not paced by a budget.
WITH_THRESHOLD = ("longevity-bounds", "longevity-curve")
#: What policies find makes their refreshes jump about: how close their number must come, in how many runs.
_TOLERANCE, _MAX_RUNS = 0.01, 12
#: Change rate, per second, of pages that never change: beliefs have none of 0.
_SLOWEST = 1e-12


@dataclass(frozen=True, kw_only=True)
class Longevity:
    """Half of the pages are static, two thirds of the others churn, a third scrolls."""

    time_unit: ClassVar[str] = "days"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("staleness", "mean divergence of copies from live pages"),
    )
    usual: ClassVar[Usual] = Usual(
        pages=100,
        rate=10.0,
        horizon=60.0,
        repeat=3,
        policies=("longevity-curve", "cgm", "uniform", "uniform-dynamic", "fs-s", "fs-d"),
    )

    updates: float = setting(
        "0.25", numbers(1e-6), "Updates a day of a page that is not static, in the middle."
    )
    warm_up: float = setting("0.5", numbers(0, 0.99), "Share of the horizon that passes before it counts.")
    pace: str = setting(
        "threshold",
        choice("threshold", "budget"),
        "Refresh when due (threshold), or at a constant rate (budget).",
    )
    profiles: int = setting("5", whole(1, 255), "h, change profiles kept of each page.")
    sketch: int = setting("64", whole(1, 65_535), "m, fragments kept of each version.")
    risk: float = setting("100", numbers(1), "rho, thresholds that waiting for a page may cost.")
    learning: float = setting(
        "0",
        numbers(0),
        "l, thresholds a page waits at most after its first visit; 0: the first visits are those of CGM.",
    )
    snapshot: float = setting(
        "1", numbers(1e-3), "Days between the snapshots from which FS-S knows the pages."
    )

    def policy_names(self) -> tuple[str, ...]:
        """Ours as far as they can be played, the references of the paper and all rivals."""
        return (*sorted({*playable(_KNOWN), *WITH_THRESHOLD}), *OFFLINE, *RIVAL_NAMES)

    def sized(self, size: Size) -> Size:
        """As it is."""
        return size

    def check(self, policy: str, size: Size, *, learn: bool) -> None:
        """Refuse unknown policies, and bounds without anything to learn."""
        refuse_unknown(policy, self.policy_names())
        if policy == "longevity-bounds" and not learn:
            raise ConfigError(
                "policy longevity-bounds has nothing to know beforehand: let it learn (--learn)"
            )
        if policy not in OFFLINE:
            check_policy(policy, learner_for=learner_for if learn else None, known=_KNOWN)
        if size.rate * size.horizon * (1 - self.warm_up) < 1:
            raise ConfigError("--warm-up leaves no time for a single refresh")

    def options(self, threshold: float = 0.0) -> PolicyOptions:
        """What policies are told."""
        usual = PolicyOptions().longevity_learning
        return PolicyOptions(
            threshold=threshold, longevity_risk=self.risk, longevity_learning=self.learning or usual
        )

    @property
    def upkeep(self) -> Upkeep:
        """How much is remembered of a page."""
        return Upkeep(max_profiles=self.profiles, sketch_size=self.sketch)

    def draw(self, size: Size, rng: np.random.Generator) -> "LongevityRound":
        """Draw what the pages consist of, then their versions."""
        regions = drawn_regions(size.pages, rng, updates_per_second=self.updates / DAY)
        versions = [drawn_versions(each, size.horizon * DAY, rng) for each in regions]
        contest = Contest(
            web=ShingledWeb(versions, sketch_size=self.sketch),
            fetches_per_second=size.rate / DAY,
            start=0.0,
            end=size.horizon * DAY,
            truth=_truth(regions),
        )
        return LongevityRound(self, contest, versions)


class LongevityRound:
    """One web and all ways to crawl it."""

    def __init__(self, world: Longevity, contest: Contest, pages: list[PageVersions]) -> None:
        self._world = world
        self._contest = contest
        self._pages = pages
        self._from = world.warm_up * contest.end
        self.wanted = round(contest.fetches_per_second * (contest.end - self._from))

    def play(self, policy: str, *, learn: bool, advance: Advance) -> Outcome:
        """Crawl with as many refreshes as everybody."""
        if policy == "uniform-dynamic":
            return self.judged(self._in_turn())
        if (
            policy in OFFLINE
            or policy == "cgm"
            or (policy in WITH_THRESHOLD and self._world.pace == "threshold")
        ):
            runs = 0

            def run(factor: float) -> int:
                nonlocal runs
                runs += 1
                advance(1 - 0.8**runs)
                return self._counted(self.at_threshold(policy, factor * self._middle, learn=learn))

            match = factor_for_fetches(run, self.wanted, tolerance=_TOLERANCE, max_runs=_MAX_RUNS)
            return self.judged(self.at_threshold(policy, match.factor * self._middle, learn=learn))
        ticks = self._contest.fetches
        fetches = enter(
            self._contest,
            policy,
            learner_for=learner_for if learn else None,
            options=self._world.options(),
            upkeep=self._world.upkeep,
            progress=lambda tick: advance(tick / ticks),
        )
        return self.judged(fetches)

    def at_threshold(self, policy: str, threshold: float, *, learn: bool) -> Fetches:
        """Refreshes of a policy that has a threshold, in divergence times seconds."""
        contest = self._contest
        # Far more refreshes than wanted need not be made to know that a threshold is too low.
        limit = 20 * contest.fetches
        if policy == "cgm":
            rule = Cgm(threshold_seconds=threshold, warm_up_seconds=self._cgm_seconds)
            return crawl_by_rule(contest.web, rule, start=contest.start, end=contest.end, limit=limit)
        if policy in OFFLINE:
            return _merged([self._offline(policy)(page, threshold) for page in self._pages])
        return enter_when_due(
            contest,
            policy,
            learner_for=learner_for if learn else None,
            options=self._with_warm_up(threshold),
            upkeep=self._world.upkeep,
            limit=limit,
        )

    def judged(self, fetches: Fetches) -> Outcome:
        """Staleness and refreshes after the warm-up."""
        assert isinstance(self._contest.web, ShingledWeb)
        stale = self._contest.web.staleness(fetches, self._from, self._contest.end)
        return Outcome({"staleness": stale}, self._counted(fetches))

    @property
    def ever_changes(self) -> NDArray[np.bool_]:
        """Of each page, whether it has more than one version."""
        return np.array([len(page.times) > 1 for page in self._pages], bool)

    def _with_warm_up(self, threshold: float) -> PolicyOptions:
        """All learn on the same schedule (section 5.3), if there is time for it before it counts."""
        options = self._world.options(threshold)
        if self._world.learning or not self._from:
            return options
        return replace(options, longevity_learning=self._cgm_seconds / threshold)

    @property
    def _cgm_seconds(self) -> float:
        """l of CGM, whose warm-up takes l, 2l, ..., 5l: all of ours, or else as long as refreshes last."""
        # Rounding must not move the last visit of the warm-up of every page behind its end.
        return (1 - 1e-6) * self._from / 15 if self._from else 4 * self._middle / 3

    @property
    def _middle(self) -> float:
        """A threshold to begin with: a quarter of the mean time between the refreshes of a page."""
        return len(self._pages) / self._contest.fetches_per_second / 4

    def _counted(self, fetches: Fetches) -> int:
        return int(np.count_nonzero(fetches.times > self._from))

    def _offline(self, policy: str) -> Callable[[PageVersions, float], FloatArray]:
        if policy in ("fs-d", "hs-d"):
            return lambda page, threshold: dynamic_refreshes(page, threshold, holistic=policy == "hs-d")
        if policy == "hs-s":
            return lambda page, threshold: _regularly(page, holistic_static_period(page, threshold))
        step = self._world.snapshot * DAY
        return lambda page, threshold: _regularly(page, fragment_static_period(page, threshold, step))

    def _in_turn(self) -> Fetches:
        """Every page that ever changes at one interval."""
        (dynamic,) = self.ever_changes.nonzero()
        times = self._contest.ticks if len(dynamic) else np.empty(0)
        return Fetches(np.resize(dynamic, len(times)), times)


def _regularly(page: PageVersions, period: float) -> FloatArray:
    return np.arange(period, page.end, period) if period < page.end else np.empty(0)


def _merged(times: list[FloatArray]) -> Fetches:
    pages = np.repeat(np.arange(len(times)), [len(each) for each in times])
    together = np.concatenate(times)
    order = np.argsort(together, kind="stable")
    return Fetches(pages[order], together[order])


def _truth(regions: list[Regions]) -> Beliefs:
    """The divergence curve of each page, which churns or scrolls or is static."""
    moving = np.array([each.churn + each.items * each.item_size for each in regions], np.float64)
    moving *= [each.churn_rate + each.scroll_rate > 0 for each in regions]
    static = np.array([each.static for each in regions], np.float64)
    rates = np.array([max(each.churn_rate, each.scroll_rate, _SLOWEST) for each in regions])
    ones = np.ones(len(regions))
    return Beliefs(
        importance=ones,
        change_rate=rates,
        plateau=2 * moving / (static + 2 * moving),
        stages=np.array([float(max(each.items, 1)) for each in regions]),
        patience=np.inf * ones,
    )


_KNOWN = columns_of(_truth([Regions()]))

WORLD = Longevity
