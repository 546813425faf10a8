"""What saving a visit and reading all pages cost, on both databases, against the obvious ways.

    python benchmarks/write_path.py [--quick]

A visit is one page with 1.3 kB of details and one line of the log, saved in batches of 200, of random pages
among 50,000. Times are CPU of this process, checkpoints of SQLite included; for PostgreSQL that is the
client's part. The rivals use SQLAlchemy Core: one transaction per visit, and one ``executemany`` per table.
"""

import argparse
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects import postgresql, sqlite

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from postgres import postgres_server

from scrapy_freshness.model import Batch, Outcome, PageRecord, PageStatus, VisitRecord
from scrapy_freshness.storage.database import Database
from scrapy_freshness.storage.rows import detail_row, page_row, visit_row
from scrapy_freshness.storage.schema import page, page_detail, visit
from scrapy_freshness.storage.store import Store

MAX_CPU_US_PER_VISIT = 60.0
MAX_STARTUP_RATIO = 5.0
MAX_SHARE_OF_CRAWL = 0.05
PAGES_PER_SECOND = 200
CRAWL_CPU_US_PER_PAGE = 2700.0  #: of Scrapy alone, with a spider that does nothing
BATCH = 200
SPIDER = "benchmark"
BARE_QUERY = """
    SELECT page_id, fingerprint, host_id, status, kind, priority, importance, discovered_at, last_visit_at,
        not_before, change_rate
    FROM page
"""

rng = random.Random(20)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    known_pages: int
    rounds: int
    batches_per_round: int  #: enough for one checkpoint of SQLite in each round
    startup_pages: int
    startup_rounds: int


FULL = Size(known_pages=50_000, rounds=7, batches_per_round=55, startup_pages=1_000_000, startup_rounds=5)
QUICK = Size(known_pages=10_000, rounds=3, batches_per_round=55, startup_pages=100_000, startup_rounds=3)


def record(page_id: int, at: float, details: bool = True) -> PageRecord:
    return PageRecord(
        page_id=page_id,
        fingerprint=page_id * 0x9E3779B97F4A7C15 % 2**64 - 2**63,
        url=f"https://www.host{page_id % 5000}.example/a/path/of/usual/length/{page_id}.html",
        host=f"www.host{page_id % 5000}.example",
        status=PageStatus.ACTIVE,
        discovered_at=1.7e9,
        last_visit_at=at,
        last_change_at=at,
        visits=3,
        changes=1,
        change_rate=rng.random() * 1e-5,
        change_rate_low=1e-6,
        change_rate_high=1e-4,
        etag='"5f3c-abcdef0123456789"',
        last_modified="Wed, 21 Oct 2015 07:28:00 GMT",
        content_hash=rng.getrandbits(62),
        http_status=200,
        history=os.urandom(300) if details else b"",
        profiles=os.urandom(1000) if details else b"",
    )


def batches(size: Size, count: int, length: int = BATCH) -> Iterator[Batch]:
    for _ in range(count):
        at = time.time()
        page_ids = rng.sample(range(1, size.known_pages + 1), length)
        yield Batch(
            pages=[record(page_id, at) for page_id in page_ids],
            visits=[
                VisitRecord(
                    page_id=page_id,
                    at=at,
                    outcome=Outcome.CHANGED,
                    http_status=200,
                    divergence=0.1,
                    body_bytes=60_000,
                    latency_seconds=0.3,
                )
                for page_id in page_ids
            ],
        )


def fill(url: str, pages: int, *, details: bool) -> None:
    with Store.open(url) as store:
        for first in range(1, pages + 1, 5000):
            ids = range(first, min(first + 5000, pages + 1))
            store.save(SPIDER, Batch(pages=[record(page_id, 1.7e9, details) for page_id in ids]))


class Ours:
    """Store.save."""

    visits_per_batch = BATCH

    def __init__(self, url: str) -> None:
        self._store = Store.open(url)

    def save(self, batch: Batch) -> None:
        self._store.save(SPIDER, batch)

    def close(self) -> None:
        self._store.close()


class Executemany:
    """The same rows, by an upsert of SQLAlchemy for each table."""

    visits_per_batch = BATCH

    def __init__(self, url: str) -> None:
        self._engine: Engine = Database(url).engine(read_only=False)
        dialect = sqlite if self._engine.dialect.name == "sqlite" else postgresql
        self._visit = dialect.insert(visit)
        self._page, self._detail = dialect.insert(page), dialect.insert(page_detail)
        self._page = self._page.on_conflict_do_update(
            index_elements=["page_id"], set_=dict(self._page.excluded)
        )
        self._detail = self._detail.on_conflict_do_update(
            index_elements=["page_id"], set_=dict(self._detail.excluded)
        )

    def save(self, batch: Batch) -> None:
        rows = [dict(zip(page.c.keys(), page_row(p, 1, 1, None), strict=True)) for p in batch.pages]
        details = [dict(zip(page_detail.c.keys(), detail_row(p), strict=True)) for p in batch.pages]
        visits = [dict(zip(visit.c.keys()[1:], visit_row(v, 0, None)[1:], strict=True)) for v in batch.visits]
        with self._engine.begin() as connection:
            connection.execute(self._page, rows)
            connection.execute(self._detail, details)
            connection.execute(self._visit, visits)

    def close(self) -> None:
        self._engine.dispose()


class OneByOne(Executemany):
    """The same statements, in one transaction for each visit."""

    visits_per_batch = 20

    def save(self, batch: Batch) -> None:
        for saved_page, saved_visit in zip(batch.pages, batch.visits, strict=True):
            super().save(Batch(pages=[saved_page], visits=[saved_visit]))


def cpu_us_per_visit(contender: Any, size: Size) -> float:
    prepared = list(batches(size, size.batches_per_round, contender.visits_per_batch))
    started = time.process_time()
    for batch in prepared:
        contender.save(batch)
    return (time.process_time() - started) / (size.batches_per_round * contender.visits_per_batch) * 1e6


def measure_writing(database: str, new_url: Callable[[], Any], size: Size) -> bool:
    figures: dict[str, list[float]] = {}
    with new_url() as first, new_url() as second, new_url() as third:
        for url in (first, second, third):
            fill(url, size.known_pages, details=True)
        contenders = [Ours(first), Executemany(second), OneByOne(third)]
        for _ in range(size.rounds):  # in turn, so that a busy machine slows down all of them
            for contender in contenders:
                figures.setdefault(type(contender).__name__, []).append(cpu_us_per_visit(contender, size))
        for contender in contenders:
            contender.close()
    ours = statistics.median(figures["Ours"])
    for name, values in figures.items():
        middle = statistics.median(values)
        print(
            f"{database:12}{name:14}{middle:9.1f} us CPU a visit   ({min(values):.1f} to {max(values):.1f})"
            f"{middle / ours:8.1f} x ours"
        )
    share = ours / CRAWL_CPU_US_PER_PAGE
    is_cheap = verdict(
        f"{database}: a visit costs {ours:.1f} us, at most {MAX_CPU_US_PER_VISIT:.0f}",
        ours <= MAX_CPU_US_PER_VISIT,
    )
    is_small = verdict(
        f"{database}: {ours * PAGES_PER_SECOND / 1e6:.2%} of a core at {PAGES_PER_SECOND} pages a second, "
        f"{share:.1%} of what a crawl takes there or less, at most {MAX_SHARE_OF_CRAWL:.0%}",
        share <= MAX_SHARE_OF_CRAWL,
    )
    return is_cheap and is_small


def measure_startup(sqlite_url: str, postgres_url: str, size: Size) -> bool:
    for url in (sqlite_url, postgres_url):
        fill(url, size.startup_pages, details=False)

    def bare() -> int:
        with sqlite3.connect(str(Database(sqlite_url).path)) as connection:
            return len(connection.execute(BARE_QUERY).fetchall())

    def ours(url: str) -> Callable[[], int]:
        store = Store.open_readonly(url)
        return lambda: len(store.load_pages(SPIDER).page_id)

    contenders = {"bare sqlite3": bare, "SQLite": ours(sqlite_url), "PostgreSQL": ours(postgres_url)}
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(size.startup_rounds):
        for name, read in contenders.items():
            started = time.perf_counter()
            assert read() == size.startup_pages
            figures[name].append(time.perf_counter() - started)
    middle = {name: statistics.median(values) for name, values in figures.items()}
    passed = True
    for name, values in figures.items():
        ratio = middle[name] / middle["bare sqlite3"]
        print(
            f"read {size.startup_pages:,} pages  {name:14}{middle[name]:7.2f} s   "
            f"({min(values):.2f} to {max(values):.2f}){ratio:8.1f} x bare"
        )
        if name != "bare sqlite3":
            passed &= verdict(
                f"{name}: start-up {ratio:.1f} x bare, at most {MAX_STARTUP_RATIO:.0f} x",
                ratio <= MAX_STARTUP_RATIO,
            )
    return passed


def verdict(claim: str, holds: bool) -> bool:
    print(f"{'PASS' if holds else 'FAIL'}  {claim}")
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller databases, fewer repetitions")
    size = QUICK if parser.parse_args().quick else FULL
    with tempfile.TemporaryDirectory() as directory, postgres_server() as server:
        numbers = iter(range(100))

        @contextmanager
        def sqlite_database() -> Iterator[str]:
            yield f"sqlite:///{directory}/{next(numbers)}.db"

        results = [
            measure_writing("SQLite", sqlite_database, size),
            measure_writing("PostgreSQL", server.database, size),
        ]
        with sqlite_database() as sqlite_url, server.database() as postgres_url:
            results.append(measure_startup(sqlite_url, postgres_url, size))
    # CPU time grows when other programs share the caches and the cores.
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
