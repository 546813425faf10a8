"""What is it?  Looks at the first characters of a source and reads it as what they say it is."""

import re
from collections.abc import Collection, Iterator
from itertools import chain
from urllib.parse import urlsplit

from scrapy_freshness.signals.collecting import Collector
from scrapy_freshness.signals.contract import Entry, Findings, Kind, Limits, Oddity, Reading, Role
from scrapy_freshness.signals.discovery import ROBOTS_PATH, robots_sitemaps
from scrapy_freshness.signals.feed import feed_entries
from scrapy_freshness.signals.json_feed import json_feed_entries
from scrapy_freshness.signals.plain import PIECE, text_pieces
from scrapy_freshness.signals.sitemap import sitemap_entries
from scrapy_freshness.signals.text_sitemap import text_sitemap_entries

_DEFAULT_LIMITS = Limits()

#: How much may stand before the first element, or between what precedes it.
_JUNK = 4096
_DOCTYPE_END = re.compile(r"\]\s*+>")
_ROOT = re.compile(r"<(?:[A-Za-z_][\w.-]*+:)?([A-Za-z_][\w.-]*+)(?=[\s/>])")
_URL_LINE = re.compile(r"\s*+(?i:https?)://\S")
_KINDS = {
    "urlset": Kind.SITEMAP,
    "sitemapindex": Kind.SITEMAP_INDEX,
    "rss": Kind.FEED,
    "feed": Kind.FEED,
    "rdf": Kind.FEED,
    "channel": Kind.FEED,
}


def read_source(
    body: bytes,
    url: str,
    *,
    now: float,
    content_type: str = "",
    hosts: Collection[str] = (),
    limits: Limits = _DEFAULT_LIMITS,
) -> Reading:
    """Read a sitemap, sitemap index or feed, gzipped or not, as its content says which; or a robots.txt.

    Parameters
    ----------
    body : what was fetched; without its content encoding, if it had one
    url : where it is; relative addresses start from here
    now : unix seconds; dates more than a day later are left out
    content_type : the header; asked for the encoding only
    hosts : hosts beside its own that the source may speak for, in the form of `addresses.Address`: those
        whose robots.txt names it (cross submission)
    limits : how much of it is read

    >>> reading = read_source(b"<urlset><url><loc>/a</loc><lastmod>2026</lastmod></url></urlset>",
    ...                       "http://a.example/sitemap.xml", now=1.8e9)
    >>> [(entry.url, entry.changed) for entries in reading for entry in entries]
    [('http://a.example/a', Moment(at=1767225600.0, resolution=31536000.0))]
    >>> reading.findings.kind, reading.findings.oddities
    (<Kind.SITEMAP: 'sitemap'>, Counter({<Oddity.RELATIVE_URL: 'relative_url'>: 1}))
    """
    return _SourceReading(body, content_type, Collector(url, now=now, hosts=hosts, limits=limits))


class _SourceReading:
    """A source whose kind is found out when it is read."""

    def __init__(self, body: bytes, content_type: str, collector: Collector) -> None:
        self._body, self._content_type, self._collector = body, content_type, collector
        self.findings: Findings = collector.findings

    def __iter__(self) -> Iterator[list[Entry]]:
        collector, findings = self._collector, self.findings
        if urlsplit(collector.url).path == ROBOTS_PATH:
            yield self._named_by_robots()
            return
        most = collector.limits.plain_bytes
        pieces = text_pieces(self._body, self._content_type, most, findings.oddities)
        start = _start(pieces)
        kind, begin = _recognised(start)
        findings.kind = kind
        if kind is Kind.UNKNOWN:
            findings.oddities[Oddity.NOT_A_SOURCE] = 1
            return
        pieces = chain([start[begin:]], pieces)
        if kind in (Kind.SITEMAP, Kind.SITEMAP_INDEX):
            yield from sitemap_entries(pieces, collector)
        elif kind is Kind.TEXT_SITEMAP:
            yield from text_sitemap_entries(pieces, collector)
        else:
            text = _at_most(pieces, collector.limits.feed_bytes, collector)
            yield from (feed_entries if kind is Kind.FEED else json_feed_entries)(text, collector)

    def _named_by_robots(self) -> list[Entry]:
        """The sitemaps that a robots.txt names; one that names none is no source."""
        urls = robots_sitemaps(self._body, self._collector.url)
        found = [self._collector.entry(url, role=Role.SITEMAP) for url in urls]
        self.findings.kind = Kind.ROBOTS if found else Kind.UNKNOWN
        if not found:
            self.findings.oddities[Oddity.NOT_A_SOURCE] = 1
        return [entry for entry in found if entry]


def _start(pieces: Iterator[str]) -> str:
    """The first piece, or as many as it takes to make a whole one: gzip may begin with little."""
    start = ""
    for piece in pieces:
        start += piece
        if len(start) >= PIECE // 4:
            break
    return start


def _recognised(start: str) -> tuple[Kind, int]:
    """What a text is, and where it begins."""
    bare = start.lstrip("\ufeff \t\r\n")
    if bare.startswith("{"):
        return Kind.JSON_FEED, len(start) - len(bare)
    if _URL_LINE.match(bare):
        return Kind.TEXT_SITEMAP, len(start) - len(bare)
    # Before the declaration there may be warnings of the program that wrote it, in HTML.
    for place in (0, max(start.find("<?xml", 0, _JUNK), 0)):
        begin = _first_element(start, place)
        root = _ROOT.match(start, begin)
        if root and root[1].lower() in _KINDS:
            return _KINDS[root[1].lower()], begin
    return Kind.UNKNOWN, 0


def _first_element(start: str, place: int) -> int:
    """Where the first element begins.

    Declarations and comments before it are not needed to read it. Without them there are no entities: none
    that expand without end, and none that name a file or a host.
    """
    while (place := start.find("<", place, place + _JUNK)) >= 0:
        if start.startswith("<?", place):
            end = start.find("?>", place)
        elif start.startswith("<!--", place):
            end = start.find("-->", place)
        elif start.startswith("<!", place):
            end = start.find(">", place)
            if "[" in start[place:end] and (subset := _DOCTYPE_END.search(start, place)):
                end = subset.end() - 1
        else:
            return place
        if end < 0:
            break
        place = end + 1
    return len(start)


def _at_most(pieces: Iterator[str], most: int, collector: Collector) -> str:
    """The whole text, cut where it gets too long."""
    parts = []
    for piece in pieces:
        if len(piece) > most:
            collector.findings.oddities[Oddity.TOO_LARGE] = 1
            parts.append(piece[:most])
            break
        parts.append(piece)
        most -= len(piece)
    return "".join(parts)
