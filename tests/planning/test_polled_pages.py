"""Sitemaps and feeds are pages that are polled as often as what they say is worth, under every policy."""

from dataclasses import replace

import numpy as np
import pytest
from planning_world import Crawl, KnownRates, columns_of, known_pages, new_page, new_planner

from scrapy_freshness.model import Outcome, PageColumns, PageKind, PageRecord, PageStatus, SignalSource
from scrapy_freshness.planning.after_visit import updated_record
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import POLICY_NAMES, policy_named
from scrapy_freshness.planning.visits import PollYield, Report, Upkeep

N_PAGES = 50
#: All that a crawl can have.
POLICIES = [name.replace("-J", "-2") for name in POLICY_NAMES]


def sitemap(number: int = 1000) -> PageRecord:
    return new_page(number, kind=PageKind.SITEMAP)


def polled_times(yields: list[float], policy: str = "greedy", seconds: int = 2000) -> list[float]:
    """When a sitemap of a site of 50 pages is polled at a visit a second; it yields so much, then nothing."""
    rates = np.full(N_PAGES, 1 / 50)
    planner = new_planner(policy, KnownRates(rates)) if policy == "greedy" else any_planner(policy)
    crawl = Crawl(planner).start(known_pages(np.ones(N_PAGES), rates))
    crawl.discover(sitemap())
    times: list[float] = []
    for now in range(seconds):
        visit = crawl.begin(float(now))
        if visit is None:
            continue
        poll = PollYield()
        if visit.record.kind.is_polled:
            worth = yields[len(times)] if len(times) < len(yields) else 0.0
            poll = PollYield(worth, is_barren=not worth)
            times.append(now)
        crawl.end(visit, now, poll=poll)
    return times


def any_planner(policy: str) -> Planner:
    chosen = policy_named(policy)
    upkeep = Upkeep(gone_recheck_seconds=100.0, gone_recheck_max_seconds=1000.0)
    learner = learner_for(chosen, estimator="mle", measures_gains=True)
    return Planner(chosen, Hosts(5.0, 60.0), learner, upkeep=upkeep)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_sitemap_is_polled_first_and_then_rarely_under_every_policy(policy: str) -> None:
    times = polled_times([], policy, seconds=600)

    assert times[0] < 60
    assert 1 <= len(times) < 30


def test_what_yields_much_is_polled_more_often_than_what_yields_nothing() -> None:
    assert len(polled_times([8.0] * 500)) > 2 * len(polled_times([1.0] * 500)) > 4
    assert len(polled_times([1.0] * 500)) > len(polled_times([]))


def test_what_yields_nothing_is_polled_ever_more_rarely_but_never_forgotten() -> None:
    times = polled_times([], seconds=4000)
    waits = np.diff(times)

    assert waits[-1] == pytest.approx(1000, abs=20)  # the longest pause of this planner
    assert (np.diff(waits) >= -5).all()


def test_a_source_that_comes_to_life_again_is_polled_often_again() -> None:
    times = polled_times([0.0] * 6 + [20.0] * 500, seconds=4000)

    assert len([time for time in times if time > 3000]) > 30


def test_polls_do_not_move_the_price_that_they_are_measured_by() -> None:
    rates = np.full(N_PAGES, 1 / 50)
    crawl = Crawl(new_planner(estimator=KnownRates(rates))).start(known_pages(np.ones(N_PAGES), rates))
    for now in range(1, 100):
        crawl.visit(float(now))
    crawl.discover(sitemap(), now=100.0)
    price = crawl.planner.price

    visit = crawl.begin(100.0)
    assert visit is not None
    assert visit.record.kind is PageKind.SITEMAP
    assert crawl.planner.price == price


def test_an_index_that_names_a_later_date_has_its_sitemap_polled_soon() -> None:
    rates = np.full(N_PAGES, 1 / 50)
    crawl = Crawl(new_planner(estimator=KnownRates(rates))).start(known_pages(np.ones(N_PAGES), rates))
    crawl.discover(sitemap())
    for now in range(3):
        crawl.visit(float(now))
    row = crawl.planner.known.row_of(1000)
    assert row is not None

    heard = crawl.planner.news.hear(np.array([row]), np.array([2.5]), 3.0, SignalSource.SITEMAP)
    urls = [crawl.visit(3.0 + tick) for tick in range(4)]

    assert len(heard.rows) == 0  # it is no page whose copy has aged
    assert "http://a.example/1000" in urls


def ncis_crawl() -> Crawl:
    """Pages of a host whose signals have been right so far."""
    rates = np.full(N_PAGES, 1 / 500)
    policy = policy_named("greedy-ncis")
    planner = Planner(policy, Hosts(5.0, 60.0), learner_for(policy, estimator="mle"))
    records = known_pages(np.ones(N_PAGES), rates)
    columns = columns_of(records)
    quality = {
        "recall": np.full(N_PAGES, 0.9, np.float32),
        "false_rate": np.full(N_PAGES, 1e-6, np.float32),
    }
    crawl = Crawl(planner)
    crawl.records = {record.page_id: record for record in records}
    planner.load(replace_beliefs(columns, quality), N_PAGES + 1, 0.0)
    planner.start(0.0, price=1.0)
    return crawl


def replace_beliefs(columns: PageColumns, beliefs: dict[str, np.ndarray]) -> PageColumns:
    return replace(columns, beliefs=beliefs)


def test_a_signal_that_moves_the_choice_is_worth_something() -> None:
    news = ncis_crawl().planner.news

    heard = news.hear(np.arange(10), np.full(10, np.nan), 10.0, SignalSource.SITEMAP)

    assert heard.rows.tolist() == list(range(10))
    assert 1 < heard.worth <= 100


def test_what_changed_before_the_last_visit_is_no_news() -> None:
    news = ncis_crawl().planner.news

    heard = news.hear(np.arange(3), np.array([-5.0, 0.0, 5.0]), 10.0, SignalSource.SITEMAP)

    assert heard.rows.tolist() == [2]


def test_a_policy_that_does_not_listen_gains_nothing_by_signals_but_by_new_pages() -> None:
    rates = np.full(N_PAGES, 1 / 50)
    crawl = Crawl(new_planner(estimator=KnownRates(rates))).start(
        known_pages(np.ones(N_PAGES), rates), price=0.5
    )
    news = crawl.planner.news

    heard = news.hear(np.arange(5), np.full(5, np.nan), 30.0, SignalSource.FEED)
    crawl.discover(new_page(777), now=30.0)

    assert (len(heard.rows), heard.worth) == (5, 0.0)
    assert 0 < news.worth_of_first_visits(np.array([N_PAGES]), 30.0) <= 10


def test_signals_that_wait_for_an_answer_are_taken_over_by_the_next_run() -> None:
    crawl = ncis_crawl()
    before = crawl.planner.news._frontier.values(np.arange(3), 10.0)

    crawl.planner.news.restore(np.array([2, 2, 999]), np.array([0, 1, 0], np.uint8), 10.0)

    after = crawl.planner.news._frontier.values(np.arange(3), 10.0)
    assert (after > before).tolist() == [False, True, False]


def test_a_page_that_was_gone_and_is_announced_is_looked_at_again() -> None:
    rates = np.full(N_PAGES, 1 / 50)
    records = known_pages(np.ones(N_PAGES), rates)
    records[7].status, records[7].not_before = PageStatus.GONE, 1e6
    crawl = Crawl(new_planner(estimator=KnownRates(rates))).start(records)

    crawl.planner.news.hear(np.array([7]), np.array([40.0]), 50.0, SignalSource.SITEMAP)

    assert "7" in [crawl.visit(50.0 + tick) for tick in range(60)]


def test_yields_are_learned_and_patience_doubles_with_each_barren_poll() -> None:
    upkeep = Upkeep(gone_recheck_seconds=100.0, gone_recheck_max_seconds=1000.0)
    record, patience = sitemap(), []
    for number in range(6):
        report = Report(outcome=Outcome.FIRST if not number else Outcome.UNCHANGED, at=50.0 * (number + 1))
        record = updated_record(record, report, upkeep, 60.0)
        patience.append(record.beliefs["patience_seconds"])

    assert patience == [100, 200, 400, 800, 1000, 1000]
    good = Report(outcome=Outcome.CHANGED, at=400.0, poll=PollYield(5.0, is_barren=False))
    after = updated_record(record, good, upkeep, 60.0)
    assert after.beliefs["patience_seconds"] == 100
    assert after.beliefs["yield_rate"] > record.beliefs["yield_rate"]


@pytest.mark.parametrize(("update_seconds", "is_sooner"), [(20.0, True), (None, False), (1e9, False)])
def test_a_source_is_polled_again_as_soon_as_it_says_that_there_is_news(
    update_seconds: float | None, is_sooner: bool
) -> None:
    """Once: what polls yield decides from then on. A promise of news in years is not waited for."""
    upkeep = Upkeep(gone_recheck_seconds=100.0, gone_recheck_max_seconds=1000.0)
    report = Report(
        outcome=Outcome.FIRST, at=50.0, poll=PollYield(is_barren=False, update_seconds=update_seconds)
    )
    after = updated_record(sitemap(), report, upkeep, 60.0)
    usual = updated_record(sitemap(), Report(outcome=Outcome.FIRST, at=50.0), upkeep, 60.0)

    assert (after.beliefs["yield_rate"] > usual.beliefs["yield_rate"]) is is_sooner
    assert after.beliefs["yield_rate"] >= 0.6 * usual.beliefs["yield_rate"]
    assert after.beliefs["patience_seconds"] == usual.beliefs["patience_seconds"]


def test_polled_pages_are_known_again_after_a_restart() -> None:
    rates = np.full(N_PAGES, 1 / 50)
    crawl = Crawl(new_planner(estimator=KnownRates(rates))).start(known_pages(np.ones(N_PAGES), rates))
    crawl.discover(sitemap())
    for now in range(200):
        crawl.visit(float(now))
    crawl.flush(200.0)
    record = crawl.record("http://a.example/1000")
    columns = columns_of(list(crawl.records.values()))
    names = ("yield_rate", "patience_seconds")
    beliefs = {
        name: np.array([each.beliefs.get(name, np.nan) for each in crawl.records.values()], np.float32)
        for name in names
    }

    again = new_planner(estimator=KnownRates(rates))
    again.load(replace_beliefs(columns, beliefs), 1000, 200.0)
    row = again.known.row_of(record.fingerprint)

    assert row is not None
    assert [getattr(again._table, name)[row] for name in names] == pytest.approx(
        [record.beliefs[name] for name in names]
    )


def test_a_sitemap_is_polled_although_sources_of_links_are_worth_far_more() -> None:
    planner = any_planner("holistic")
    crawl = Crawl(planner).start([])
    crawl.discover(*(new_page(number, kind=PageKind.SOURCE) for number in range(5)))
    for now in range(100):
        visit = crawl.begin(float(now))
        if visit is not None:
            crawl.end(visit, now, new_links=50)
    crawl.discover(sitemap(), now=100.0)

    assert "http://a.example/1000" in [crawl.visit(float(now)) for now in range(100, 200)]


def test_rows_that_are_added_later_begin_without_patience_and_yield() -> None:
    planner = new_planner()
    crawl = Crawl(planner).start([])
    crawl.discover(sitemap())
    planner._table.yield_rate[:] = planner._table.patience_seconds[:] = 7.0
    crawl.discover(*(new_page(number) for number in range(2000)))
    crawl.discover(sitemap(5000))
    row = planner.known.row_of(5000)

    assert (planner._table.yield_rate[row], planner._table.patience_seconds[row]) == (0.0, 0.0)
