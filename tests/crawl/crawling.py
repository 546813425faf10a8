"""Runs real crawls in processes of their own and brings back what they did."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy_freshness.storage.store import Store

FOLLOW = """
import scrapy

class FollowSpider(scrapy.Spider):
    name = "follow"

    def parse(self, response):
        visit = response.meta.get("freshness_visit")
        yield {
            "url": response.url,
            "text": response.xpath("string(//p)").get() if hasattr(response, "xpath") else "",
            "changed": visit.changed if visit else None,
        }
        if hasattr(response, "css"):
            yield from response.follow_all(css="a", callback=self.parse)
"""

_BASE_SETTINGS = {
    "ADDONS": {"scrapy_freshness.Addon": 500},
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "LOG_LEVEL": "DEBUG",
    "DOWNLOAD_TIMEOUT": 5,
    "FRESHNESS_BUDGET": "50/s",
    "FRESHNESS_MIN_INTERVAL": "0.2s",
    "FRESHNESS_PRIOR_CHANGED_AFTER": "1s",
    "FRESHNESS_PRIOR_UNCHANGED_AFTER": "10s",
    "FRESHNESS_BACKOFF": "0.2s",
    "FRESHNESS_FLUSH_INTERVAL": "0.2s",
}

_RUNNER = """
import json, sys, warnings
from scrapy.crawler import AsyncCrawlerProcess
from scrapy import signals
from scrapy.utils.spider import iter_spider_classes
import importlib.util

options = json.loads(sys.argv[1])
spec = importlib.util.spec_from_file_location("spider_of_test", options["spider"])
module = importlib.util.module_from_spec(spec)
sys.modules["spider_of_test"] = module
spec.loader.exec_module(module)
process = AsyncCrawlerProcess(options["settings"])
spider_class = list(iter_spider_classes(module))[-1]
crawler = process.create_crawler(spider_class)

def keep_stats(spider, reason):
    stats = {key: value for key, value in crawler.stats.get_stats().items()}
    with open(options["stats"], "w") as file:
        json.dump(stats, file, default=str)

crawler.signals.connect(keep_stats, signal=signals.spider_closed)
process.crawl(crawler, **options["arguments"])
process.start()
sys.exit(1 if process.bootstrap_failed else 0)
"""


@dataclass(frozen=True)
class Crawled:
    """What a crawl left behind."""

    returncode: int
    log: str
    stats: Mapping[str, Any]
    items: list[dict[str, Any]]
    database_url: str

    def stat(self, name: str) -> Any:
        return self.stats.get(name, 0)

    def items_of(self, url: str) -> list[dict[str, Any]]:
        return [item for item in self.items if item["url"] == url]

    def store(self) -> Store:
        """The crawl's database; to be used with `with`."""
        return Store.open_readonly(self.database_url)


class RunningCrawl:
    """A crawl in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, database_url: str) -> None:
        self.process = process
        self._folder = folder
        self._database_url = database_url

    def wait(self, timeout: float = 60) -> Crawled:
        """Wait for its end; a crawl that does not end is a failure, with its log."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the crawl did not end:\n{self._log()[-6000:]}") from None
        return self.crawled()

    def kill(self) -> Crawled:
        """kill -9."""
        self.process.kill()
        self.process.wait()
        return self.crawled()

    def interrupt(self) -> None:
        """One Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def wait_until(self, condition: Callable[[], bool], timeout: float = 30) -> None:
        """Wait for something to become true while the crawl runs."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert self.process.poll() is None, f"the crawl ended early:\n{self._log()[-6000:]}"
            assert time.monotonic() < deadline, f"waited in vain:\n{self._log()[-6000:]}"
            time.sleep(0.02)

    def _log(self) -> str:
        return (self._folder / "log.txt").read_text(errors="replace")

    def crawled(self) -> Crawled:
        stats = self._folder / "stats.json"
        items = self._folder / "items.jsonl"
        lines = items.read_text().splitlines() if items.exists() else []
        return Crawled(
            returncode=self.process.returncode,
            log=self._log(),
            stats=json.loads(stats.read_text()) if stats.exists() else {},
            items=[json.loads(line) for line in lines if line.endswith("}")],
            database_url=self._database_url,
        )


def start_crawl(
    folder: Path,
    *start_urls: str,
    spider: str = FOLLOW,
    settings: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> RunningCrawl:
    """Start a crawl; state, items and logs are in *folder*, so that a second crawl there goes on."""
    folder.mkdir(exist_ok=True)
    for name in ("stats.json",):
        (folder / name).unlink(missing_ok=True)
    (folder / "spider.py").write_text(textwrap.dedent(spider))
    database_url = f"sqlite:///{folder / 'freshness.db'}"
    all_settings: dict[str, Any] = {
        **_BASE_SETTINGS,
        "FRESHNESS_DATABASE_URL": database_url,
        "FEEDS": {str(folder / "items.jsonl"): {"format": "jsonlines"}},
        **(settings or {}),
    }
    options = {
        "spider": str(folder / "spider.py"),
        "settings": all_settings,
        "stats": str(folder / "stats.json"),
        "arguments": {**({"start_urls": list(start_urls)} if start_urls else {}), **(arguments or {})},
    }
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-W", "error::ResourceWarning", "-c", _RUNNER, json.dumps(options)],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    return RunningCrawl(process, folder, all_settings["FRESHNESS_DATABASE_URL"])


def crawl(folder: Path, *start_urls: str, seconds: float | None = None, **options: Any) -> Crawled:
    """Crawl to the end: once over everything that is due, or continuously for some seconds."""
    settings = dict(options.pop("settings", None) or {})
    if seconds is None:
        settings.setdefault("FRESHNESS_STOP_WHEN", "idle")
    else:
        settings["CLOSESPIDER_TIMEOUT"] = seconds
    return start_crawl(folder, *start_urls, settings=settings, **options).wait()
