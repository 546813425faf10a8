"""Sitemaps and feeds: our readers against Scrapy's and feedparser's defaults, in one run, in CPU time.

Scrapy's sitemap parser returns strings; the third column adds what ours does with them: dates are read,
addresses are checked. Memory is that of a process of its own, beyond what it had before reading.
"""

import gzip
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from datetime import datetime
from io import BytesIO
from pathlib import Path
from statistics import median
from urllib.parse import urljoin, urlsplit

import feedparser
import numpy as np
from rich.console import Console
from rich.table import Table
from scrapy.utils.sitemap import Sitemap

from scrapy_freshness.signals.poll import Poll
from scrapy_freshness.signals.reading import read_source
from scrapy_freshness.signals.seen import Seen

SITE = "https://www.example.com"
NOW = 1.8e9
REPETITIONS = 7


def sitemap(pages: int) -> bytes:
    """A sitemap as programs write them, with dates of the year before."""
    entries = "".join(
        f"  <url>\n    <loc>{SITE}/section/{number % 97}/an-article-about-something-{number}.html</loc>\n"
        f"    <lastmod>2026-{number % 11 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:00:00+00:00"
        "</lastmod>\n    <changefreq>daily</changefreq>\n    <priority>0.5</priority>\n  </url>\n"
        for number in range(pages)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return (
        f'{head}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'.encode()
    )


def feed(rng: np.random.Generator, entries: int, words: int) -> bytes:
    """An RSS feed with the whole text of its articles, as HTML."""
    vocabulary = np.array(["wind", "rain", "<b>sun</b>", "cloud", '<a href="/x">link</a>', "snow &amp; ice"])
    items = "".join(
        f"<item><title>Article {number}</title><link>{SITE}/{number}</link><guid>{SITE}/?p={number}</guid>"
        f"<pubDate>Tue, {number % 17 + 1:02} Nov 2026 04:05:06 +0000</pubDate><category>Weather</category>"
        f"<description>{number} words</description>"
        f"<content:encoded><![CDATA[{' '.join(rng.choice(vocabulary, words))}]]></content:encoded></item>"
        for number in range(entries)
    )
    spaces = 'xmlns:content="http://purl.org/rss/1.0/modules/content/"'
    return f'<rss version="2.0" {spaces}><channel><ttl>60</ttl>{items}</channel></rss>'.encode()


def ours(body: bytes) -> int:
    return sum(len(entries) for entries in read_source(body, f"{SITE}/sitemap.xml", now=NOW))


def ours_with_poll(body: bytes) -> int:
    reading = read_source(body, f"{SITE}/sitemap.xml", now=NOW)
    poll = Poll(Seen())
    new = sum(len(poll.add(entries)) for entries in reading)
    poll.end(reading.findings, NOW)
    return new


def scrapys(body: bytes) -> int:
    return sum(1 for _ in Sitemap(body))


def scrapys_with_dates(body: bytes) -> int:
    count = 0
    for entry in Sitemap(body):
        url = urljoin(f"{SITE}/sitemap.xml", entry["loc"])
        count += (
            urlsplit(url).hostname is not None and datetime.fromisoformat(entry["lastmod"]).timestamp() > 0
        )
    return count


def feedparsers(body: bytes) -> int:
    return len(feedparser.parse(BytesIO(body)).entries)


def feedparsers_raw(body: bytes) -> int:
    return len(feedparser.parse(BytesIO(body), sanitize_html=False, resolve_relative_uris=False).entries)


def cpu_milliseconds(read: Callable[[bytes], int], body: bytes, expected: int) -> float:
    start = time.process_time()
    assert read(body) == expected
    return (time.process_time() - start) * 1000


def compared(title: str, body: bytes, expected: int, readers: list[Callable[[bytes], int]]) -> Table:
    """CPU time of each reader, and how many times that of ours it is."""
    table = Table("reader", "CPU ms, median (least to most)", "times ours", title=title)
    rounds = [[cpu_milliseconds(read, body, expected) for read in readers] for _ in range(REPETITIONS)]
    columns = [sorted(column) for column in zip(*rounds, strict=True)]
    for read, times in zip(readers, columns, strict=True):
        spread = f"{median(times):.1f} ({times[0]:.1f} to {times[-1]:.1f})"
        table.add_row(read.__name__, spread, f"{median(times) / median(columns[0]):.2f}")
    return table


def memory(pages: int) -> Table:
    """Peak memory while a gzipped sitemap is read, each in a new process."""
    table = Table("reader", "MB beyond the start", title=f"Memory to read {pages:,} pages, gzipped")
    packed = gzip.compress(sitemap(pages))
    for name in ("ours", "ours_with_poll", "scrapys"):
        command = [sys.executable, __file__, "--memory", name, str(pages)]
        done = subprocess.run(command, input=packed, capture_output=True, check=True)
        table.add_row(name, done.stdout.decode().strip())
    return table


def grown_megabytes(read: Callable[[bytes], int], packed: bytes, pages: int) -> float:
    """How much a process grows while it reads; Scrapy unpacks the whole file first, as its spider does."""
    read(sitemap(10))
    before = peak_megabytes()
    assert read(gzip.decompress(packed) if read is scrapys else packed) == pages
    return peak_megabytes() - before


def peak_megabytes() -> float:
    """Peak memory of this process; what the system calls its maximum may be that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def steps(body: bytes) -> Table:
    """CPU time of the pieces of work between which a crawl can do something else."""
    table = Table("steps", "median ms", "longest ms", title="A sitemap of 50,000 pages, step by step")
    times = []
    poll = Poll(Seen())
    start = time.process_time()
    for entries in read_source(body, f"{SITE}/sitemap.xml", now=NOW):
        poll.add(entries)
        times.append((time.process_time() - start) * 1000)
        start = time.process_time()
    table.add_row(str(len(times)), f"{median(times):.1f}", f"{max(times):.1f}")
    return table


def main() -> int:
    if sys.argv[1:2] == ["--memory"]:
        packed = sys.stdin.buffer.read()
        print(f"{grown_megabytes(globals()[sys.argv[2]], packed, int(sys.argv[3])):.1f}")
        return 0
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(2026)
    body = sitemap(50_000)
    console = Console(width=100)
    console.print(
        compared(
            f"Sitemap of 50,000 pages, {len(body) / 1e6:.1f} MB",
            body,
            50_000,
            [ours, ours_with_poll, scrapys, scrapys_with_dates],
        )
    )
    body = feed(rng, 200, 300)
    console.print(
        compared(
            f"Feed of 200 articles, {len(body) / 1e3:.0f} KB", body, 200, [ours, feedparsers, feedparsers_raw]
        )
    )
    console.print(memory(50_000))
    console.print(steps(sitemap(50_000)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
