"""A small crawl, all names of which are what a browser could run and a template could take for markup."""

from lively_web import HOUR, NOW, hub_of, source_of

from scrapy_freshness.model import (
    Batch,
    HubState,
    Outcome,
    PageKind,
    PageRecord,
    PageStatus,
    SignalRecord,
    SignalSource,
    VisitRecord,
)
from scrapy_freshness.storage.store import Store

NAME = "\"><script>window.hacked=1</script><img src=x onerror=window.hacked=1>{{7*7}}'"
#: Longer than what a page shows of a command.
URL = f"http://evil.example/{NAME}?{'x' * 400}"


def fill_hostile(database_url: str) -> None:
    """A crawl whose spider, hosts, pages, hubs, sitemaps and failures have names that want to be run."""
    urls = {
        1: (URL, PageKind.PAGE),
        2: (f"{URL}&hub", PageKind.SOURCE),
        3: (f"{URL}&map", PageKind.SITEMAP),
    }
    pages = [
        PageRecord(
            page_id=number,
            fingerprint=number,
            url=url,
            host=NAME,
            kind=kind,
            status=PageStatus.ACTIVE,
            last_visit_at=NOW - HOUR,
            last_change_at=NOW - 2 * HOUR,
            visits=9,
            changes=3,
            change_rate=1 / HOUR,
            beliefs={"link_rate": 1 / HOUR, "profit": 60.0, "decay": 1 / HOUR},
        )
        for number, (url, kind) in urls.items()
    ]
    told = {"page_id": 1, "source": SignalSource.SITEMAP, "told_by": 3, "claimed_at": None}
    failed = VisitRecord(page_id=1, at=NOW - 60, outcome=Outcome.FAILED, http_status=500, reason=NAME)
    batch = Batch(
        pages=pages,
        visits=[failed],
        hubs=[hub_of(pages[1], HubState.ACTIVE, 31)],
        sources=[source_of(3, pages[2].url, PageKind.SITEMAP, "same", 60, 90)],
        signals=[SignalRecord(heard_at=NOW - 600 + each, **told) for each in range(30)],
        host_fetches={(NAME, "page"): 40},
        fetches={(int(NOW // 60), NAME): 40},
    )
    with Store.open(database_url) as store:
        for spider in (f"{NAME} 2", NAME):
            store.save(spider, batch)
