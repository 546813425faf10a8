"""Sitemaps and sitemap indexes, read as a stream: the tree in memory never holds more than a piece of text.

Elements are told apart by their local names, because many sitemaps get the namespaces wrong; what belongs
to images and videos is nested one level deeper than what belongs to the page.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from lxml import etree

from scrapy_freshness.signals.collecting import Collector
from scrapy_freshness.signals.contract import Entry, Kind, Moment, Oddity, Role
from scrapy_freshness.signals.plain import PIECE

#: Elements that an element may have pending; of those in deeper ones only the last is kept.
_MOST_CHILDREN = 1000
_DEEPEST = 4
#: Errors that the parser lists; whether there are worse ones it does not say then.
_LISTED_ERRORS = 100

# The parser would drop a bare "&" and the word behind it, and so make another URL of it.
_BARE = r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)"
_CDATA = "<![CDATA["
_CDATA_OR_BARE = re.compile(rf"<!\[CDATA\[.*?(?:\]\]>|\Z)|{_BARE}", re.DOTALL)
_WANTED = ("{*}loc", "{*}lastmod", "{*}news", "{*}link")
_PREFIX = re.compile(r"</?([A-Za-z_][A-Za-z0-9_.-]*+):")


def sitemap_entries(pieces: Iterator[str], collector: Collector) -> Iterator[list[Entry]]:
    """Yield the entries of a sitemap or sitemap index, a list for each piece of its text."""
    parser = etree.XMLPullParser(
        events=("end",),
        tag=("{*}url", "{*}sitemap"),
        recover=True,
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
    top = None
    for piece in _mended(pieces):
        if top is None:
            top = _opened(parser, piece)
        parser.feed(piece.encode("utf-8", "replace"))
        yield list(_entries(parser, collector))
        _prune(top)
    parser.feed(b"</all>")
    parser.close()  # ends what is still open
    yield list(_entries(parser, collector))
    if 0 < collector.findings.n_news == collector.findings.n_entries:
        collector.findings.kind = Kind.NEWS_SITEMAP
    errors = parser.feed_error_log
    if len(errors) >= _LISTED_ERRORS or any(each.level >= etree.ErrorLevels.FATAL for each in errors):
        collector.findings.oddities[Oddity.BROKEN] = 1


def _opened(parser: Any, start: str) -> Any:
    """Begin an element of our own around everything, and return it.

    It declares the prefixes that the document has forgotten to declare, and keeps the parser reading when
    something follows the end of the sitemap.
    """
    prefixes = set(_PREFIX.findall(start)) - {"xml", "xmlns"}
    declared = "".join(f' xmlns:{prefix}="{prefix}"' for prefix in sorted(prefixes))
    parser.feed(f"<all{declared}><url/>".encode())
    ((_, first),) = parser.read_events()
    return first.getparent()


def _mended(pieces: Iterator[str]) -> Iterator[str]:
    """The same text with every bare "&" escaped, in pieces that end before a tag."""
    held = ""
    for piece in pieces:
        piece = held + piece
        end = piece.rfind(_CDATA)
        if end < 0 or piece.find("]]>", end) >= 0:
            end = piece.rfind("<")
        if end < 0 or len(piece) - end > PIECE:
            end = len(piece)
        held = piece[end:]
        yield _escaped(piece[:end])
    yield _escaped(held)


def _escaped(piece: str) -> str:
    if piece.count("&") == piece.count("&amp;"):
        return piece
    return _CDATA_OR_BARE.sub(lambda found: "&amp;" if found[0] == "&" else found[0], piece)


def _entries(parser: Any, collector: Collector) -> Iterator[Entry]:
    for _, element in parser.read_events():
        yield from _entries_of(element, collector)
        element.clear()
        parent = element.getparent()
        # The element itself must stay: the parser may be about to add the text that follows it.
        while (before := element.getprevious()) is not None and before.tag == element.tag:
            parent.remove(before)


def _entries_of(element: Any, collector: Collector) -> Iterator[Entry]:
    url = lastmod = published = None
    is_news = False
    alternates = []
    for child in element.iterchildren(*_WANTED):
        match _local_name(child.tag):
            case "loc" if url is None:
                url = child.text
            case "lastmod":
                lastmod = child.text
            case "news":
                is_news, published = True, _text_of(child, "publication_date")
            case "link" if "alternate" in child.get("rel", "alternate"):
                alternates.append(child.get("href", ""))
    if url is None:
        collector.count(Oddity.NO_LINK)
        return
    changed: Moment | None = collector.date(lastmod)
    role = Role.SITEMAP if _local_name(element.tag) == "sitemap" else Role.PAGE
    entry = collector.entry(url, changed=changed, published=collector.date(published), role=role)
    if entry is not None:
        collector.findings.n_news += is_news
        yield entry
    for alternate in alternates:
        if alternate != url and (entry := collector.entry(alternate, role=Role.ALTERNATE)):
            yield entry


def _text_of(element: Any, name: str) -> str | None:
    for child in element.iterchildren(f"{{*}}{name}"):
        text: str | None = child.text
        return text
    return None


@lru_cache(maxsize=256)
def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2]


def _prune(top: Any) -> None:
    """Forget elements that wait for nothing, so that no document makes the tree grow.

    What the parser is working on is the last child of the last child ... of the top.
    """
    depth = 0
    while len(top):
        del top[_MOST_CHILDREN if depth < _DEEPEST else 0 : -1]
        top, depth = top[-1], depth + 1
