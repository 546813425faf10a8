"""One answer of a source, read to its end: what it says that it did not say at the last poll.

May take a second for the longest sitemaps, so it is for a thread.
"""

from collections.abc import Collection
from typing import NamedTuple

from scrapy_freshness.signals.contract import Entry, Findings, Kind, Role
from scrapy_freshness.signals.poll import Poll, Verdict
from scrapy_freshness.signals.reading import read_source
from scrapy_freshness.signals.seen import Seen

#: Verdicts that let the dates of new entries be signals.
_TRUSTED = frozenset({Verdict.USABLE})


class Said(NamedTuple):
    """A URL that a source names, and when it may have changed."""

    url: str
    claimed_at: float | None = None  #: unix seconds, the latest that the date may mean; None: it says nothing
    is_new: bool = False  #: the source has not named it before, as far as that is remembered


class Polled(NamedTuple):
    """What is new in an answer; entries for hosts that it may not speak for are left out."""

    findings: Findings
    verdict: Verdict
    seen: bytes  #: packed, for the next poll
    signals: list[Said]  #: dates that have moved, or are new, and can be believed
    pages: list[Said]  #: named for the first time, and no signals
    sitemaps: list[Said]  #: of an index: new ones, and those whose dates have moved

    @property
    def is_feed(self) -> bool:
        return self.findings.kind in (Kind.FEED, Kind.JSON_FEED)


def read_poll(
    body: bytes, url: str, *, before: bytes, now: float, content_type: str = "", hosts: Collection[str] = ()
) -> Polled:
    """Read an answer and compare it with what was said *before*; what cannot be unpacked was nothing.

    >>> first = read_poll(b"<urlset><url><loc>/a</loc></url></urlset>", "http://a.example/s.xml",
    ...                   before=b"", now=1.8e9)
    >>> first.pages, first.verdict
    ([Said(url='http://a.example/a', claimed_at=None, is_new=True)], <Verdict.NO_DATES: 'no_dates'>)
    """
    try:
        earlier = Seen.unpacked(before)
    except ValueError:
        earlier = Seen()
    reading = read_source(body, url, now=now, content_type=content_type, hosts=hosts)
    poll = Poll(earlier)
    new: list[Entry] = []
    for entries in reading:
        new += poll.add(entries)
    outcome = poll.end(reading.findings, now)
    signals, pages, sitemaps = list[Said](), list[Said](), list[Said]()
    is_trusted = outcome.verdict in _TRUSTED
    # Without a date, to be named for the first time says something of an entry of a feed only: it is news.
    is_news = reading.findings.kind in (Kind.FEED, Kind.JSON_FEED) and len(earlier) > 0
    for entry in new:
        said = _said(entry, now, is_new=True)
        if entry.role is Role.SITEMAP:
            sitemaps.append(said)
        elif not entry.is_foreign:
            is_signal = is_trusted if said.claimed_at is not None else is_news
            (signals if is_signal else pages).append(said)
    for entry in outcome.moved:
        (sitemaps if entry.role is Role.SITEMAP else signals).append(_said(entry, now))
    return Polled(reading.findings, outcome.verdict, outcome.seen.packed(), signals, pages, sitemaps)


def _said(entry: Entry, now: float, *, is_new: bool = False) -> Said:
    latest = entry.latest
    return Said(entry.url, None if latest is None else min(latest.at + latest.resolution, now), is_new)
