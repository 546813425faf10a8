"""The whole life of pages in the planner: found, chosen, visited, learned from, lost and found again."""

from dataclasses import replace

import numpy as np
import pytest
from planning_world import LEARNED, Crawl, KnownRates, columns_of, known_pages, new_page, new_planner

from scrapy_freshness.estimation.history import observations
from scrapy_freshness.model import Outcome, PageRecord, PageStatus
from scrapy_freshness.planning.ready import CROWD
from scrapy_freshness.planning.visits import Report


def known_page(number: int, **columns) -> PageRecord:
    columns = {"status": PageStatus.ACTIVE, "last_visit_at": 0.0, "change_rate": 0.01} | columns
    return replace(new_page(number), page_id=number, **columns)


def test_the_life_of_a_page() -> None:
    crawl = Crawl(new_planner())
    (found,) = crawl.discover(new_page(1), now=5.0)
    assert (found.page_id, found.discovered_at, found.status) == (1, 5.0, PageStatus.NEW)
    assert crawl.planner.known.row_of(1) == 0
    assert crawl.planner.known.row_of(2) is None

    visit = crawl.begin(5.0)
    assert visit is not None
    assert (visit.url, visit.previous_visit_at, visit.is_open) == (found.url, None, True)
    assert crawl.planner.open_visits == [visit]
    assert crawl.end(visit, 6.0)
    crawl.flush(6.0)
    assert crawl.records[1].status is PageStatus.ACTIVE
    assert crawl.records[1].change_rate == pytest.approx(np.log1p(1 / 57))

    again = crawl.begin(30.0)
    assert again is not None
    assert again.previous_visit_at == 6.0
    crawl.end(again, 30.0, Outcome.CHANGED)
    crawl.flush(30.0)
    record = crawl.records[1]
    assert (record.visits, record.changes) == (2, 1)
    assert observations(record.history).tolist() == [-24.0]
    assert record.change_rate == pytest.approx(float(LEARNED([record.history]).rate[0]))
    assert record.change_rate_low < record.change_rate < record.change_rate_high


def test_a_visit_is_closed_exactly_once() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1))
    visit = crawl.begin(0.0)
    assert visit is not None

    assert crawl.end(visit, 1.0)
    assert not crawl.end(visit, 2.0, Outcome.FAILED)
    crawl.planner.abandon(visit, 3.0)

    crawl.planner.settle(4.0)
    pages, log = crawl.planner.take_updates()
    assert [page.visits for page in pages] == [1]
    assert [line.at for line in log] == [1.0]
    assert crawl.planner.take_updates() == ([], [])


def test_what_was_learned_decides_which_page_is_next() -> None:
    crawl = Crawl(new_planner(rate=10.0))
    crawl.discover(*(new_page(number) for number in range(4)))
    often = new_page(2).url
    for tick in range(1, 400):
        visit = crawl.begin(tick / 10)
        assert visit is not None
        first = visit.record.last_visit_at is None
        changed = Outcome.CHANGED if visit.url == often else Outcome.UNCHANGED
        crawl.end(visit, tick / 10, Outcome.FIRST if first else changed)

    rates = {record.url: record.change_rate for record in crawl.records.values()}
    assert max(rates, key=rates.__getitem__) == often
    assert crawl.planner.price > 0


def test_a_page_that_cannot_be_learned_from_keeps_its_beliefs_and_spoils_no_others(
    not_learned: list[str],
) -> None:
    count, bad = 200, 7
    told, learned = np.ones(count), np.full(count, 2.0)

    def estimate(histories):
        if any(KnownRates.number(history) == bad for history in histories if history):
            raise RuntimeError("a history that nobody has thought of")
        return KnownRates(learned)(histories)

    crawl = Crawl(new_planner(estimator=estimate)).start(known_pages(told, told))
    for tick in range(1, count + 1):  # several visits are learned from together
        crawl.visit(float(tick))
    crawl.flush(count + 1.0)

    assert {record.visits for record in crawl.records.values()} == {1}
    rates = {int(record.url): record.change_rate for record in crawl.records.values()}
    assert rates == {number: 1.0 if number == bad else 2.0 for number in range(count)}
    assert crawl.planner.not_learned == 1
    assert not_learned == [f"Nothing could be learned from the visit to {bad}"]
    not_learned.clear()


def test_what_a_visit_told_is_forgotten_if_nothing_could_be_learned_from_it(not_learned: list[str]) -> None:
    def estimate(histories):
        if any(histories):
            raise RuntimeError("histories that nobody has thought of")
        return KnownRates(np.ones(1))(histories)

    crawl = Crawl(new_planner(estimator=estimate))
    crawl.discover(new_page(1))
    for tick in (1.0, 2.0):
        crawl.visit(tick)
        crawl.flush(tick)

    assert crawl.records[1].visits == 2
    assert crawl.records[1].beliefs == {}
    not_learned.clear()


def test_what_fails_before_learning_is_told_and_keeps_nobody_from_learning(not_learned: list[str]) -> None:
    def measure(records):
        raise RuntimeError("terms that nobody has thought of")

    crawl = Crawl(new_planner(before_learning=measure))
    crawl.discover(new_page(1))
    for tick in (1.0, 2.0):
        crawl.visit(tick)
        crawl.flush(tick)

    assert crawl.records[1].change_rate > 0
    assert crawl.planner.not_learned == 2
    assert not_learned == ["Not all could be learned from 1 visits"] * 2
    not_learned.clear()


def test_new_pages_come_in_order_of_priority_and_before_old_ones() -> None:
    crawl = Crawl(new_planner()).start([known_page(1)])
    crawl.discover(new_page(2), new_page(3, priority=10), new_page(4, priority=-10), now=9.0)

    assert [crawl.visit(9.0) for _ in range(3)] == [new_page(number).url for number in (3, 2, 4)]


def test_pages_and_hosts_beyond_the_pool_wait_in_the_frontier(monkeypatch) -> None:
    monkeypatch.setattr("scrapy_freshness.planning.stock._MAX_POOL", 5)
    crawl = Crawl(new_planner(min_interval=1e6))
    crawl.discover(*(new_page(number, f"{number % 3}.example") for number in range(40)))

    assert len({crawl.visit(1.0) for _ in range(40)}) == 40


def test_it_goes_on_where_an_earlier_run_ended() -> None:
    crawl = Crawl(new_planner(rate=5.0))
    crawl.discover(*(new_page(number) for number in range(10)))
    for tick in range(1, 100):
        crawl.visit(tick / 5)
    crawl.flush(20.0)

    later = Crawl(new_planner(rate=5.0)).start(list(crawl.records.values()), 20.0, price=crawl.planner.price)
    (record,) = later.discover(new_page(99), now=20.0)

    assert record.page_id == 11
    assert later.planner.known.row_of(3) is not None
    assert len(later.planner) == 11
    assert later.visit(20.0) == record.url


def test_a_page_is_due_when_it_was_said_to_be() -> None:
    crawl = Crawl(new_planner(min_interval=60.0)).start([known_page(1, last_visit_at=100.0)], 100.0)

    assert crawl.begin(120.0) is None
    assert crawl.planner.next_at(120.0) == 160.0
    assert crawl.begin(159.999) is None
    assert crawl.begin(160.0) is not None


def test_an_empty_planner_is_idle_for_ever() -> None:
    crawl = Crawl(new_planner()).start([])

    assert crawl.begin(1.0) is None
    assert crawl.planner.next_at(1.0) == np.inf
    assert crawl.planner.is_idle(1.0)
    assert len(crawl.planner) == 0
    assert crawl.planner.price == 0


# Requests that the spider repeats, callbacks that are gone


def test_a_page_that_is_asked_for_comes_next_with_its_new_request() -> None:
    pages = [known_page(1, importance=100.0), known_page(2, request='{"a": 1}')]
    crawl = Crawl(new_planner()).start(pages, price=0.0)
    crawl.planner.wished.ask_for(1, '{"a": 2}')

    visit = crawl.begin(10.0)

    assert visit is not None
    assert (visit.record.page_id, visit.record.request) == (2, '{"a": 2}')
    assert crawl.planner.price == 0, "what was asked for says nothing about the price"
    crawl.flush(10.0)
    assert crawl.records[2].request == '{"a": 2}'


def test_a_page_can_be_visited_next_whatever_it_is_worth() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(*(new_page(number) for number in (1, 2, 3)))
    for now in (1.0, 2.0, 3.0):
        crawl.visit(now)

    assert crawl.planner.known.last_visit_of(2) == 3.0
    assert crawl.planner.wished.visit_next(2, 3.0)
    assert crawl.visit(3.1) == new_page(3).url


def test_a_page_that_is_asked_for_during_its_visit_is_visited_once_more() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1), new_page(2))
    visit = crawl.begin(1.0)
    assert visit is not None
    assert crawl.planner.wished.visit_next(visit.row, 1.5)
    assert crawl.planner.wished.visit_next(visit.row, 1.6)
    crawl.end(visit, 2.0)

    assert [crawl.visit(2.1), crawl.visit(2.2)] == [visit.url, new_page(2).url]


def test_a_page_that_nobody_can_process_is_not_visited_next() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1))
    assert crawl.planner.known.last_visit_of(0) is None
    visit = crawl.begin(1.0)
    assert visit is not None
    crawl.planner.suspend(visit)

    assert not crawl.planner.wished.visit_next(0, 2.0)
    assert crawl.begin(2.0) is None


def test_hosts_with_pages_are_known() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1, host="a.example"))

    assert crawl.planner.known.knows_host("a.example")
    assert not crawl.planner.known.knows_host("b.example")


@pytest.mark.parametrize("stage", ["chosen", "loading", "ready"])
def test_a_request_that_comes_while_its_page_is_on_its_way_is_used(stage: str) -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1, request="old"))
    planner = crawl.planner
    if stage == "chosen":
        planner.wished.ask_for(0, "new")
    wanted = planner.wanted(1.0)
    if stage == "loading":
        planner.wished.ask_for(0, "new")
    planner.supply(wanted, [crawl.records[1]])
    if stage == "ready":
        planner.wished.ask_for(0, "new")

    visit = planner.begin_visit(1.0, crawl.free_at)

    assert visit is not None
    assert visit.record.request == "new"


def test_a_request_that_comes_during_the_visit_is_for_the_next_one() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1, request="old"))
    visit = crawl.begin(1.0)
    assert visit is not None
    crawl.planner.wished.ask_for(0, "new")
    crawl.end(visit, 2.0)

    again = crawl.begin(100.0)
    assert again is not None
    assert again.record.request == "new"


def test_a_page_without_its_callback_waits_until_it_is_asked_for() -> None:
    crawl = Crawl(new_planner()).start([known_page(1)])
    visit = crawl.begin(10.0)
    assert visit is not None
    crawl.planner.suspend(visit)
    crawl.flush(10.0)
    assert crawl.planner.known.status_of(0) is crawl.records[1].status is PageStatus.SUSPENDED
    assert crawl.begin(1e9) is None

    crawl.planner.wished.ask_for(0, "again")
    again = crawl.begin(1e9)
    assert again is not None
    assert (again.record.status, again.record.request) == (PageStatus.ACTIVE, "again")
    assert crawl.planner.known.status_of(0) is PageStatus.ACTIVE


def test_a_suspended_page_never_fetched_is_new_when_it_is_asked_for() -> None:
    suspended = replace(new_page(1), page_id=1, status=PageStatus.SUSPENDED)
    crawl = Crawl(new_planner()).start([suspended])
    assert crawl.begin(1e9) is None

    crawl.planner.wished.ask_for(0, None)
    visit = crawl.begin(1e9)
    assert visit is not None
    assert visit.record.status is PageStatus.NEW


def test_a_page_that_is_asked_for_is_not_lost_to_a_crowded_host() -> None:
    busy_until = {"a.example": 100.0}
    pages = [known_page(number) for number in range(1, 30)]
    pages[-1] = replace(pages[-1], status=PageStatus.SUSPENDED)
    crawl = Crawl(new_planner(rate=100.0), lambda host, now: max(now, busy_until[host])).start(pages)
    for _ in range(20):
        crawl.read_ahead(50.0)
        assert crawl.planner.begin_visit(50.0, crawl.free_at) is None

    crawl.planner.wished.ask_for(28, "again")
    crawl.begin(50.0)
    visit = crawl.begin(100.0)
    assert visit is not None
    assert visit.record.page_id == 29


# Records


def test_records_are_asked_for_in_batches() -> None:
    rng = np.random.default_rng(1)
    rates = rng.uniform(0.001, 1, 20_000)
    planner = new_planner(estimator=KnownRates(rates), rate=40.0)
    crawl = Crawl(planner).start(known_pages(rng.uniform(0, 1, 20_000), rates))
    batches = []
    for tick in range(1, 401):
        wanted = planner.wanted(tick / 40)
        planner.supply(wanted, [crawl.records[page_id] for page_id in wanted])
        batches.append(len(wanted))
        assert planner.begin_visit(tick / 40, crawl.free_at) is not None

    assert sum(batches) >= 400
    assert np.count_nonzero(batches) <= 400 / 10, "twenty are kept at hand, ten are read at a time"


def test_a_page_whose_record_is_gone_is_forgotten_and_can_be_found_again() -> None:
    """Somebody ran `scrapy freshness forget` while the crawl was on."""
    crawl = Crawl(new_planner()).start([known_page(1)])
    crawl.records.clear()
    assert crawl.begin(10.0) is None
    assert crawl.planner.is_idle(1e9)
    assert crawl.planner.known.row_of(1) is None

    (record,) = crawl.discover(new_page(1), now=20.0)
    assert crawl.planner.known.row_of(1) == 1
    assert crawl.visit(20.0) == record.url


def test_records_that_cannot_be_read_are_asked_for_again_later() -> None:
    crawl = Crawl(new_planner()).start([known_page(1)])
    wanted = crawl.planner.wanted(10.0)
    assert wanted == [1]
    crawl.planner.give_up_loading(wanted, until=15.0)

    assert crawl.planner.wanted(14.9) == []
    assert crawl.planner.next_at(14.9) == 15.0
    assert crawl.planner.wanted(15.0) == [1]


def test_a_visit_that_is_abandoned_did_not_happen() -> None:
    crawl = Crawl(new_planner()).start([known_page(1)])
    visit = crawl.begin(10.0)
    assert visit is not None
    crawl.planner.abandon(visit, 11.0)

    assert crawl.planner.open_visits == []
    assert crawl.planner.take_updates() == ([], [])
    assert crawl.begin(11.0) is not None


# Bad answers


def test_a_failing_page_is_left_alone_ever_longer_and_others_are_not_delayed() -> None:
    crawl = Crawl(new_planner()).start([known_page(1, importance=1e6), known_page(2)])
    failed_at = []
    for second in range(1, 40):
        visit = crawl.begin(float(second))
        assert visit is not None
        is_bad = visit.record.page_id == 1
        crawl.end(visit, float(second), Outcome.FAILED if is_bad else Outcome.UNCHANGED)
        if is_bad:
            failed_at.append(second)

    assert failed_at == [1, 6, 16, 36]


def test_tombstones_are_checked_at_doubling_intervals_and_revive() -> None:
    pages = [known_page(number, importance=float(number)) for number in range(1, 6)]
    crawl = Crawl(new_planner(rate=1.0)).start(pages)
    gone, checks = new_page(1).url, []
    for second in range(1, 2001):
        visit = crawl.begin(float(second))
        assert visit is not None
        if visit.url != gone or second >= 1400:
            crawl.end(visit, float(second), Outcome.UNCHANGED)
        else:
            checks.append(second)
            crawl.end(visit, float(second), Outcome.GONE)
        if visit.url == gone and second >= 1400:
            break

    waits = np.diff([*checks, second])
    assert waits == pytest.approx([100, 200, 400, 800], abs=30), "a check is due then, and soon chosen"
    crawl.flush(float(second))
    assert crawl.record(gone).status is PageStatus.ACTIVE


def test_tombstones_of_an_earlier_run_are_checked() -> None:
    gone = known_page(1, status=PageStatus.GONE, failures=2, not_before=50.0, importance=1e-6)
    others = [known_page(number) for number in range(2, 30)]
    crawl = Crawl(new_planner(rate=1.0)).start([gone, *others], 100.0, price=1.0)

    assert gone.url in [crawl.visit(100.0 + second) for second in range(60)]


def test_a_page_that_moved_for_good_makes_way_for_its_target() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1))
    visit = crawl.begin(1.0)
    assert visit is not None
    crawl.end(visit, 2.0, Outcome.MOVED)
    crawl.planner.first_seen(new_page(2), Report(outcome=Outcome.FIRST, at=2.0))
    crawl.flush(2.0)

    assert crawl.planner.known.row_of(2) == 1
    assert crawl.record(new_page(2).url).visits == 1
    assert [crawl.visit(50.0 + tick) for tick in range(3)] == [new_page(2).url] * 3


def test_a_page_counts_as_processed_only_when_all_that_it_led_to_was_sent() -> None:
    """Until then the database says that the spider must see it again, should the crawl die."""
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1))

    def shown_again_after(now: float, outcome: Outcome) -> bool:
        visit = crawl.begin(now)
        assert visit is not None
        assert not visit.record.run_callback, "not as long as the crawl lives"
        crawl.planner.end_visit(visit, Report(outcome=outcome, at=now, is_unfinished=True))
        crawl.flush(now)
        return crawl.record(new_page(1).url).run_callback

    assert shown_again_after(1.0, Outcome.FIRST)
    assert shown_again_after(1000.0, Outcome.FAILED)
    assert shown_again_after(2000.0, Outcome.UNCHANGED)
    crawl.planner.finish(page_id=1)
    crawl.flush(2001.0)
    assert not crawl.record(new_page(1).url).run_callback


def test_a_page_that_moved_is_checked_when_it_is_the_target_of_a_redirect_itself() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1))
    visit = crawl.begin(1.0)
    assert visit is not None
    crawl.end(visit, 2.0, Outcome.MOVED)
    crawl.flush(2.0)
    assert crawl.visit(3.0) is None

    crawl.planner.look_again(0, 4.0)

    assert crawl.visit(5.0) == new_page(1).url
    crawl.flush(5.0)
    assert crawl.record(new_page(1).url).status is PageStatus.ACTIVE


def test_the_target_of_a_redirect_can_be_asked_for_at_once() -> None:
    """Two visits of one page at a time would close one of them twice."""
    crawl = Crawl(new_planner())
    crawl.discover(*(new_page(number) for number in range(200)))
    crawl.planner.first_seen(new_page(999), Report(outcome=Outcome.FIRST, at=1.0))
    row = crawl.planner.known.row_of(999)
    assert row is not None
    crawl.planner.wished.ask_for(row, "again")

    visits = [crawl.begin(2.0 + tick) for tick in range(210)]
    rows = [visit.row for visit in visits if visit]
    assert len(rows) == len(set(rows))


def test_a_page_is_not_wanted_before_its_record_is_settled() -> None:
    """Nobody could supply it, and the planner would forget the page."""
    crawl = Crawl(new_planner()).start([known_page(number) for number in range(1, 201)], 1.0, price=1e9)
    crawl.planner.first_seen(new_page(999), Report(outcome=Outcome.FIRST, at=1.0))

    wanted = crawl.planner.wanted(2.0)
    crawl.records |= {record.page_id: record for record in crawl.planner.take_updates()[0]}

    assert wanted
    assert set(wanted) <= set(crawl.records)


def test_times_in_the_future_do_no_harm() -> None:
    pages = [known_page(number, last_visit_at=1e9) for number in range(1, 4)]
    crawl = Crawl(new_planner())
    crawl.records = {record.page_id: record for record in pages}

    assert crawl.planner.load(columns_of(pages), 4, 100.0) == 3
    crawl.planner.start(100.0)

    visited = {crawl.visit(100.0 + tick, Outcome.CHANGED) for tick in range(1, 10)}
    assert len(visited) == 3
    crawl.flush(110.0)
    assert all(0 < record.change_rate < 10 for record in crawl.records.values())


# Politeness


def test_a_slow_host_does_not_delay_the_others() -> None:
    """200 pages of a host with a delay of 2 s, 200 of a fast one, 20 visits a second."""
    last: dict[str, float] = {}

    def free_at(host: str, now: float) -> float:
        return last.get(host, -10.0) + 2.0 if host == "slow" else now

    crawl = Crawl(new_planner(rate=20.0, min_interval=1e6), free_at)
    crawl.discover(*(new_page(number, "slow") for number in range(200)))
    crawl.discover(*(new_page(number, "fast") for number in range(200, 400)))
    done: dict[str, list[float]] = {"slow": [], "fast": []}
    for tick in range(250):
        now = tick / 20
        visit = crawl.begin(now)
        if visit is not None:
            last[visit.record.host] = now
            done[visit.record.host].append(now)
            crawl.end(visit, now)

    assert len(done["fast"]) == 200
    assert max(done["fast"]) <= 210 / 20
    assert np.all(np.diff(done["slow"]) >= 2.0)
    assert len(done["slow"]) == 7


def test_hosts_that_asked_for_a_pause_are_not_visited_before_its_end() -> None:
    crawl = Crawl(new_planner())
    crawl.discover(new_page(1, "a"), new_page(2, "b"))
    crawl.planner.hosts.back_off("a", 0.0, 30.0)

    assert crawl.visit(1.0) == new_page(2, "b").url
    crawl = Crawl(crawl.planner)
    assert crawl.planner.begin_visit(29.0, crawl.free_at) is None
    visit = crawl.planner.begin_visit(30.0, crawl.free_at)
    assert visit is not None
    assert visit.record.host == "a"


def test_pauses_of_hosts_without_pages_do_no_harm() -> None:
    """Hosts of requests that are not tracked, or of other spiders in the same database."""
    crawl = Crawl(new_planner())
    crawl.planner.hosts.back_off("elsewhere", 0.0, 30.0)
    assert crawl.begin(1.0) is None

    crawl.discover(new_page(1))
    assert crawl.visit(1.0) == new_page(1).url


def test_a_busy_host_is_not_looked_at_before_its_time() -> None:
    """A host with a long delay and many pages must not keep the scheduler awake."""
    crawl = Crawl(new_planner(rate=10.0), lambda host, now: 100.0)
    crawl.start([known_page(number) for number in range(1, 100)])

    assert crawl.begin(50.0) is None
    assert crawl.planner.next_at(50.0) == 100.0


def test_it_wakes_when_the_pause_of_the_only_host_ends() -> None:
    crawl = Crawl(new_planner()).start([known_page(number) for number in range(1, 40)])
    crawl.planner.hosts.back_off("a.example", 10.0, 25.0)
    for now in (10.0, 20.0, 34.9):
        assert crawl.begin(now) is None
        assert crawl.planner.next_at(now) == 35.0

    assert crawl.begin(35.0) is not None


def test_a_crowded_host_keeps_few_records_in_memory() -> None:
    crawl = Crawl(new_planner(rate=1000.0), lambda host, now: now + 10.0)
    crawl.discover(*(new_page(number) for number in range(5000)))
    for tick in range(100):
        crawl.read_ahead(tick / 1000)
        assert crawl.planner.begin_visit(tick / 1000, crawl.free_at) is None

    assert len(crawl.planner._stock._ready) <= CROWD + 10


# One visit each


def test_once_visits_what_is_due_exactly_once_and_ends() -> None:
    rng = np.random.default_rng(5)
    rates = rng.uniform(1e-3, 1e-1, 300)
    planner = new_planner(estimator=KnownRates(rates), rate=1.0)
    crawl = Crawl(planner).start(known_pages(np.ones(300), rates, hosts=5), 100.0, once=True)
    due = set(np.flatnonzero(planner._frontier.values(np.arange(300), 100.0) >= planner.price).tolist())
    crawl.discover(new_page(7777, "0.example"), now=100.0)

    visited = []
    while not planner.is_idle(100.0):
        visit = crawl.begin(100.0)
        assert visit is not None
        assert not planner.is_idle(100.0), "a visit is open"
        visited.append(visit.url)
        crawl.end(visit, 100.0)

    assert len(visited) == len(set(visited))
    assert set(visited) == {str(number) for number in due} | {new_page(7777, "0.example").url}
    assert 0 < len(due) < 300


def test_once_does_not_try_a_failing_page_again() -> None:
    crawl = Crawl(new_planner(rate=1.0)).start([known_page(number) for number in range(1, 4)], 1e5, once=True)
    visited, now = [], 1e5
    while not crawl.planner.is_idle(now):
        now += 60.0
        visited.append(crawl.visit(now, Outcome.FAILED))

    assert sorted(visited) == [new_page(number).url for number in (1, 2, 3)]


def test_once_with_nothing_due_is_over_before_it_begins() -> None:
    pages = [known_page(number, last_visit_at=99.0) for number in range(1, 50)]
    crawl = Crawl(new_planner(rate=0.01)).start(pages, 100.0, once=True)

    assert crawl.planner.is_idle(100.0)
    assert crawl.begin(100.0) is None


class OneASecond:
    """Hosts that may be asked once a second each."""

    def __init__(self) -> None:
        self.asked: dict[str, float] = {}

    def __call__(self, host: str, now: float) -> float:
        return self.asked.get(host, -np.inf) + 1.0


def longest_waits(crawl: Crawl, hosts: OneASecond, seconds: int) -> dict[str, float]:
    """The longest time between two visits of each page, with a look at the planner ten times a second."""
    seen: dict[str, list[float]] = {record.url: [0.0] for record in crawl.records.values()}
    for now in np.arange(0.1, seconds, 0.1).tolist():
        while (visit := crawl.begin(now)) is not None:
            hosts.asked[visit.record.host] = now
            seen[visit.url].append(now)
            crawl.end(visit, now)
    return {url: float(np.diff([*times, seconds]).max()) for url, times in seen.items()}


def test_no_page_of_a_slow_host_waits_while_others_are_visited_over_and_over() -> None:
    rates = np.random.default_rng(4).uniform(0.005, 0.02, 60)
    hosts = OneASecond()
    crawl = Crawl(new_planner(estimator=KnownRates(rates), rate=10.0), hosts)
    crawl.start(known_pages(np.ones(60), rates))

    assert max(longest_waits(crawl, hosts, 600).values()) < 180


def test_a_page_that_is_asked_for_is_next_even_if_it_waits_for_its_host_already() -> None:
    hosts = OneASecond()
    crawl = Crawl(new_planner(estimator=KnownRates(np.full(60, 0.01)), rate=10.0), hosts)
    crawl.start(known_pages(np.ones(60), np.full(60, 0.01)))
    longest_waits(crawl, hosts, 100)
    crawl.begin(100.0)
    waiting = [page.row for pages in crawl.planner._stock._ready._pages.values() for page in pages]
    for row in waiting[-2:]:
        assert crawl.planner.wished.visit_next(row, 100.0)
    visits = []
    for now in (101.0, 102.0):
        visit = crawl.begin(now)
        assert visit is not None
        hosts.asked[visit.record.host] = now
        visits.append(visit.row)

    assert len(waiting) > 2
    assert sorted(visits) == sorted(waiting[-2:])
