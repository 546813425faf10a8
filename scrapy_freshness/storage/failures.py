"""Foreign exceptions become ours: what happened to which database, and what to do about it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from scrapy_freshness.errors import StorageError
from scrapy_freshness.storage.database import Database

_SQLITE = {
    sqlite3.SQLITE_BUSY: "is locked by another program; wait for it or stop it",
    sqlite3.SQLITE_LOCKED: "is locked by another program; wait for it or stop it",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error or is full",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore a backup, or move the file away to start anew",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; give another path, or move the file away to start anew",
    sqlite3.SQLITE_READONLY: "cannot be written; check the permissions of the file and its directory",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check the permissions of the file and its directory",
}


@contextmanager
def our_errors(database: Database) -> Iterator[None]:
    """Raise `StorageError` for whatever goes wrong with the database in the block."""
    try:
        yield
    except DBAPIError as error:
        raise StorageError(_explanation(error, database)) from error
    except SQLAlchemyError as error:
        raise StorageError(f"database {database}: {_one_line(error, database)}") from error
    except OverflowError as error:
        raise StorageError(f"database {database}: a number is too large to be stored") from error


def _explanation(error: DBAPIError, database: Database) -> str:
    cause: BaseException = error.orig or error
    if database.path is not None and not database.path.parent.is_dir():
        return f"database {database}: the directory {database.path.parent} does not exist; create it"
    if database.path is not None and database.path.is_dir():
        return f"database {database} is a directory; give the path of a file"
    # SQLite speaks to programmers; what PostgreSQL says is clear.
    known = _SQLITE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
    if known is not None:
        return f"database {database} {known}"
    return f"database {database}: {_one_line(cause, database)}"


def _one_line(error: BaseException, database: Database) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    for secret in database.secrets():
        text = text.replace(secret, "***")
    return text
