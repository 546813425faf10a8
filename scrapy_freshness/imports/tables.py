"""Tables: CSV with any delimiter, with or without a header, and JSON Lines.

A kind of import says which columns it knows and what becomes of a row; here a row is found in a line. A
record is a line: a quoted field with a line end in it is not understood.
"""

import csv
import json
import math
from collections import Counter
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
    is_number: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


class RowSink(Protocol[B_co]):
    """Takes the rows of one block."""

    def add(self, row: Sequence[str]) -> str | None:
        """Take a row, in the order of the fields, empty where there is nothing; `ValueError` says why not.

        Returns why the row may mean something else, if it may.
        """
        ...

    def batch(self) -> B_co:
        """What all rows say together."""
        ...


class Csv(Generic[B]):
    """Comma-separated values, or separated by semicolons, tabs or bars.

    Columns are found by their names in the first line; comments that begin with ``#`` may come before it.
    Without a header, they are in the order of the fields.
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
        lines = ((index, line) for index, line in numbered(head) if not line.startswith(b"#"))
        n_before, first = next(lines, (0, b""))
        text = decoded(first)
        for delimiter in sorted(_DELIMITERS, key=text.count, reverse=True):
            names = [name.strip().lower() for name in cells(text, delimiter)]
            places = [_place(field, names) for field in self._fields]
            if all(
                place is not None
                for place, field in zip(places, self._fields, strict=True)
                if field.is_needed
            ):
                doubt = _doubt_of(self._fields, names)
                return _CsvParser(delimiter, places, self._new_sink, n_before + 1, doubt)
        return None if self._needs_header else self._without_header(text, n_before)

    def _without_header(self, text: str, n_before: int) -> "_CsvParser[B] | None":
        for delimiter in sorted(_DELIMITERS, key=text.count, reverse=True):
            row = cells(text, delimiter)
            places: list[int | None] = [
                place if place < len(row) else None for place in range(len(self._fields))
            ]
            try:
                self._new_sink().add(_at(row, places))
            except ValueError:
                continue
            return _CsvParser(delimiter, list(range(len(self._fields))), self._new_sink, n_before)
        return None


class _CsvParser(Generic[B]):
    def __init__(
        self,
        delimiter: str,
        places: list[int | None],
        new_sink: Callable[[], RowSink[B]],
        header_lines: int,
        doubt: str = "",
    ) -> None:
        self._delimiter = delimiter
        self._places = places
        self._new_sink = new_sink
        self._doubt = doubt
        self.header_lines = header_lines

    def parse(self, block: bytes) -> Parsed[B]:
        return parsed_lines(block, self._new_sink(), self._row, self._doubt)

    def _row(self, text: str) -> list[str]:
        return _at(cells(text, self._delimiter), self._places)


class JsonLines(Generic[B]):
    """One JSON object a line; its keys are the names of the fields."""

    name = "jsonl"
    is_log = False

    def __init__(self, fields: Sequence[Field], new_sink: Callable[[], RowSink[B]]) -> None:
        self._fields = fields
        self._new_sink = new_sink

    def parser(self, head: bytes) -> "_JsonParser[B] | None":
        """By the first character."""
        if head.lstrip()[:1] != b"{":
            return None
        return _JsonParser(self._fields, self._new_sink)


class _JsonParser(Generic[B]):
    header_lines = 0

    def __init__(self, fields: Sequence[Field], new_sink: Callable[[], RowSink[B]]) -> None:
        self._fields = fields
        self._new_sink = new_sink

    def parse(self, block: bytes) -> Parsed[B]:
        return parsed_lines(block, self._new_sink(), self._row)

    def _row(self, text: str) -> list[str]:
        values = _values(text)
        row = []
        for field in self._fields:
            value = next((values[name] for name in field.names if name in values), None)
            row.append(_numeral(value) if field.is_number else _text(value))
        return row


def parsed_lines(
    block: bytes, sink: RowSink[B], row_of: Callable[[str], Sequence[str]], doubt: str = ""
) -> Parsed[B]:
    """Read a block line by line; *doubt* says why all of them may mean something else."""
    bad, doubts = [], Counter[str]()
    for index, line in numbered(block):
        try:
            if b"\0" in line:
                raise ValueError("has NUL bytes")
            own_doubt = sink.add(row_of(decoded(line)))
        except ValueError as error:
            bad.append(BadLine(index, str(error), line))
        else:
            doubts.update(filter(None, (own_doubt, doubt)))
    return Parsed(sink.batch(), count_lines(block), bad, doubts)


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


def _doubt_of(fields: Sequence[Field], names: Sequence[str]) -> str:
    """Why rows may mean something else: how often may be told in a column that is not known.

    >>> _doubt_of([Field("query"), Field("count", is_needed=False, is_number=True)], ["query", "volume"])
    'no count that is known, so that each counts once (columns read: query)'
    """
    places = [_place(field, names) for field in fields]
    read = sorted({place for place in places if place is not None})
    for field, place in zip(fields, places, strict=True):
        if field.is_number and not field.is_needed and place is None and len(read) < len(names):
            known = ", ".join(names[each] for each in read)
            return f"no {field.name} that is known, so that each counts once (columns read: {known})"
    return ""


def _values(text: str) -> dict[str, Any]:
    """What a line of JSON says, by keys in lower case."""
    try:
        found = json.loads(text)
    except (RecursionError, ValueError):
        raise ValueError("not JSON") from None
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return {str(key).lower(): value for key, value in found.items()}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _numeral(value: Any) -> str:
    """A number of JSON as text; a point there always begins a fraction, which more decimals make sure of.

    >>> _numeral(1.234), _numeral(1.25), _numeral(1e-07), _numeral(12), _numeral("1.234"), _numeral(None)
    ('1.234000', '1.25000', '1e-07', '12', '1.234', '')
    """
    if isinstance(value, float) and math.isfinite(value) and "e" not in repr(value):
        return f"{value!r}000"
    return _text(value)
