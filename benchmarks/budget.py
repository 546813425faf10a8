"""The budget: how many fetches a real crawl makes, what a slow host costs others, how late an idle crawl is.

All is counted by the server.

Part 1 crawls the living site (robots.txt, redirects, retries, a slow and a flaky host included) at 20/s.
Bars: all requests on the server's log within 2 % of 20 a second, never more than 25 in any second.

Part 2 crawls 200 pages of a fast host beside 200 pages of a host with a download delay of 2 s, and the fast
host alone. Bar: the fast host's pages are fetched in at most 1.25 times the time they take alone.

Part 3 crawls ten pages that are due every 2.3 s, so that the crawl is idle in between. Bar: half of the
fetches arrive within 50 ms of the time they are due, counted from the answer before.

    python benchmarks/budget.py [--seconds 300]
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "example_project"))

from experiment import LiveCrawl, world_parameters
from living_site.freshness import most_in_any_second
from living_site.model import Document
from living_site.parameters import Character, WorldParameters
from living_site.running import RunningSite

PER_SECOND = 20.0
MOST_LATE = 0.05
IDLE_SECONDS = 2.3
SCRAPY_LOOKS_EVERY = 5.0  #: an idle engine asks its scheduler only so often


def check_budget(seconds: float) -> bool:
    with RunningSite(world_parameters(1)) as site, tempfile.TemporaryDirectory() as folder:
        with LiveCrawl(
            Path(folder), site_url=site.root_urls[0], policy="greedy", per_second=PER_SECOND
        ) as crawl:
            while not site.log.entries:
                time.sleep(0.01)
            begin = site.log.entries[0].time
            while site.now() < begin + seconds:
                time.sleep(0.5)
                if not crawl.is_running:
                    raise RuntimeError("the crawl ended by itself")
        times = [entry.time for entry in site.log.entries if entry.time <= begin + seconds]
    expected = PER_SECOND * seconds
    most = most_in_any_second(times)
    fine = abs(len(times) / expected - 1) <= 0.02 and most <= 25
    off = len(times) / expected - 1
    print(
        f"{len(times)} fetches in {seconds:.0f} s, {off:+.2%} of {expected:.0f} (bar 2 %); "
        f"most in any second {most} (bar 25): {'PASS' if fine else 'FAIL'}"
    )
    return fine


def fast_seconds(characters: tuple[Character, ...]) -> float:
    """Time from the first fetch to the first fetch of the last document of the first host."""
    parameters = WorldParameters(seed=1, characters=characters, pages_per_host=200)
    with RunningSite(parameters) as site, tempfile.TemporaryDirectory() as folder:
        fast = site.world.hosts[0].address
        wanted = {page.path for page in site.world.documents if page.host.address == fast}
        slots = {host.address: {"delay": 2.0, "jitter": 0.0} for host in site.world.hosts[1:]}
        more = {"DOWNLOAD_SLOTS": json.dumps(slots)}
        with LiveCrawl(
            Path(folder), site_url=site.root_urls[0], policy="greedy", per_second=40.0, settings=more
        ) as crawl:
            deadline = time.monotonic() + 120
            while True:
                entries = list(site.log.entries)
                seen = {entry.path: entry.time for entry in reversed(entries) if entry.host == fast}
                if wanted <= seen.keys():
                    return max(seen[path] for path in wanted) - entries[0].time
                if not crawl.is_running or time.monotonic() > deadline:
                    raise RuntimeError("the fast host was not crawled")
                time.sleep(0.1)


def check_slow_host() -> bool:
    alone = fast_seconds((Character.STRONG_ETAG,))
    beside = fast_seconds((Character.STRONG_ETAG, Character.NO_VALIDATORS))
    fine = beside <= 1.25 * alone
    print(
        f"200 pages of a fast host: {alone:.1f} s alone, {beside:.1f} s beside a slow one, "
        f"ratio {beside / alone:.2f} (bar 1.25): {'PASS' if fine else 'FAIL'}"
    )
    return fine


def check_waking(seconds: float) -> bool:
    parameters = WorldParameters(seed=1, characters=(Character.STRONG_ETAG,), pages_per_host=30)
    settings = {"FRESHNESS_MIN_INTERVAL": f"{IDLE_SECONDS}s"}
    with (
        RunningSite(parameters) as site,
        tempfile.TemporaryDirectory() as folder,
        LiveCrawl(
            Path(folder),
            site_url=site.root_urls[0],
            spider="quotes",
            policy="uniform",
            per_second=100.0,
            settings=settings,
        ) as crawl,
    ):
        while site.now() < seconds:
            time.sleep(0.5)
            if not crawl.is_running:
                raise RuntimeError("the crawl ended by itself")
        entries = list(site.log.entries)
    due: dict[str, float] = {}
    late = []
    for entry in entries:
        if entry.path in due:
            late.append(entry.time - due[entry.path])
        if isinstance(site.world.page(entry.host, entry.path), Document):
            due[entry.path] = entry.answered + IDLE_SECONDS
    middle = statistics.median(late)
    fine = middle <= MOST_LATE
    print(
        f"{len(late)} fetches of an idle crawl: {1000 * middle:.1f} ms late in the median (bar "
        f"{1000 * MOST_LATE:.0f}), {1000 * max(late):.1f} at worst; by Scrapy's look every "
        f"{SCRAPY_LOOKS_EVERY:.0f} s {1000 * (-IDLE_SECONDS % SCRAPY_LOOKS_EVERY):.0f}: "
        f"{'PASS' if fine else 'FAIL'}"
    )
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    results = [check_slow_host(), check_waking(min(options.seconds, 60.0)), check_budget(options.seconds)]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
