"""How long do the pages of the dashboard take over a large database, and what does it cost a crawl?

    python benchmarks/dashboard.py [URL] [--requests N]

URL is that of a database as `benchmarks/large_database.py` makes it; without one, a small one of that kind is
made. The dashboard is served on loopback, and each page is asked for one after the other: cold once, then
warm. Printed are milliseconds from the request to the last byte, the CPU time of a warm request (with what is
brought up to date meanwhile: on a busy machine, trust this), and how busy an open overview keeps the process.
"""

import argparse
import http.client
import os
import socket
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import uvicorn

from scrapy_freshness.clock import SystemClock
from scrapy_freshness.config import Config
from scrapy_freshness.dashboard.app import new_app
from scrapy_freshness.dashboard.security import Door
from scrapy_freshness.storage.store import Store

PATHS = (
    "/",
    "/live/now",
    "/live/charts?range=7d",
    "/live/charts?range=30d",
    "/live/budgets",
    "/pages",
    "/pages?sort=url",
    "/pages?sort=last_visit&page=400",
    "/pages?sort=next_visit&order=desc",
    "/pages?q=sport",
    "/pages?q=something-99&sort=importance",
    "/pages?q=^https://www\\.host1\\d*\\.example/.*7$&regex=1&sort=value",
    "/pages?q=.&regex=1&page=20",
    "/pages?host=www.host1.example&sort=visits",
    "/pages?status=gone",
    "/pages/500000",
    "/hosts",
    "/hosts?sort=freshness",
    "/sources",
    "/signals",
    "/policies",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("url", nargs="?", help="of a large database; default: a small one is made")
    parser.add_argument("--requests", type=int, default=20, help="warm requests of each page")
    parser.add_argument("--open-seconds", type=float, default=60.0, help="how long the overview stays open")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options.url or small_database(Path(folder)), options.requests, options.open_seconds)


def small_database(folder: Path) -> str:
    from large_database import fill

    url = f"sqlite:///{folder / 'freshness.db'}"
    fill(url, 20_000, 200_000, time.time())
    return url


def measure(url: str, n_requests: int, open_seconds: float) -> None:
    clock = SystemClock()
    with Store.open_readonly(url) as store, socket.create_server(("127.0.0.1", 0)) as listening:
        app = new_app(store, Config(database_url=url), clock, Door("127.0.0.1"))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            port = listening.getsockname()[1]
            print(f"{'page':<68} {'cold ms':>9} {'p50 ms':>8} {'p95 ms':>8} {'CPU ms':>8} {'kB':>6}")
            for path in PATHS:
                print_times(port, path, n_requests)
            stay_open(port, open_seconds)
        finally:
            server.should_exit = True
            thread.join()


def print_times(port: int, path: str, n_requests: int) -> None:
    cold, size = ask(port, path)
    busy = time.process_time()
    warm = [ask(port, path)[0] for _ in range(n_requests)]
    cpu = 1000 * (time.process_time() - busy) / n_requests
    p50, p95 = np.percentile(warm, (50, 95))
    numbers = f"{cold:>9.1f} {p50:>8.1f} {p95:>8.1f} {cpu:>8.1f} {size / 1000:>6.0f}"
    print(f"{path:<68} {numbers}", flush=True)


def ask(port: int, path: str) -> tuple[float, int]:
    """Milliseconds and bytes of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    started = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    elapsed = time.perf_counter() - started
    connection.close()
    if answer.status not in (200, 204):
        raise SystemExit(f"{path}: HTTP {answer.status}")
    return 1000 * elapsed, len(body)


def stay_open(port: int, seconds: float) -> None:
    """Ask as an open overview does, and print how busy that keeps the process."""
    before, started = os.times(), time.monotonic()
    charts_at = 0.0
    while time.monotonic() - started < seconds:
        ask(port, "/live/now")
        if time.monotonic() - charts_at > 20:
            ask(port, "/live/charts?range=6h")
            charts_at = time.monotonic()
        time.sleep(3.0)
    after = os.times()
    busy = (after.user + after.system - before.user - before.system) / (time.monotonic() - started)
    print(f"an open overview keeps {busy:.1%} of one core busy")


if __name__ == "__main__":
    main()
