"""Senders of pings, and crawls that take them."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from crawling import Crawled, RunningCrawl, start_crawl
from site_under_test import Answer, Page, Site, html

from scrapy_freshness.estimation.history import n_observations
from scrapy_freshness.estimation.signal_counts import signal_counts
from scrapy_freshness.model import SignalSource

KEY = "0123456789abcdef0123456789abcdef"
#: All pages are visited again and again, whatever is said about them.
BUSY = {
    "FRESHNESS_POLICY": "greedy-ncis",
    "FRESHNESS_BUDGET": "20/s",
    "FRESHNESS_PING_LISTEN": "127.0.0.1:0",
}
#: Without a push, pages are hardly ever due again.
PATIENT = {
    "FRESHNESS_POLICY": "greedy",
    "FRESHNESS_PRIOR_CHANGED_AFTER": "100d",
    "FRESHNESS_PRIOR_UNCHANGED_AFTER": "5000d",
    "FRESHNESS_THRESHOLD": 1e-3,
}


LISTENING = re.compile(r"Taking pings at ([\d.]+):(\d+)\n")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def changing(*links: str) -> Page:
    """A page with other words at every request."""
    return lambda headers, count: Answer(html(*links, text=f"version {count} of this page"))


class PingedCrawl:
    """A crawl that takes pings, and a client of its endpoint."""

    def __init__(
        self, folder: Path, *start_urls: str, settings: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        log = folder / "log.txt"
        n_before = len(LISTENING.findall(log.read_text())) if log.exists() else 0
        settings = {**BUSY, **(settings or {})}
        self.running: RunningCrawl = start_crawl(folder, *start_urls, settings=settings, **options)
        self.running.wait_until(lambda: len(LISTENING.findall(self.running.log())) > n_before)
        host, port = LISTENING.findall(self.running.log())[-1]
        self.address = host, int(port)

    def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Send a request and return status and text of the answer."""
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        try:
            connection.request(method, path, body or None, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def submit(self, site: Site, *paths: str, key: str = KEY, host: int = 0, **fields: Any) -> int:
        """Submit URLs by IndexNow: one by GET, several by POST; returns the status."""
        urls = [site.url(path, host) for path in paths]
        if len(urls) == 1 and not fields:
            return self.request("GET", "/indexnow?" + urlencode({"url": urls[0], "key": key}))[0]
        named = {"host": urls[0].split("/")[2], "key": key, "urlList": urls, **fields}
        return self.request("POST", "/indexnow", json.dumps(named).encode())[0]

    def raw(self, data: bytes, *, wait: bool = True) -> bytes:
        """Send bytes and return all that comes back until the connection ends."""
        with socket.create_connection(self.address, timeout=60) as sock:
            sock.sendall(data)
            received = b""
            while wait and (piece := sock.recv(65_536)):
                received += piece
            return received

    def wait_for_fetches(self, site: Site, path: str, count: int = 1) -> None:
        """Wait until a page has been fetched so many times more."""
        before = len(site.asked(path))
        self.running.wait_until(lambda: len(site.asked(path)) >= before + count)

    def stop(self) -> Crawled:
        """One Ctrl-C, and what the crawl left behind."""
        self.running.interrupt()
        return self.running.wait()


def signals_heard(done: Crawled, url: str) -> int:
    """How many pings the visits of a page have answered."""
    with done.store() as store:
        records = {record.url: record for record in store.load_records(range(1, 1000))}
    record = records[url]
    counts = signal_counts(record.signalled, n_observations(record.history))
    return int(counts[:, SignalSource.PING].sum())
