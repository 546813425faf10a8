"""The nouns of the living site: hosts and the kinds of pages they serve."""

from dataclasses import dataclass
from ipaddress import IPv4Address
from math import inf
from typing import ClassVar

from living_site.parameters import Character, Manner, WorldParameters

FIRST_ADDRESS = IPv4Address("127.0.0.2")


def host_addresses(parameters: WorldParameters) -> list[str]:
    """Return one loopback address for each host.

    >>> host_addresses(WorldParameters())[:2]
    ['127.0.0.2', '127.0.0.3']
    """
    return [str(FIRST_ADDRESS + number) for number in range(len(parameters.characters))]


@dataclass(frozen=True, slots=True)
class Host:
    """One host: an address of its own on the port that all hosts share."""

    address: str
    port: int
    character: Character
    manner: Manner = Manner.PERFECT
    """How it announces its changes, if it does."""

    @property
    def site_url(self) -> str:
        """The URL that the paths of this host are appended to."""
        return f"http://{self.address}:{self.port}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The regions of a document, and which share of its changes falls on the churning one.

    A change of the churning region replaces all its words; a change of the scrolling region adds an item at
    its top and evicts the one at its bottom.
    """

    static_words: int
    churn_words: int = 0
    scroll_items: int = 0
    churn_share: float = 1.0


NOTICE = Layout(static_words=240, churn_words=12)
TICKER = Layout(static_words=10, churn_words=200)
MAGAZINE = Layout(static_words=120, churn_words=40, scroll_items=8, churn_share=0.5)
RIVER = Layout(static_words=20, scroll_items=10, churn_share=0.0)


@dataclass(frozen=True, slots=True)
class Absence:
    """The time during which a mortal document is gone, and the status it then answers with."""

    start: float
    end: float = inf
    status: int = 404

    def covers(self, time: float) -> bool:
        """Tell whether the document is gone at `time`."""
        return self.start <= time < self.end


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Page:
    """Something with a URL. A world has one object for each page, so pages compare by identity."""

    kind: ClassVar[str]
    host: Host
    path: str
    title: str
    change_rate: float = 0.0
    """Expected changes per second."""
    importance: float = 1.0

    @property
    def url(self) -> str:
        """The page's address."""
        return self.host.site_url + self.path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Document(Page):
    """A page with content that changes; the pages that freshness is measured on."""

    kind = "document"
    index: int
    """Position in the world's documents."""
    layout: Layout
    absence: Absence | None = None
    next_path: str | None = None
    """Where the document's "next" link leads, if it has one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Root(Page):
    """A host's front page: links to everything one hop away."""

    kind = "root"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Section(Page):
    """One page of a host's list of documents; lists those that are there."""

    kind = "section"
    documents: tuple[Document, ...]
    next_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hub(Page):
    """A page that lists the latest posts."""

    kind = "hub"
    posts_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Post(Page):
    """A page that appears on a hub, leaves its list after a while and dies later."""

    kind = "post"
    born: float
    delisted: float
    dead: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Redirection(Page):
    """A path that leads elsewhere."""

    kind = "redirection"
    status: int
    location: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Private(Page):
    """A page that robots.txt forbids although others link to it."""

    kind = "private"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Oddity(Page):
    """A page that is hard to digest; `oddities` knows its bytes by its path."""

    kind = "oddity"
