"""A million URLs in nested sitemaps: how they are found and kept, by us and by Scrapy's SitemapSpider.

A server in a process of its own has a robots.txt that names a sitemap index, which names indexes, which name
gzipped sitemaps of 50,000 dated URLs each. A crawl, in a fresh process, begins there and ends when all of
the URLs are known: to us when they are in the database, to SitemapSpider with Scrapy's default scheduler when
they are in its queues, in memory. Both fetch pages meanwhile, twenty a second.

A pause is the longest time that anything else in the process had to wait for the reactor: in CPU time of its
thread, since the machine may be busy.

    python benchmarks/million_urls.py [--urls 1000000] [--only freshness]
"""

import argparse
import asyncio
import gzip
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

EACH = 50_000  # what the protocol allows
PER_SECOND = 20
#: Bars: memory for each URL, and the longest pauses of the reactor.
MOST_BYTES, MOST_PAUSE_SECONDS = 500, 0.05

RUNNER = """
import asyncio, json, resource, sys, time
from pathlib import Path
import scrapy
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.spiders import SitemapSpider

options = json.loads(sys.argv[1])
is_ours = "ADDONS" in options["settings"]

def memory(name):
    return 1024 * int(Path("/proc/self/status").read_text().partition(name + ":")[2].split()[0])

class Watched:
    name = "watched"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.begin, signal=signals.spider_opened)
        return spider

    def begin(self):
        self.turns, self.seen, self.before = [], [], None
        self.since, self.started = cpu(), time.time()
        self.first_memory = memory("VmRSS")
        self.turn()

    def turn(self):
        now = time.thread_time()
        if self.before is not None:
            self.turns.append(now - self.before)
        self.before = now
        known = self.crawler.stats.get_value("freshness/pages" if is_ours else "scheduler/enqueued", 0)
        if known >= options["urls"] * (len(self.seen) + 1) / 4:
            self.seen.append((known, memory("VmRSS") - self.first_memory))
            if len(self.seen) == 4:
                asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="all known"))
                self.known_after = cpu() - self.since, time.time() - self.started
        asyncio.get_running_loop().call_later(0.001, self.turn)

    def parse(self, response):
        pass

class Ours(Watched, scrapy.Spider):
    start_urls = [options["url"] + "/"]

class Theirs(Watched, SitemapSpider):
    sitemap_urls = [options["url"] + "/robots.txt"]

def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

process = AsyncCrawlerProcess(options["settings"])
crawler = process.create_crawler(Ours if is_ours else Theirs)
process.crawl(crawler)
process.start()
spider = crawler.spider
print(json.dumps({
    "cpu": spider.known_after[0],
    "seconds": spider.known_after[1],
    "memory": spider.seen,
    "peak": memory("VmHWM") - spider.first_memory,
    "pauses": sorted(spider.turns)[-10:],
    "fetches": crawler.stats.get_value("downloader/request_count"),
}))
"""


def serve(port_pipe: Connection, urls: int) -> None:
    """Answer robots.txt, an index of indexes of sitemaps, and pages."""

    def listed(kind: str, entries: list[str]) -> bytes:
        space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        name = "urlset" if kind == "url" else "sitemapindex"
        body = "".join(f"<{kind}>{entry}</{kind}>" for entry in entries)
        return f'<?xml version="1.0" encoding="UTF-8"?><{name} {space}>{body}</{name}>'.encode()

    def sitemap(part: int, site: str) -> bytes:
        numbers = range(part * EACH, min(urls, (part + 1) * EACH))
        entries = [
            f"<loc>{site}/section/{number % 97}/an-article-about-something-{number}.html</loc>"
            f"<lastmod>2026-{number % 10 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:00:00+00:00</lastmod>"
            for number in numbers
        ]
        return gzip.compress(listed("url", entries), 1)

    def body_of(path: str, site: str) -> bytes:
        parts = -(-urls // EACH)
        if path == "/robots.txt":
            return f"User-agent: *\nDisallow:\nSitemap: {site}/sitemap_index.xml\n".encode()
        if path == "/sitemap_index.xml":
            return listed(
                "sitemap", [f"<loc>{site}/sitemap_index_{n}.xml</loc>" for n in range(-(-parts // 10))]
            )
        if path.startswith("/sitemap_index_"):
            first = 10 * int(path[len("/sitemap_index_") : -len(".xml")])
            names = range(first, min(parts, first + 10))
            return listed("sitemap", [f"<loc>{site}/sitemap_{n}.xml.gz</loc>" for n in names])
        if path.startswith("/sitemap_"):
            return sitemap(int(path[len("/sitemap_") : -len(".xml.gz")]), site)
        return f"<html><title>Page</title><p>{path}</p></html>".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site = f"http://127.0.0.1:{port}"
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                body = body_of(path, site)
                kind = "application/gzip" if path.endswith(".gz") else "text/html"
                if path.endswith(".xml"):
                    kind = "application/xml"
                kind = "text/plain" if path.endswith(".txt") else kind
                length = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(length.encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        nonlocal port
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        port_pipe.send(port)
        await server.serve_forever()

    port = 0
    asyncio.run(main())


def run(variant: str, url: str, urls: int) -> dict[str, Any]:
    """What a crawl needed until all URLs were known."""
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "MEMUSAGE_ENABLED": False,
            "ROBOTSTXT_OBEY": True,
        }
        if variant == "freshness":
            settings |= {
                "ADDONS": {"scrapy_freshness.Addon": 500},
                "FRESHNESS_DATABASE_URL": f"sqlite:///{folder}/freshness.db",
                "FRESHNESS_BUDGET": f"{PER_SECOND}/s",
            }
        else:
            # Sitemaps first, as Scrapy's documentation recommends for crawls in breadth; by default all pages
            # of one sitemap are fetched before the next is read.
            settings |= {
                "DOWNLOAD_DELAY": 1 / PER_SECOND,
                "DOWNLOAD_DELAY_JITTER": 0,
                "DEPTH_PRIORITY": 1,
                "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            }
        options = {"url": url, "urls": urls, "settings": settings}
        done = subprocess.run(
            [sys.executable, "-c", RUNNER, json.dumps(options)],
            stdout=subprocess.PIPE,
            check=True,
            env=os.environ,
            cwd=folder,
        )
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if variant == "freshness":
            database = Path(folder) / "freshness.db"
            connection = sqlite3.connect(database)
            (result["stored"],) = connection.execute(
                "SELECT count(*) FROM page WHERE url LIKE '%article%'"
            ).fetchone()
            connection.close()
            result["disk"] = database.stat().st_size
        return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["freshness", "scrapy"])
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs, options.urls), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}"
    failed = False
    try:
        for variant in [options.only] if options.only else ["freshness", "scrapy"]:
            found = run(variant, url, options.urls)
            memory = ", ".join(f"{used / 1e6:.0f} MB at {known:,}" for known, used in found["memory"])
            pauses = ", ".join(f"{1000 * pause:.0f}" for pause in found["pauses"][::-1][:5])
            print(f"{variant}: {found['fetches']:,} fetches in {found['seconds']:.0f} s")
            print(f"  memory beyond the start: {memory}; peak {found['peak'] / 1e6:.0f} MB,", end=" ")
            print(f"{found['peak'] / options.urls:.0f} bytes a URL")
            print(f"  CPU: {found['cpu'] / options.urls * 1e6:.0f} microseconds a URL")
            print(f"  longest pauses: {pauses} ms", flush=True)
            if variant == "freshness":
                print(f"  in the database: {found['stored']:,} URLs, {found['disk'] / 1e6:.0f} MB")
                failed = (
                    found["stored"] != options.urls
                    or found["peak"] > MOST_BYTES * options.urls + 100e6
                    or found["pauses"][-1] > MOST_PAUSE_SECONDS
                )
    finally:
        server.terminate()
        server.join()
    print("FAIL" if failed else "PASS")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
