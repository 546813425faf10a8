"""What a visit has to be worth, where copies and new pages of short interest compete."""

import numpy as np
import pytest
from planning_world import Crawl

from scrapy_freshness.model import Outcome, PageKind, PageRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named

N_PAGES, PROFIT = 100, 1e6


def new_planner() -> Planner:
    policy = policy_named("holistic")
    return Planner(policy, Hosts(5.0, 60.0), learner_for(policy, estimator="mle"))


def copies() -> list[PageRecord]:
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
        for number in range(N_PAGES)
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
