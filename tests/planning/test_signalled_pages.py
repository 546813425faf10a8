"""Signals that say a page may have changed."""

from collections.abc import Mapping

import numpy as np
from planning_world import Crawl, new_page

from scrapy_freshness.estimation.signal_counts import signal_counts
from scrapy_freshness.model import Outcome, PageRecord, PageStatus, SignalSource
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learner import QuietVisit
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import Policy, PolicyOptions, policy_named


def known_page(number: int) -> PageRecord:
    """A page of change rate 0.001 that was last visited at the time that is its number."""
    page = new_page(number, status=PageStatus.ACTIVE, last_visit_at=float(number), change_rate=0.001)
    page.page_id = number
    return page


class Told:
    """A learner that believes the same of every page."""

    def __init__(self, **beliefs: float) -> None:
        self._beliefs = {"change_rate": 0.001, **beliefs}
        self.afterwards: list[tuple[str, SignalSource, QuietVisit]] = []

    def prior(self, page: PageRecord) -> dict[str, float]:
        return self._beliefs

    def learn(self, pages: list[PageRecord]) -> dict[str, np.ndarray]:
        columns = {name: np.full(len(pages), value) for name, value in self._beliefs.items()}
        return columns | {
            "change_rate_low": columns["change_rate"],
            "change_rate_high": columns["change_rate"],
        }

    def expect(self, seconds_between_visits: float) -> None:
        pass

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        return (0.0,) * 4

    def told_afterwards(self, host: str, source: SignalSource, visit: QuietVisit) -> None:
        self.afterwards.append((host, source, visit))

    def rhythm_of(self, host: str) -> None:
        return None

    def take_groups(self) -> dict[str, bytes]:
        return {}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        pass

    def be_told(self, groups: Mapping[str, bytes]) -> None:
        pass


def crawl_of(policy: Policy, pages: int = 100) -> Crawl:
    planner = Planner(policy, Hosts(5.0, 60.0), Told(recall=0.8, false_rate=0.0001))
    known = [known_page(number) for number in range(1, pages + 1)]
    return Crawl(planner).start(known, 200.0)


def signal(crawl: Crawl, *numbers: int, now: float) -> None:
    rows = [crawl.planner.known.row_of(number) for number in numbers]
    crawl.planner.news.signal(np.array(rows), now)


def test_a_page_with_a_signal_is_visited_before_older_ones() -> None:
    crawl = crawl_of(policy_named("greedy-ncis"))
    signal(crawl, 77, now=201.0)

    assert [crawl.visit(201.0 + tick) for tick in range(2)] == [known_page(77).url, known_page(1).url]


def test_a_visit_answers_the_signals_before_it() -> None:
    crawl = crawl_of(policy_named("greedy-ncis"))
    signal(crawl, 77, 77, now=201.0)
    crawl.visit(201.0)
    crawl.flush(201.0)

    record = crawl.record(known_page(77).url)
    assert signal_counts(record.signalled, 1).tolist() == [[2, 0, 0, 0]]
    assert crawl.visit(202.0) == known_page(1).url


def test_a_signal_counts_by_the_trust_in_its_source() -> None:
    trusting = Told(recall=0.8, false_rate=0.0001, weight_0=0.001, weight_2=2.0)
    known = [known_page(number) for number in range(1, 101)]
    crawl = Crawl(Planner(policy_named("greedy-ncis"), Hosts(5.0, 60.0), trusting)).start(known, 200.0)
    rows = np.array([crawl.planner.known.row_of(77), crawl.planner.known.row_of(78)])

    crawl.planner.news.signal(rows, 201.0, np.array([SignalSource.SITEMAP, SignalSource.PING]))

    assert [crawl.visit(201.0 + tick) for tick in range(2)] == [known_page(78).url, known_page(1).url]


def test_a_sure_signal_goes_before_pages_that_were_chosen_earlier() -> None:
    sure = Told(recall=0.8, false_rate=1e-9)
    known = [known_page(number) for number in range(1, 2001)]
    crawl = Crawl(Planner(policy_named("greedy-ncis"), Hosts(5.0, 60.0), sure)).start(known, 3000.0)
    crawl.visit(3000.0)
    signal(crawl, 1999, now=3001.0)

    soon = [crawl.visit(3001.0 + tick) for tick in range(5)]

    assert known_page(1999).url in soon


def test_more_signals_than_can_be_counted_are_many() -> None:
    crawl = crawl_of(policy_named("greedy-ncis"))
    for _ in range(3):
        signal(crawl, *[77] * 200, now=201.0)
    crawl.visit(201.0)
    crawl.flush(201.0)

    record = crawl.record(known_page(77).url)
    assert signal_counts(record.signalled, 1).tolist() == [[255, 0, 0, 0]]


def test_policies_that_do_not_listen_are_not_disturbed() -> None:
    crawl = crawl_of(policy_named("greedy"))
    signal(crawl, 77, now=201.0)

    assert crawl.visit(201.0) == known_page(1).url


def test_a_signal_right_after_a_visit_announces_what_the_visit_has_seen() -> None:
    crawl = crawl_of(policy_named("greedy-ncis", PolicyOptions(deaf_seconds=150.0)))
    signal(crawl, 77, now=201.0)
    assert crawl.visit(201.0) == known_page(1).url

    signal(crawl, 20, now=202.0)
    assert crawl.visit(202.0) == known_page(20).url


def test_who_learns_is_told_once_of_changes_that_were_announced_after_their_visit() -> None:
    learner = Told(recall=0.8, false_rate=0.0001)
    known = [known_page(number) for number in range(1, 101)]
    crawl = Crawl(Planner(policy_named("greedy-ncis"), Hosts(5.0, 60.0), learner)).start(known, 200.0)
    signal(crawl, 77, now=201.0)
    visited = [crawl.visit(201.0 + tick, Outcome.CHANGED) for tick in range(3)]
    assert visited == [known_page(number).url for number in (77, 1, 2)]
    rows = np.array([crawl.planner.known.row_of(number) for number in (77, 1, 2, 3)])

    for _ in range(2):  # of 2 it is said that it had changed before the visit before
        heard = crawl.planner.news.hear(rows, np.array([100.0, 50.0, 1.5, 2.0]), 210.0, SignalSource.SITEMAP)
        assert not len(heard.rows), "no page has changed since it was visited"

    (host, source, visit), = learner.afterwards  # fmt: skip
    assert (host, source) == ("a.example", SignalSource.SITEMAP)
    assert visit.seconds == 201.0
    assert visit.rate == np.float32(0.001)
    assert visit.changed


class ToldLate(Told):
    """A learner that knows how late signals of each source are."""

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        return (150.0, 0.0, 0.0, 0.0)


def test_signals_of_a_source_that_is_known_to_be_late_do_not_count_right_after_a_visit() -> None:
    known = [known_page(number) for number in range(1, 101)]
    learner = ToldLate(recall=0.8, false_rate=0.0001)
    crawl = Crawl(Planner(policy_named("greedy-ncis"), Hosts(5.0, 60.0), learner)).start(known, 200.0)
    rows = np.array([crawl.planner.known.row_of(77), crawl.planner.known.row_of(78)])

    crawl.planner.news.signal(rows, 201.0, np.array([SignalSource.SITEMAP, SignalSource.PING]))

    assert [crawl.visit(201.0 + tick) for tick in range(2)] == [known_page(78).url, known_page(1).url]


def test_the_default_policy_listens() -> None:
    told = Told(mean_rate=0.001, doubt=1.0, recall=0.8, false_rate=0.0001, decay=1e-12)
    known = [known_page(number) for number in range(1, 101)]
    crawl = Crawl(Planner(policy_named("holistic"), Hosts(5.0, 60.0), told)).start(known, 200.0)
    signal(crawl, 77, now=201.0)

    assert [crawl.visit(201.0 + tick) for tick in range(2)] == [known_page(77).url, known_page(1).url]
