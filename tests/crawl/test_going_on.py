"""The example project's quotes spider, kept fresh by the add-on, is killed and goes on where it was."""

from pathlib import Path

from crawling import RunningCrawl, start_crawl
from living_site.parameters import Character, WorldParameters
from living_site.running import RunningSite

from scrapy_freshness.errors import StorageError
from scrapy_freshness.storage.store import Store

SPIDER = Path(__file__).parents[2] / "example_project" / "example" / "spiders" / "quotes.py"
#: A host whose twenty pages of quotes do not change: only the first shows the way to the second, and so on.
STILL = WorldParameters(
    characters=(Character.STRONG_ETAG,),
    pages_per_host=60,
    slowest_change_rate=1e-9,
    fastest_change_rate=1e-8,
)
QUOTES = {f"/quotes/page/{number}/" for number in range(1, 21)}


def visits_kept(database_url: str) -> dict[str, int]:
    """Visits of every page that had one, by its URL."""
    try:
        with Store.open_readonly(database_url) as store:
            records = store.load_records(store.load_pages("quotes").page_id.tolist())
    except StorageError:
        return {}  # the database is not there yet
    return {record.url: record.visits for record in records if record.visits}


def test_a_killed_crawl_goes_on_where_it_was(database_url: str, tmp_path: Path) -> None:
    def start(site: RunningSite, budget: str) -> RunningCrawl:
        settings = {
            "FRESHNESS_DATABASE_URL": database_url,
            "FRESHNESS_BUDGET": budget,
            "FRESHNESS_FLUSH_INTERVAL": "0.05s",
            "FRESHNESS_SIGNALS": False,
        }
        arguments = {"site": site.root_urls[0]}
        return start_crawl(tmp_path, spider=SPIDER.read_text(), settings=settings, arguments=arguments)

    with RunningSite(STILL) as site:
        running = start(site, "8/s")
        running.wait_until(lambda: len(visits_kept(database_url)) >= 3)
        running.kill()
        before, asked = visits_kept(database_url), len(site.log.entries)
        running = start(site, "60/s")
        running.wait_until(lambda: {entry.path for entry in site.log.entries[asked:]} >= QUOTES)
        running.interrupt()
        done = running.wait()

    after = visits_kept(database_url)
    assert done.returncode == 0
    assert "Traceback" not in done.log
    assert {url.removeprefix(site.root_urls[0].rstrip("/")) for url in after} == QUOTES
    assert 3 <= len(before) < len(QUOTES)
    assert done.stat("freshness/visits/first") == len(QUOTES) - len(before)
    assert all(after[url] > visits for url, visits in before.items())
