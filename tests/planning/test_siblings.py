"""What visits to siblings found moves the visits of a page."""

import numpy as np
from planning_world import always_free

from scrapy_freshness.model import Outcome, PageRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
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
        watch: sum(
            1 - fresh_share(Site(watch_siblings=watch).run(3000, every), every, 3000)
            for every in (110, 150, 190)
        )
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
