"""What every import offers: formats that turn lines into records, and a place where these go.

A kind of import (clicks, importance, queries) has some formats and a sink. The formats of a kind make batches
of the same type, which its sink takes. To add a format: a module with a `Format`, and its name in the list of
the kind.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from scrapy_freshness.model import ImportProgress

B_contra = TypeVar("B_contra", contravariant=True)
B = TypeVar("B")


class BadLine(NamedTuple):
    """A line that cannot be used."""

    line: int  #: in its block, from 0
    reason: str  #: the same words for the same trouble: it is counted by them
    text: bytes = b""  #: its beginning


@dataclass(slots=True)
class Parsed(Generic[B]):
    """What became of a block of lines."""

    batch: B
    lines: int  #: all, with the bad and the empty
    bad: list[BadLine] = field(default_factory=list)
    doubts: Counter[str] = field(default_factory=Counter)  #: lines that may mean something else, by why


class Parser(Protocol[B]):
    """Reads the lines of one file; knows what its first lines say about the others."""

    def parse(self, block: bytes) -> Parsed[B]:
        """Read whole lines, in UTF-8 or nearly so; the last may have no end."""
        ...

    @property
    def header_lines(self) -> int:
        """Lines before the first that is to be parsed."""
        ...


class Format(Protocol[B]):
    """One way to write records into lines."""

    @property
    def name(self) -> str:
        """For `--format`."""
        ...

    @property
    def is_log(self) -> bool:
        """Whether a last line without an end is one that is still being written."""
        ...

    def parser(self, head: bytes) -> Parser[B] | None:
        """A parser for a file with this beginning; None if it does not look like this format.

        `ValueError` says what it is instead, if that could be taken for this format.
        """
        ...


class Sink(Protocol[B_contra]):
    """Gathers what batches say, and writes it together with how far the file has been read."""

    def add(self, batch: B_contra) -> None:
        """Take what a block said."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether so much was gathered that it should be written."""
        ...

    def save(self, progress: ImportProgress) -> None:
        """Write what was gathered, and the progress, in one transaction, which must be short."""
        ...


def numbered(block: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a block that are not empty, with their indexes; any line end will do.

    >>> list(numbered(b"a\\r\\n\\nb\\r"))
    [(0, b'a'), (2, b'b')]
    """
    for index, line in enumerate(block.splitlines()):
        if line and not line.isspace():
            yield index, line
