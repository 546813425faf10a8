"""Two crawls never write to the same pages, and a crawl that was killed leaves no lock behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from samples import page, visit

from scrapy_freshness.errors import LockedError, StorageError
from scrapy_freshness.model import Batch, HostRecord
from scrapy_freshness.storage import locks, wishes
from scrapy_freshness.storage.importance_rows import GIVEN, write_importances
from scrapy_freshness.storage.store import Store

CRAWL = """
import sys, time
from scrapy_freshness.storage import locks, wishes
from scrapy_freshness.storage.importance_rows import GIVEN, write_importances
from scrapy_freshness.storage.store import Store
store = Store.open(sys.argv[1])
store.lock(sys.argv[2])
print("locked", flush=True)
time.sleep(60)
"""


def test_a_second_crawl_is_refused_and_told_who_has_the_database(database_url: str) -> None:
    with other_crawl(database_url, "quotes") as process, Store.open(database_url) as store:
        with pytest.raises(LockedError, match=rf"in use by .*process {process.pid}.*FRESHNESS_DATABASE_URL$"):
            store.lock("quotes")

        assert store.is_locked()


def test_a_killed_crawl_leaves_no_lock(database_url: str) -> None:
    with other_crawl(database_url, "quotes") as process, Store.open(database_url) as store:
        process.send_signal(signal.SIGKILL)
        process.wait()

        lock_within_seconds(store, "quotes", 5)


def test_a_lock_ends_with_unlock_and_with_close(database_url: str) -> None:
    with Store.open(database_url) as watcher:
        store = Store.open(database_url)
        assert not watcher.is_locked()
        store.lock("quotes")
        assert watcher.is_locked()
        store.unlock()
        assert not watcher.is_locked()
        store.lock("quotes")
        store.close()
        watcher.lock("quotes")


def test_two_stores_of_one_process_exclude_each_other(database_url: str) -> None:
    with Store.open(database_url) as store, Store.open(database_url) as other:
        store.lock("quotes")

        with pytest.raises(LockedError):
            other.lock("quotes")


def test_in_sqlite_the_lock_covers_all_spiders(sqlite_url: str) -> None:
    with Store.open(sqlite_url) as store, Store.open(sqlite_url) as other:
        store.lock("quotes")

        with pytest.raises(LockedError):
            other.lock("authors")


def test_in_postgresql_other_spiders_may_crawl(postgres_url: str) -> None:
    with Store.open(postgres_url) as store, Store.open(postgres_url) as other:
        store.lock("quotes")
        other.lock("authors")
        first = other.next_page_id("authors")

        store.save("quotes", Batch(pages=[page(1)]))
        other.save("authors", Batch(pages=[page(first)]))

        assert (store.page_count("quotes"), store.page_count("authors")) == (1, 1)


def test_two_spiders_that_share_hosts_never_wait_for_each_other_for_ever(postgres_url: str) -> None:
    def crawl(spider: str, names: list[str]) -> int:
        with Store.open(postgres_url) as store:
            store.lock(spider)
            first = store.next_page_id(spider)
            for number, name in enumerate(names):
                hosts = [HostRecord(host=name, failures=number) for name in names[: number + 1]]
                store.save(spider, Batch(pages=[page(first + number, host=f"page.{name}")], hosts=hosts))
            return store.page_count(spider)

    Store.open(postgres_url).close()
    names = [f"{number}.example" for number in range(40)]
    with ThreadPoolExecutor() as pool:
        crawls = [pool.submit(crawl, "quotes", names), pool.submit(crawl, "authors", names[::-1])]

    assert [crawl.result() for crawl in crawls] == [40, 40]


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.save("quotes", Batch(pages=[page(2)], links={1: 1})),
        lambda store: store.save("quotes", Batch(visits=[visit(2, 5.0)], links={1: 1})),
        lambda store: wishes.pin(store, [2, 1], 60.0, now=5.0),
    ],
    ids=["pages", "visits", "pins"],
)
def test_a_crawl_and_an_import_never_wait_for_each_other_for_ever(
    postgres_url: str, write: Callable[[Store], object]
) -> None:
    with (
        Store.open(postgres_url) as store,
        Store.open(postgres_url) as importing,
        ThreadPoolExecutor() as pool,
    ):
        store.save("quotes", Batch(pages=[page(1), page(2)]))
        with importing.writing() as connection:
            write_importances(connection, [(1, 5.0, GIVEN)])
            writing = pool.submit(write, store)
            wait_until_somebody_waits(importing)
            write_importances(connection, [(2, 6.0, GIVEN)])
        writing.result()

        assert sorted(importing.load_importances("quotes")[1]) == [5.0, 6.0]


def test_maintenance_and_crawls_exclude_each_other(database_url: str) -> None:
    with Store.open(database_url) as crawl, Store.open(database_url) as maintenance:
        crawl.lock("quotes")
        with pytest.raises(LockedError):
            maintenance.lock()
        crawl.unlock()
        maintenance.lock()
        with pytest.raises(LockedError):
            crawl.lock("quotes")


def test_a_reader_sees_the_lock_without_leaving_a_file(database_url: str, tmp_path: Path) -> None:
    with Store.open(database_url) as store, Store.open_readonly(database_url) as reader:
        assert not reader.is_locked()
        assert not list(tmp_path.glob("*.lock"))
        store.lock("quotes")
        assert reader.is_locked()


@pytest.mark.parametrize("has_flock", [True, False])
def test_to_ask_for_the_lock_takes_no_time_and_writes_nothing(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_flock: bool
) -> None:
    monkeypatch.setattr(locks, "_HAS_FLOCK", has_flock)
    with Store.open(sqlite_url) as store, Store.open_readonly(sqlite_url) as reader:
        store.lock("quotes")
        holder = tmp_path / "freshness.db.lock"
        holder.write_text("1234")
        started = time.monotonic()
        assert all(reader.is_locked() for _ in range(10))
        store.unlock()
        assert not any(reader.is_locked() for _ in range(10))

        assert time.monotonic() - started < 2
        assert holder.read_text() == "1234"


def test_a_reader_who_may_not_write_sees_the_lock(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(sqlite_url) as store:
        store.lock("quotes")
        (tmp_path / "freshness.db.lock").chmod(0o444)
        monkeypatch.setattr(os, "access", lambda *_: False)  # as for anybody but root

        with Store.open_readonly(sqlite_url) as reader:
            assert reader.is_locked()
            store.unlock()
            assert not reader.is_locked()


def test_a_lock_file_that_cannot_be_written(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "freshness.db.lock").mkdir()

    with (
        Store.open(sqlite_url) as store,
        pytest.raises(StorageError, match=r"freshness.db.lock cannot be written"),
    ):
        store.lock("quotes")


def test_a_crawl_that_lost_its_lock_to_another_stops_writing(postgres_url: str) -> None:
    with Store.open(postgres_url) as store, Store.open(postgres_url) as other:
        store.lock("quotes")
        with other.reading() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        other.lock("quotes")

        with pytest.raises(LockedError):
            store.save("quotes", Batch(pages=[page(1)]))
        assert other.page_count("quotes") == 0
        other.unlock()
        store.save("quotes", Batch(pages=[page(1)]))
        assert other.page_count("quotes") == 1


@contextmanager
def other_crawl(database_url: str, spider: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of a spider."""
    process = subprocess.Popen(
        [sys.executable, "-c", CRAWL, database_url, spider],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until_somebody_waits(store: Store) -> None:
    deadline = time.monotonic() + 5
    waiting = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while time.monotonic() < deadline:
        with store.reading() as connection:
            if connection.exec_driver_sql(waiting).scalar_one():
                return
        time.sleep(0.01)
    raise AssertionError("nobody waits")


def lock_within_seconds(store: Store, spider: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return store.lock(spider)
        except LockedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
