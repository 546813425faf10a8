"""What a crawler can see of a web, artificial or recorded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import PageKind
from scrapy_freshness.planning.visits import PollYield

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Address:
    """A page as a crawler knows it before the first fetch."""

    url: str
    host: str
    importance: float = 1.0
    kind: PageKind = PageKind.PAGE
    leaves_at: float = math.inf  #: when the page is given up; it costs nobody a fetch afterwards


class Look(NamedTuple):
    """What a fetch sees; a content that a planner can compare (see `planning.visits.Content`)."""

    content_hash: int  #: equal for equal content
    sketch: NDArray[np.uint32] | None = None  #: of its fragments; None if nobody asks for them
    is_gone: bool = False
    links: Sequence[int] = ()  #: numbers of the links that a source shows
    born: Sequence[float] = ()  #: when these were published, nan if they do not say; none if no link does
    page_quality: float | None = None  #: what searchers find on the page; None if nobody measures it
    quality_gain: float | None = None  #: what they gain by the fetch; likewise
    poll: PollYield = PollYield()  #: what came of it, if the page is polled for signals


class Web(Protocol):
    """Pages with a history, numbered from 0."""

    addresses: list[Address]
    first_linked: int | None  #: page that link 0 leads to, the others following it; None: links lead nowhere

    def appears_at(self, page: int) -> float:
        """When a page can first be fetched."""
        ...

    def look(self, page: int, now: float) -> Look:
        """What a fetch of a page sees."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Fetches:
    """What a crawler fetched and when, in the order of time."""

    pages: NDArray[np.int64]
    times: FloatArray

    def __len__(self) -> int:
        return len(self.times)

    def by_page(self, n_pages: int) -> list[FloatArray]:
        """Times of the fetches of each page, ascending.

        >>> log = Fetches(np.array([1, 0, 1]), np.array([3.0, 4.0, 5.0]))
        >>> [times.tolist() for times in log.by_page(3)]
        [[4.0], [3.0, 5.0], []]
        """
        order = np.argsort(self.pages, kind="stable")
        ends = np.cumsum(np.bincount(self.pages, minlength=n_pages))
        return np.split(self.times[order], ends[:-1])
