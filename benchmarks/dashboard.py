"""How long the pages of the dashboard take on a large database, and whether it slows a crawl down.

    python benchmarks/dashboard.py [URL ...] [--pages N] [--visits N] [--requests N] [--windows N] [--quick]

Without URLs, two databases with a million pages and ten million visits are made (`large_database.py`) and
removed again: SQLite and PostgreSQL. The dashboard runs as a user starts it and is asked over HTTP; each
address is asked twice before it is measured. Bar: 300 ms at the 95th percentile. Beside it, the mean
processor time of the dashboard for an answer: on a machine that has other things to do, answers take longer.

For the crawl, all hosts are one local server, by way of a proxy. Windows of time with the dashboard asked as
an open page asks it (the overview's live parts, and somebody who clicks through the pages) take turns with
windows in which it is stopped (SIGSTOP). Bar: the median rate of fetches may fall by 2 %. The rate is that of
the budget, so this tells whether the dashboard keeps a crawl from spending it, not how much processor time it
takes from one that has none to spare; that is told beside it: processor time of the crawl for a fetch.
"""

import argparse
import asyncio
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from large_database import SPIDER, fill
from postgres import postgres_server

from scrapy_freshness.storage import page_reports, reports, signal_reports
from scrapy_freshness.storage.live_reports import latest_visits
from scrapy_freshness.storage.page_reports import PageFilter
from scrapy_freshness.storage.store import Store

MOST_MS, MOST_SLOWER = 300.0, 0.02
BUDGET = 40.0

#: Addresses of all pages of the dashboard, with the ways to sort and to filter; {page} is a page with visits.
PATHS = (
    "/",
    "/?range=30d",
    "/live/now",
    "/live/charts",
    "/live/charts?range=30d",
    "/live/budgets",
    "/live/pages",
    "/pages",
    *(f"/pages?sort={order}" for order in ("url", "status", "last_visit", "next_visit", "change_rate")),
    *(f"/pages?sort={order}" for order in ("importance", "visits", "freshness")),
    "/pages?sort=value&page=5000",
    "/pages?q=something-99999",
    "/pages?q=sport",
    "/pages?q=nowhere-to-be-found",
    "/pages?q=wiki%2F.*-1234$&regex=1",
    "/pages?q=.&regex=1&page=20",
    "/pages?host=www.host1.example",
    "/pages?status=gone&sort=last_visit",
    "/pages/{page}",
    "/hosts",
    "/hosts?sort=pages",
    "/sources",
    "/live/sources?step=3",
    "/signals",
    "/policies",
)
#: What an open overview and an open list ask for by themselves: address, and seconds between two times.
LIVE = {"/live/now": 3.0, "/live/charts": 20.0, "/live/pages": 15.0}

SPIDER_FILE = f"""
import scrapy

class LargeSpider(scrapy.Spider):
    name = "{SPIDER}"

    async def start(self):
        return
        yield

    def parse(self, response):
        pass

    parse_story = parse
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


class Dashboard:
    """The dashboard in a process of its own."""

    def __init__(self, url: str) -> None:
        self._port = free_port()
        listen = f"127.0.0.1:{self._port}"
        command = ["-m", "scrapy", "freshness", "dashboard", "--database", url, "--listen", listen]
        self.process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.DEVNULL, cwd=tempfile.gettempdir()
        )

    def get(self, path: str) -> float:
        """Ask for an address; returns how many milliseconds the answer took."""
        started = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=300)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        finally:
            connection.close()
        if answer.status not in (200, 204):
            raise RuntimeError(f"{path} answers {answer.status}")
        return (time.perf_counter() - started) * 1000

    def wait(self) -> float:
        """Wait for the first answer; returns the seconds that it took from the start."""
        started = time.perf_counter()
        while True:
            try:
                self.get("/pages")
                return time.perf_counter() - started
            except (ConnectionRefusedError, ConnectionResetError):
                if self.process.poll() is not None:
                    raise RuntimeError("the dashboard has ended") from None
                time.sleep(0.1)

    def close(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(60)


def measure_pages(url: str, n_requests: int) -> dict[str, float]:
    """95th percentile of every address, in milliseconds."""
    with Store.open_readonly(url) as store:
        page = latest_visits(store)[0]
        (found,) = page_reports.find_pages(store, page.url)
    dashboard = Dashboard(url)
    try:
        print(f"  first page after {dashboard.wait():.1f} s")
        slowest = {}
        for template in PATHS:
            path = template.format(page=found.page_id)
            for _ in range(2):
                dashboard.get(path)
            before = processor_seconds(dashboard.process.pid)
            slowest[template] = p95([dashboard.get(path) for _ in range(n_requests)])
            cost = 1000 * (processor_seconds(dashboard.process.pid) - before) / n_requests
            verdict = "" if slowest[template] <= MOST_MS else "   <-- over the bar"
            print(f"  {template:40} {slowest[template]:7.0f} ms {cost:7.0f} ms{verdict}", flush=True)
    finally:
        dashboard.close()
    return slowest


def measure_reports(url: str, n_calls: int) -> None:
    """95th percentiles of what commands and other programs ask the database for; there is no bar."""
    with Store.open_readonly(url) as store:
        now = max(state.updated_at for name in store.spiders() if (state := store.load_state(name)))
        page_id = page_reports.find_pages(store, latest_visits(store)[0].url)[0].page_id
        calls: dict[str, Callable[[], object]] = {
            "spiders": lambda: reports.spiders(store, now),
            "pages by change rate": lambda: page_reports.pages(store, order="change_rate", descending=True),
            "pages by a text": lambda: page_reports.pages(store, PageFilter(url_contains="something-99999")),
            "visits of a page": lambda: page_reports.page_visits(store, page_id, 2000),
            "signals of a page": lambda: signal_reports.page_signals(store, page_id),
            "counts of signals": lambda: signal_reports.signal_counts(store),
            "sources": lambda: signal_reports.sources(store),
            "latest visits": lambda: latest_visits(store),
        }
        for name, call in calls.items():
            call()
            print(f"  {name:40} {p95([milliseconds(call) for _ in range(n_calls)]):7.0f} ms", flush=True)


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")


def milliseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def p95(values: list[float]) -> float:
    return sorted(values)[max(0, -(-95 * len(values) // 100) - 1)]


@contextmanager
def web() -> Iterator[int]:
    """A proxy that answers for every host, at once; gives its port."""
    body = b"<html><body><p>" + b"some words on this page " * 80 + b"</p></body></html>"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(head + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield server.sockets[0].getsockname()[1]
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


@contextmanager
def crawl(url: str, proxy: int, folder: Path) -> Iterator[Callable[[], tuple[float, int, float]]]:
    """A crawl of the database; gives what tells the time, its fetches and its processor time so far."""
    (folder / "spider.py").write_text(SPIDER_FILE)
    port = free_port()
    settings: dict[str, Any] = {
        "FRESHNESS_DATABASE_URL": url,
        "FRESHNESS_BUDGET": f"{BUDGET}/s",
        "FRESHNESS_SIGNALS": False,
        "FRESHNESS_METRICS_LISTEN": f"127.0.0.1:{port}",
        "ROBOTSTXT_OBEY": False,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
    arguments = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    addon = "-s", 'ADDONS={"scrapy_freshness.Addon": 500}'
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "runspider", "spider.py", *arguments, *addon],
        cwd=folder,
        env={**os.environ, "http_proxy": f"http://127.0.0.1:{proxy}"},
    )

    def look() -> tuple[float, int, float]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/status.json")
        (status,) = json.loads(connection.getresponse().read())["spiders"]
        connection.close()
        n_fetches = sum(status["fetches"]["run"].values())
        return time.monotonic(), n_fetches, processor_seconds(process.pid)

    try:
        deadline = time.monotonic() + 180
        while True:
            try:
                if look()[1] > 3 * BUDGET:
                    break
            except (OSError, http.client.HTTPException):
                if process.poll() is not None:
                    raise RuntimeError("the crawl has ended") from None
            if time.monotonic() > deadline:
                raise RuntimeError("the crawl does not begin")
            time.sleep(0.5)
        yield look
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)


def measure_crawl(url: str, n_windows: int, window_seconds: float) -> float:
    """By which share the rate of a crawl falls while the dashboard is open."""
    dashboard = Dashboard(url)
    rates: dict[bool, list[float]] = {True: [], False: []}
    costs: dict[bool, list[float]] = {True: [], False: []}
    try:
        with web() as proxy, tempfile.TemporaryDirectory() as folder:
            dashboard.wait()
            with crawl(url, proxy, Path(folder)) as look:
                for number in range(2 * n_windows):
                    is_open = number % 2 == 0
                    dashboard.process.send_signal(signal.SIGCONT if is_open else signal.SIGSTOP)
                    before = look()
                    if is_open:
                        watch(dashboard, window_seconds)
                    else:
                        time.sleep(window_seconds)
                    after = look()
                    fetches = after[1] - before[1]
                    rates[is_open].append(fetches / (after[0] - before[0]))
                    costs[is_open].append(1000 * (after[2] - before[2]) / max(fetches, 1))
    finally:
        dashboard.close()
    for is_open, name in ((False, "closed"), (True, "open")):
        rate, cost = statistics.median(rates[is_open]), statistics.median(costs[is_open])
        print(f"  dashboard {name:7} {rate:6.2f} fetches/s of {BUDGET:g}, {cost:.2f} ms of processor a fetch")
    return 1 - statistics.median(rates[True]) / statistics.median(rates[False])


def watch(dashboard: Dashboard, seconds: float) -> None:
    """Ask what an open page asks for, and click on something every two seconds."""
    end, next_at = time.monotonic() + seconds, dict.fromkeys(LIVE, 0.0)
    clicks = iter([path for path in PATHS if path.startswith(("/pages?", "/hosts", "/signals"))] * 99)
    next_click = 0.0
    while (now := time.monotonic()) < end:
        for path, every in LIVE.items():
            if next_at[path] <= now:
                next_at[path] = now + every
                dashboard.get(path)
        if next_click <= now:
            next_click = now + 2.0
            dashboard.get(next(clicks))
        time.sleep(0.1)


@contextmanager
def databases(options: argparse.Namespace) -> Iterator[dict[str, str]]:
    """The databases to measure, by what they are called."""
    if options.url:
        yield {url.partition(":")[0]: url for url in options.url}
        return
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server, server.database() as postgres:
        urls = {"sqlite": f"sqlite:///{folder}/large.db", "postgresql": postgres}
        for url in urls.values():
            fill(url, options.pages, options.visits, time.time())
        yield urls


def main() -> int:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("url", nargs="*", help="of databases that large_database.py has made")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--visits", type=int, default=10_000_000)
    parser.add_argument("--requests", type=int, default=40, help="for each address")
    parser.add_argument("--windows", type=int, default=6, help="with the dashboard open, and as many without")
    parser.add_argument("--seconds", type=float, default=15.0, help="length of a window")
    parser.add_argument("--quick", action="store_true", help="small databases, few requests")
    options = parser.parse_args()
    if options.quick:
        options.pages, options.visits, options.requests = 20_000, 200_000, 5
        options.windows, options.seconds = 2, 4.0
    missed = []
    with databases(options) as urls:
        for name, url in urls.items():
            print(f"{name}: pages of the dashboard, 95th percentile and processor time")
            slowest = measure_pages(url, options.requests)
            missed += [f"{name} {path}: {ms:.0f} ms" for path, ms in slowest.items() if ms > MOST_MS]
            print(f"{name}: reports")
            measure_reports(url, max(3, options.requests // 4))
            print(f"{name}: a crawl beside it")
            slower = measure_crawl(url, options.windows, options.seconds)
            print(f"  slower by {100 * slower:.1f} %")
            if slower > MOST_SLOWER:
                missed.append(f"{name}: the crawl is slower by {100 * slower:.1f} %")
    print("\n".join(["missed:", *missed]) if missed else "All bars are met.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
