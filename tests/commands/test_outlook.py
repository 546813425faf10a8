"""What the commands say of a page is what the crawl's planner thinks of it."""

from dataclasses import replace

import numpy as np
import pytest
from small_web import HOUR, NOW, PRICE, fill, news_pages

from scrapy_freshness.config import Config
from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.insight.rows import columns_of, row_of
from scrapy_freshness.model import PageColumns, PageStatus, WaitingSignals
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learning import RateLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.storage.store import Store

WAITS = (PageStatus.GONE, PageStatus.SUSPENDED, PageStatus.MOVED)


@pytest.fixture
def columns() -> PageColumns:
    return columns_of([row_of(page, "news") for page in news_pages()])


def terms(policy: str = "greedy", price: float = PRICE) -> Terms:
    return Terms(
        policy=policy_named(policy),
        budget_per_second=1.0,
        price=price,
        min_interval=1.0,
        prior={"change_rate": PriorPoints().rate},
        blocked_until={"paused.example": NOW + 180},
    )


@pytest.mark.parametrize("policy", ["greedy", "uniform"])
def test_values_are_those_of_the_planner(columns: PageColumns, policy: str) -> None:
    planner = Planner(
        policy_named(policy),
        Hosts(5, 3600),
        RateLearner(lambda histories: estimate_change_rates(histories, PriorPoints())),
    )
    planner.load(columns, next_page_id=100, now=NOW)
    planner.start(NOW, price=PRICE)
    taken = planner.wanted(NOW)
    values = Outlook(terms(policy), columns, NOW).values()

    best = columns.page_id[np.nanargmax(values)]
    assert taken[0] == best


@pytest.mark.parametrize("policy", ["greedy", "uniform"])
def test_a_page_is_worth_the_price_at_its_next_visit(columns: PageColumns, policy: str) -> None:
    price = {"greedy": PRICE, "uniform": 60 * HOUR}[policy]
    times = Outlook(terms(policy, price), columns, NOW).next_visits()
    checked = 0
    for row in np.flatnonzero((times > NOW) & np.isfinite(times)):
        if columns.status[row] in WAITS or columns.not_before[row] > 0:
            continue
        value = Outlook(terms(policy, price), columns, times[row]).values()[row]
        if columns.hosts[columns.host[row]] == "paused.example":
            assert value >= price or policy == "uniform"
        else:
            assert value == pytest.approx(price, rel=1e-6)
            checked += 1

    assert checked >= 2


def test_no_visit_is_expected_before_the_host_or_the_page_may_be_visited(columns: PageColumns) -> None:
    times = Outlook(terms(), columns, NOW).next_visits()

    assert np.all(times >= columns.not_before)
    assert times[[host == "paused.example" for host in _hosts(columns)]] == [NOW + 180]


def test_pages_that_wait_for_something_else_have_no_value(columns: PageColumns) -> None:
    values = Outlook(terms(), columns, NOW).values()

    assert np.array_equal(np.isnan(values), np.isin(columns.status, WAITS))


def test_a_copy_that_does_not_exist_is_not_fresh(columns: PageColumns) -> None:
    fresh = Outlook(terms(), columns, NOW).freshness()

    assert np.all((fresh == 0) == np.isnan(columns.last_visit_at))
    assert np.all(fresh <= 1)


def test_a_visit_in_the_future_counts_as_one_now(columns: PageColumns) -> None:
    ahead = replace(columns, last_visit_at=columns.last_visit_at + 1e6)
    outlook = Outlook(terms(), ahead, NOW)

    assert np.nanmax(outlook.elapsed) == 0
    assert np.nanmax(outlook.freshness()) == 1


def test_the_price_of_a_crawl_that_told_none_spends_the_budget(columns: PageColumns) -> None:
    outlook = Outlook(terms(price=0.0), columns, NOW)
    price = outlook.long_run_price()

    assert outlook.visits_per_second(price) == pytest.approx(1.0, rel=1e-4)


def test_terms_come_from_the_last_crawl_else_from_the_settings(sqlite_url: str) -> None:
    fill(sqlite_url)
    with Store.open_readonly(sqlite_url) as store:
        news = Terms.of(store, Config(policy="uniform", budget_per_second=7.0), "news")
        shop = Terms.of(store, Config(policy="uniform", budget_per_second=7.0), "shop")

    assert (news.policy.name, news.budget_per_second, news.price) == ("greedy", 1.0, PRICE)
    assert (shop.policy.name, shop.budget_per_second) == ("uniform", 7.0)


def _hosts(columns: PageColumns) -> list[str]:
    return [columns.hosts[number] for number in columns.host]


def test_signals_that_wait_for_a_visit_count(columns: PageColumns) -> None:
    signalled = int(np.flatnonzero((columns.status == PageStatus.ACTIVE) & (columns.not_before == 0))[0])
    page_ids = np.array([columns.page_id[signalled], 10**9])  # and one of a page that is not among these
    prior = {"change_rate": PriorPoints().rate, "recall": 0.5, "false_rate": 1e-9}
    silent = replace(terms("greedy-ncis"), prior=prior)
    heard = replace(silent, waiting=WaitingSignals(page_id=page_ids, source=np.zeros(2, np.uint8)))
    before, after = (Outlook(each, columns, NOW) for each in (silent, heard))
    is_other = np.arange(len(columns.page_id)) != signalled

    assert after.freshness()[signalled] < 0.01 < before.freshness()[signalled]
    assert after.values()[signalled] > before.values()[signalled]
    assert after.next_visits()[signalled] < before.next_visits()[signalled]
    assert np.array_equal(before.values()[is_other], after.values()[is_other], equal_nan=True)
