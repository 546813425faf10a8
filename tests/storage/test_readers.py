"""Commands and the dashboard read while a crawl writes, and disturb nothing."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import page, visit

from scrapy_freshness.errors import StorageError
from scrapy_freshness.model import Batch
from scrapy_freshness.storage.page_reports import count_pages, page_visits
from scrapy_freshness.storage.store import Store


def test_a_reader_sees_what_a_crawl_has_saved_so_far(store: Store, database_url: str) -> None:
    with Store.open_readonly(database_url) as reader:
        for number in range(1, 4):
            store.save("quotes", Batch(pages=[page(number)]))
            assert reader.page_count("quotes") == number


def test_a_reader_never_sees_half_a_batch_and_never_waits(store: Store, database_url: str) -> None:
    done = threading.Event()
    seen = set()

    def read() -> None:
        with Store.open_readonly(database_url) as reader:
            while not done.is_set():
                with reader.reading():
                    pages = reader.page_count("quotes")
                seen.add(pages % 50)
                assert len(reader.load_pages("quotes").page_id) % 50 == 0

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(30):
        ids = range(number * 50 + 1, number * 50 + 51)
        store.save("quotes", Batch(pages=[page(i) for i in ids], visits=[visit(i, 1.0) for i in ids]))
    done.set()
    thread.join()

    assert seen == {0}
    assert count_pages(store) == 1500


@pytest.mark.parametrize("opened", [Store.open_readonly, Store.open])
def test_a_snapshot_stays_the_same_while_it_is_read(
    store: Store, database_url: str, opened: Callable[[str], Store]
) -> None:
    store.save("quotes", Batch(pages=[page(1)]))
    with opened(database_url) as reader, reader.reading() as snapshot:
        before = snapshot.exec_driver_sql("SELECT count(*) FROM page").scalar_one()
        store.save("quotes", Batch(pages=[page(2)]))

        assert snapshot.exec_driver_sql("SELECT count(*) FROM page").scalar_one() == before == 1


def test_a_reader_cannot_write(store: Store, database_url: str) -> None:
    with Store.open_readonly(database_url) as reader, pytest.raises(StorageError):
        reader.save("quotes", Batch(pages=[page(1)]))

    assert store.page_count("quotes") == 0


def test_many_threads_may_read_through_one_store(store: Store, database_url: str) -> None:
    store.save("quotes", Batch(pages=[page(1)], visits=[visit(1, 5.0)]))
    failures: list[BaseException] = []

    def read(reader: Store) -> None:
        try:
            for _ in range(20):
                assert [record.at for record in page_visits(reader, 1)] == [5.0]
        except BaseException as error:
            failures.append(error)

    with Store.open_readonly(database_url) as reader:
        threads = [threading.Thread(target=read, args=(reader,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert failures == []


@pytest.mark.parametrize("writable", [True, False])
def test_reading_a_database_at_rest_leaves_no_files(
    sqlite_url: str, tmp_path: Path, writable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(sqlite_url) as store:
        store.save("quotes", Batch(pages=[page(1)]))
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setattr(os, "access", lambda *_: writable)

    with Store.open_readonly(sqlite_url) as reader:
        assert reader.page_count("quotes") == 1

    assert sorted(path.name for path in tmp_path.iterdir()) == before == ["freshness.db"]


def test_a_reader_without_the_right_to_write_sees_a_crawl_that_begins_and_ends(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(sqlite_url) as store:
        store.save("quotes", Batch(pages=[page(1)]))
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for anybody but root

    with Store.open_readonly(sqlite_url) as reader:
        seen = [reader.page_count("quotes")]
        with Store.open(sqlite_url) as store:
            for number in (2, 3):
                store.save("quotes", Batch(pages=[page(number)]))
                seen.append(reader.page_count("quotes"))
        seen.append(reader.page_count("quotes"))

    assert seen == [1, 2, 3, 3]
