"""The nouns of recorded histories: the versions of a page that a recorder saw, and the links of a hub.

A recorder looks at pages from time to time and keeps what it sees whenever that differs. Times are unix
seconds of the look; the page itself changed somewhere between the look before and this one.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """Why a version is in the record."""

    FIRST = "first"  #: the first one of its page, or the page came back after it was gone
    CHANGE = "change"  #: the content differs from the version before
    NOISE = "noise"  #: the bytes differ from the version before, the text does not
    TECH = "tech"  #: the recorder reads the page in another way; the page did not change
    GONE = "gone"  #: the page is no more


class Link(NamedTuple):
    """One link on a hub."""

    url: str
    title: str | None = None
    score: float | None = None  #: votes, replies, heat; None where only the position tells how hot it is
    born: float | None = None  #: when it was published, by its own word


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a recorder saw of a page: the lines of a document or the links of a hub, neither if it is gone."""

    page: str  #: ``source:name``
    at: float
    kind: Kind
    url: str | None = None
    lines: tuple[str, ...] | None = None
    links: tuple[Link, ...] | None = None  #: in the order of the page
    carry: bool = False  #: was there before the record begins

    @property
    def text(self) -> str | None:
        """The lines of a document as one text.

        >>> Version(page="a:b", at=0, kind=Kind.FIRST, lines=("It", "rains")).text
        'It\\nrains'
        """
        return None if self.lines is None else "\n".join(self.lines)


def source_of(page: str) -> str:
    """The recorder of a page, by its name.

    >>> source_of("teletext-ard:101-01")
    'teletext-ard'
    """
    return page.partition(":")[0]
