"""What a kind of import brings to `scrapy freshness import`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_freshness.commands.context import Context
from scrapy_freshness.imports.contract import Format, Sink

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Kind(Generic[B]):
    """A kind of import, opened for one run of the command."""

    name: str
    formats: Sequence[Format[B]]  #: the first that recognises a file reads it
    sink: Sink[B]
    adds: bool  #: whether a line that is imported twice counts twice, and must not be
    finish: Callable[[Context], dict[str, Any]]  #: called after the last file; the summary, for JSON
    told: Callable[[dict[str, Any]], list[str]]  #: the summary, for people


def number_of(url: str) -> int:
    """The number by which a page is known that has this address; `ValueError` if it is none."""
    return int.from_bytes(fingerprint(Request(url))[:8], "big", signed=True)
