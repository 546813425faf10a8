"""What visiting in turn would give is told for the visits that a crawl really makes."""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from twisted.internet.defer import succeed

from scrapy_freshness.crawl.assessing import Assessing
from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.model import FreshnessRecord, Outcome, PageRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learning import RateLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.planning.visits import Report

RATE = 0.001
START = 60_000.0


def known_rate(histories: Sequence[bytes]) -> RateEstimate:
    rate = np.full(len(histories), RATE)
    return RateEstimate(rate, rate, rate)


def in_turn(pages: int, visits_per_second: float) -> float:
    """Freshness of pages that change at RATE, each visited at the same interval."""
    changes = RATE * pages / visits_per_second
    return float(-np.expm1(-changes) / changes)


class Crawl:
    """A planner that may make a visit every second, and what `Assessing` tells of it."""

    def __init__(self, *, delay: float = 0.0, budget: float = 1.0) -> None:
        self.planner = Planner(policy_named("greedy"), Hosts(5.0, 60.0), RateLearner(known_rate))
        self.planner.start(START)
        self.now = START
        self.minutes: list[FreshnessRecord] = []
        self._records: dict[int, PageRecord] = {}
        self._assessing = Assessing(
            self.planner,
            SimpleNamespace(note_freshness=self.minutes.append),
            SimpleNamespace(),
            started_at=START,
            budget_per_second=budget,
            delay_seconds=lambda now: delay,
            in_background=lambda work: succeed(work()),
        )

    def find(self, pages: int) -> None:
        for _ in range(pages):
            number = len(self._records)
            page = PageRecord(
                page_id=0, fingerprint=number, url=f"http://a.example/{number}", host="a.example"
            )
            record = self.planner.discover(page, self.now)
            self._records[record.page_id] = record

    def run(self, seconds: int, *, visits: bool = True) -> None:
        for _ in range(seconds):
            self.now += 1.0
            if visits:
                self._visit()
            self._assessing.assess(self.now)

    def _visit(self) -> None:
        self.planner.settle(self.now)
        self._records |= {record.page_id: record for record in self.planner.take_updates()[0]}
        wanted = self.planner.wanted(self.now)
        self.planner.supply(wanted, [self._records[page_id] for page_id in wanted])
        visit = self.planner.begin_visit(self.now, lambda host, now: now)
        assert visit is not None
        outcome = Outcome.FIRST if visit.record.last_visit_at is None else Outcome.UNCHANGED
        self.planner.end_visit(visit, Report(outcome=outcome, at=self.now))


def test_first_copies_take_the_visits_that_copies_have_later() -> None:
    """A crawl of 900 pages at one a second: first copies for a quarter of an hour, then visits of copies."""
    crawl = Crawl()
    crawl.find(900)

    crawl.run(2400)

    told = [record.uniform_freshness for record in crawl.minutes[1:]]
    assert len(told) == 40
    assert told == pytest.approx(np.full(40, in_turn(900, 1.0)), rel=0.02)


def test_a_few_pages_found_meanwhile_take_visits_from_the_copies() -> None:
    crawl = Crawl()
    crawl.find(200)
    crawl.run(1200)

    for _ in range(300):
        crawl.find(1)
        crawl.run(3)

    assert crawl.minutes[-1].uniform_freshness == pytest.approx(in_turn(500, 2 / 3), rel=0.02)


def test_without_visits_nothing_stays_fresh_in_the_long_run() -> None:
    crawl = Crawl()
    crawl.find(20)
    crawl.run(120)

    crawl.run(780, visits=False)

    assert crawl.minutes[-1].uniform_freshness == pytest.approx(0.0, abs=1e-3)


def test_in_the_first_minute_the_budget_stands_for_the_visits() -> None:
    crawl = Crawl(budget=0.5)
    crawl.find(5)

    crawl.run(50)

    assert [record.uniform_freshness for record in crawl.minutes] == [
        pytest.approx(in_turn(5, 0.5), rel=0.01)
    ]


def test_the_delay_between_requests_is_that_of_the_moment() -> None:
    crawl = Crawl(delay=4.0)
    crawl.find(100)

    crawl.run(600)

    assert crawl.minutes[-1].uniform_freshness == pytest.approx(in_turn(100, 0.25), rel=0.01)
