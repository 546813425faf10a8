"""Fill an empty database with the traces of a long crawl: a million pages, ten million visits, and the rest.

    python benchmarks/large_database.py sqlite:////tmp/large.db [--pages N] [--visits N]

All numbers are drawn (fixed seed) and agree with each other: the visits of a page are linked and counted, and
so are the minutes. Sizes of hosts and importance follow Zipf's law, change rates and visits of a page are
log-normal. Rows are written past the ORM, SQLite's with its driver, PostgreSQL's with COPY; indexes are made
last. Not part of `make benchmarks`: what measures on such a database makes it.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Table, text

from scrapy_freshness.content.profiles import Profile, pack
from scrapy_freshness.estimation.history import extended
from scrapy_freshness.model import Outcome, PageKind, PageStatus, SignalSource
from scrapy_freshness.storage import schema
from scrapy_freshness.storage.store import Store

SPIDER = "large"
DAY = 86400.0
SPAN = 90 * DAY
BATCH = 100_000
SIGNALS = [int(source) for source in (SignalSource.SITEMAP, SignalSource.FEED, SignalSource.PING)]
STATUSES = {
    PageStatus.NEW: 0.03,
    PageStatus.ACTIVE: 0.92,
    PageStatus.GONE: 0.03,
    PageStatus.SUSPENDED: 0.005,
    PageStatus.MOVED: 0.015,
}
KINDS = {"page": 0.9, "poll": 0.03, "audit": 0.02, "retry": 0.02, "redirect": 0.02, "robots": 0.01}

Columns = dict[str, Any]


def fill(url: str, n_pages: int, n_visits: int, now: float) -> None:
    """Fill a database that has no pages yet."""
    rng = np.random.default_rng(7)
    with Store.open(url) as store, store.writing() as connection:
        indexes = drop_indexes(connection)
        connection.execute(schema.spider.insert(), [{"id": 1, "name": SPIDER}])
        n_hosts = max(1, n_pages // 500)
        write_hosts(connection, rng, n_hosts, now)
        pages = drawn_pages(rng, n_pages, n_hosts, now)
        visits = drawn_visits(rng, pages, n_visits, now)
        write(connection, schema.visit, visits)
        count_visits(connection, rng, visits, now)
        note_freshness(connection, rng, n_pages, now)
        sum_up(pages, visits)
        count_hosts(connection, pages)
        write_details(connection, rng, n_pages)
        write_signals(connection, rng, pages, n_visits // 5, now)
        write(connection, schema.page, pages)
        for statement in indexes:
            connection.exec_driver_sql(statement)
        if connection.dialect.name == "postgresql":
            reset = "SELECT setval(pg_get_serial_sequence('{0}', 'id'), (SELECT max(id) FROM {0}))"
            for name in ("visit", "signal", "host", "spider"):
                connection.execute(text(reset.format(name)))
    if not store.database.is_sqlite:
        vacuum(url)


def drawn_pages(rng: np.random.Generator, n_pages: int, n_hosts: int, now: float) -> Columns:
    host = np.sort(np.minimum(rng.zipf(1.35, n_pages) - 1, n_hosts * 50) % n_hosts) + 1
    status = rng.choice(len(STATUSES), n_pages, p=list(STATUSES.values()))
    every = 10 ** rng.normal(5.7, 0.9, n_pages)  # seconds between changes
    doubt = 10 ** rng.uniform(0.1, 0.6, n_pages)
    kind = np.where(rng.random(n_pages) < 0.01, int(PageKind.SOURCE), int(PageKind.PAGE))
    n_sources = max(1, n_pages // 500)
    kind[:: n_pages // n_sources] = rng.choice([2, 3], len(kind[:: n_pages // n_sources]))
    sections = np.array(["news", "sport", "products", "forum", "wiki", "blog"])[rng.integers(0, 6, n_pages)]
    pairs = zip(host.tolist(), sections.tolist(), range(n_pages), strict=True)
    urls = [f"http://www.host{h}.example/{section}/a-page-about-something-{n}" for h, section, n in pairs]
    return {
        "page_id": np.arange(1, n_pages + 1),
        "fingerprint": (rng.permutation(n_pages) - n_pages // 2) * (2**63 // n_pages),
        "spider_id": np.ones(n_pages, int),
        "host_id": host,
        "status": status,
        "kind": kind,
        "priority": np.zeros(n_pages, int),
        "importance": np.minimum(rng.zipf(1.8, n_pages), 10_000).astype(float),
        "discovered_at": now - SPAN + rng.random(n_pages) * SPAN / 2,
        "not_before": np.where(status > 1, now + rng.random(n_pages) * 10 * DAY, 0.0),
        "failures": rng.poisson(0.02, n_pages),
        "change_rate": 1 / every,
        "change_rate_low": 1 / every / doubt,
        "change_rate_high": 1 / every * doubt,
        "url": urls,
    }


def drawn_visits(rng: np.random.Generator, pages: Columns, n_visits: int, now: float) -> Columns:
    """Visits in the order of time; how many a page gets is log-normal, none for those that are new."""
    wanted = rng.lognormal(0.0, 1.0, len(pages["page_id"])) * (pages["status"] != PageStatus.NEW)
    page = rng.choice(pages["page_id"], n_visits, p=wanted / wanted.sum())
    at = np.sort(now - rng.random(n_visits) * SPAN)
    visit_id = np.arange(1, n_visits + 1)
    order = np.argsort(page, kind="stable")
    is_first = np.r_[True, page[order][1:] != page[order][:-1]]
    previous = np.zeros(n_visits, int)
    previous[order[1:]] = np.where(is_first[1:], 0, visit_id[order[:-1]])
    change_chance = -np.expm1(-pages["change_rate"][page - 1] * 5 * DAY)
    draw = rng.random(n_visits)
    outcome = np.where(draw < change_chance * 0.9, int(Outcome.CHANGED), int(Outcome.UNCHANGED))
    outcome[(outcome == Outcome.UNCHANGED) & (rng.random(n_visits) < 0.6)] = int(Outcome.NOT_MODIFIED)
    outcome[draw > 0.985] = int(Outcome.FAILED)
    outcome[order[is_first]] = int(Outcome.FIRST)
    has_body = np.isin(outcome, (Outcome.FIRST, Outcome.CHANGED, Outcome.UNCHANGED))
    return {
        "id": visit_id,
        "page_id": page,
        "previous_id": nothing_if(previous == 0, previous),
        "at": at,
        "outcome": outcome,
        "http_status": np.array([200, 200, 200, 304, 404, 301, 500, 0])[outcome],
        "divergence": nothing_if(outcome != Outcome.CHANGED, rng.beta(1, 4, n_visits)),
        "body_bytes": np.where(has_body, rng.integers(2_000, 90_000, n_visits), 0),
        "latency_seconds": rng.lognormal(-2, 0.7, n_visits),
    }


def sum_up(pages: Columns, visits: Columns) -> None:
    """Columns of pages that follow from their visits."""
    size = len(pages["page_id"]) + 1
    page, outcome = visits["page_id"], visits["outcome"]
    last_at, last_change, last_id = np.zeros(size), np.zeros(size), np.zeros(size, int)
    last_status = np.zeros(size, int)
    sees = outcome < Outcome.GONE
    last_at[page[sees]] = visits["at"][sees]  # the last assignment counts
    changed = outcome <= Outcome.CHANGED
    last_change[page[changed]] = visits["at"][changed]
    last_id[page] = visits["id"]
    last_status[page] = visits["http_status"]
    pages["last_visit_at"] = nothing_if(last_at[1:] == 0, last_at[1:])
    pages["last_change_at"] = nothing_if(last_change[1:] == 0, last_change[1:])
    pages["visits"] = np.bincount(page, minlength=size)[1:]
    pages["changes"] = np.bincount(page[outcome == Outcome.CHANGED], minlength=size)[1:]
    pages["http_status"] = nothing_if(last_status[1:] == 0, last_status[1:])
    pages["last_visit_id"] = nothing_if(last_id[1:] == 0, last_id[1:])
    never = pages["visits"] == 0
    pages["status"] = np.where(never, int(PageStatus.NEW), pages["status"])
    for name in ("change_rate", "change_rate_low", "change_rate_high"):
        pages[name] = np.where(never, 0.0, pages[name])
    pages["beliefs"] = pages["found_on"] = [None] * (size - 1)
    pages["in_links"] = pages["importance_from"] = np.zeros(size - 1, int)
    pages["pinned_seconds"] = nothing_if(np.arange(size - 1) % 10_000 != 0, np.full(size - 1, 3600.0))


def write_hosts(connection: Connection, rng: np.random.Generator, n_hosts: int, now: float) -> None:
    blocked = rng.random(n_hosts) < 0.02
    columns = {
        "id": np.arange(1, n_hosts + 1),
        "name": [f"www.host{number}.example" for number in range(1, n_hosts + 1)],
        "blocked_until": np.where(blocked, now + 600 * rng.random(n_hosts), 0.0),
        "failures": np.where(blocked, rng.poisson(2, n_hosts) + 1, 0),
        "audits": rng.poisson(30, n_hosts),
        "false_not_modified": rng.poisson(0.3, n_hosts),
    }
    write(connection, schema.host, columns)


def write_details(connection: Connection, rng: np.random.Generator, n_pages: int) -> None:
    """Histories and profiles: some hundred different ones, as large as a crawl's."""
    histories, profiles = [], []
    for _ in range(200):
        history = b""
        for seconds in rng.lognormal(11, 1, 10):
            history = extended(history, float(seconds), bool(rng.random() < 0.4))
        histories.append(history)
        sketch = np.sort(rng.choice(2**32, 64, replace=False).astype(np.uint32))
        elapsed = np.cumsum(rng.lognormal(10, 1, 8)).astype(np.float32)
        moved = np.sort(rng.beta(1, 3, 8)).astype(np.float32)
        profiles.append(pack((Profile(1_790_000_000.0, sketch, 64, elapsed, moved),)))
    choice = rng.integers(0, 200, n_pages).tolist()
    columns = {
        "page_id": np.arange(1, n_pages + 1),
        "request": ['{"callback":"parse_story","meta":{"depth":2}}'] * n_pages,
        "etag": [f'"{number:x}"' for number in range(n_pages)],
        "last_modified": [None] * n_pages,
        "content_hash": np.arange(n_pages),
        "body_hash": np.arange(n_pages),
        "run_callback": [False] * n_pages,
        "history": [histories[number] for number in choice],
        "profiles": [profiles[number] for number in choice],
        "signalled": [None] * n_pages,
        "polls": [None] * n_pages,
    }
    write(connection, schema.page_detail, columns)


def write_signals(
    connection: Connection, rng: np.random.Generator, pages: Columns, n_signals: int, now: float
) -> None:
    tellers = pages["page_id"][pages["kind"] >= PageKind.SITEMAP]
    heard_at = np.sort(now - rng.random(n_signals) * SPAN)
    answered = heard_at + rng.exponential(DAY, n_signals)
    waits = answered > now
    signals = {
        "id": np.arange(1, n_signals + 1),
        "page_id": rng.choice(pages["page_id"], n_signals),
        "source": rng.choice(SIGNALS, n_signals, p=[0.5, 0.35, 0.15]),
        "told_by": rng.choice(tellers, n_signals),
        "heard_at": heard_at,
        "claimed_at": heard_at - rng.exponential(3600.0, n_signals),
        "answered_at": nothing_if(waits, answered),
        "changed": [
            None if wait else true for wait, true in zip(waits, rng.random(n_signals) < 0.6, strict=True)
        ],
    }
    signals["changed"] = [None if each is None else bool(each) for each in signals["changed"]]
    write(connection, schema.signal, signals)
    host = pages["host_id"][signals["page_id"] - 1]
    keys, place = np.unique(host * 4 + signals["source"], return_inverse=True)
    is_true = np.array([bool(each) for each in signals["changed"]])
    counts = {
        "spider_id": np.ones(len(keys), int),
        "host_id": keys // 4,
        "source": keys % 4,
        "heard": np.bincount(place),
        "answered": np.bincount(place[~waits], minlength=len(keys)),
        "confirmed": np.bincount(place[is_true], minlength=len(keys)),
    }
    write(connection, schema.signal_count, counts)
    n_sources = len(tellers)
    entries = rng.integers(10, 5_000, n_sources)
    sources = {
        "page_id": tellers,
        "found": ["robots"] * n_sources,
        "found_on": ["https://www.example/robots.txt"] * n_sources,
        "is_pinned": [False] * n_sources,
        "depth": np.zeros(n_sources, int),
        "hosts": ["[]"] * n_sources,
        "format": ["sitemap"] * n_sources,
        "verdict": rng.choice(["usable", "now", "no_dates", "same"], n_sources).tolist(),
        "entries": entries,
        "polls": rng.poisson(300, n_sources),
        "new_pages": entries,
        "signals": rng.poisson(500, n_sources),
        "barren": rng.poisson(1, n_sources),
        "last_poll_at": now - rng.random(n_sources) * DAY,
        "last_yield": rng.exponential(2.0, n_sources),
        "oddities": ["{}"] * n_sources,
        "hub": [None] * n_sources,
        "topic": [None] * n_sources,
        "seen": [bytes(12 * 100)] * n_sources,
    }
    write(connection, schema.signal_source, sources)


def count_visits(connection: Connection, rng: np.random.Generator, visits: Columns, now: float) -> None:
    minute = (visits["at"] // 60).astype(int)
    keys, counts = np.unique(minute * 8 + visits["outcome"], return_counts=True)
    ones = np.ones(len(keys), int)
    by_outcome = {"spider_id": ones, "minute": keys // 8, "outcome": keys % 8, "visits": counts}
    write(connection, schema.visit_count, by_outcome)
    minutes, totals = np.unique(minute, return_counts=True)
    for kind, share in KINDS.items():
        count = np.maximum(rng.poisson(totals * share / KINDS["page"]), 1)
        columns = {"spider_id": np.ones(len(minutes), int), "minute": minutes, "kind": [kind] * len(minutes)}
        write(connection, schema.fetch_count, columns | {"fetches": count})
    state = {"spider_id": 1, "policy": "holistic", "budget_per_second": len(minute) / SPAN, "price": 3e5}
    connection.execute(schema.crawl.insert(), [{**state, "started_at": now - SPAN, "updated_at": now - 1}])


def count_hosts(connection: Connection, pages: Columns) -> None:
    numbers, place = np.unique(pages["host_id"], return_inverse=True)
    fetches = np.bincount(place, weights=pages["visits"]).astype(int)
    counts = {
        "spider_id": np.ones(len(numbers), int),
        "host_id": numbers,
        "fetches": fetches,
        "redirects": fetches // 20,
        "retries": fetches // 50,
        "fruitful": fetches // 3,
    }
    write(connection, schema.host_count, counts)


def note_freshness(connection: Connection, rng: np.random.Generator, n_pages: int, now: float) -> None:
    minutes = np.arange(int((now - SPAN) // 60), int(now // 60))
    fresh = 0.7 + 0.1 * np.sin(minutes / 1440) + rng.normal(0, 0.01, len(minutes))
    columns = {
        "spider_id": np.ones(len(minutes), int),
        "minute": minutes,
        "freshness": fresh,
        "uniform_freshness": fresh - 0.1,
        "pages": np.full(len(minutes), n_pages),
        "price": 3e5 + rng.normal(0, 1e4, len(minutes)),
    }
    write(connection, schema.freshness_minute, columns)


def nothing_if(missing: NDArray[np.bool_], values: NDArray[Any]) -> list[Any]:
    """Numbers as Python has them, None where they are missing."""
    return np.where(missing, None, values.astype(object)).tolist()


def write(connection: Connection, table: Table, columns: Columns) -> None:
    """Write all rows of a table; columns that are not given may be left out."""
    names = [column.name for column in table.c if column.name in columns]
    lists: list[Sequence[Any]] = [columns[name] for name in names]
    n_rows = len(lists[0])
    for start in range(0, n_rows, BATCH):
        part = [each[start : start + BATCH] for each in lists]
        rows = zip(*(each.tolist() if isinstance(each, np.ndarray) else each for each in part), strict=True)
        if connection.dialect.name == "sqlite":
            marks = ", ".join("?" for _ in names)
            connection.exec_driver_sql(
                f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})", list(rows)
            )
        else:
            copy(connection, table, names, rows)
    print(f"{table.name}: {n_rows:,} rows", flush=True)


def copy(connection: Connection, table: Table, names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """COPY of PostgreSQL; text is plain here, without anything to escape but the marks of bytes."""
    cursor = connection.connection.cursor()
    with cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as stream:
        stream.write("".join("\t".join(map(spelt, row)) + "\n" for row in rows))


def spelt(value: Any) -> str:
    if value is None:
        return "\\N"
    return "\\\\x" + value.hex() if isinstance(value, bytes) else str(value)


def drop_indexes(connection: Connection) -> list[str]:
    """Drop all indexes but the keys; returns the statements that make them again."""
    if connection.dialect.name == "sqlite":
        found = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND name LIKE 'ix%'"
    else:
        found = "SELECT indexname, indexdef FROM pg_indexes WHERE indexname LIKE 'ix%'"
    indexes = connection.exec_driver_sql(found.replace("%", "%%") if "pg_" in found else found).all()
    for name, _ in indexes:
        connection.exec_driver_sql(f"DROP INDEX {name}")
    return [statement for _, statement in indexes]


def vacuum(url: str) -> None:
    """What the server does by itself some minutes later."""
    with Store.open(url) as store:
        engine = store.database.engine(read_only=False)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
        engine.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="of an empty database")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--visits", type=int, default=10_000_000)
    options = parser.parse_args()
    started = time.perf_counter()
    fill(options.url, options.pages, options.visits, time.time())
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
