"""Pages that somebody wants visited now, at a fixed interval, or no more."""

import numpy as np
import pytest
from planning_world import Crawl, KnownRates, known_pages, new_page, new_planner

from scrapy_freshness.config import Config
from scrapy_freshness.model import Outcome, PageKind
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import POLICY_NAMES, policy_named
from scrapy_freshness.planning.ready import CROWD


def crawl_of(n_pages: int, rate: float = 1.0) -> Crawl:
    rates = np.full(n_pages, 0.01)
    planner = new_planner(estimator=KnownRates(rates), rate=rate)
    return Crawl(planner).start(known_pages(np.ones(n_pages), rates))


def row(crawl: Crawl, number: int) -> int:
    found = crawl.planner.known.row_of(number)
    assert found is not None
    return found


@pytest.mark.parametrize("policy", [name.replace("-J", "-2") for name in POLICY_NAMES])
def test_a_pinned_page_is_visited_at_its_interval_under_every_policy(policy: str) -> None:
    chosen = policy_named(policy)
    planner = Planner(chosen, Hosts(5.0, 60.0), learner_of(chosen, Config()))
    crawl = Crawl(planner).start(known_pages(np.ones(12), np.full(12, 0.01)))
    crawl.planner.wished.pin(row(crawl, 3), 25.0, 0.0)
    visits = {second: crawl.visit(float(second)) for second in range(1, 101)}

    assert [second for second, url in visits.items() if url == "3"] == [25, 50, 75, 100]


def test_a_pinned_page_is_not_visited_earlier_even_if_there_is_nothing_else_to_do() -> None:
    crawl = crawl_of(1)
    crawl.planner.wished.pin(row(crawl, 0), 25.0, 0.0)

    assert crawl.begin(24.0) is None
    assert crawl.planner.next_at(24.0) == pytest.approx(25.0)
    assert crawl.visit(25.0) == "0"


def test_a_page_that_is_let_loose_goes_by_its_value() -> None:
    crawl = crawl_of(10)
    crawl.planner.wished.pin(row(crawl, 3), 500.0, 0.0)
    first = {crawl.visit(float(second)) for second in range(1, 31)}
    crawl.planner.wished.pin(row(crawl, 3), None, 30.0)
    then = {crawl.visit(float(second)) for second in range(31, 61)}

    assert "3" not in first
    assert "3" in then


def test_what_pinned_pages_take_is_missing_to_the_others() -> None:
    free, bound = crawl_of(20), crawl_of(20)
    for number in range(10):
        bound.planner.wished.pin(row(bound, number), 20.0, 0.0)  # half of the budget, as much as they had
    counts = []
    for crawl in (free, bound):
        urls = [crawl.visit(float(second)) for second in range(1, 401)]
        counts.append(sum(urls.count(str(number)) for number in range(10)))

    assert counts == [200, 191]  # all ten are due at 20, 40, ... and at 400


def test_pins_are_known_again_after_a_restart() -> None:
    rates = np.full(4, 0.01)
    records = known_pages(np.ones(4), rates)
    planner = new_planner(estimator=KnownRates(rates))
    crawl = Crawl(planner)
    columns = [np.nan, np.nan, 7.0, np.nan]
    crawl.start(records, pinned_seconds=np.array(columns))

    assert [second for second in range(1, 22) if crawl.visit(float(second)) == "2"] == [7, 14, 21]


def test_a_wished_page_is_next_although_its_host_has_enough_pages_ready() -> None:
    crawl = crawl_of(100 * CROWD, rate=50.0)
    crawl.free_at = lambda host, now: now + 1.0  # busy
    crawl.begin(1.0)
    assert crawl.planner.wished.visit_next(row(crawl, 7), 1.0)
    crawl.begin(1.0)
    crawl.free_at = lambda host, now: now

    assert crawl.visit(2.5) == "7"


def test_a_page_that_rests_or_is_on_its_way_is_not_visited_next_once_more() -> None:
    crawl = crawl_of(3)
    planner = crawl.planner
    visit = crawl.begin(1.0)
    assert visit is not None
    assert not planner.wished.visit_if_rested(visit.row, 1.0)  # under way
    crawl.end(visit, 2.0, Outcome.GONE)

    assert not planner.wished.visit_if_rested(visit.row, 101.9)  # it is looked at again after 100 s
    assert planner.wished.visit_if_rested(visit.row, 102.0)
    assert not planner.wished.visit_if_rested(visit.row, 102.0)  # it is next already
    assert crawl.visit(102.1) == visit.url


def test_a_forgotten_page_is_not_visited_and_may_be_found_again() -> None:
    crawl = crawl_of(3)
    crawl.planner.forget(row(crawl, 1))

    assert {crawl.visit(float(second)) for second in range(1, 10)} == {"0", "2"}
    assert crawl.planner.known.row_of(1) is None
    (again,) = crawl.discover(new_page(1, "0.example"), now=10.0)
    assert again.page_id == 4
    assert crawl.visit(10.0) == "http://0.example/1"


@pytest.mark.parametrize("ends", ["visited", "failed", "abandoned"])
def test_the_visit_of_a_page_that_is_forgotten_meanwhile_leaves_nothing_behind(ends: str) -> None:
    crawl = crawl_of(1)
    visit = crawl.begin(50.0)
    assert visit is not None
    crawl.planner.forget(visit.row)
    if ends == "abandoned":
        crawl.planner.abandon(visit, 51.0)
    else:
        crawl.end(visit, 51.0, Outcome.FAILED if ends == "failed" else Outcome.CHANGED)

    assert crawl.planner.settle(52.0) is False
    assert crawl.planner.take_updates() == ([], [])
    assert crawl.begin(500.0) is None


def test_a_host_is_forgotten_with_its_pages() -> None:
    rates = np.full(6, 0.01)
    crawl = Crawl(new_planner(estimator=KnownRates(rates))).start(known_pages(np.ones(6), rates, hosts=2))
    planner = crawl.planner
    planner.hosts.back_off("1.example", 0.0, None)
    for each in planner.known.rows_of_host("1.example"):
        planner.forget(each)
    planner.hosts.forget("1.example")

    assert planner.known.rows_of_host("1.example") == planner.known.rows_of_host("nowhere.example") == []
    assert {crawl.visit(float(second)) for second in range(1, 10)} == {"0", "2", "4"}
    assert planner.hosts.take_changed() == []
    assert planner.hosts.blocked_until("1.example") == 0.0


def holistic_crawl() -> Crawl:
    """A crawl of twenty pages that change often, and one more that is rarely worth a visit."""
    policy = policy_named("holistic")
    crawl = Crawl(Planner(policy, Hosts(5.0, 60.0), learner_of(policy, Config()))).start([])
    crawl.discover(*(new_page(number) for number in range(21)))
    for second in range(1, 101):
        visit = crawl.begin(float(second))
        if visit is not None:
            is_first = visit.record.last_visit_at is None
            crawl.end(visit, float(second), Outcome.FIRST if is_first else Outcome.CHANGED)
    return crawl


@pytest.mark.parametrize("way", ["asked for", "described"])
def test_a_page_becomes_a_source_although_its_first_visit_as_one_fails(way: str) -> None:
    crawl = holistic_crawl()
    crawl.planner.wished.ask_for(row(crawl, 7), None, PageKind.SOURCE if way == "asked for" else None)
    visit = crawl.begin(101.0)
    assert visit is not None
    assert visit.record.fingerprint == 7
    if way == "described":
        crawl.planner.wished.describe(visit, None, PageKind.SOURCE)
    crawl.end(visit, 101.0, Outcome.FAILED)

    assert (visit.record.kind, visit.record.importance) == (PageKind.SOURCE, 0.0)
    assert "http://a.example/7" in [crawl.visit(float(second)) for second in range(102, 400)]
    crawl.flush(400.0)
    record = crawl.record("http://a.example/7")
    assert (record.kind, record.importance) == (PageKind.SOURCE, 0.0)


def test_a_source_becomes_a_page_like_others() -> None:
    crawl = holistic_crawl()
    for second, kind in ((101.0, PageKind.SOURCE), (102.0, PageKind.PAGE)):
        crawl.planner.wished.ask_for(row(crawl, 7), None, kind)
        visit = crawl.begin(second)
        assert visit is not None
        assert visit.record.fingerprint == 7
        crawl.end(visit, second, Outcome.CHANGED)
    crawl.flush(103.0)

    record = crawl.record("http://a.example/7")
    assert (record.kind, record.importance) == (PageKind.PAGE, 1.0)
    assert record.beliefs.get("profit", 0.0) == record.beliefs.get("link_rate", 0.0) == 0.0
