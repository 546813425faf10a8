"""What a visit has to be worth, where copies and new pages of short interest compete."""

from dataclasses import replace

import numpy as np
import pytest
from planning_world import Crawl

from scrapy_freshness.model import Outcome, PageKind, PageRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.planning.price import GoingPrice
from scrapy_freshness.planning.table import PageTable

N_PAGES, PROFIT = 100, 1e6


def new_planner() -> Planner:
    policy = policy_named("holistic")
    return Planner(policy, Hosts(5.0, 60.0), learner_for(policy, estimator="mle"))


def copies(count: int = N_PAGES, *, first: int = 0) -> list[PageRecord]:
    return [
        PageRecord(
            page_id=1 + number,
            fingerprint=number,
            url=f"http://a.example/{number}",
            host="a.example",
            last_visit_at=0.0,
            last_change_at=0.0,
            visits=1,
            change_rate=1 / 50,
        )
        for number in range(first, first + count)
    ]


def hub() -> PageRecord:
    return PageRecord(
        page_id=0, fingerprint=999, url="http://a.example/", host="a.example", kind=PageKind.SOURCE
    )


def post(number: int) -> PageRecord:
    """A new page of short interest, as a source shows it."""
    return PageRecord(
        page_id=0,
        fingerprint=1000 + number,
        url=f"http://a.example/post/{number}",
        host="a.example",
        beliefs={"profit": PROFIT, "decay": 1e-3},
    )


@pytest.mark.parametrize("posts_every", [5, 0])
def test_a_copy_is_visited_at_about_the_going_price_whatever_new_pages_are_worth(posts_every: int) -> None:
    crawl = Crawl(new_planner()).start(copies())
    if posts_every:
        crawl.discover(hub())
    values = []
    for now in range(1, 600):
        if posts_every and now % posts_every == 0:
            crawl.discover(post(now), now=float(now))
        visit = crawl.begin(float(now))
        assert visit is not None
        if visit.record.last_visit_at is not None and visit.record.kind is PageKind.PAGE:
            values.append(visit.value)
        crawl.end(visit, float(now))

    assert 0.5 * np.median(values[-100:]) < crawl.planner.going_price < 1.5 * np.median(values[-100:])
    assert (crawl.planner.price > 10 * crawl.planner.going_price) == bool(posts_every)


def test_a_page_whose_visit_failed_is_tried_again_though_others_were_worth_far_more_meanwhile() -> None:
    crawl = Crawl(new_planner()).start([])
    crawl.discover(hub())
    crawl.discover(PageRecord(page_id=0, fingerprint=998, url="http://b.example/", host="b.example"))
    tried_at = []
    for now in range(1, 400):
        if now == 3:
            crawl.discover(*map(post, range(200)), now=3.0)
        visit = crawl.begin(float(now))
        assert visit is not None
        is_failing = visit.record.host == "b.example"
        crawl.end(visit, float(now), Outcome.FAILED if is_failing else None)
        if is_failing:
            tried_at.append(now)

    assert tried_at[0] < 3
    assert tried_at[-1] > 203


def test_a_price_that_is_too_high_falls_however_many_pages_there_are() -> None:
    policy = policy_named("holistic")
    planner = Planner(policy, Hosts(5.0, 60.0), learner_for(policy, estimator="mle"), crawls_per_second=100)
    pages = [replace(page, importance=1e-6) for page in copies(30_000)] + copies(100, first=30_000)
    crawl = Crawl(planner).start(pages, now=1e5, price=1e9)
    crawl.discover(hub(), now=1e5)
    visits = 0
    for place in range(300):
        now = 1e5 + place / 100
        crawl.read_ahead(now)
        visit = planner.begin_visit(now, lambda host, now: now)
        if visit is not None:
            crawl.end(visit, now)
            visits += 1

    assert visits > 200


def test_a_price_that_fell_while_there_was_nothing_to_do_is_soon_back() -> None:
    price = GoingPrice()
    price.note(1.0)
    for _ in range(10_000):
        price.unspent()
    for _ in range(400):
        price.note(1.0)

    assert 0.5 < price.value < 1.5


def polls_of(planner: Planner, seconds: int) -> list[int]:
    """When a hub beside twenty pages is polled, at a visit a second, if nothing new is ever on it."""
    crawl = Crawl(planner).start(copies(20))
    crawl.discover(replace(hub(), importance=0.0))
    times = []
    for now in range(1, seconds):
        visit = crawl.begin(float(now))
        assert visit is not None
        crawl.end(visit, float(now))
        if visit.record.kind is PageKind.SOURCE:
            times.append(now)
    return times


def test_a_source_that_seems_not_to_be_worth_it_is_tried_all_the_same() -> None:
    policy = policy_named("holistic")
    knowing = Planner(policy, Hosts(5.0, 60.0), learner_for(policy, estimator="mle"), learns=False)
    usual_wait = 21.0

    assert np.diff(polls_of(new_planner(), 3200)).max() < 33 * usual_wait
    assert np.diff(polls_of(knowing, 3200)).max() > 33 * usual_wait, "who knows need not try"


def test_a_hub_that_is_retired_is_not_tried_any_more() -> None:
    table = PageTable(policy_named("holistic").model.needs)
    row = table.add(hub(), {"change_rate": 1.0}, 0.0)
    table.longest_waits(np.array([row]), 8.0)
    table.longest_wait[row] = 8.0
    table.set_kind(row, PageKind.PAGE, 0.0)

    assert np.isinf(table.longest_wait[row])
