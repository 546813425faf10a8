"""50,000 signals at once: no turn of the reactor takes long, and the budget holds."""

import sqlite3
from contextlib import closing
from pathlib import Path
from time import time

from crawling import STAMPED, crawl
from scrapy import Request
from scrapy.utils.request import fingerprint
from site_under_test import Answer, Site, html

from scrapy_freshness.model import Batch, PageRecord, PageStatus
from scrapy_freshness.storage.store import Store

N_SIGNALS = 50_000
N_SITEMAPS = 2
BUDGET = 20.0
DAY = 86_400.0

#: Notes how much CPU time the reactor's thread spends between two turns: what other work must wait for.
WATCHED = """
import asyncio, time
import scrapy
from scrapy import signals

class Stamp:
    def process_request(self, request):
        request.headers["X-Sent-At"] = repr(time.time())

class WatchedSpider(scrapy.Spider):
    name = "watched"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.watch, signal=signals.spider_opened)
        return spider

    def watch(self):
        self.turns = []
        self.before = None
        self.turn()

    def turn(self):
        now = time.thread_time()
        if self.before is not None:
            self.turns.append(now - self.before)
        self.before = now
        asyncio.get_running_loop().call_later(0.001, self.turn)

    def closed(self, reason):
        self.crawler.stats.set_value("longest_turns", sorted(self.turns[20:])[-20:])

    def parse(self, response):
        pass
"""


def fill(database_url: str, urls: list[str], now: float) -> None:
    """All pages are known, and were visited ten days ago."""
    records = [
        PageRecord(
            page_id=number,
            fingerprint=int.from_bytes(fingerprint(Request(url))[:8], "big", signed=True),
            url=url,
            host="127.0.0.1",
            status=PageStatus.ACTIVE,
            last_visit_at=now - 10 * DAY,
            change_rate=1 / DAY,
            content_hash=1,
            beliefs={"recall": 0.8, "false_rate": 1e-7},
        )
        for number, url in enumerate(urls, start=1)
    ]
    with Store.open(database_url) as store:
        store.save("watched", Batch(pages=records))


def test_many_signals_neither_stall_the_reactor_nor_cause_a_burst(site: Site, tmp_path: Path) -> None:
    now = time()
    urls = [site.url(f"/{number}") for number in range(N_SIGNALS)]
    each = N_SIGNALS // N_SITEMAPS
    for part in range(N_SITEMAPS):
        entries = "".join(
            f"<url><loc>{url}</loc><lastmod>{int(now - 5 * DAY - 3 * number)}</lastmod></url>"
            for number, url in enumerate(urls[part * each : (part + 1) * each])
        )
        site.pages[f"/sitemap{part}.xml"] = Answer(f"<urlset>{entries}</urlset>")
    site.pages["/"] = html(text="home")
    page = html(text="page")
    site.pages |= {f"/{number}": page for number in range(N_SIGNALS)}
    fill(f"sqlite:///{tmp_path / 'freshness.db'}", urls, now)

    def is_heard() -> bool:
        with closing(sqlite3.connect(tmp_path / "freshness.db")) as connection:
            return connection.execute("SELECT count(*) FROM signal").fetchone()[0] > 0.99 * N_SIGNALS

    crawled = crawl(
        tmp_path,
        site.url("/"),
        spider=WATCHED,
        until=is_heard,
        settings={
            "FRESHNESS_POLICY": "greedy-ncis",
            "FRESHNESS_BUDGET": f"{BUDGET}/s",
            "FRESHNESS_SIGNAL_SOURCES": [site.url(f"/sitemap{part}.xml") for part in range(N_SITEMAPS)],
            "LOG_LEVEL": "INFO",
            "DOWNLOAD_TIMEOUT": 120,  # the sitemaps are long, and the machine may be busy
            **STAMPED,
        },
    )

    heard = crawled.stat("freshness/signals/heard")
    assert 0.99 * N_SIGNALS < heard <= N_SIGNALS  # some pages have been visited meanwhile
    with closing(sqlite3.connect(tmp_path / "freshness.db")) as connection:
        assert connection.execute("SELECT count(*) FROM signal").fetchone() == (heard,)
    turns = crawled.stats["longest_turns"]
    # CPU time: without slices, one turn would take seconds. Figures are in benchmarks/million_urls.py.
    assert turns[-1] < 0.25, turns
    # When the crawler let them go: a busy machine delivers them late, and then many at once.
    times = sorted(float(asked.headers["X-Sent-At"]) for asked in site.log)
    for start in range(len(times)):
        in_a_second = sum(1 for at in times[start : start + 100] if at < times[start] + 1)
        assert in_a_second <= 1.3 * BUDGET + 2
