"""A database that cannot be opened or written: one line that says what to do, and never a password."""

import builtins
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from samples import page
from sqlalchemy import make_url

from scrapy_freshness.errors import StorageError
from scrapy_freshness.model import Batch
from scrapy_freshness.storage import database as database_module
from scrapy_freshness.storage.database import Database
from scrapy_freshness.storage.store import Store

OPENERS = [Store.open, Store.open_readonly]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "cannot be read"),
        ("freshness.db", "cannot be read"),
        ("postgresql://user:pa/ss:w@rd@host:port/name", "cannot be read"),
        ("sqlite://freshness.db", "three slashes and a path"),
        ("sqlite:///freshness.db?mode=ro", "without options"),
        ("mysql://user:hunter2@host/name", "only sqlite and postgresql"),
        ("nonsense://user:hunter2@host/name", "only sqlite and postgresql"),
    ],
)
@pytest.mark.parametrize("opened", OPENERS)
def test_a_bad_url_is_refused_with_an_example(opened: Any, url: str, message: str) -> None:
    with pytest.raises(StorageError, match=message) as error:
        opened(url)

    assert "hunter2" not in str(error.value)
    assert "pa/ss" not in str(error.value)


@pytest.mark.parametrize("opened", OPENERS)
def test_an_unreachable_server_is_named_without_the_password(opened: Any) -> None:
    url = "postgresql://user:hunter2@127.0.0.1:1/name?sslpassword=hunter3&connect_timeout=2"

    with pytest.raises(
        StorageError, match=r"database postgresql://user@127.0.0.1:1/name: .*refused"
    ) as error:
        opened(url)

    assert "hunter" not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_store_shows_its_database_but_no_password(sqlite_url: str) -> None:
    with Store.open(sqlite_url) as store:
        assert repr(store) == f"<Store {sqlite_url.removeprefix('sqlite:///')}>"
    assert str(Database("postgresql://user:hunter2@host:99/name?password=hunter3")) == (
        "postgresql://user@host:99/name"
    )
    assert str(Database("sqlite://")) == "sqlite://"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg2", "postgresql+psycopg"])
def test_any_spelling_of_postgresql_means_psycopg_3(postgres_url: str, scheme: str) -> None:
    with Store.open(postgres_url.replace("postgresql", scheme, 1)) as store:
        assert store.spiders() == []


def test_a_database_that_postgresql_does_not_have(postgres_url: str) -> None:
    with pytest.raises(StorageError, match=r"postgresql://.*/nothing.* does not exist"):
        Store.open(make_url(postgres_url).set(database="nothing").render_as_string())


def test_a_missing_driver_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_psycopg(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "psycopg":
            raise ModuleNotFoundError("No module named 'psycopg'")
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "psycopg", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_psycopg)

    with pytest.raises(StorageError, match=r"pip install 'scrapy-freshness\[postgres\]'"):
        Database("postgresql://host/name").engine(read_only=False)


def test_a_relative_path_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with Store.open("sqlite:///freshness.db") as store:
        monkeypatch.chdir(elsewhere)
        store.save("quotes", Batch(pages=[page(1)]))

    assert (tmp_path / "freshness.db").exists()
    assert list(elsewhere.iterdir()) == []


def test_a_database_in_memory_is_shared_by_threads() -> None:
    with Store.open("sqlite://") as store:
        store.lock("quotes")
        writer = threading.Thread(target=store.save, args=("quotes", Batch(pages=[page(1)])))
        writer.start()
        writer.join()

        assert store.page_count("quotes") == 1
        assert not store.is_locked()


@pytest.mark.parametrize("name", ["with space.db", "per%20cent.db", "que?stion#.db", "ü.db"])
def test_odd_file_names_work(tmp_path: Path, name: str) -> None:
    url = f"sqlite:///{tmp_path}/" + name.replace("%", "%25").replace("?", "%3F")
    path = Database(url).path
    assert path is not None
    with Store.open(url) as store:
        store.save("quotes", Batch(pages=[page(1)]))

    with Store.open_readonly(url) as store:
        assert store.page_count("quotes") == 1
    assert path.exists()


def test_a_missing_file_is_created_only_on_demand(sqlite_url: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no database .*crawl first$"):
        Store.open(sqlite_url, create=False)
    with pytest.raises(StorageError, match=r"there is no database .*crawl first$"):
        Store.open_readonly(sqlite_url)

    assert list(tmp_path.iterdir()) == []


def test_a_database_without_our_tables_is_filled_only_on_demand(database_url: str, tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "freshness.db").close()
    with pytest.raises(StorageError, match="has no tables of scrapy-freshness"):
        Store.open(database_url, create=False)
    with pytest.raises(StorageError, match="has no tables of scrapy-freshness"):
        Store.open_readonly(database_url)

    Store.open(database_url).close()
    Store.open(database_url, create=False).close()


@pytest.mark.parametrize("opened", OPENERS)
def test_a_file_that_is_no_database(opened: Any, sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "freshness.db").write_text("Dear diary, " * 1000)

    with pytest.raises(StorageError, match=r"freshness.db is not a SQLite database; .*move the file away"):
        opened(sqlite_url)


def test_a_damaged_database_is_reported_when_the_damage_is_met(sqlite_url: str, tmp_path: Path) -> None:
    with Store.open(sqlite_url) as store:
        store.save("quotes", Batch(pages=[page(number) for number in range(1, 2000)]))
    file = tmp_path / "freshness.db"
    content = bytearray(file.read_bytes())
    half = len(content) // 2
    content[half:] = b"\xa5" * (len(content) - half)
    file.write_bytes(content)

    with Store.open(sqlite_url) as store, pytest.raises(StorageError, match="is damaged"):
        store.load_records(range(1, 2000))


@pytest.mark.parametrize("opened", OPENERS)
def test_a_directory_in_place_of_the_file(opened: Any, sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "freshness.db").mkdir()

    with pytest.raises(StorageError, match=r"is a directory; give the path of a file$"):
        opened(sqlite_url)


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=rf"the directory {tmp_path}/nowhere does not exist; create it$"):
        Store.open(f"sqlite:///{tmp_path}/nowhere/freshness.db")


def test_a_file_that_cannot_be_opened(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "freshness.db").symlink_to(tmp_path / "nowhere" / "freshness.db")

    with pytest.raises(StorageError, match=r"cannot be opened; check the permissions"):
        Store.open(sqlite_url)


def test_a_file_that_cannot_be_written(sqlite_url: str) -> None:
    Store.open(sqlite_url).close()

    # Root may write to anything, so the permission is taken away inside SQLite.
    with Store.open_readonly(sqlite_url) as store, pytest.raises(StorageError, match="cannot be written"):
        store.save("quotes", Batch(pages=[page(1)]))


def test_a_database_that_another_program_locks(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_SECONDS", 0.1)
    with Store.open(sqlite_url) as store:
        other = sqlite3.connect(tmp_path / "freshness.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(StorageError, match="is locked by another program"):
            store.save("quotes", Batch(pages=[page(1)]))
        other.close()
        store.save("quotes", Batch(pages=[page(1)]))

        assert store.page_count("quotes") == 1


def test_a_full_disk_loses_the_batch_but_nothing_before(sqlite_url: str) -> None:
    with Store.open(sqlite_url) as store:
        store.save("quotes", Batch(pages=[page(1)]))
        with store.writing() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 5}")

        with pytest.raises(StorageError, match=r"disk is full; free some space$"):
            store.save("quotes", Batch(pages=[page(number, history=b"x" * 4000) for number in range(2, 100)]))

        assert store.page_count("quotes") == 1
        with store.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
        store.save("quotes", Batch(pages=[page(2)]))
        assert store.page_count("quotes") == 2


def test_a_server_that_restarts_is_found_again(postgres_url: str) -> None:
    with Store.open(postgres_url) as store, Store.open(postgres_url) as other:
        store.lock("quotes")
        store.save("quotes", Batch(pages=[page(1)]))
        with other.reading() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

        store.save("quotes", Batch(pages=[page(2)]))

        assert store.page_count("quotes") == 2
        assert other.is_locked()
