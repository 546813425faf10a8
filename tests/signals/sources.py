"""Sources to be read in tests, and how they are read."""

from collections.abc import Collection

from scrapy_freshness.signals.contract import Entry, Findings, Limits
from scrapy_freshness.signals.reading import read_source

SITE = "https://a.example"
SITEMAP_URL = f"{SITE}/sitemap.xml"
NOW = 1_794_900_000.0  # 17 November 2026, 7:20 in the morning
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def read(
    body: bytes | str,
    url: str = SITEMAP_URL,
    *,
    content_type: str = "",
    hosts: Collection[str] = (),
    limits: Limits | None = None,
) -> tuple[list[Entry], Findings]:
    """All entries of a source, and the findings."""
    body = body.encode() if isinstance(body, str) else body
    reading = read_source(
        body, url, now=NOW, content_type=content_type, hosts=hosts, limits=limits or Limits()
    )
    entries = [entry for piece in reading for entry in piece]
    return entries, reading.findings


def urls(body: bytes | str, url: str = SITEMAP_URL, **options: object) -> list[str]:
    """The URLs that a source names."""
    return [entry.url for entry in read(body, url, **options)[0]]


def urlset(*entries: str, head: str = '<?xml version="1.0" encoding="UTF-8"?>') -> str:
    """A sitemap of entries, each given as what is inside of its element."""
    return f'{head}<urlset xmlns="{NAMESPACE}">{"".join(f"<url>{entry}</url>" for entry in entries)}</urlset>'


def dated(number: int, date: str) -> str:
    """What is inside of the element of a page with a date."""
    return f"<loc>{SITE}/{number}</loc><lastmod>{date}</lastmod>"
