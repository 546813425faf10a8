"""kill -9 at any moment: nothing is lost but the visits since the last flush, and those are repeated.

Items are delivered at least once: a page's new version counts as seen only when its items have left the
pipelines, so a crawl that dies in between shows the page to the spider again.
"""

import json
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from crawling import RunningCrawl, start_crawl
from site_under_test import Answer, Page, Site, html

from scrapy_freshness.content.measure import ContentOptions, measure_html
from scrapy_freshness.content.profiles import unpack
from scrapy_freshness.errors import StorageError
from scrapy_freshness.estimation.history import MAX_OBSERVATIONS, observations
from scrapy_freshness.model import Outcome, PageRecord, PageStatus
from scrapy_freshness.storage.store import Store

LIVES = 24
PAGES = 60
NEWEST = 6

SPIDER = """
import json
import scrapy
from scrapy.utils.asyncio import sleep

class Keep:
    def __init__(self):
        self.file = open("emitted.jsonl", "a")

    async def process_item(self, item):
        await sleep(0.03)  # time enough to be killed before the item is out
        self.file.write(json.dumps(item) + "\\n")
        self.file.flush()
        return item

    def close_spider(self):
        self.file.close()

class MortalSpider(scrapy.Spider):
    name = "mortal"
    custom_settings = {"ITEM_PIPELINES": {"spider_of_test.Keep": 300}, "FEEDS": {}}

    def parse(self, response):
        yield {"url": response.url, "text": response.xpath("string(//p)").get()}
        yield from response.follow_all(css="a", callback=self.parse)
"""


@dataclass(frozen=True)
class Life:
    """From the start of a crawl to its violent death."""

    began_at: float
    ended_at: float
    flush_seconds: float
    flushed_at: float | None  #: last flush that was committed, None if there was none


@dataclass(frozen=True)
class Known:
    """What the database says."""

    pages: Mapping[str, PageRecord]  #: by path
    visits: list[tuple[str, float, Outcome]]  #: path, time, outcome
    flushed_at: float | None


def hub(version: int) -> str:
    """Shows the newest pages only: a link that is lost is lost for ever."""
    links = [f"/page/{number % PAGES}" for number in range(version, version + NEWEST)]
    return html(*links, text=f"hub version {version}")


def page(number: int, version: int) -> str:
    return html("/", text=f"page {number} version {version}")


def living_pages() -> dict[str, Page]:
    """A hub with another link at each visit; pages that change at each visit, each second, third, fourth."""

    def changing(number: int) -> Page:
        return lambda headers, count: Answer(page(number, count // (1 + number % 4)))

    pages = {f"/page/{number}": changing(number) for number in range(PAGES)}
    return {"/": lambda headers, count: Answer(hub(count)), **pages}


def frozen(site: Site, path: str) -> Answer:
    """The page as it was at the last request, for ever."""
    last = max(len(site.asked(path)) - 1, 0)
    living = site.pages[path]
    assert callable(living)
    return living({}, last)


def known(folder: Path, site: Site) -> Known:
    """Read the database; it may not exist yet, or have no tables."""
    try:
        store = Store.open_readonly(f"sqlite:///{folder / 'freshness.db'}")
    except StorageError:
        return Known({}, [], None)
    with store:
        records = store.load_records(store.load_pages("mortal").page_id.tolist())
        state = store.load_state("mortal")
    paths = {record.page_id: record.url.removeprefix(site.url("")) for record in records}
    with closing(sqlite3.connect(folder / "freshness.db")) as connection:
        rows = connection.execute("SELECT page_id, at, outcome FROM visit ORDER BY id").fetchall()
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return Known(
        {paths[record.page_id]: record for record in records},
        [(paths[page_id], at, Outcome(outcome)) for page_id, at, outcome in rows],
        state.updated_at if state else None,
    )


def content_hashes(site: Site) -> dict[tuple[str, int], str]:
    """Path and content hash of every version that the server may have sent, with its text."""
    asked = Counter(each.path for each in site.log)
    versions = {"/": [hub(version) for version in range(asked["/"] + 1)]}
    for number in range(PAGES):
        path = f"/page/{number}"
        versions[path] = [page(number, version) for version in range(asked[path] + 1)]
    return {
        (path, measure_html(each, options=ContentOptions()).content_hash): each.split("<p>")[1].split("</p>")[
            0
        ]
        for path, bodies in versions.items()
        for each in bodies
    }


def live_and_die(running: RunningCrawl, site: Site, rng: random.Random) -> None:
    """Kill a crawl at a random moment: during its start, or some time after its first fetch."""
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0.0, 0.4))
    else:
        before = len(site.log)
        running.wait_until(lambda: len(site.log) > before)
        time.sleep(rng.uniform(0.0, 1.1))
    running.kill()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> "History":
    """Many short lives over one database, and a last one that ends in peace."""
    rng = random.Random(2008)
    folder = tmp_path_factory.mktemp("kill")
    lives: list[Life] = []
    states: list[Known] = []
    with Site() as site:
        site.pages |= living_pages()
        for _ in range(LIVES):
            flush_seconds = rng.choice([0.05, 0.1, 0.2, 0.4])
            settings = {
                "FRESHNESS_FLUSH_INTERVAL": flush_seconds,
                "FRESHNESS_BUDGET": rng.choice(["20/s", "60/s", "200/s"]),
                "FRESHNESS_CACHE_PAGES": rng.choice([1, 10_000]),
                "FRESHNESS_SIGNALS": False,
                "LOG_LEVEL": "INFO",
            }
            began_at = time.time()
            running = start_crawl(folder, site.url(), spider=SPIDER, settings=settings)
            live_and_die(running, site, rng)
            ended_at = time.time()
            states.append(known(folder, site))
            flushed_at = states[-1].flushed_at
            if flushed_at is not None and flushed_at < began_at:
                flushed_at = None
            lives.append(Life(began_at, ended_at, flush_seconds, flushed_at))
        paths = set(states[-1].pages)
        site.pages |= {path: frozen(site, path) for path in list(site.pages)}
        quiet_from = len(site.log)
        settings = {"FRESHNESS_BUDGET": "300/s", "FRESHNESS_SIGNALS": False, "LOG_LEVEL": "INFO"}
        running = start_crawl(folder, site.url(), spider=SPIDER, settings=settings)
        running.wait_until(lambda: {asked.path for asked in site.log[quiet_from:]} >= paths)
        running.interrupt()
        last = running.wait()
        assert last.returncode == 0, last.log[-3000:]
        emitted = [json.loads(line) for line in (folder / "emitted.jsonl").read_text().splitlines()]
        return History(site, lives, states, known(folder, site), quiet_from, emitted, last.log)


@dataclass(frozen=True)
class History:
    """All that happened."""

    site: Site
    lives: list[Life]
    states: list[Known]  #: after each life
    end: Known  #: after the quiet run
    quiet_from: int  #: length of the server's log when the quiet run began
    emitted: list[dict[str, str]]
    log: str

    def emitted_texts(self) -> Counter[tuple[str, str]]:
        return Counter((item["url"].removeprefix(self.site.url("")), item["text"]) for item in self.emitted)


def test_lives_were_short_and_many_and_left_something(history: History) -> None:
    assert len(history.lives) >= 20
    assert sum(life.flushed_at is not None for life in history.lives) >= 10
    assert sum(life.flushed_at is None for life in history.lives) >= 2
    assert len(history.end.pages) > 2 * NEWEST
    assert sum(record.changes for record in history.end.pages.values()) > 50


def test_no_page_that_was_known_is_lost(history: History) -> None:
    before: set[str] = set()
    for state in [*history.states, history.end]:
        assert state.pages.keys() >= before
        before = set(state.pages)


def test_a_version_is_kept_only_together_with_the_links_found_on_it(history: History) -> None:
    hashes = content_hashes(history.site)
    for state in [*history.states, history.end]:
        if "/" in state.pages and (content_hash := state.pages["/"].content_hash) is not None:
            version = int(hashes["/", content_hash].rpartition(" ")[2])
            links = {f"/page/{number % PAGES}" for number in range(version, version + NEWEST)}
            assert state.pages.keys() >= links


def test_everything_that_can_be_reached_is_known_in_the_end(history: History) -> None:
    hashes = content_hashes(history.site)
    content_hash = history.end.pages["/"].content_hash
    assert content_hash is not None
    # The copy of the hub is the last version that the server had, and its links are known.
    assert hashes["/", content_hash] == f"hub version {_times_asked(history, '/') - 1}"


def test_no_page_is_stuck(history: History) -> None:
    asked = {each.path for each in history.site.log[history.quiet_from :]}
    assert asked >= history.states[-1].pages.keys()
    assert {record.status for record in history.end.pages.values()} == {PageStatus.ACTIVE}
    assert "Traceback" not in history.log


def test_what_is_kept_about_a_page_fits_together(history: History) -> None:
    for state in [*history.states, history.end]:
        visits = Counter(path for path, _, _ in state.visits)
        changes = Counter(path for path, _, outcome in state.visits if outcome is Outcome.CHANGED)
        last_visits = {path: at for path, at, _ in state.visits}
        for path, record in state.pages.items():
            assert record.visits == visits[path]
            assert record.changes == changes[path]
            assert record.last_visit_at == last_visits.get(path)
            _check_bytes(record)


def _check_bytes(record: PageRecord) -> None:
    """The packed parts of a record can be read, and say the same as its numbers."""
    seen = observations(record.history)
    if len(seen) < MAX_OBSERVATIONS:
        assert (seen < 0).sum() == record.changes
    profiles = unpack(record.profiles)
    assert bool(profiles) == (record.visits > 0)
    for profile in profiles:
        assert (profile.elapsed[1:] > profile.elapsed[:-1]).all()
        assert ((profile.divergence >= 0) & (profile.divergence <= 1)).all()
        # Every change is an observation of every profile, or the base of a new one.
        latest = profile.base_at + float(profile.elapsed[-1] if profile.elapsed.size else 0)
        assert latest == pytest.approx(record.last_change_at, abs=0.01)


def test_a_flush_keeps_all_visits_that_ended_before_it(history: History) -> None:
    for life in history.lives:
        if life.flushed_at is None:
            continue
        asked = Counter(each.path for each in history.site.log if life.began_at <= each.at <= life.flushed_at)
        kept = Counter(path for path, at, _ in history.end.visits if life.began_at <= at <= life.flushed_at)
        for path, times in asked.items():
            # A page has one visit at a time, and the last one may have been under way.
            assert times - 1 <= kept[path] <= times


def test_only_visits_of_the_last_flush_interval_are_lost(history: History) -> None:
    waits = []
    for life in history.lives:
        if life.flushed_at is not None:
            # Until its last fetch: when a busy machine gets round to killing it is another matter.
            last = max(each.at for each in history.site.log if life.began_at <= each.at <= life.ended_at)
            waits.append(last - life.flushed_at - life.flush_seconds)
    # The machine may be busy with other things now and then.
    assert sorted(waits)[len(waits) // 2] < 0.3
    assert max(waits) < 5


def test_every_version_that_counts_as_seen_was_emitted(history: History) -> None:
    hashes = content_hashes(history.site)
    emitted = history.emitted_texts()
    for state in [*history.states, history.end]:
        for path, record in state.pages.items():
            if record.content_hash is not None:
                assert (path, hashes[path, record.content_hash]) in emitted
    # Each change that was kept is a version of its own, so there are at least as many different items.
    versions = Counter(path for path, _ in emitted)
    for path, record in history.end.pages.items():
        assert versions[path] >= record.changes + 1


def test_items_are_repeated_only_for_visits_that_were_lost(history: History) -> None:
    repeated = sum(times - 1 for times in history.emitted_texts().values())
    lost = len(history.site.log) - len(history.end.visits)
    assert 0 <= repeated <= lost


def _times_asked(history: History, path: str) -> int:
    return len([asked for asked in history.site.log[: history.quiet_from] if asked.path == path])
