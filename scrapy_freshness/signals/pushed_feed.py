"""A feed that a hub has sent: what it says that was not known yet."""

from typing import NamedTuple

from scrapy_freshness.signals.contract import Entry, Kind, Link, Role
from scrapy_freshness.signals.poll import Poll
from scrapy_freshness.signals.reading import read_source
from scrapy_freshness.signals.seen import Seen


class PushedFeed(NamedTuple):
    """What a pushed feed says."""

    news: list[Entry]  #: pages on its own host that it names for the first time, or with a later date
    links: list[Link]  #: hubs and topics, among others
    seen: bytes  #: for the next push


def read_pushed_feed(
    body: bytes, url: str, *, content_type: str, seen: bytes, now: float
) -> PushedFeed | None:
    """Read a feed; None if it is none. *seen* is what reading the last push of it gave.

    A hub may send only the entries that are new, so what is missing has not gone.

    >>> feed = b'<feed><entry><id>1</id><link href="http://a.example/1"/></entry></feed>'
    >>> first = read_pushed_feed(feed, "http://a.example/feed", content_type="", seen=b"", now=1.8e9)
    >>> [entry.url for entry in first.news]
    ['http://a.example/1']
    >>> read_pushed_feed(feed, "http://a.example/feed", content_type="", seen=first.seen, now=1.8e9).news
    []
    """
    reading = read_source(body, url, now=now, content_type=content_type)
    poll = Poll(Seen.unpacked(seen))
    news = [entry for entries in reading for entry in poll.add(entries)]
    if reading.findings.kind not in (Kind.FEED, Kind.JSON_FEED):
        return None
    outcome = poll.end(reading.findings, now)
    pages = [entry for entry in (*news, *outcome.moved) if entry.role is Role.PAGE and not entry.is_foreign]
    return PushedFeed(pages, reading.findings.links, outcome.seen.packed())
