"""Crawls that share a process leave it as they found it."""

import json
import subprocess
import sys
from pathlib import Path

from site_under_test import Site, html

# Two crawls at once, then one after the other; the last cannot be opened.
PROGRAM = """
import gc, json, sys, weakref
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.reactor import install_reactor

install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from twisted.internet import reactor


class OneSpider(Spider):
    name = "one"

    def parse(self, response):
        frozen.append(gc.get_freeze_count() > 0)


class Refusing:
    def open_spider(self):
        raise RuntimeError("no")


def start(number, **settings):
    runner = AsyncCrawlerRunner({
        "ADDONS": {"scrapy_freshness.Addon": 500},
        "FRESHNESS_DATABASE_URL": f"sqlite:///{number}.db",
        "FRESHNESS_STOP_WHEN": "idle",
        "TELNETCONSOLE_ENABLED": False,
        **settings,
    })
    crawler = runner.create_crawler(OneSpider)
    crawlers.append(weakref.ref(crawler))
    return runner.crawl(crawler, start_urls=[sys.argv[1]])


async def main():
    first, second = start(1), start(2)
    await first
    await second
    await start(3)
    try:
        await start(4, ITEM_PIPELINES={Refusing: 1})
    except RuntimeError:
        frozen.append("refused")


crawlers, frozen, threshold = [], [], gc.get_threshold()
deferred_from_coro(main()).addBoth(lambda _: reactor.callLater(0.1, reactor.stop))
reactor.run()
gc.collect()
print(json.dumps({
    "alive": sum(crawler() is not None for crawler in crawlers),
    "frozen": frozen,
    "frozen_at_the_end": gc.get_freeze_count(),
    "threshold_is_kept": gc.get_threshold() == threshold,
}))
"""


def test_garbage_of_crawls_is_collected_when_they_have_ended(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html()}

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, site.url()], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert json.loads(done.stdout) == {
        "alive": 0,
        "frozen": [True, True, True, "refused"],
        "frozen_at_the_end": 0,
        "threshold_is_kept": True,
    }, done.stderr


# A crawl that cannot be built, by the fault of another component, and another on the same database and port.
AFTER_A_FAILURE = """
import json, socket, sys
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.reactor import install_reactor

install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from twisted.internet import reactor


class OneSpider(Spider):
    name = "one"

    def parse(self, response):
        yield {"url": response.url}


class Failing:
    def __init__(self):
        raise RuntimeError("no")


with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]


async def crawl(**settings):
    runner = AsyncCrawlerRunner({
        "ADDONS": {"scrapy_freshness.Addon": 500},
        "FRESHNESS_DATABASE_URL": "sqlite:///same.db",
        "FRESHNESS_STOP_WHEN": "idle",
        "FRESHNESS_METRICS_LISTEN": f"127.0.0.1:{port}",
        "TELNETCONSOLE_ENABLED": False,
        **settings,
    })
    crawler = runner.create_crawler(OneSpider)
    try:
        await runner.crawl(crawler, start_urls=[sys.argv[1]])
    except Exception as error:
        ends.append(str(error))
    else:
        ends.append(crawler.stats.get_value("item_scraped_count"))


async def main():
    for component in ("EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "ITEM_PIPELINES"):
        await crawl(**{component: {Failing: 999}})
    await crawl()


ends = []
deferred_from_coro(main()).addBoth(lambda _: reactor.callLater(0.1, reactor.stop))
reactor.run()
print(json.dumps(ends))
"""


def test_a_crawl_that_could_not_be_built_is_in_nobodys_way(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html()}

    done = subprocess.run(
        [sys.executable, "-c", AFTER_A_FAILURE, site.url()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert json.loads(done.stdout) == ["no", "no", "no", 1], done.stderr
