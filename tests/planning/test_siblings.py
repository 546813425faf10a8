"""What visits to siblings found moves the visits of a page."""

from dataclasses import replace

import numpy as np
import pytest
from planning_world import Crawl, always_free, columns_of, new_page

from scrapy_freshness.estimation.sibling_pace import SiblingPaces
from scrapy_freshness.model import Outcome, PageRecord, PageStatus
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import PolicyOptions, policy_named
from scrapy_freshness.planning.siblings import restore_paces
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.planning.visits import Report

N_PAGES = 20


class Site:
    """Two hosts with as many pages, of which those of one change all together, now and then."""

    def __init__(self, policy: str = "holistic", **options) -> None:
        policy_ = policy_named(policy)
        self.planner = Planner(
            policy_, Hosts(5.0, 60.0), learner_for(policy_), crawls_per_second=1.0, **options
        )
        self.records = {}
        self.visits = []  #: page id, host and time
        self.seen = {}  #: bursts so far at the last visit, by page id
        for number in range(2 * N_PAGES):
            host = ("a", "b")[number % 2]
            found = PageRecord(page_id=0, fingerprint=number, url=f"http://{host}/{number}", host=host)
            record = self.planner.discover(found, 0.0)
            self.records[record.page_id] = record

    def visit(self, now: float, bursts: int) -> None:
        while (visit := self._begun(now)) is None:
            pass
        record = visit.record
        happened = bursts if record.host == "a" else 0
        before = self.seen.get(record.page_id)
        self.seen[record.page_id] = happened
        outcome = Outcome.CHANGED if before != happened else Outcome.UNCHANGED
        self.planner.end_visit(visit, Report(outcome=Outcome.FIRST if before is None else outcome, at=now))
        self.visits.append((record.page_id, record.host, now))

    def _begun(self, now: float):
        wanted = self.planner.wanted(now)
        for record in self.planner.take_updates()[0]:
            self.records[record.page_id] = record
        self.planner.supply(wanted, [self.records[page_id] for page_id in wanted])
        return self.planner.begin_visit(now, always_free)

    def run(self, seconds: int, burst_every: int) -> "Site":
        for now in range(1, seconds + 1):
            self.visit(float(now), now // burst_every)
        return self


def fresh_share(site: Site, burst_every: int, seconds: int) -> float:
    """Share of the time for which copies of the bursting host are those of after the last burst."""
    last = {page_id: 0.0 for page_id, host, _ in site.visits if host == "a"}
    fresh, pending = 0, iter([*site.visits, (0, "", np.inf)])
    page_id, host, at = next(pending)
    for now in range(1, seconds + 1):
        while at <= now:
            if host == "a":
                last[page_id] = at
            page_id, host, at = next(pending)
        fresh += sum(seen >= now // burst_every * burst_every for seen in last.values())
    return fresh / (seconds * N_PAGES)


def test_copies_of_a_site_that_changes_at_once_are_fresher() -> None:
    stale = {
        watch: sum(1 - fresh_share(Site(learns=watch).run(1500, every), every, 1500) for every in (110, 190))
        for watch in (True, False)
    }

    assert stale[True] < 0.9 * stale[False]


def test_what_was_learned_of_hosts_is_known_again() -> None:
    site = Site().run(600, 100)
    groups = site.planner.take_groups()
    name = '["siblings", "a"]'

    other = Site()
    other.planner._siblings.restore(groups)
    other.planner._siblings._taught.add(other.planner._table.host_numbers(["a"])[0])

    assert other.planner.take_groups()[name] == groups[name]


def test_policies_that_do_not_want_to_know_do_not_watch() -> None:
    site = Site("greedy-expected").run(100, 30)

    assert not [name for name in site.planner.take_groups() if "siblings" in name]


def test_a_crawl_that_is_started_again_goes_on_at_the_paces_of_before() -> None:
    site = Site().run(600, 100)
    table, groups = site.planner._table, site.planner.take_groups()
    last = table.last_visit[: len(table)]
    records = [
        replace(record, last_visit_at=float(at), status=PageStatus.ACTIVE)
        for record, at in zip(site.records.values(), last, strict=True)
    ]

    policy = policy_named("holistic")
    again = Planner(policy, Hosts(5.0, 60.0), learner_for(policy))
    again.load(columns_of(records), len(records) + 1, 600.0, groups)
    known = table.sibling_paces.paces(table.host[: len(table)], last)

    assert np.ptp(known) > 0.2
    assert again._table.beliefs(np.arange(len(records))).pace == pytest.approx(known, rel=1e-6)


class Neighbours:
    """A host with ten pages that are visited and change, and one that sleeps: not worth the threshold yet."""

    def __init__(self) -> None:
        policy = policy_named("holistic", PolicyOptions(threshold=60.0))
        self.planner = Planner(policy, Hosts(5.0, 60.0), learner_for(policy))
        self.crawl = Crawl(self.planner)
        pages = [
            new_page(
                number, status=PageStatus.ACTIVE, last_visit_at=0.0, change_rate=1e-3, importance=importance
            )
            for number, importance in enumerate([1.0] + [100.0] * 10, start=1)
        ]
        for number, page in enumerate(pages, start=1):
            page.page_id = number
        self.crawl.start(pages, 100.0)

    def visit(self, number: int) -> None:
        for _ in range(number):
            visit = self.crawl.begin(100.0)
            assert visit is not None
            assert visit.row > 0
            self.planner.end_visit(visit, Report(outcome=Outcome.CHANGED, at=100.0))
        self.planner.settle(100.0)

    @property
    def wakes_at(self) -> float:
        return float(self.planner._table.wake[0])


def test_what_siblings_show_wakes_a_page_earlier() -> None:
    neighbours = Neighbours()
    before = neighbours.wakes_at
    neighbours.visit(10)

    assert 100 < neighbours.wakes_at < 0.9 * before


def test_a_visit_that_followed_a_signal_says_nothing_of_siblings() -> None:
    silent, signalled = Neighbours(), Neighbours()
    signalled.planner.news.signal(np.arange(1, 11), 50.0)
    before = signalled.wakes_at
    for each in (silent, signalled):
        each.visit(10)

    assert [name for name in silent.planner.take_groups() if "siblings" in name]
    assert not [name for name in signalled.planner.take_groups() if "siblings" in name]
    assert signalled.wakes_at == before


def test_only_the_hosts_of_the_table_are_looked_up() -> None:
    """There may be a hundred thousand, and few of them are asked about."""

    class Kept(dict):
        def __iter__(self):
            raise AssertionError("all names were read")

        items = keys = values = __iter__

    groups = Kept(Site().run(600, 100).planner.take_groups())
    table = PageTable(policy_named("holistic").model.needs)
    page = new_page(1, "a", status=PageStatus.ACTIVE, last_visit_at=0.0)
    table.load(columns_of([page]), 600.0, learner_for(policy_named("holistic")).prior(page))
    restore_paces(table, SiblingPaces(), groups)

    assert table.beliefs(np.array([0])).pace != 1
