"""Bring a database to the schema of this version.

The scripts are in ``alembic/`` at the top of the source tree, and inside this folder in an installed wheel.
Their history is a line, and the name of a script starts with its revision: ``0001_pages_and_visits.py``.
"""

from functools import cache
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select, text

from scrapy_freshness.errors import SchemaError
from scrapy_freshness.storage.schema import metadata

#: Not alembic's own name: the database may be shared with a program that uses alembic too.
VERSION_TABLE = "freshness_version"

_version = Table(VERSION_TABLE, MetaData(), Column("version_num", Text))
_UPGRADE_LOCK = 0x46524553  # any number will do; "FRES"


def scripts_directory() -> Path:
    """Where the migration scripts are: in the installed package, or in a source checkout."""
    here = Path(__file__).parent
    for candidate in (here / "alembic", here.parent.parent / "alembic"):
        if (candidate / "env.py").exists():
            return candidate
    raise SchemaError("the migration scripts are missing; install scrapy-freshness again")


@cache
def revisions() -> tuple[str, ...]:
    """The revisions that this version knows, oldest first."""
    scripts = (scripts_directory() / "versions").glob("[0-9]*.py")
    return tuple(sorted(path.name.split("_")[0] for path in scripts))


def head_revision() -> str:
    """The revision of this version's schema."""
    return revisions()[-1]


def current_revision(connection: Connection) -> str | None:
    """The revision of the database, None if it has no tables of ours."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(_version.c.version_num))


def check(connection: Connection, name: str) -> bool:
    """Whether the database has the schema of this version; raises `SchemaError` if it has a newer one."""
    current = current_revision(connection)
    if current is not None and current not in revisions():
        raise SchemaError(
            f"database {name} has schema {current}, made by a newer scrapy-freshness "
            f"(this one knows up to {head_revision()}): pip install --upgrade scrapy-freshness"
        )
    return current == head_revision()


def upgrade(connection: Connection, name: str) -> None:
    """Create or upgrade all tables and views, as part of the connection's transaction."""
    if connection.dialect.name == "postgresql":  # SQLite's transaction is exclusive already
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
    if check(connection, name):
        return
    if current_revision(connection) is None:
        _refuse_foreign_tables(connection, name)
    # Here, because most starts find the schema up to date and alembic takes longer to load than to ask.
    from alembic.command import upgrade as run_alembic
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts_directory()).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    run_alembic(config, "head")


def _refuse_foreign_tables(connection: Connection, name: str) -> None:
    taken = sorted(set(inspect(connection).get_table_names()) & set(metadata.tables))
    if taken:
        raise SchemaError(
            f"database {name} already has tables of another program ({', '.join(taken)}): "
            "give scrapy-freshness a database of its own"
        )
