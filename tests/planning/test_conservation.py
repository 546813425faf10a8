"""Whatever happens in whatever order: every page is in exactly one place, and none is ever stuck."""

from dataclasses import replace

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from planning_world import Crawl, columns_of, new_page, new_planner

from scrapy_freshness.model import Outcome, PageRecord, PageStatus
from scrapy_freshness.planning.visits import Report, Visit

HOSTS = ["a", "b", "slow"]
hosts = st.sampled_from(HOSTS)
moments = st.sampled_from([0.0, 0.1, 1.0, 7.0, 150.0, 5000.0])


def places(planner) -> list[int]:
    """Row of each page in each place but sleep; a page that is in two places comes twice."""
    rows = [row for _, row in planner._stock._pool]
    rows += [row for row, _ in planner._stock._loading.values()]
    rows += [page.row for pages in planner._stock._ready._pages.values() for page in pages]
    rows += list(planner._open)
    rows += [row for row, _ in planner._visited._waiting]
    return rows


class PlannerLife(RuleBasedStateMachine):
    """A crawl in which everything happens that can happen to a page."""

    @initialize(
        statuses=st.lists(st.sampled_from(PageStatus), max_size=12),
        once=st.booleans(),
        rate=st.sampled_from([0.1, 1.0, 50.0]),
        min_interval=st.sampled_from([0.0, 3.0]),
    )
    def begin(self, statuses: list[PageStatus], once: bool, rate: float, min_interval: float) -> None:
        self.now = 1000.0
        self.once = once
        self.crawl = Crawl(new_planner(rate=rate, min_interval=min_interval), self.free_at)
        self.planner = self.crawl.planner
        records = [
            replace(
                new_page(number, HOSTS[number % 3]),
                page_id=number + 1,
                status=status,
                last_visit_at=None if status is PageStatus.NEW or number % 4 == 3 else 900.0 + 10 * number,
                not_before=1050.0 if number % 5 == 4 else 0.0,
                change_rate=0.01 * (number % 3),
            )
            for number, status in enumerate(statuses)
        ]
        self.crawl.records = {record.page_id: record for record in records}
        self.planner.load(columns_of(records), len(records) + 1, self.now)
        self.planner.start(self.now, once=once)
        self.next_number = 100
        self.loading: list[int] = []
        self.busy_until = dict.fromkeys(HOSTS, 0.0)

    def free_at(self, host: str, now: float) -> float:
        return self.busy_until[host]

    def report(self, outcome: Outcome) -> Report:
        return Report(outcome=outcome, at=self.now)

    @rule(passed=moments)
    def wait(self, passed: float) -> None:
        self.now += passed

    @rule(host=hosts, priority=st.integers(-3, 3), count=st.integers(1, 12))
    def discover(self, host: str, priority: int, count: int) -> None:
        for _ in range(count):
            self.crawl.discover(new_page(self.next_number, host, priority=priority), now=self.now)
            self.next_number += 1

    @rule(host=hosts)
    def see_the_target_of_a_redirect(self, host: str) -> None:
        self.planner.first_seen(new_page(self.next_number, host), self.report(Outcome.FIRST))
        self.next_number += 1

    @rule()
    def read_ahead(self) -> None:
        self.loading += self.planner.wanted(self.now)

    @precondition(lambda self: self.loading)
    @rule(how=st.sampled_from(["read", "read", "gone", "failed"]), count=st.integers(1, 5))
    def answer(self, how: str, count: int) -> None:
        page_ids, self.loading = self.loading[:count], self.loading[count:]
        self.crawl.flush(self.now)
        if how == "failed":
            self.planner.give_up_loading(page_ids, self.now + 5.0)
            return
        records = [] if how == "gone" else [self.crawl.records[page_id] for page_id in page_ids]
        if how == "gone":
            for page_id in page_ids:
                del self.crawl.records[page_id]
        self.planner.supply(page_ids, records)

    @rule()
    def begin_visit(self) -> None:
        visit = self.planner.begin_visit(self.now, self.free_at)
        if visit is not None:
            assert self.busy_until[visit.record.host] <= self.now
            assert self.planner.hosts.blocked_until(visit.record.host) <= self.now
            assert visit.record.page_id == self.planner._table.page_id[visit.row]
            self.busy_until[visit.record.host] = self.now + (5.0 if visit.record.host == "slow" else 0.0)

    def one_open_visit(self, choice: int) -> Visit:
        visits = self.planner.open_visits
        return visits[choice % len(visits)]

    @precondition(lambda self: self.planner._open)
    @rule(choice=st.integers(0, 99), outcome=st.sampled_from(Outcome))
    def end_visit(self, choice: int, outcome: Outcome) -> None:
        visit = self.one_open_visit(choice)
        if outcome.saw_content and visit.record.last_visit_at is None:
            outcome = Outcome.FIRST
        elif outcome is Outcome.FIRST:
            outcome = Outcome.CHANGED

        assert self.planner.end_visit(visit, self.report(outcome))
        assert not self.planner.end_visit(visit, self.report(outcome))

    @precondition(lambda self: self.planner._open)
    @rule(choice=st.integers(0, 99), suspend=st.booleans())
    def give_up_visit(self, choice: int, suspend: bool) -> None:
        visit = self.one_open_visit(choice)
        if suspend:
            self.planner.suspend(visit)
        else:
            self.planner.abandon(visit, self.now)

    @precondition(lambda self: len(self.planner))
    @rule(choice=st.integers(0, 9999))
    def ask_for(self, choice: int) -> None:
        row = choice % len(self.planner)
        if not self.planner.known.is_forgotten(row):
            self.planner.wished.ask_for(row, f"request {choice}")

    @rule(host=hosts, retry_after=st.sampled_from([None, 20.0]))
    def back_off(self, host: str, retry_after: float | None) -> None:
        self.planner.hosts.back_off(host, self.now, retry_after)

    @rule()
    def flush(self) -> None:
        self.crawl.flush(self.now)

    @rule()
    def look(self) -> None:
        assert self.planner.next_at(self.now) >= self.now or self.planner.next_at(self.now) <= self.now
        if self.planner.is_idle(self.now):
            assert not self.planner.open_visits

    @invariant()
    def every_page_is_in_exactly_one_place(self) -> None:
        if not hasattr(self, "planner"):
            return
        awake = places(self.planner)
        taken = self.planner._table.taken[: len(self.planner)].nonzero()[0].tolist()

        assert len(awake) == len(set(awake)), "a page is in two places"
        assert sorted(awake) == taken, "a page is neither asleep nor anywhere else, or both"
        assert len(self.planner._stock._ready) == sum(map(len, self.planner._stock._ready._pages.values()))

    def teardown(self) -> None:
        """When everything under way has come to its end, every page that may be visited is."""
        if not hasattr(self, "planner") or self.once:
            return
        self.crawl.flush(self.now)
        self.planner.supply(self.loading, [self.crawl.records[page_id] for page_id in self.loading])
        for visit in self.planner.open_visits:
            self.planner.abandon(visit, self.now)
        self.now += 1e7
        visited: set[int] = set()
        for _ in range(2 * len(self.planner)):
            visit = self.crawl.begin(self.now)
            if visit is not None:
                visited.add(visit.row)
                self.crawl.end(visit, self.now)
        for row, status in enumerate(self.planner._table.status[: len(self.planner)].tolist()):
            may_be = status != PageStatus.SUSPENDED
            assert row in visited or not may_be or self.planner.known.is_forgotten(row), (
                f"page {row} is stuck"
            )


PlannerLife.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, phases=[Phase.generate]
)
TestPlannerLife = PlannerLife.TestCase


def test_a_record_is_never_older_than_what_was_learned() -> None:
    """Records go round between planner and database; a stale one would undo a visit."""
    crawl = Crawl(new_planner(rate=50.0))
    crawl.discover(*(new_page(number, HOSTS[number % 3]) for number in range(30)))
    for tick in range(600):
        crawl.visit(tick / 50)
    crawl.flush(12.0)

    assert sum(record.visits for record in crawl.records.values()) == 600
    assert all(isinstance(record, PageRecord) for record in crawl.records.values())
