"""Hostile sources cost no more than honest ones of the same length, in memory or in time."""

import subprocess
import sys
import tracemalloc
import zlib

import pytest
from sources import NOW, SITE, SITEMAP_URL, dated, read, urlset

from scrapy_freshness.signals.contract import Limits, Oddity
from scrapy_freshness.signals.poll import Poll, Verdict
from scrapy_freshness.signals.reading import read_source
from scrapy_freshness.signals.seen import Seen
from scrapy_freshness.signals.thin_feed import thin_feed

MEGABYTE = 1_000_000

LAUGHS = "".join(f"<!ENTITY a{level} '{f'&a{level - 1};' * 10}'>" for level in range(1, 10))


def filled(start: str, unit: str) -> str:
    """A hundred kilobytes of the same."""
    return start + unit * (100_000 // len(unit))


# With feedparser alone, a megabyte of those marked with * takes from ten seconds to hours.
HOSTILE = {
    "open angles": filled("<rss><channel>", "<"),
    "ampersands": filled("<rss><channel><item><link>", "&"),
    "references": filled("<rss><channel><item><link>", "&a;"),
    "numeric references": filled("<rss><channel><item><title>", "&#99999999999;"),
    "items in items": filled("<rss><channel>", "<item>"),
    "unknown elements in each other": filled("<rss><channel>", "<a>"),
    "unknown elements in an item": filled("<rss><channel><item>", "<a>"),
    "unknown elements that end behind the item": filled("<rss><item>", "<a>") + "</item></a>",
    "different unknown elements": "<rss><item>" + "".join(f"<a{number}>" for number in range(50_000)),
    "attributes": filled("<rss><channel><a ", "b=1 ") + ">",
    "open quotes": filled("<rss><channel>", '<a b="'),
    "open CDATA sections": filled("<rss><channel>", "<![CDATA["),
    "CDATA sections": filled("<rss><channel><item><link>", "<![CDATA[x]]>"),
    "open comments": filled("<rss><channel>", "<!--"),
    "end tags": filled("<rss><channel>", "</a>"),
    "blank lines before *": filled("", "\n") + "<rss/>",
    "blank lines": filled("<rss><channel>", "\n") + "&x;",
    "categories *": "<rss><item>" + "".join(f"<category>{number}</category>" for number in range(40_000)),
    "a long author *": filled("<rss><channel><item><author>", "a.") + "</author>",
    "a long date": filled("<rss><channel><item><pubDate>", "1 ") + "</pubDate>",
    "links": filled("<rss><channel>", "<link rel='hub' href='http://a/'/>"),
    "hours": filled("<rss><channel><skipHours>", "<hour>1</hour>"),
    "open hours": filled("<rss><channel>", "<skipHours>"),
    "bases in bases *": filled("<rss><channel>", "<item xml:base='b/'>"),
    "junk in a sitemap": filled("<urlset>", "<a/>"),
    "elements of no namespace": filled("<urlset>" + "<url/>" * 20_000, "<q:a/>"),
    "deep elements": filled("<urlset>", "<a>"),
    "entries in entries": filled("<urlset>", "<url>"),
    "an entry without end": filled("<urlset><url>", "<link href='/'/>"),
    "bare ampersands": filled("<urlset><url><loc>", "&"),
    "an endless address": filled("<urlset><url><loc>", "x"),
    "CDATA in a sitemap": filled("<urlset><url><loc>", "<![CDATA["),
    "attributes of a sitemap": "<urlset " + "".join(f"a{number}='1' " for number in range(100_000)) + ">",
    "prefixes": "<urlset>" + "".join(f"<p{number}:a/>" for number in range(100_000)),
    "lists in lists": filled('{"version":"https://jsonfeed.org/version/1","items":', "["),
    "an endless line": filled("http://a/", "x"),
    "blank lines of text": filled("http://a/\n", "\n"),
    "comments before": filled("", "<!--"),
    "a document type without end": filled("<!DOCTYPE [", "] "),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_source_is_read_in_bounded_memory(body: str) -> None:
    """In bounded time, too: where the work was quadratic, this would not end."""
    encoded = body.encode()
    read(b"<rss/>")  # imports
    tracemalloc.start()
    entries, _ = read(encoded)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(entries) <= 1
    assert peak < 30 * MEGABYTE


@pytest.mark.parametrize("body", [body for body in HOSTILE.values() if body.startswith("<rss")])
def test_feedparser_sees_little_of_a_hostile_feed(body: str) -> None:
    thin, _ = thin_feed(body)

    assert thin.count("<") <= 50_000 + body.count("<!")
    assert len(thin) <= 5 * len(body)


@pytest.mark.parametrize("unit", ["<a<", "&", "&lt;", "x", "<![CDATA[<a<]]>"])
def test_feedparser_sees_little_of_long_texts(unit: str) -> None:
    link = "<item><link>http://a.example/</link></item>"
    thin, is_whole = thin_feed(f"<rss><item><link>{unit * 20_000}</link></item>{link}</rss>")

    assert (thin, is_whole) == (f"<rss><item><link></link></item>{link}</rss>", True)


@pytest.mark.parametrize(
    "inside",
    ["<loc>&a9;</loc>", f"<loc>{SITE}/</loc><link href='&a9;'/>", "<loc>&x;</loc>", "<loc>&p;</loc>", "&a9;"],
)
def test_entities_are_neither_expanded_nor_opened(inside: str) -> None:
    document_type = LAUGHS.replace(
        "]>", "<!ENTITY x SYSTEM 'file:///etc/passwd'><!ENTITY p PUBLIC 'a' 'b'>]>"
    )
    entries, _ = read(f"{document_type}<urlset><url>{inside}</url><url><loc>{SITE}/2</loc></url></urlset>")

    assert all(len(entry.url) < 40 for entry in entries)
    assert entries[-1].url == f"{SITE}/2"


def packed(start: str, unit: str, length: int) -> bytes:
    """So much of the same, gzipped."""
    packer = zlib.compressobj(wbits=31)
    block = unit * (MEGABYTE // len(unit))
    parts = [packer.compress(start.encode())] + [
        packer.compress(block.encode()) for _ in range(length // MEGABYTE)
    ]
    return b"".join(parts) + packer.flush()


def test_a_gzip_bomb_is_read_to_the_limit_and_no_further() -> None:
    bomb = packed("<urlset>", " ", 200 * MEGABYTE)
    tracemalloc.start()
    entries, findings = read(bomb, limits=Limits(plain_bytes=20 * MEGABYTE))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(bomb) < MEGABYTE
    assert entries == []
    assert findings.oddities[Oddity.TOO_LARGE] == 1
    assert peak < 3 * MEGABYTE


def test_fifty_thousand_pages_are_read_without_being_held() -> None:
    body = urlset(
        *(dated(number, f"2026-10-{number % 28 + 1:02}T04:05:06Z") for number in range(50_001))
    ).encode()
    tracemalloc.start()
    reading = read_source(body, SITEMAP_URL, now=NOW)
    count = sum(len(entries) for entries in reading)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 50_000
    assert reading.findings.oddities == {Oddity.TOO_MANY: 1}
    assert peak < 3 * MEGABYTE  # the body has four


def test_comparing_twenty_thousand_pages_with_the_last_poll_takes_little_memory() -> None:
    bodies = [
        urlset(*(dated(n, f"2026-10-{n % 28 + 1:02}T04:05:{second:02}Z") for n in range(20_000))).encode()
        for second in (5, 6)
    ]
    stored = b""
    for body, verdict in zip(bodies, (Verdict.USABLE, Verdict.TOGETHER), strict=True):
        tracemalloc.start()
        reading = read_source(body, SITEMAP_URL, now=NOW)
        poll = Poll(Seen.unpacked(stored))
        new = sum(len(poll.add(entries)) for entries in reading)
        outcome = poll.end(reading.findings, NOW)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert outcome.verdict is verdict
        assert new == (0 if stored else 20_000)
        assert peak < 16 * MEGABYTE
        stored = outcome.seen.packed()
        assert len(stored) == 240_008


GROWTH = """
import sys
from pathlib import Path
from scrapy_freshness.signals.reading import read_source

def peak():
    return 1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

def read(body):
    for _ in read_source(body, "https://a.example/", now=2e9):
        pass

read(b"<urlset><url><loc>/</loc></url></urlset>")
body = sys.stdin.buffer.read()
before = peak()
read(body)
print(peak() - before)
"""
GROWING = {
    "pages": ("<urlset>", f"<url><loc>{SITE}/1</loc><lastmod>2026-11-17</lastmod></url>"),
    "junk": ("<urlset>", "<a/>"),
    "junk with text": ("<urlset>", "<a>text</a> more text "),
    "deep junk": ("<urlset><url><a><b><c>", "<a>x</a>"),
    "alternates of one page": ("<urlset><url><loc>/</loc>", "<link href='/a'/>"),
    "comments": ("<urlset>", "<!-- a -->"),
    "instructions": ("<urlset>", "<?a b?>"),
    "text": ("<urlset>", "text "),
    "errors": ("<urlset>" + " " * 70_000, "<q:a/>"),
    "entries that never end": ("<urlset>", "<url><loc>/</loc>"),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
@pytest.mark.parametrize(("start", "unit"), GROWING.values(), ids=GROWING.keys())
def test_the_parser_does_not_grow_with_the_document(start: str, unit: str) -> None:
    """Its memory is not Python's, so it is measured from outside: a tree of 20 MB of junk has a gigabyte."""
    body = packed(start, unit, 20 * MEGABYTE)
    done = subprocess.run([sys.executable, "-c", GROWTH], input=body, capture_output=True, check=True)

    assert int(done.stdout) < 24 * MEGABYTE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_a_file_of_200_megabytes_is_read_to_the_limit_without_a_copy() -> None:
    """Much longer than a crawl would download; the file itself is in memory before it is read."""
    long = "b'<urlset>' + sys.stdin.buffer.read() * 20_000 + b' ' * 200_000_000"
    script = GROWTH.replace("sys.stdin.buffer.read()", long)
    page = f"<url><loc>{SITE}/1</loc></url>".encode()
    done = subprocess.run([sys.executable, "-c", script], input=page, capture_output=True, check=True)

    assert int(done.stdout) < 24 * MEGABYTE
