"""Fuzzing of the readers of sitemaps, feeds and pings with atheris, guided by the branches that inputs reach.

Atheris is wanted for this only, and is not among the packages for tests: ``pip install atheris`` first. The
first inputs are small sources of every kind. Found to be wrong: an exception that is not one of ours, an
address that is none, an entry too many, and an input of 20 kB that takes more than two seconds.

    python tests/fuzz/fuzz_sources.py [--seconds 120] [--corpus FOLDER]
"""

import argparse
import contextlib
import gzip
import sys
import tempfile
import time
import warnings
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed: pip install atheris")

with atheris.instrument_imports(include=["scrapy_freshness.signals", "feedparser"]):
    from scrapy_freshness.errors import PingError
    from scrapy_freshness.signals.addresses import read_address
    from scrapy_freshness.signals.contract import Limits
    from scrapy_freshness.signals.dates import read_date
    from scrapy_freshness.signals.discovery import header_sources, page_links, robots_sitemaps
    from scrapy_freshness.signals.indexnow import read_body
    from scrapy_freshness.signals.polled import read_poll
    from scrapy_freshness.signals.pushed_feed import read_pushed_feed
    from scrapy_freshness.signals.reading import read_source
    from scrapy_freshness.signals.websub import read_intent

SITE = "https://a.example/source"
NOW = 1.8e9
LIMITS = Limits(entries=50, alternates=50)
MOST_BYTES, MOST_SECONDS = 20_000, 2.0

SITEMAP = """<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:news="n" xmlns:xhtml="x"><url><loc>https://a.example/?a=1&amp;b=2</loc><lastmod>2026-11-17T04:05:06+01:00
</lastmod><news:news><news:publication_date>2026-11-16</news:publication_date></news:news><xhtml:link
 rel="alternate" hreflang="de" href="/de"/></url><url><loc><![CDATA[/b]]></loc></url></urlset>"""
INDEX = "<sitemapindex><sitemap><loc>/s.xml.gz</loc><lastmod>2026</lastmod></sitemap></sitemapindex>"
RSS = """<rss version="2.0"><channel><link>/</link><ttl>60</ttl><item><link>/a</link><guid>1</guid>
<pubDate>Tue, 17 Nov 2026 04:05:06 GMT</pubDate></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/x/"><link rel="hub" href="/hub"/><link
 rel="self" href="/f"/><entry><id>1</id><link href="a"/>
<updated>2026-11-17T04:05:06Z</updated></entry></feed>"""
JSON = """{"version": "https://jsonfeed.org/version/1.1", "hubs": [{"type": "WebSub", "url": "/hub"}],
 "items": [{"id": "1", "url": "/a", "date_modified": "2026-11-17T04:05:06Z"}]}"""
ROBOTS = "User-agent: *\nDisallow: /x\nSitemap: /s.xml\n"
PAGE = "<html><head><base href='/x/'><link rel='alternate' type='application/rss+xml' href='f'></head></html>"
PING = '{"host": "a.example", "key": "0123456789abcdef", "urlList": ["https://a.example/1"]}'
INTENT = "hub.mode=subscribe&hub.topic=https://a.example/f&hub.challenge=x&hub.lease_seconds=60"
FIRST = [SITEMAP, INDEX, RSS, ATOM, JSON, "https://a.example/1\n/2\n", ROBOTS, PAGE, PING, INTENT]


def test_one_input(data: bytes) -> None:
    """Read the same bytes as everything that they could be."""
    begun = time.perf_counter()
    count = 0
    for entries in read_source(data, SITE, now=NOW, limits=LIMITS):
        for entry in entries:
            count += 1
            if not entry.url.startswith(("http://", "https://")):
                raise AssertionError(f"{entry.url!r} is no address")
    if count > LIMITS.entries + LIMITS.alternates:
        raise AssertionError(f"{count} entries are too many")
    polled = read_poll(data, SITE, before=b"", now=NOW, hosts={"a.example"})
    read_poll(data[::2], SITE, before=polled.seen, now=NOW + 60, hosts={"a.example"})
    read_pushed_feed(data, SITE, content_type="application/atom+xml", seen=polled.seen, now=NOW)
    robots_sitemaps(data, SITE)
    page_links(data, SITE)
    text = data.decode("utf-8", "replace")
    read_address(text[:3000], SITE)
    read_date(text[:200])
    header_sources([text[:3000]], SITE)
    for reads_ping in (lambda: read_body(data), lambda: read_intent(text)):
        with contextlib.suppress(PingError):
            reads_ping()
    if (took := time.perf_counter() - begun) > MOST_SECONDS:
        raise AssertionError(f"{len(data)} bytes took {took:.1f} s")


def write_first(folder: Path) -> None:
    """The first inputs, plain and gzipped."""
    for number, text in enumerate(FIRST):
        (folder / f"first-{number}").write_bytes(text.encode())
    (folder / "first-gzip").write_bytes(gzip.compress(SITEMAP.encode()))
    (folder / "first-utf-16").write_bytes(SITEMAP.encode("utf-16"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--corpus", type=Path, help="where inputs are kept from run to run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.corpus or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_first(folder)
        words = folder / ".words"
        words.write_text(
            "".join(f'"{word}"\n' for word in ("<url>", "<loc>", "<lastmod>", "<item>", "<![CDATA[", "]]>"))
        )
        flags = [
            f"-max_total_time={options.seconds}",
            f"-max_len={MOST_BYTES}",
            f"-dict={words}",
            f"-artifact_prefix={Path.cwd()}/",
            "-timeout=30",
            "-rss_limit_mb=2048",
        ]
        atheris.Setup([sys.argv[0], *flags, str(folder)], test_one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
