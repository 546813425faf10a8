"""What reading a source yields: entries, and findings about the source itself.

A source is a sitemap, a sitemap index, a feed, a text with one URL a line, or robots.txt. All read alike::

    reading = read_source(body, url, now=now)     # reading.py; looks at the first bytes only
    for entries in reading:                       # each step is a bounded piece of work
        ...
    reading.findings                              # complete when the loop has ended

Reading never raises, whatever the bytes: what cannot be used is left out and counted as an oddity. It only
says what the source claims. Which claims differ from those of the last poll, and whether the dates tell
anything, is said by `poll.py`; whether they are true is learned elsewhere.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import NamedTuple, Protocol


class Moment(NamedTuple):
    """A time as exact as it was written: it lies in [at, at + resolution)."""

    at: float  #: unix seconds
    resolution: float  #: seconds; 86400.0 for a date without a time


class Role(StrEnum):
    """What the URL of an entry is."""

    PAGE = auto()
    ALTERNATE = auto()  #: the page in another language, named by the entry of one; has no dates
    SITEMAP = auto()  #: a source to be read in turn, named by a sitemap index or robots.txt


class Entry(NamedTuple):
    """One URL that a source names, and what it says about it."""

    url: str  #: absolute, http or https, without fragment; not escaped
    changed: Moment | None = None  #: when it is said to have changed last
    published: Moment | None = None  #: when it is said to have been published
    key: str = ""  #: by which the source tells entries apart: a feed's id, else the URL
    role: Role = Role.PAGE
    is_foreign: bool = False  #: on a host that the source may not speak for

    @property
    def latest(self) -> Moment | None:
        """The later one of the two dates.

        >>> Entry("http://a.example/", published=Moment(5.0, 1.0)).latest
        Moment(at=5.0, resolution=1.0)
        """
        if self.changed is None or self.published is None:
            return self.changed or self.published
        return max(self.changed, self.published)


class Kind(StrEnum):
    """What a source turned out to be."""

    UNKNOWN = auto()  #: none of these: an error page, an image, nothing
    SITEMAP = auto()
    NEWS_SITEMAP = auto()  #: one whose entries are all marked as news
    SITEMAP_INDEX = auto()
    TEXT_SITEMAP = auto()
    FEED = auto()  #: RSS, Atom or RDF
    JSON_FEED = auto()
    ROBOTS = auto()  #: a robots.txt that names sitemaps


#: Whose new entries are, as a rule, pages that have just appeared.
SHOWS_NEWS = frozenset({Kind.FEED, Kind.JSON_FEED, Kind.NEWS_SITEMAP})


class Relation(StrEnum):
    """How a source that was found relates to where it was found."""

    SITEMAP = auto()
    FEED = auto()
    HUB = auto()  #: takes WebSub subscriptions
    SELF = auto()  #: the address under which a hub knows the document: its topic
    HOME = auto()  #: the page whose news a feed tells


class Link(NamedTuple):
    """A source that was found."""

    relation: Relation
    url: str


class Oddity(StrEnum):
    """What was left out, cut or mended while reading."""

    BAD_URL = auto()  #: entries left out: no http(s) URL, too long, or it contains a password
    BAD_DATE = auto()  #: dates left out: not readable, or before there was a web
    FUTURE_DATE = auto()  #: dates left out: more than a day ahead
    NO_LINK = auto()  #: entries left out: they name no page
    FOREIGN_HOST = auto()  #: entries on hosts that the source may not speak for; they are flagged
    RELATIVE_URL = auto()  #: URLs resolved against the address of the source
    TOO_MANY = auto()  #: entries left out: beyond the limit
    TOO_LARGE = auto()  #: 1 if the rest was not read: beyond the limit of bytes
    TRUNCATED = auto()  #: 1 if the compressed data ended early
    BROKEN = auto()  #: 1 if it is not well-formed; what was readable has been read
    NOT_A_SOURCE = auto()  #: 1 if it is nothing that can be read


class Limits(NamedTuple):
    """How much of one source is read; the defaults are those of the sitemap protocol."""

    entries: int = 50_000
    alternates: int = 50_000
    plain_bytes: int = 52_428_800  #: after decompression
    feed_bytes: int = 8_388_608  #: of a feed, which is parsed in one piece


@dataclass(slots=True)
class Findings:
    """What was found about a source beside its entries."""

    kind: Kind = Kind.UNKNOWN
    n_entries: int = 0  #: entries that were yielded, without alternates
    n_news: int = 0  #: of these, marked as news in a sitemap
    update_seconds: float | None = None  #: how often it says that it is updated
    links: list[Link] = field(default_factory=list)  #: hubs, topics, and the page that a feed belongs to
    oddities: Counter[Oddity] = field(default_factory=Counter)

    @property
    def is_complete(self) -> bool:
        """Whether all of the source was read, so that what it does not name any more is gone from it."""
        return self.kind is not Kind.UNKNOWN and not any(self.oddities[each] for each in _CUT)


_CUT = Oddity.TOO_MANY, Oddity.TOO_LARGE, Oddity.TRUNCATED, Oddity.BROKEN


class Reading(Protocol):
    """A source being read: iterate once for its entries, piece by piece."""

    findings: Findings

    def __iter__(self) -> Iterator[list[Entry]]: ...
