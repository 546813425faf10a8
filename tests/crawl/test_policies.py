"""Every policy crawls: what it has to know is learned, kept and found again."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from crawling import RunningCrawl, crawl, start_crawl
from site_under_test import Answer, Page, Site, html

from scrapy_freshness.estimation.polls import poll_columns
from scrapy_freshness.planning.policy import POLICY_NAMES
from scrapy_freshness.storage.importance_rows import ImportanceRule, give_importances
from scrapy_freshness.storage.live_reports import freshness_history
from scrapy_freshness.storage.store import Store

POLICIES = [name.replace("-J", "-2") for name in POLICY_NAMES if not name.startswith("echo")]
#: A second of staleness costs as much as ten crawls: these policies would wait for hours otherwise.
SETTINGS = {"FRESHNESS_STALE_COST": "10/s", "FRESHNESS_STALE_LIMIT": "0.2s", "FRESHNESS_BUDGET": "20/s"}


def changing(*links: str) -> Page:
    """A page with other words at every request."""
    return lambda headers, count: Answer(html(*links, text=f"version {count} of this page"))


def test_every_policy_visits_pages_again_also_after_a_restart(site: Site, tmp_path: Path) -> None:
    crawls: dict[str, RunningCrawl] = {}
    for policy in POLICIES:
        site.pages[f"/{policy}/"] = changing(f"/{policy}/still")
        site.pages[f"/{policy}/still"] = html()

    for part in ("first", "second"):
        enough = {}
        for policy in POLICIES:
            paths = f"/{policy}/", f"/{policy}/still"
            enough[policy] = {path: len(site.asked(path)) + 2 for path in paths}
            settings = {**SETTINGS, "FRESHNESS_POLICY": policy}
            crawls[policy] = start_crawl(tmp_path / policy, site.url(f"/{policy}/"), settings=settings)
        for policy, running in crawls.items():
            running.wait_until(site.seen(enough[policy]))
            running.interrupt()
            done = running.wait()
            pages = [done.stat("freshness/visits/changed"), done.stat("freshness/visits/unchanged")]
            assert all(pages), f"{policy}, {part} run: {pages}\n{done.log[-3000:]}"
            assert "Traceback" not in done.log, done.log


HUB = """
import scrapy

class HubSpider(scrapy.Spider):
    name = "hub"

    async def start(self):
        yield scrapy.Request(self.start_urls[0], meta={"freshness": "source"}, callback=self.parse_hub)

    def parse_hub(self, response):
        yield from response.follow_all(css="a", callback=self.parse)

    def parse(self, response):
        yield {"url": response.url, "text": "", "changed": True}
"""


@pytest.mark.parametrize("policy", ["echo-newpages", "echo-schedule", "echo-greedy", "holistic"])
def test_sources_are_polled_for_new_pages_which_are_fetched(site: Site, tmp_path: Path, policy: str) -> None:
    def hub(headers: Mapping[str, str], count: int) -> Answer:
        shown = [f"/{number}" for number in range(max(0, count - 3), count + 1)]
        site.pages |= dict.fromkeys(shown, html())
        return Answer(html(*shown, text=f"{count} posts"))

    site.pages["/hub"] = hub
    settings = {"FRESHNESS_POLICY": policy, "FRESHNESS_PROFIT_LIFE": "1min", "FRESHNESS_BUDGET": "20/s"}

    def is_seen(polls: int) -> bool:
        shown = len(site.asked("/hub"))
        return shown >= polls and all(site.asked(f"/{number}") for number in range(shown - 1))

    for run in range(2):
        enough = partial(is_seen, len(site.asked("/hub")) + 7)
        done = crawl(tmp_path, site.url("/hub"), spider=HUB, settings=settings, until=enough)
        polls = len(site.asked("/hub"))
        assert "Traceback" not in done.log
        assert all(len(site.asked(f"/{number}")) >= 1 for number in range(polls - 3))
        if run == 0:
            rule = ImportanceRule(1, True, site.url("/"), 0.5)
            with Store.open(done.database_url) as store, store.writing() as connection:
                give_importances(connection, {1: rule})

    with done.store() as store:
        records = {each.url: each for each in store.load_records(range(1, 500))}
        minutes = freshness_history(store, "hub", 0.0, 1)
    assert minutes
    assert all(0 <= share <= 1 for each in minutes for share in (each.freshness, each.uniform_freshness))
    record = records[site.url("/hub")]
    shown = [records[site.url(f"/{number}")] for number in range(polls - 3)]
    # What the first poll shows need not be new; what is found after an importance was given has it.
    assert [each.found_on for each in (shown[0], shown[5])] == [None, record.page_id]
    assert (shown[0].importance, shown[-1].importance) == (1.0, 0.5)
    found, seconds = poll_columns([record.polls])
    assert record.url == site.url("/hub")
    assert found.sum() > 0 < seconds.min()
    assert record.beliefs["link_rate"] > 0.1
    assert record.beliefs["decay"] == pytest.approx(1 / 60)
    if policy == "holistic":  # each post is still there at the next three polls
        assert record.beliefs["young_links"] > 1
        assert record.beliefs["leaving"] < 0.1


def test_links_to_pages_are_counted_once(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/a", "/b", "/a"), "/a": changing("/b"), "/b": html("/", "/a")}
    settings = {"FRESHNESS_IMPORTANCE": "links", "FRESHNESS_BUDGET": "20/s", "FRESHNESS_LOG_PUSH": "1s"}
    done = crawl(tmp_path, site.url(), settings=settings, until=site.seen({"/": 2, "/a": 3, "/b": 2}))
    with done.store() as store:
        links = {each.url: each.in_links for each in store.load_records(range(1, 9))}

    assert links == {site.url("/"): 1, site.url("/a"): 2, site.url("/b"): 2}


def test_what_siblings_have_taught_is_kept(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/a/1", "/a/2"), "/a/1": changing(), "/a/2": changing(), "/a/3": html()}
    settings = {"FRESHNESS_ESTIMATOR": "pooled"}

    enough = site.seen({"/a/1": 5, "/a/2": 5})
    with crawl(tmp_path, site.url(), settings=settings, until=enough).store() as store:
        groups = store.load_groups("follow")
    again = crawl(tmp_path, site.url("/a/3"), settings=settings, until=site.seen({"/a/3": 3}))

    host = "127.0.0.1"
    assert {f'["rates", "{host}"]', f'["rates", "{host}", "{host}:{site.port}/a/*"]'} <= groups.keys()
    with again.store() as store:
        assert store.load_groups("follow").keys() >= groups.keys()
    assert "Traceback" not in again.log
