"""Runs real crawls in processes of their own and brings back what they did."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import scrapy.crawler
from forks import FORKS
from scrapy.core.engine import ExecutionEngine
from scrapy.utils.spider import iter_spider_classes

from scrapy_freshness.storage.store import Store

#: Longer than anything takes on the busiest machine; nothing is to depend on it.
PATIENCE_SECONDS = 300.0

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

#: Writes on every request when it was handed to the downloader: at a busy server requests arrive late, and
#: then many at once.
STAMPING = (
    """
import time

class Stamp:
    def process_request(self, request):
        request.headers["X-Sent-At"] = repr(time.time())
"""
    + FOLLOW
)
STAMPED = {"DOWNLOADER_MIDDLEWARES": {"spider_of_test.Stamp": 1000}}

_BASE_SETTINGS = {
    "ADDONS": {"scrapy_freshness.Addon": 500},
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "LOG_LEVEL": "DEBUG",
    "DOWNLOAD_TIMEOUT": 5,
    "FRESHNESS_BUDGET": "50/s",
    "FRESHNESS_MIN_INTERVAL": "0.2s",
    "FRESHNESS_ESTIMATOR": "mle",
    "FRESHNESS_PRIOR_CHANGED_AFTER": "1s",
    "FRESHNESS_PRIOR_UNCHANGED_AFTER": "10s",
    "FRESHNESS_BACKOFF": "0.2s",
    "FRESHNESS_FLUSH_INTERVAL": "0.2s",
}


def _run(options: Mapping[str, Any]) -> None:
    """Crawl; runs in a process of its own."""
    os.chdir(options["folder"])
    with Path("log.txt").open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    warnings.simplefilter("error", ResourceWarning)
    spec = importlib.util.spec_from_file_location("spider_of_test", "spider.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["spider_of_test"] = module
    spec.loader.exec_module(module)
    if options["settings"].get("FRESHNESS_STOP_WHEN") == "idle":
        ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.5  # how often Scrapy looks whether there is nothing left
    process = getattr(scrapy.crawler, options["process_class"])(options["settings"])
    crawler = process.create_crawler(list(iter_spider_classes(module))[-1])

    process.crawl(crawler, **options["arguments"])
    process.start()
    if crawler.stats is not None:
        Path("stats.json").write_text(json.dumps(crawler.stats.get_stats(), default=str))
    sys.exit(1 if process.bootstrap_failed else 0)


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


def logged(folder: Path, text: str, count: int = 1) -> Callable[[], bool]:
    """A condition: the crawl in *folder* has logged something so often, or more."""
    return lambda: (folder / "log.txt").read_text(errors="replace").count(text) >= count


class RunningCrawl:
    """A crawl in a process of its own."""

    def __init__(self, process: BaseProcess, folder: Path, database_url: str) -> None:
        self.process = process
        self._folder = folder
        self.database_url = database_url

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process.is_alive()

    def wait(self, timeout: float = PATIENCE_SECONDS) -> Crawled:
        """Wait for its end; a crawl that does not end is a failure, with its log."""
        self.process.join(timeout)
        if self.is_running:
            self.kill()
            raise AssertionError(f"the crawl did not end:\n{self.log()[-6000:]}")
        return self.crawled()

    def kill(self) -> Crawled:
        """kill -9."""
        self.process.kill()
        self.process.join()
        return self.crawled()

    def interrupt(self) -> None:
        """One Ctrl-C."""
        os.kill(self.pid, signal.SIGINT)

    def wait_until(self, condition: Callable[[], bool], timeout: float = PATIENCE_SECONDS) -> None:
        """Wait for something to become true while the crawl runs."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert self.is_running, f"the crawl ended early:\n{self.log()[-6000:]}"
            assert time.monotonic() < deadline, f"waited in vain:\n{self.log()[-6000:]}"
            time.sleep(0.02)

    def log(self) -> str:
        """What the crawl has logged so far."""
        return (self._folder / "log.txt").read_text(errors="replace")

    def crawled(self) -> Crawled:
        stats = self._folder / "stats.json"
        items = self._folder / "items.jsonl"
        lines = items.read_text().splitlines() if items.exists() else []
        assert self.process.exitcode is not None
        return Crawled(
            returncode=self.process.exitcode,
            log=self.log(),
            stats=json.loads(stats.read_text()) if stats.exists() else {},
            items=[json.loads(line) for line in lines if line.endswith("}")],
            database_url=self.database_url,
        )


def start_crawl(
    folder: Path,
    *start_urls: str,
    spider: str = FOLLOW,
    settings: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    process_class: str = "AsyncCrawlerProcess",
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
        "folder": str(folder),
        "settings": all_settings,
        "process_class": process_class,
        "arguments": {**({"start_urls": list(start_urls)} if start_urls else {}), **(arguments or {})},
    }
    (folder / "log.txt").touch()
    process = FORKS.Process(target=_run, args=(options,), daemon=True)
    process.start()
    return RunningCrawl(process, folder, all_settings["FRESHNESS_DATABASE_URL"])


def crawl(folder: Path, *start_urls: str, until: Callable[[], bool] | None = None, **options: Any) -> Crawled:
    """Crawl to the end: once over everything that is due, or continuously until something is true.

    By what it has done and never by the clock: how far a crawl gets in a second is the machine's affair. The
    end is one Ctrl-C, so visits that are under way are finished; only a redirect or a retry that has not
    been sent is left to the next crawl.
    """
    settings = dict(options.pop("settings", None) or {})
    if until is None:
        settings.setdefault("FRESHNESS_STOP_WHEN", "idle")
    running = start_crawl(folder, *start_urls, settings=settings, **options)
    if until is not None:
        running.wait_until(until)
        running.interrupt()
    return running.wait()
