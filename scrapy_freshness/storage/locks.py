"""One crawl at a time: a lock that dies with the process that holds it.

SQLite: the operating system's lock on a file beside the database; it covers the whole database. PostgreSQL:
an advisory lock of a session of its own; it covers one spider, so that several spiders may share a database.
Maintenance (`spider_id` None) excludes every crawl.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from scrapy_freshness.errors import LockedError, StorageError
from scrapy_freshness.storage.database import Database

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

_REMEDY = "wait until it ends or stop it, or give this one another FRESHNESS_DATABASE_URL"


class CrawlLock(Protocol):
    """The right to write, held from construction until it is released."""

    def assure(self) -> None:
        """Take the lock again if it was lost; raises `LockedError` if somebody else has it."""

    def release(self) -> None:
        """Let others write."""


def take_lock(database: Database, engine: Engine, spider_id: int | None, purpose: str) -> CrawlLock:
    """The lock of a spider, or of the whole database; raises `LockedError` if it is taken."""
    if database.is_memory:
        return NoLock()
    if database.path is not None:
        return FileCrawlLock(database.path, str(database))
    return AdvisoryLock(engine, str(database), spider_id, purpose)


def is_locked(database: Database, connection: Connection, spider_id: int | None = None) -> bool:
    """Whether any crawl or maintenance holds a lock on the database (on PostgreSQL: or a spider's)."""
    if database.is_memory:
        return False
    if database.path is None:
        objects = None if spider_id is None else [spider_id]
        return connection.execute(_HOLDERS, {"objects": objects}).first() is not None
    return _is_file_locked(_lock_file(database.path))


def _is_file_locked(path: Path) -> bool:
    """Whether somebody has the lock; does not wait, and where it cannot be found out it counts as free."""
    if _HAS_FLOCK:
        with suppress(OSError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    elif path.exists():
        try:
            with FileLock(path, timeout=0):
                return False
        except Timeout:
            return True
    return False


#: Whoever asks whether a crawl runs keeps its lock from it for an instant.
_PATIENCE_SECONDS = 0.5


class NoLock:
    """For databases in memory: nobody else can see them."""

    def assure(self) -> None:
        pass

    def release(self) -> None:
        pass


class FileCrawlLock:
    """A lock on ``<database>.lock``; holds the number of the process for others to read."""

    def __init__(self, database_path: Path, name: str) -> None:
        path = _lock_file(database_path)
        holder = ""
        with suppress(OSError):
            holder = path.read_text()
        self._lock = FileLock(path, timeout=_PATIENCE_SECONDS, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout as error:
            process = f" (process {holder})" if holder else ""
            raise LockedError(f"database {name} is in use by another crawl{process}: {_REMEDY}") from error
        except OSError as error:
            raise StorageError(f"the lock file {path} cannot be written: {error.strerror}") from error
        with suppress(OSError):  # Windows does not let anybody write to a locked file
            path.write_text(str(os.getpid()))

    def assure(self) -> None:
        pass  # the operating system takes it away only when the process ends

    def release(self) -> None:
        self._lock.release()


def _lock_file(database_path: Path) -> Path:
    return database_path.with_name(database_path.name + ".lock")


_CLASS = 0x46524553  # tells our advisory locks from those of other programs; "FRES"
_EVERYTHING = 0  # the object that crawls share and maintenance has for itself; the others are spiders

_HOLDERS = text(f"""
    SELECT activity.application_name
    FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
    WHERE held.locktype = 'advisory' AND held.classid = {_CLASS} AND held.objsubid = 2 AND held.granted
        AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND held.pid <> pg_backend_pid()
        AND (CAST(:objects AS int[]) IS NULL OR CAST(held.objid AS int) = ANY(CAST(:objects AS int[])))
""")
_NAME_SESSION = text("SELECT set_config('application_name', :label, false)")


class AdvisoryLock:
    """A lock of PostgreSQL; lost with its connection, hence `assure` before every write."""

    def __init__(self, engine: Engine, name: str, spider_id: int | None, purpose: str) -> None:
        self._engine, self._name, self._spider_id, self._purpose = engine, name, spider_id, purpose
        self._connection: Connection | None = self._locked_connection()

    def assure(self) -> None:
        if not self._answers("SELECT 1"):
            self._connection = self._locked_connection()

    def release(self) -> None:
        if self._answers("SELECT pg_advisory_unlock_all()"):
            self._drop()

    def _answers(self, statement: str) -> bool:
        """Whether the session is alive; if not, it is given up."""
        if self._connection is None:
            return False
        try:
            self._connection.exec_driver_sql(statement)
        except DBAPIError:
            self._drop()
            return False
        return True

    def _drop(self) -> None:
        if self._connection is not None:
            _end_session(self._connection)
            self._connection = None

    def _locked_connection(self) -> Connection:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            # A machine that lost its power must not keep the lock for the two hours of the default.
            connection.exec_driver_sql("SET tcp_keepalives_idle = 30")
            connection.exec_driver_sql("SET tcp_keepalives_interval = 10")
            connection.exec_driver_sql("SET tcp_keepalives_count = 3")
            connection.execute(_NAME_SESSION, {"label": self._label()})
            if not self._try(connection):
                wanted = None if self._spider_id is None else [_EVERYTHING, self._spider_id]
                holder = connection.scalar(_HOLDERS, {"objects": wanted})
                by = f" by {holder}" if holder else ""
                raise LockedError(f"database {self._name} is in use{by}: {_REMEDY}")
        except BaseException:
            _end_session(connection)
            raise
        return connection

    def _try(self, connection: Connection) -> bool:
        if self._spider_id is None:
            return _ask(connection, "pg_try_advisory_lock", _EVERYTHING)
        return _ask(connection, "pg_try_advisory_lock_shared", _EVERYTHING) and _ask(
            connection, "pg_try_advisory_lock", self._spider_id
        )

    def _label(self) -> str:
        # PostgreSQL keeps the first 63 bytes.
        return f"process {os.getpid()} on {socket.gethostname()} ({self._purpose})"


def _end_session(connection: Connection) -> None:
    connection.invalidate()  # not back to the pool: the session carries a lock and a name
    connection.close()


def _ask(connection: Connection, function: str, key: int) -> bool:
    query = text(f"SELECT {function}(:class, :object)")
    return bool(connection.scalar(query, {"class": _CLASS, "object": key}))
