"""Let the planner crawl a web on a manual clock."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_freshness.model import Outcome, PageRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.visits import Report
from scrapy_freshness.simulator.freshness import mean_freshness
from scrapy_freshness.simulator.world import FloatArray, WorldPage


@dataclass(frozen=True, slots=True)
class Run:
    """The visits that a planner made to each page of a world."""

    world: Sequence[WorldPage]
    visit_times: Sequence[FloatArray]

    @property
    def visits(self) -> int:
        """How many visits were made."""
        return sum(len(times) for times in self.visit_times)

    def freshness(self, start: float, end: float) -> float:
        """Importance-weighted, time-averaged freshness over [start, end]."""
        weights = np.array([page.importance for page in self.world])
        return mean_freshness(
            [page.change_times for page in self.world], self.visit_times, start, end, weights
        )


def crawl_world(world: Sequence[WorldPage], planner: Planner, visit_times: FloatArray) -> Run:
    """Discover all pages of *world* at its start, then make one visit at each of *visit_times*.

    The planner sees of each page only whether it changed since the visit before.
    """
    records = {}
    number_of = {}
    for number, page in enumerate(world):
        found = PageRecord(
            page_id=0, fingerprint=number, url=page.url, host=page.host, importance=page.importance
        )
        record = planner.discover(found, 0.0)
        records[record.page_id] = record
        number_of[record.page_id] = number
    made: list[list[float]] = [[] for _ in world]
    for now in visit_times.tolist():
        wanted = planner.wanted(now)
        for record in planner.take_updates()[0]:
            records[record.page_id] = record
        planner.supply(wanted, [records[page_id] for page_id in wanted])
        visit = planner.begin_visit(now, _always_free)
        if visit is None:
            continue
        number = number_of[visit.record.page_id]
        outcome = _outcome(world[number].change_times, made[number], now)
        made[number].append(now)
        planner.end_visit(visit, Report(outcome=outcome, at=now))
    return Run(world, [np.array(times) for times in made])


def _outcome(change_times: FloatArray, visits: list[float], now: float) -> Outcome:
    if not visits:
        return Outcome.FIRST
    before, after = np.searchsorted(change_times, (visits[-1], now), side="right")
    return Outcome.CHANGED if after > before else Outcome.UNCHANGED


def _always_free(host: str, now: float) -> float:
    return now
