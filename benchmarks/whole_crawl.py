"""Whole crawl: CPU a page with the extension on, against plain Scrapy with the same spider, in one run.

The server runs in a process of its own and its time does not count. Each variant crawls the same pages (60 kB
of HTML each) over and over in a fresh process; the CPU time after a warm-up, in which the extension sees
every page often enough to have all its change profiles, is divided by the pages fetched since. Variants
alternate, and medians of several rounds are compared.

    python benchmarks/whole_crawl.py [--known 500] [--pages 3000] [--rounds 3]
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from multiprocessing.connection import Connection

import numpy as np
from shingling import page_versions

TEXTS = 100  # pages of the same text change independently
WARM_UP = {"plain": 1, "httpcache": 1, "freshness": 6}  # visits of each page
WORDS, PAGE_BYTES = 3000, 60_000

RUNNER = """
import json, resource, sys
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor

options = json.loads(sys.argv[1])

class Pages(Spider):
    name = "pages"
    links = LinkExtractor(allow="/nowhere")

    async def start(self):
        repeats = options["pages"] + options["warm_up"] if options["plain"] else options["known"]
        for number in range(repeats):
            # The extension revisits known pages; plain Scrapy is told to fetch each again.
            yield Request(f"{options['url']}/{number % options['known']}", dont_filter=options["plain"])

    def parse(self, response):
        if options["extract"]:
            self.links.extract_links(response)

def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

process = AsyncCrawlerProcess(options["settings"])
crawler = process.create_crawler(Pages)
begin = []
count = [0]
def received(response, request, spider):
    count[0] += 1
    if count[0] == options["warm_up"]:
        begin.append(cpu())
crawler.signals.connect(received, signal=signals.response_received, weak=False)
def closed(spider, reason):
    print(json.dumps({"cpu": cpu() - begin[0], "pages": count[0] - options["warm_up"]}))
crawler.signals.connect(closed, signal=signals.spider_closed, weak=False)
process.crawl(crawler)
process.start()
"""


def serve(port_pipe: Connection) -> None:
    """Answer /changing/N (another version each time), /same/N and /tagged/N (ETag, 304)."""
    rng = np.random.default_rng(1)
    pages = [[html.encode() for html in page_versions(rng, WORDS, PAGE_BYTES)] for _ in range(TEXTS)]
    counts: Counter[int] = Counter()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                _, kind, *rest = path.split("/")
                if not rest or not rest[0].isdigit():  # a sitemap at one of the usual paths, or robots.txt
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                number = int(rest[0])
                versions = pages[number % TEXTS]
                body, status, extra = versions[0], b"200 OK", b""
                if kind == "changing":
                    counts[number] += 1
                    body = versions[counts[number] % len(versions)]
                elif kind == "tagged":
                    extra = b'ETag: "1"\r\n'
                    if b"If-None-Match" in head:
                        status, body = b"304 Not Modified", b""
                head = b"HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\n" % status
                writer.write(head + extra + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port_pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def run(variant: str, kind: str, extract: bool, url: str, known: int, pages: int) -> float:
    """CPU milliseconds a page of one crawl."""
    warm_up = WARM_UP[variant] * known
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "CLOSESPIDER_PAGECOUNT": pages + warm_up,
            "MEMUSAGE_ENABLED": False,
            "RETRY_ENABLED": False,
        }
        if variant == "freshness":
            settings |= {
                "ADDONS": {"scrapy_freshness.Addon": 500},
                "FRESHNESS_DATABASE_URL": f"sqlite:///{folder}/freshness.db",
                "FRESHNESS_BUDGET": "100000/s",
                "FRESHNESS_MIN_INTERVAL": 0,
            }
        elif variant == "httpcache":
            settings |= {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": folder, "HTTPCACHE_POLICY": RFC2616}
        options = {
            "plain": variant != "freshness",
            "known": known,
            "warm_up": warm_up,
            "pages": pages,
            "extract": extract,
            "url": f"{url}/{kind}",
            "settings": settings,
        }
        done = subprocess.run(
            [sys.executable, "-c", RUNNER, json.dumps(options)],
            capture_output=True,
            check=True,
            env=os.environ,
            cwd=folder,
        )
        result = json.loads(done.stdout.splitlines()[-1])
        return float(result["cpu"] / result["pages"] * 1000)


RFC2616 = "scrapy.extensions.httpcache.RFC2616Policy"
#: kind of page, whether the spider extracts links, least ratio of pages a CPU second against plain Scrapy
CASES = [
    ("changing", True, 0.80),
    ("changing", False, 0.65),
    ("same", True, 0.95),
    ("same", False, 0.95),
    ("tagged", False, 0.95),
]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=int, default=500, help="different pages")
    parser.add_argument("--pages", type=int, default=3000, help="fetches that are measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", type=int, action="append", help="number of a case, 0 to 4; all by default")
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}"
    failed = False
    columns = "".join(f"{name:>20}" for name in ("plain", "freshness", "httpcache"))
    print(f"{'pages':<10}{'spider':<16}{columns}   pages/s against plain")
    try:
        for number in options.case or range(len(CASES)):
            kind, extract, bar = CASES[number]
            times: dict[str, list[float]] = {"plain": [], "freshness": [], "httpcache": []}
            for _ in range(options.rounds):
                for variant, seen in times.items():
                    seen.append(run(variant, kind, extract, url, options.known, options.pages))
            middle = {variant: statistics.median(seen) for variant, seen in times.items()}
            cells = [f"{middle[name]:.2f} ({min(seen):.2f}-{max(seen):.2f})" for name, seen in times.items()]
            ratio = middle["plain"] / middle["freshness"]
            failed |= ratio < bar
            spider = "extracts links" if extract else "does nothing"
            row = f"{kind:<10}{spider:<16}" + "".join(f"{cell:>20}" for cell in cells)
            print(f"{row}   {ratio:.2f} (bar {bar}) {'FAIL' if ratio < bar else 'PASS'}", flush=True)
    finally:
        server.terminate()
        server.join()
    print("CPU milliseconds a page: median (range)")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
