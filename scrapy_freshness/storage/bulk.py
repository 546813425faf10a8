"""Many rows with one statement.

Each database has its own fast way. SQLite's driver runs one statement for a list of rows, in C. PostgreSQL
takes one array per column and unnests them, in one round trip; the arrays are written out here, in half
the time that the driver takes for lists.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Select,
    Table,
    Text,
    any_,
    bindparam,
    cast,
    func,
    select,
)
from sqlalchemy.dialects import postgresql

_POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]


def _array(values: Iterable[object], spelling: Callable[[Any], str]) -> str:
    """An array in the notation of PostgreSQL."""
    return "{" + ",".join(["NULL" if value is None else spelling(value) for value in values]) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _hexadecimal(data: bytes) -> str:
    return '"\\\\x' + data.hex() + '"'


_SPELLING: dict[type, Callable[[Any], str]] = {
    int: str,
    float: repr,
    bool: str,
    str: _quoted,
    bytes: _hexadecimal,
}


class BulkInsert:
    """``INSERT`` of many rows; *on_conflict* says what becomes of rows that exist."""

    def __init__(self, table: Table, columns: Sequence[str], on_conflict: str = "") -> None:
        into = f"INSERT INTO {table.name} ({', '.join(columns)})"
        marks = ", ".join("?" for _ in columns)
        arrays = ", ".join(f"%s::{table.c[name].type.compile(_POSTGRESQL)}[]" for name in columns)
        self._sqlite = f"{into} VALUES ({marks}) {on_conflict}"
        self._postgresql = f"{into} SELECT * FROM unnest({arrays}) {on_conflict}"
        self._spellings = [_SPELLING[table.c[name].type.python_type] for name in columns]

    def __call__(self, connection: Connection, rows: Sequence[tuple[object, ...]]) -> None:
        """Write the rows; no two of them may have the same key."""
        if not rows:
            return
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql(self._sqlite, list(rows))
        else:
            columns = zip(self._spellings, zip(*rows, strict=True), strict=True)
            arrays = tuple(_array(values, spelling) for spelling, values in columns)
            connection.exec_driver_sql(self._postgresql, arrays)


class BulkSelect:
    """``SELECT`` of the rows where a column has one of any number of values, sent as one parameter."""

    def __init__(self, query: Select[Any], column: Column[Any]) -> None:
        values = bindparam("values", type_=Text)
        elements = func.json_each(values).table_valued("value")
        self._sqlite = query.where(column.in_(select(elements.c.value)))
        self._postgresql = query.where(column == any_(cast(values, postgresql.ARRAY(column.type))))
        self._spelling = _SPELLING[column.type.python_type]

    def __call__(self, connection: Connection, values: Iterable[object]) -> Sequence[Any]:
        """The rows, in any order."""
        if connection.dialect.name == "sqlite":
            return connection.execute(self._sqlite, {"values": json.dumps(list(values))}).all()
        return connection.execute(self._postgresql, {"values": _array(values, self._spelling)}).all()


def upsert(table: Table, columns: Sequence[str], key: Sequence[str], changes: Sequence[str]) -> BulkInsert:
    """An insert that applies *changes*, like ``a = excluded.a``, to rows that exist."""
    return BulkInsert(table, columns, f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {', '.join(changes)}")


def replacing(columns: Iterable[str]) -> list[str]:
    """Changes that give columns their new values."""
    return [f"{name} = excluded.{name}" for name in columns]


class BulkUpdate:
    """``UPDATE`` of many rows by their key, which is a whole number; rows that do not exist are left out.

    With *adds*, numbers are added to those that are there.
    """

    def __init__(self, table: Table, key: str, columns: Sequence[str], *, adds: bool = False) -> None:
        names = [key, *columns]
        arrays = ", ".join(f"%s::{table.c[name].type.compile(_POSTGRESQL)}[]" for name in names)
        before = {name: f"{table.name}.{name} + " if adds else "" for name in columns}
        sets = ", ".join(f"{name} = {before[name]}new.{name}" for name in columns)
        marks = ", ".join(f"{name} = {before[name]}?" for name in columns)
        self._sqlite = f"UPDATE {table.name} SET {marks} WHERE {key} = ?"
        # In the order of the key, as everybody who writes many rows: so nobody waits in a circle.
        self._lock = f"SELECT 1 FROM {table.name} WHERE {key} = ANY(%s::bigint[]) ORDER BY {key} FOR UPDATE"
        self._postgresql = (
            f"UPDATE {table.name} SET {sets} FROM unnest({arrays}) AS new({', '.join(names)}) "
            f"WHERE {table.name}.{key} = new.{key}"
        )
        self._spellings = [_SPELLING[table.c[name].type.python_type] for name in names]

    def __call__(self, connection: Connection, rows: Sequence[tuple[object, ...]]) -> None:
        """Write rows of the key and the columns."""
        if not rows:
            return
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql(self._sqlite, [(*row[1:], row[0]) for row in rows])
            return
        columns = list(zip(*rows, strict=True))
        arrays = [_array(values, spelling) for spelling, values in zip(self._spellings, columns, strict=True)]
        connection.exec_driver_sql(self._lock, (arrays[0],))
        connection.exec_driver_sql(self._postgresql, tuple(arrays))
