"""Sitemaps that are plain text: one URL a line."""

from collections.abc import Iterator

from scrapy_freshness.signals.addresses import LONGEST_URL
from scrapy_freshness.signals.collecting import Collector
from scrapy_freshness.signals.contract import Entry, Oddity


def text_sitemap_entries(pieces: Iterator[str], collector: Collector) -> Iterator[list[Entry]]:
    """Yield the entries of a text sitemap, a list for each piece of its text."""
    rest = ""
    for piece in pieces:
        *lines, rest = (rest + piece).split("\n")
        if len(rest) > 2 * LONGEST_URL:  # whatever follows, this will not become a URL
            rest = rest[: 2 * LONGEST_URL]
        yield list(_entries(lines, collector))
    yield list(_entries([rest], collector))


def _entries(lines: list[str], collector: Collector) -> Iterator[Entry]:
    for line in lines:
        # Old Macs end lines by a carriage return.
        for text in line.split("\r"):
            if text := text.strip():
                # A text has no base: what is not absolute is a heading or a remark.
                if "://" not in text:
                    collector.count(Oddity.BAD_URL)
                elif entry := collector.entry(text):
                    yield entry
