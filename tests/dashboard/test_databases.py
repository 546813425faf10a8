"""Every page is there on both databases, while another connection writes."""

import re
from dataclasses import replace

from lively_web import NOW, SPIDER, fill
from serving import served
from test_doors import ask

from scrapy_freshness.model import Batch, CrawlState, Outcome, VisitRecord
from scrapy_freshness.storage.store import Store

PATHS = (
    *(
        "/",
        "/live/now",
        "/live/charts?range=30d",
        "/live/budgets",
        "/pages",
        "/live/pages",
        "/pages.csv",
        "/pages/2",
    ),
    *("/pages?sort=url&q=news", "/pages?sort=freshness&order=asc&status=active&kind=page&host=news.example"),
    *("/hosts", "/hosts?sort=freshness&q=news", "/sources", "/live/sources?step=-2", "/signals", "/policies"),
)


def test_the_budget_of_a_crawl_that_was_started_again_is_that_of_this_run(lively_url: str) -> None:
    state = CrawlState(
        spider=SPIDER,
        policy="holistic",
        budget_per_second=0.05,
        started_at=NOW - 120,
        updated_at=NOW - 1,
        price=1.0,
    )
    with Store.open(lively_url) as store:
        store.save(SPIDER, Batch(state=state))
    with served(lively_url) as (address, _):
        found = re.search(r"Budget spent</dt><dd>([\d.]+)\s%", ask(address, "/")[2])

    assert found is not None
    assert 50 < float(found[1]) < 200


def test_a_spider_is_not_said_to_be_new_because_others_made_all_visits_lately(lively_url: str) -> None:
    with Store.open(lively_url) as store:
        first = store.next_page_id("other")
        page = replace(store.load_records([2])[0], page_id=first, url="http://other.example/")
        visits = [VisitRecord(page_id=first, at=NOW, outcome=Outcome.UNCHANGED) for _ in range(500)]
        store.save("other", Batch(pages=[page], visits=visits))
    with served(lively_url) as (address, _):
        text = ask(address, f"/live/now?spider={SPIDER}")[2]
        latest = ask(address, "/live/now?spider=other")[2]

    assert f"None of the last 500 visits in the database was made by {SPIDER}" in text
    assert latest.count("http://other.example/") == 14


def test_every_page_is_there(database_url: str) -> None:
    fill(database_url, hours=1.0, hostile=False)
    with served(database_url) as (address, clock), Store.open(database_url) as writer:
        writer.lock(SPIDER)
        for path in PATHS:
            visit = VisitRecord(page_id=2, at=NOW + 1, outcome=Outcome.UNCHANGED, http_status=200)
            writer.save(SPIDER, Batch(visits=[visit]))
            clock.advance(3)
            status, _, text = ask(address, path)
            assert status == 200, f"{path}: {text}"
        assert "The crawl is not running" not in ask(address, "/")[2]
