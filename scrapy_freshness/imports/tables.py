"""Tables: CSV with any delimiter, with or without a header, and JSON Lines.

A kind of import says which columns it knows and what becomes of a row; here a row is found in a line. A
record is a line: a quoted field with a line end in it is not understood.
"""

import csv
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from scrapy_freshness.imports.contract import BadLine, Parsed, numbered

B = TypeVar("B")
B_co = TypeVar("B_co", covariant=True)

_DELIMITERS = ",;\t|"


class Field(NamedTuple):
    """A column that a kind of import knows."""

    name: str
    aliases: tuple[str, ...] = ()  #: lower case
    is_needed: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


class RowSink(Protocol[B_co]):
    """Takes the rows of one block."""

    def add(self, row: Sequence[str]) -> None:
        """Take a row, in the order of the fields, empty where there is nothing; `ValueError` says why not."""
        ...

    def batch(self) -> B_co:
        """What all rows say together."""
        ...


class Csv(Generic[B]):
    """Comma-separated values, or separated by semicolons, tabs or bars.

    Columns are found by their names in the first line. Without a header, they are in the order of the fields.
    """

    name = "csv"
    is_log = False

    def __init__(
        self, fields: Sequence[Field], new_sink: Callable[[], RowSink[B]], *, needs_header: bool = False
    ) -> None:
        self._fields = fields
        self._new_sink = new_sink
        self._needs_header = needs_header

    def parser(self, head: bytes) -> "_CsvParser[B] | None":
        """By the first line: a header with the fields that are needed, or a row that can be used."""
        first = next((line for _, line in numbered(head)), b"")
        text = decoded(first)
        for delimiter in sorted(_DELIMITERS, key=text.count, reverse=True):
            names = [name.strip().lower() for name in cells(text, delimiter)]
            places = [_place(field, names) for field in self._fields]
            if all(
                place is not None
                for place, field in zip(places, self._fields, strict=True)
                if field.is_needed
            ):
                header_lines = head.splitlines().index(first) + 1
                return _CsvParser(delimiter, places, self._new_sink, header_lines)
        return None if self._needs_header else self._without_header(text)

    def _without_header(self, text: str) -> "_CsvParser[B] | None":
        for delimiter in sorted(_DELIMITERS, key=text.count, reverse=True):
            row = cells(text, delimiter)
            places: list[int | None] = [
                place if place < len(row) else None for place in range(len(self._fields))
            ]
            try:
                self._new_sink().add(_at(row, places))
            except ValueError:
                continue
            return _CsvParser(delimiter, list(range(len(self._fields))), self._new_sink, 0)
        return None


class _CsvParser(Generic[B]):
    def __init__(
        self, delimiter: str, places: list[int | None], new_sink: Callable[[], RowSink[B]], header_lines: int
    ) -> None:
        self._delimiter = delimiter
        self._places = places
        self._new_sink = new_sink
        self.header_lines = header_lines

    def parse(self, block: bytes) -> Parsed[B]:
        return parsed_lines(
            block, self._new_sink(), lambda text: _at(cells(text, self._delimiter), self._places)
        )


class JsonLines(Generic[B]):
    """One JSON object a line; its keys are the names of the fields."""

    name = "jsonl"
    is_log = False
    header_lines = 0

    def __init__(self, fields: Sequence[Field], new_sink: Callable[[], RowSink[B]]) -> None:
        self._fields = fields
        self._new_sink = new_sink

    def parser(self, head: bytes) -> "JsonLines[B] | None":
        """By the first character."""
        return self if head.lstrip()[:1] == b"{" else None

    def parse(self, block: bytes) -> Parsed[B]:
        """Read the lines."""
        return parsed_lines(block, self._new_sink(), self._row)

    def _row(self, text: str) -> list[str]:
        try:
            found = json.loads(text)
        except RecursionError:
            raise ValueError("not JSON") from None
        except ValueError:
            raise ValueError("not JSON") from None
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")
        keys = {str(key).lower(): value for key, value in found.items()}
        return [
            next((_cell(keys[name]) for name in field.names if name in keys), "") for field in self._fields
        ]


def parsed_lines(block: bytes, sink: RowSink[B], row_of: Callable[[str], Sequence[str]]) -> Parsed[B]:
    """Read a block line by line."""
    bad = []
    for index, line in numbered(block):
        try:
            if b"\0" in line:
                raise ValueError("has NUL bytes")
            sink.add(row_of(decoded(line)))
        except ValueError as error:
            bad.append(BadLine(index, str(error), line))
    return Parsed(sink.batch(), count_lines(block), bad)


def count_lines(block: bytes) -> int:
    """Lines of a block, whatever their ends; the last may have none.

    >>> count_lines(b"a\\nb"), count_lines(b"a\\rb\\r\\n"), count_lines(b"")
    (2, 2, 0)
    """
    return (
        block.count(b"\n") + (not block.endswith(b"\n"))
        if b"\r" not in block and block
        else len(block.splitlines())
    )


def decoded(line: bytes) -> str:
    """Text in UTF-8, or else in what Western Windows programs write.

    >>> decoded("\u00e9".encode()) == decoded("\u00e9".encode("cp1252"))
    True
    """
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def cells(text: str, delimiter: str) -> list[str]:
    """The fields of a line.

    >>> cells('"a;b";c', ";")
    ['a;b', 'c']
    """
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        raise ValueError("not CSV") from None


def _place(field: Field, names: Sequence[str]) -> int | None:
    return next((names.index(name) for name in field.names if name in names), None)


def _at(row: Sequence[str], places: Sequence[int | None]) -> list[str]:
    n_cells = len(row)
    return [row[place].strip() if place is not None and place < n_cells else "" for place in places]


def _cell(value: Any) -> str:
    """A value of JSON as text; a point there always begins a fraction, which a fourth decimal makes sure of.

    >>> _cell(1.234), _cell(1e-07), _cell(12), _cell(None)
    ('1.2340', '1e-07', '12', '')
    """
    if isinstance(value, float) and math.isfinite(value) and "e" not in repr(value):
        return f"{value!r}0"
    return "" if value is None else str(value)
