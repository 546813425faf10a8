"""Records to store."""

from typing import Any

from scrapy_freshness.model import CrawlState, Outcome, PageRecord, PageStatus, VisitRecord


def page(page_id: int, **fields: Any) -> PageRecord:
    """A page that was visited."""
    given: dict[str, Any] = {
        "fingerprint": page_id * 7919,
        "url": f"http://a.example/{page_id}",
        "host": "a.example",
        "status": PageStatus.ACTIVE,
        "discovered_at": 1000.0,
        **fields,
    }
    return PageRecord(page_id=page_id, **given)


def visit(page_id: int, at: float, outcome: Outcome = Outcome.UNCHANGED, **fields: Any) -> VisitRecord:
    """A visit of a page."""
    return VisitRecord(page_id=page_id, at=at, outcome=outcome, **fields)


def crawl_state(spider: str = "quotes", **fields: Any) -> CrawlState:
    """What a crawl says about itself."""
    given: dict[str, Any] = {
        "policy": "greedy",
        "budget_per_second": 2.0,
        "started_at": 1000.0,
        "updated_at": 2000.0,
        "price": 0.5,
        **fields,
    }
    return CrawlState(spider=spider, **given)
