"""What the parts that take pings need of the rest of the crawl."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from scrapy import Request

from scrapy_freshness.crawl.announcing import Announced
from scrapy_freshness.model import SignalSource


class Push(NamedTuple):
    """The content of a page or feed that a hub has sent."""

    url: str  #: the topic
    body: bytes
    content_type: str
    at: float


class TakesAnnouncements(Protocol):
    """Hears which URLs are said to have changed."""

    def take(
        self, entries: Sequence[Announced], source: SignalSource, *, told_by: int | None, now: float
    ) -> object:
        """Take what a source said; *told_by* is the id of the page or feed that said it, if it is known."""


#: Sends a request with the crawl's budget; False if there is no place for it now.
SendsRequests = Callable[[Request, str, float], bool]
