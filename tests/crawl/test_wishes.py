"""What people ask of a crawl while it runs, and before it does."""

from pathlib import Path

from crawling import start_crawl
from site_under_test import Answer, Site, html

from scrapy_freshness.clock import SystemClock
from scrapy_freshness.model import PageStatus
from scrapy_freshness.storage import wishes
from scrapy_freshness.storage.page_reports import PageReport, find_pages
from scrapy_freshness.storage.store import Store

#: At this price no page is worth a second visit.
SETTINGS = {"FRESHNESS_POLICY": "cost", "FRESHNESS_CRAWL_COST": 1e12, "FRESHNESS_SIGNALS": False}


def test_wishes_are_granted_once_by_a_crawl_that_runs_and_by_the_next(
    site: Site, tmp_path: Path, database_url: str
) -> None:
    paths = ("/a", "/b", "/c", "/gone")
    site.pages = {path: html(text=path * 9) for path in paths[:3]}
    site.pages["/"] = html(*paths)
    settings = {**SETTINGS, "FRESHNESS_DATABASE_URL": database_url}
    now = SystemClock().now

    def known(path: str) -> list[PageReport]:
        return find_pages(store, site.url(path))

    def outcomes(page_id: int) -> list[str | None]:
        return [wish.outcome for wish in wishes.page_wishes(store, page_id)]

    with Store.open(database_url) as store:
        crawl = start_crawl(tmp_path, site.url(), settings=settings)
        crawl.wait_until(lambda: all(known(path) and known(path)[0].visits for path in paths))
        a, b, c, gone = (known(path)[0].page_id for path in paths)

        wishes.ask_for_visits(store, [a, gone], now())
        wishes.pin(store, [b], 0.3, now())
        wishes.ask_to_forget(store, [c], now())
        crawl.wait_until(lambda: outcomes(a) == ["unchanged"] and outcomes(gone) == ["gone"])
        crawl.wait_until(lambda: len(site.asked("/b")) > 4 and not known("/c"))
        assert outcomes(b) == ["pinned"]
        assert outcomes(c) == ["forgotten"]
        assert (len(site.asked("/a")), len(site.asked("/c"))) == (2, 1)
        assert wishes.waiting(store, "follow") == []

        site.pages["/a"] = lambda _, count: Answer(html(text="new"), delay=60.0 if count == 2 else 0.0)
        wishes.ask_for_visits(store, [a], now())
        crawl.wait_until(lambda: len(site.asked("/a")) == 3)
        crawl.kill()
        assert outcomes(a) == [None, "unchanged"]

        wishes.pin(store, [b], None, now())
        wishes.ask_to_forget(store, [gone], now())
        visits_of_b = len(site.asked("/b"))
        start_crawl(tmp_path, settings={**settings, "FRESHNESS_STOP_WHEN": "idle"}).wait()
        assert outcomes(a) == ["changed", "unchanged"]
        assert outcomes(b) == ["loose", "pinned"]
        assert len(site.asked("/b")) <= visits_of_b + 1  # it may have been due before
        assert (len(site.asked("/a")), known("/gone")) == (4, [])
        assert known("/a")[0].status is PageStatus.ACTIVE
        assert wishes.waiting(store, "follow") == []
