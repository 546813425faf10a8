"""Who is next?  Our planner against Scrapy's default scheduler, in one run, in CPU time.

A visit of ours is everything the planner does for it: choosing the page (lazy arg max over all known
pages, hosts with a delay), asking for its record and taking it in, opening the visit, closing it,
estimating the change rate and putting the page back to sleep. Making the records and measuring the
content are not the planner's business and not timed. The default scheduler's part is `next_request`.

Bars: at least 20 times faster than the default with 5,000 hosts; at most twice as slow from the
smallest to the largest table; at most 120 bytes a known page; no call longer than 20 ms.
`--full` adds 10 million pages (about 4 GB of RAM while they are made).
"""

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from types import SimpleNamespace

import numpy as np
from rich.console import Console
from rich.table import Table
from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.test import get_crawler

from scrapy_freshness.config import Config
from scrapy_freshness.estimation.history import extended
from scrapy_freshness.model import Outcome, PageColumns, PageRecord, PageStatus
from scrapy_freshness.pacing.budget import price_for_rate
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_of
from scrapy_freshness.planning.visits import Report
from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.greedy import Greedy

MIN_RATIO = 20.0
MAX_GROWTH = 2.0
MAX_BYTES = 120
MAX_PAUSE_MS = 20.0
REPETITIONS = 5
PENDING = 100_000  # requests in the default scheduler
HOSTS = 5_000
VISITS_PER_SECOND = 200.0
DELAY_SECONDS = 1.0  # between two visits to a host
NOW = 1_700_000_000.0


def process_time_cost() -> float:
    """Seconds that a look at the CPU clock adds to what is timed with it."""
    costs = []
    for _ in range(5000):
        start = time.process_time()
        costs.append(time.process_time() - start)
    return median(costs)


class DefaultScheduler:
    """Scrapy's own scheduler in memory, full of requests to so many hosts."""

    def __init__(self, hosts: int) -> None:
        self.name = f"default, {PENDING // 1000}k requests, {hosts:,} host{'s' * (hosts > 1)}"
        self.times: list[float] = []
        self._batch = 20_000 if hosts == 1 else 400
        crawler = get_crawler(Spider)
        downloader = SimpleNamespace(slots={}, get_slot_key=lambda r: urlparse_cached(r).hostname)
        crawler.engine = SimpleNamespace(downloader=downloader)  # type: ignore[assignment]
        self._scheduler = Scheduler.from_crawler(crawler)
        self._scheduler.open(Spider(name="benchmark"))
        for number in range(PENDING):
            self._scheduler.enqueue_request(Request(f"http://h{number % hosts}.example/{number}"))

    def measure(self) -> None:
        """CPU time per request of one batch, which then goes back in."""
        start = time.process_time()
        taken = [self._scheduler.next_request() for _ in range(self._batch)]
        self.times.append((time.process_time() - start) / self._batch)
        for request in taken:
            assert request is not None
            self._scheduler.enqueue_request(request.replace(dont_filter=True))


def known_pages(count: int) -> PageColumns:
    """Pages in the middle of a long crawl: all values different, visited when they were worth it."""
    rng = np.random.default_rng(2026)
    importance = rng.lognormal(0, 1, count).astype(np.float32)
    change_rate = (10 ** rng.uniform(-6, -3, count)).astype(np.float32)
    beliefs = Beliefs(importance=importance.astype(np.float64), change_rate=change_rate.astype(np.float64))
    sample = slice(None, None, max(1, count // 5000))
    some = beliefs.at(sample)
    price = price_for_rate(Greedy(), some, VISITS_PER_SECOND * len(some.importance) / count)
    interval = np.minimum(Greedy().elapsed_at(beliefs, price), 1e7)
    return PageColumns(
        hosts=[f"h{number}.example" for number in range(HOSTS)],
        page_id=np.arange(count),
        fingerprint=rng.integers(-(2**63), 2**63 - 1, count),
        host=rng.integers(0, HOSTS, count).astype(np.int32),
        status=np.full(count, PageStatus.ACTIVE, np.uint8),
        kind=np.zeros(count, np.uint8),
        priority=np.zeros(count, np.int32),
        importance=importance,
        discovered_at=np.zeros(count),
        last_visit_at=NOW - rng.uniform(0, 1, count) * interval,
        not_before=np.zeros(count),
        failures=np.zeros(count, np.int32),
        change_rate=change_rate,
        beliefs={"mean_rate": change_rate, "doubt": np.full(count, 0.5, np.float32)},
    )


def new_planner() -> Planner:
    """The planner of a crawl without any settings."""
    config = Config()
    policy = policy_of(config)
    return Planner(
        policy,
        Hosts(5.0, 3600.0),
        learner_of(policy, config),
        crawls_per_second=VISITS_PER_SECOND,
        min_interval=1.0,
    )


@dataclass
class OurPlanner:
    """The planner with so many known pages, driven as the scheduler drives it."""

    count: int
    times: list[float] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = f"planner, {self.count:,} pages, {HOSTS:,} hosts"
        self._pages = known_pages(self.count)
        tracemalloc.start()
        self._planner = new_planner()
        self._planner.load(self._pages, self.count, NOW)
        self._planner.start(NOW)
        self.bytes_per_page = tracemalloc.get_traced_memory()[0] / self.count
        tracemalloc.stop()
        self._records: dict[int, PageRecord] = {}
        self._free_at: dict[str, float] = {}
        self._visits = 0
        self._history = extended(extended(extended(b"", 1e5, False), 1e4, True), 3e5, False)
        self._overhead = process_time_cost()
        self._drive(2000)  # into the steady state

    def measure(self) -> None:
        """CPU time per visit, and the longest single call, over some thousand visits."""
        gc.collect()
        spent, longest = self._drive(5000)
        self.times.append(spent)
        self.pauses.append(max(longest, self._discover(500)))

    def _drive(self, visits: int) -> tuple[float, float]:
        planner, calls = self._planner, []

        def timed(call: Callable[..., object], *arguments: object) -> object:
            start = time.process_time()
            result = call(*arguments)
            calls.append(time.process_time() - start - self._overhead)
            return result

        for _ in range(visits):
            self._visits += 1
            now = NOW + self._visits / VISITS_PER_SECOND
            wanted = timed(planner.wanted, now)
            records = [self._record(page_id) for page_id in wanted]
            timed(planner.supply, wanted, records)
            visit = timed(planner.begin_visit, now, self._host_free_at)
            assert visit is not None
            self._free_at[visit.record.host] = now + DELAY_SECONDS
            outcome = Outcome.UNCHANGED if self._visits % 4 else Outcome.CHANGED
            timed(planner.end_visit, visit, Report(outcome=outcome, at=now))
            if self._visits % 200 == 0:  # the writer's flush, once a second
                timed(planner.settle, now)
                self._records |= {record.page_id: record for record in planner.take_updates()[0]}
        return sum(calls) / visits, max(calls)

    def _discover(self, pages: int) -> float:
        """Longest of some calls that add a page; they are visited in between the others."""
        longest = 0.0
        for _ in range(pages):
            number = len(self._planner)
            page = PageRecord(page_id=0, fingerprint=number, url=f"http://new/{number}", host="h1.example")
            start = time.process_time()
            record = self._planner.discover(page, NOW + self._visits / VISITS_PER_SECOND)
            longest = max(longest, time.process_time() - start - self._overhead)
            self._records[record.page_id] = record
        return longest

    def _host_free_at(self, host: str, now: float) -> float:
        return self._free_at.get(host, 0.0)

    def _record(self, page_id: int) -> PageRecord:
        known = self._records.get(page_id)
        if known is not None:
            return known
        return PageRecord(
            page_id=page_id,
            fingerprint=int(self._pages.fingerprint[page_id]),
            url=f"http://h.example/{page_id}",
            host=self._pages.hosts[self._pages.host[page_id]],
            status=PageStatus.ACTIVE,
            importance=float(self._pages.importance[page_id]),
            last_visit_at=float(self._pages.last_visit_at[page_id]),
            history=self._history,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also with 10 million pages")
    sizes = [100_000, 1_000_000, *([10_000_000] if parser.parse_args().full else [])]

    few, many = DefaultScheduler(1), DefaultScheduler(HOSTS)
    ours = [OurPlanner(size) for size in sizes]
    gc.freeze()  # the garbage collector need not look through the default's requests in our calls
    for _ in range(REPETITIONS):
        for each in (few, many, *ours):
            each.measure()

    console = Console()
    speed = Table("", "us a visit, median (range)", "bytes a page", "longest call, ms", title="CPU time")
    for each in (few, many):
        speed.add_row(each.name, microseconds(each.times), "", "")
    for each in ours:
        pauses = f"{1000 * max(each.pauses):.1f}"
        speed.add_row(each.name, microseconds(each.times), f"{each.bytes_per_page:.0f}", pauses)
    console.print(speed)

    million = ours[1]
    ratio = median(many.times) / median(million.times)
    growth = max(median(each.times) for each in ours[1:]) / median(ours[0].times)
    memory = max(each.bytes_per_page for each in ours)
    pause = 1000 * max(max(each.pauses) for each in ours)
    verdicts = [
        ("times faster than the default at 5,000 hosts", ratio, f">= {MIN_RATIO:.0f}", ratio >= MIN_RATIO),
        ("times the cost of the smallest table", growth, f"<= {MAX_GROWTH:.0f}", growth <= MAX_GROWTH),
        ("bytes a known page", memory, f"<= {MAX_BYTES}", memory <= MAX_BYTES),
        ("ms in one call", pause, f"<= {MAX_PAUSE_MS:.0f}", pause <= MAX_PAUSE_MS),
    ]
    bars = Table("planner", "measured", "bar", "", title="Bars")
    for name, measured, bar, passed in verdicts:
        bars.add_row(name, f"{measured:.1f}", bar, "PASS" if passed else "FAIL")
    console.print(bars)
    aim = median(million.times) / median(few.times)
    console.print(f"Aim: as fast as the default with one host; it takes {aim:.1f} times as long.")
    return 0 if all(passed for *_, passed in verdicts) else 1


def microseconds(times: list[float]) -> str:
    low, middle, high = (1e6 * each for each in (min(times), median(times), max(times)))
    return f"{middle:,.1f} ({low:,.1f} to {high:,.1f})"


if __name__ == "__main__":
    sys.exit(main())
