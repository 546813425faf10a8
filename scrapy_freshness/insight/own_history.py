"""What the crawl itself has seen of its pages, as a recorded web that policies can be tried on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import hypot, log

from scrapy_freshness.config import Config
from scrapy_freshness.errors import ConfigError, TraceError
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.simulator.comparison import compared
from scrapy_freshness.simulator.recorded import RecordedWeb, web_of
from scrapy_freshness.simulator.replay import Replay
from scrapy_freshness.simulator.trace import Version
from scrapy_freshness.simulator.visit_trace import visit_versions
from scrapy_freshness.storage.page_reports import page_visits
from scrapy_freshness.storage.store import Store

#: Visits of a page that count, the last ones.
_MOST_VISITS = 2_000

Progress = Callable[[float], None]  #: is told a share of the work, from 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be tried."""

    spider: str
    page_ids: Sequence[int]  #: a sample of the pages
    policies: Sequence[str]
    budgets_per_second: Sequence[float]  #: for the sample
    learn: bool  #: whether policies have to learn from their visits, or know the mean rates of the record


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one policy did at one budget."""

    policy: str
    budget_per_second: float
    freshness: float | None
    stderr: float | None
    trouble: str | None = None  #: why there is no result


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """All results, and on what they were got."""

    results: Sequence[Result]
    pages: int
    days: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The best policy at a budget and the next; what knows all rates is no rival."""

    first: Result
    second: Result
    error: float | None  #: of the difference, two standard errors, as if the two had nothing in common

    @property
    def is_clear(self) -> bool:
        """Whether the difference is more than its error."""
        ahead = (self.first.freshness or 0.0) - (self.second.freshness or 0.0)
        return self.error is not None and ahead > self.error


def lead_at(trial: Trial, budget_per_second: float) -> Lead | None:
    """Who was ahead at the budget that is next to this one; None without two policies to compare."""
    found = [each for each in trial.results if each.freshness is not None and each.policy != "optimum"]
    if not found:
        return None
    nearest = min(
        {each.budget_per_second for each in found}, key=lambda each: abs(log(each / budget_per_second))
    )
    rivals = [each for each in found if each.budget_per_second == nearest]
    rivals.sort(key=lambda each: -(each.freshness or 0.0))
    if len(rivals) < 2:
        return None
    errors = [each.stderr for each in rivals[:2]]
    known = [error for error in errors if error is not None]
    return Lead(first=rivals[0], second=rivals[1], error=2 * hypot(*known) if len(known) == 2 else None)


def recorded_web(store: Store, spider: str, page_ids: Sequence[int], progress: Progress) -> RecordedWeb:
    """The histories of some pages as their visits tell them; `TraceError` if there are none."""

    def versions() -> Iterator[Version]:
        for number, page_id in enumerate(page_ids, 1):
            visits = page_visits(store, page_id, _MOST_VISITS)
            yield from visit_versions(f"{spider}:{page_id}", None, reversed(visits))
            progress(number / len(page_ids))

    return web_of(versions())


def tried(store: Store, config: Config, question: Question, progress: Progress) -> Trial:
    """Let every policy crawl the recorded pages with every budget.

    Visits see a change when they come, not when it happens: what happened between two visits of this crawl is
    not in the record. So the more often the crawl has looked, the truer is the answer, and budgets above its
    own are judged by changes that it has seen too late.
    """
    reading = 0.2  # of the work, about
    web = recorded_web(store, question.spider, question.page_ids, lambda done: progress(reading * done))
    replay = Replay.of(web)
    runs = [(budget, name) for budget in question.budgets_per_second for name in question.policies]
    results = []
    for number, (budget, name) in enumerate(runs):
        expected = max(budget * (replay.end - replay.start), 1.0)

        def moved(ticks: int, number: int = number, expected: float = expected) -> None:
            done = number + min(ticks / expected, 1.0)
            progress(reading + (1 - reading) * done / len(runs))

        results.append(_result(replay, config, name, budget, question.learn, moved))
    return Trial(results=results, pages=len(web.pages), days=(replay.end - replay.start) / 86400)


def _result(
    replay: Replay, config: Config, name: str, budget: float, learn: bool, moved: Callable[[int], None]
) -> Result:
    learner_for = (lambda policy: learner_of(policy, config, measures_gains=False)) if learn else None
    try:
        replay.check_budget(budget)
        outcome = replay.run(name, budget, learner_for=learner_for, progress=moved)
    except (ConfigError, TraceError) as error:
        return Result(policy=name, budget_per_second=budget, freshness=None, stderr=None, trouble=str(error))
    row = compared(outcome, None, has_hubs=False)
    return Result(
        policy=name, budget_per_second=budget, freshness=row["freshness"], stderr=row["freshness_stderr"]
    )
