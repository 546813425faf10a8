"""Every page is there on both databases, while another connection writes."""

from lively_web import NOW, SPIDER, fill
from serving import served
from test_doors import ask

from scrapy_freshness.model import Batch, Outcome, VisitRecord
from scrapy_freshness.storage.store import Store

PATHS = (
    *("/", "/live/now", "/live/charts?range=30d", "/live/budgets", "/pages", "/pages.csv", "/pages/2"),
    *("/pages?sort=url&q=news", "/pages?sort=freshness&order=asc&status=active&kind=page&host=news.example"),
    *("/hosts", "/hosts?sort=freshness&q=news", "/sources", "/live/sources?step=-2", "/signals", "/policies"),
)


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
