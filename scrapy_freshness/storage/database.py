"""From the URL a user writes to an engine with our settings.

Both databases get the same treatment of transactions: reading sees one snapshot, writing starts with the
right to write, so that it waits in a queue instead of failing half-way.
"""

import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    Pool,
    QueuePool,
    StaticPool,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError

from scrapy_freshness.errors import StorageError

BUSY_TIMEOUT_SECONDS = 10.0
CONNECT_TIMEOUT_SECONDS = 10

# A batch of 200 visits changes some 2 MB of pages; what does not fit the cache is written twice.
SQLITE_CACHE_KIB = 16 * 1024
# Pages of 4 KiB in the write-ahead log (80 MB) before they are copied to the file; what changed several times
# is copied once. With the default of 1,000 a visit costs 10 us more.
SQLITE_CHECKPOINT_PAGES = 20_000


class Database:
    """Which database a URL means; knows its name, its file and how to connect, but holds no connection."""

    def __init__(self, url: str) -> None:
        self.url = _parsed(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.is_memory = self.is_sqlite and self.url.database in (None, "", ":memory:")
        #: The file of a SQLite database; absolute, because the crawl may change its directory.
        self.path = Path(str(self.url.database)).absolute() if self.is_sqlite and not self.is_memory else None

    def __str__(self) -> str:
        """What the database is called in messages; never holds a password."""
        if self.is_memory:
            return "sqlite://"
        if self.is_sqlite:
            return str(self.url.database)
        url = self.url
        # Options may hold secrets too; only the directory of a Unix socket is of use to a reader.
        socket = {key: value for key, value in url.query.items() if key == "host"}
        return str(URL.create("postgresql", url.username, None, url.host, url.port, url.database, socket))

    def secrets(self) -> list[str]:
        """Parts of the URL that must not be shown."""
        values = [self.url.password, *(self.url.query.get(key) for key in ("password", "sslpassword"))]
        return [str(value) for value in values if value]

    def engine(self, *, read_only: bool) -> Engine:
        """An engine for this database; the first connection is made when it is used."""
        return self._sqlite_engine(read_only) if self.is_sqlite else self._postgresql_engine(read_only)

    def with_snapshots(self, engine: Engine) -> Engine:
        """The same engine with transactions that see one snapshot; SQLite has no others."""
        return engine if self.is_sqlite else engine.execution_options(isolation_level="REPEATABLE READ")

    def _sqlite_engine(self, read_only: bool) -> Engine:
        # All threads share the one connection to a database in memory: another has another database.
        pool: type[Pool] = StaticPool if self.path is None else QueuePool
        if self.path is not None and read_only and not _may_write(self.path):
            pool = NullPool  # how such a file can be read depends on whether a crawl has opened it

        def connect() -> sqlite3.Connection:
            address = ":memory:" if self.path is None else _address(self.path, read_only)
            return sqlite3.connect(address, BUSY_TIMEOUT_SECONDS, check_same_thread=False, uri=True)

        engine = create_engine("sqlite://", creator=connect, poolclass=pool, hide_parameters=True)

        @event.listens_for(engine, "connect")
        def set_up(connection: Any, _record: object) -> None:
            connection.isolation_level = None  # the driver would begin transactions late, and not for DDL
            if read_only:
                connection.execute("PRAGMA query_only = ON")
                return
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA cache_size = -{SQLITE_CACHE_KIB}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {SQLITE_CHECKPOINT_PAGES}")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            writes = connection.get_execution_options().get("writes", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        return engine

    def _postgresql_engine(self, read_only: bool) -> Engine:
        connect_args: dict[str, Any] = {}
        if "connect_timeout" not in self.url.query:
            connect_args["connect_timeout"] = CONNECT_TIMEOUT_SECONDS
        try:
            engine = create_engine(
                self.url, hide_parameters=True, pool_pre_ping=True, connect_args=connect_args
            )
        except ImportError as error:
            raise StorageError(
                "PostgreSQL needs a driver that is not installed: pip install 'scrapy-freshness[postgres]'"
            ) from error
        return engine.execution_options(postgresql_readonly=True) if read_only else engine


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _address(path: Path, read_only: bool) -> str:
    """How to open a file of SQLite.

    The write-ahead log needs two more files, which only a connection that may write removes again; the
    pragma query_only keeps readers from anything else.
    """
    mode = "mode=rw" if read_only else "mode=rwc"
    if read_only and not _may_write(path):
        # Without a log and without the right to create one, the file can only be read as it is.
        mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"
    return f"{path.as_uri()}?{mode}"


def _parsed(text: str) -> URL:
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        # The text is not repeated: what cannot be parsed may be a password with a special character.
        raise StorageError(
            "the database URL cannot be read; write it like sqlite:///freshness.db or "
            "postgresql://user:password@host/name, with special characters of the password as %XX"
        ) from error
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StorageError(
            f"the database URL starts with {backend}://, but only sqlite and postgresql are supported"
        )
    if url.host or url.query:
        raise StorageError(
            "a SQLite URL is three slashes and a path, without options, like sqlite:///freshness.db"
        )
    return url
