"""What people ask of a crawl while it runs, and before it does."""

from collections.abc import Mapping
from pathlib import Path

from crawling import start_crawl
from site_under_test import Answer, Page, Site, html
from sqlalchemy import text

from scrapy_freshness.clock import SystemClock
from scrapy_freshness.model import PageStatus
from scrapy_freshness.storage import wishes
from scrapy_freshness.storage.page_reports import PageReport, find_pages
from scrapy_freshness.storage.store import Store

#: At this price no page is worth a second visit.
SETTINGS = {"FRESHNESS_POLICY": "cost", "FRESHNESS_CRAWL_COST": 1e12, "FRESHNESS_SIGNALS": False}


def test_a_crawl_that_runs_forgets_all_that_it_knows_of_a_host(site: Site, tmp_path: Path) -> None:
    def living(*first_links: str) -> Page:
        def answer(headers: Mapping[str, str], count: int) -> Answer:
            return Answer(html(*(first_links if count < 3 else ()), text=f"version {count}"))

        return answer

    site.pages = {"127.0.0.1/": living(), "127.0.0.2/": living("/a"), "/a": living(), "/map.xml": html()}
    settings = {
        "FRESHNESS_HUBS": True,
        "FRESHNESS_ESTIMATOR": "pooled",
        "FRESHNESS_SIGNAL_SOURCES": [site.url("/map.xml", host=1)],
    }
    crawl = start_crawl(tmp_path, site.url(), site.url(host=1), settings=settings)
    crawl.wait_until(site.seen({"127.0.0.1/": 5, "127.0.0.2/": 5, "127.0.0.2/a": 5, "/map.xml": 1}))
    tables = {"page": "url", "hub": "found_on", "page_group": "name", "seen_links": "host", "v_hubs": "url"}

    def known() -> dict[str, int]:
        query = "SELECT count(*) FROM {} WHERE {} LIKE '%127.0.0.2%'"
        with Store.open_readonly(crawl.database_url) as store, store.reading() as connection:
            return {
                table: connection.scalar(text(query.format(table, column))) or 0
                for table, column in tables.items()
            }

    crawl.wait_until(lambda: known()["v_hubs"] > 0 and known()["seen_links"] > 0)
    with Store.open(crawl.database_url) as store:
        wishes.ask_to_forget_host(store, "127.0.0.2", SystemClock().now())
        crawl.wait_until(lambda: not wishes.waiting(store, "follow"))
    crawl.wait_until(site.seen({"127.0.0.1/": len(site.asked("/", host=0)) + 10}))
    crawl.interrupt()
    done = crawl.wait()

    assert known() == dict.fromkeys(tables, 0)
    assert "Traceback" not in done.log
    with done.store() as store:
        assert store.page_count("follow") == 1
        assert any("127.0.0.1" in name for name in store.load_groups("follow"))


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
