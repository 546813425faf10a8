"""What a kind of import brings to `scrapy freshness import`."""

import hashlib
import re
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


#: Addresses that are their own canonical form: no parameters, no percent-encoding, no dot segments.
_PLAIN = re.compile(
    r"https?://[a-z0-9]+(?:[.-][a-z0-9]+)*(?:/[A-Za-z0-9_~-]+(?:\.[A-Za-z0-9_~-]+)*)*/?(?<!:/)", re.ASCII
)


def number_of(url: str) -> int:
    """The number by which a page is known that has this address; `ValueError` if it is none.

    Scrapy's fingerprint takes twenty times as long as is needed for the plain addresses that most are.
    """
    if _PLAIN.fullmatch(url) and "/" in url[8:]:
        described = f'{{"body": "", "headers": {{}}, "method": "GET", "url": "{url}"}}'
        digest = hashlib.sha1(described.encode(), usedforsecurity=False).digest()
    else:
        digest = fingerprint(Request(url))
    return int.from_bytes(digest[:8], "big", signed=True)
