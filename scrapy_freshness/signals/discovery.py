"""Where may sources be?  In robots.txt, at the usual paths, in the head of a page and in its headers."""

import re
from collections.abc import Iterable, Iterator

from selectolax.lexbor import LexborHTMLParser

from scrapy_freshness.signals.addresses import read_address
from scrapy_freshness.signals.contract import Link, Relation
from scrapy_freshness.signals.link_header import header_links

ROBOTS_PATH = "/robots.txt"
#: Paths at which sitemaps are when robots.txt names none.
SITEMAP_PATHS = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/sitemap.xml.gz",
    "/sitemap.txt",
    "/wp-sitemap.xml",
    "/sitemap/sitemap.xml",
    "/sitemapindex.xml",
    "/sitemap",
)

_FEED_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"}
)
#: As much of robots.txt as search engines read (RFC 9309, section 2.5), and of a page for its head.
_MOST_BYTES = 512_000
_MOST_LINKS = 100
#: Longer tags are passed over: a parser needs quadratic time for the attributes of one tag.
_LONGEST_TAG = 4096

_SITEMAP_LINE = re.compile(r"(?im)^[^\S\n]*+sitemap[^\S\n]*+:[^\S\n]*+([^\s#][^\s]*+)")
# Such links belong in the head, a few kilobytes of most pages.
_END_OF_HEAD = re.compile(rb"<(?:/head|body)(?=[\s/>])", re.IGNORECASE)
# Where this does not match, no tag has a relation that is looked for: style sheets and icons have others.
_RELATION = re.compile(rb"alternate|feed|hub|self|sitemap|&", re.IGNORECASE)
# Comments and scripts are matched to be passed over; a link is void, so none of them nests.
_LINK_TAG = re.compile(
    rb"""<(?:!--|(script|style|noscript|template|textarea|title|svg)(?=[\s/>])"""
    rb"""|((?:link|base)(?=[\s/])(?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|["'])*+>))""",
    re.IGNORECASE,
)


def robots_sitemaps(body: bytes, url: str) -> list[str]:
    """Return the sitemaps that a robots.txt names; *url* is its own address.

    They belong to no group of rules: every crawler may use them, wherever the lines stand.

    >>> robots_sitemaps(b"User-agent: *\\r\\nSITEMAP : /map.xml # ours", "http://a.example/robots.txt")
    ['http://a.example/map.xml']
    """
    text = body[:_MOST_BYTES].decode("utf-8-sig", "replace").replace("\r", "\n")
    found = (read_address(line[1], url) for line in _SITEMAP_LINE.finditer(text))
    return list({address.url: None for address in found if address})[:_MOST_LINKS]


def usual_sitemaps(url: str) -> list[str]:
    """Return where the sitemaps of a host may be; *url* is any address on it.

    >>> usual_sitemaps("https://a.example/x/y")[0]
    'https://a.example/sitemap.xml'
    """
    found = (read_address(path, url) for path in SITEMAP_PATHS)
    return [address.url for address in found if address]


def page_links(html: bytes, url: str) -> list[Link]:
    """Return the feeds, sitemaps, hubs and topics that the link elements in the head of a page name.

    All of a page is its head if nothing ends it: the tags that do so may be left out.

    >>> page_links(b'<link rel="Alternate" type="application/rss+xml" href="feed">', "http://a.example/b/")
    [Link(relation=<Relation.FEED: 'feed'>, url='http://a.example/b/feed')]
    """
    head_end = _END_OF_HEAD.search(html, 0, _MOST_BYTES)
    tags = b"".join(_link_tags(html[: head_end.start() if head_end else _MOST_BYTES]))
    if not _RELATION.search(tags):
        return []
    tree = LexborHTMLParser(tags)
    links: list[Link] = []
    base = url
    for node in tree.css("base[href]")[:1]:
        if address := read_address(node.attributes.get("href") or "", url):
            base = address.url
    for node in tree.css("link[rel][href]"):
        attributes = {name: value or "" for name, value in node.attributes.items()}
        relations = attributes["rel"].lower().split()
        links += _links(relations, attributes["href"], attributes.get("type", ""), base)
    return list(dict.fromkeys(links))[:_MOST_LINKS]


def header_sources(headers: Iterable[str], url: str) -> list[Link]:
    """Return the feeds, sitemaps, hubs and topics that the values of a page's Link headers name.

    >>> [link.url for link in header_sources(['<//hub.example>; rel=hub, <>; rel="self"'], "http://a.example/")]
    ['http://hub.example/', 'http://a.example/']
    """
    links: list[Link] = []
    for found in header_links(",".join(headers)):
        if "anchor" not in found.parameters:  # else it is about another page
            links += _links(found.relations, found.target or url, found.parameters.get("type", ""), url)
    return list(dict.fromkeys(links))[:_MOST_LINKS]


def _link_tags(html: bytes) -> Iterator[bytes]:
    lowered = html.lower()
    place = 0
    while found := _LINK_TAG.search(html, place):
        place = found.end()
        raw, tag = found.groups()
        if tag:
            if len(tag) <= _LONGEST_TAG:
                yield b"<" + tag
            continue
        place = lowered.find(b"</" + raw.lower() if raw else b"-->", place)
        if place < 0:
            return


def _links(relations: Iterable[str], target: str, media_type: str, base: str) -> Iterator[Link]:
    address = read_address(target, base)
    if address is None:
        return
    media_type = media_type.partition(";")[0].strip().lower()
    # The type of JSON Feed 1, and of much else.
    is_feed = media_type in _FEED_TYPES or (media_type == "application/json" and "feed" in target.lower())
    for relation in relations:
        match relation:
            case "hub" | "self" | "sitemap":
                yield Link(Relation(relation), address.url)
            case "alternate" | "feed" if is_feed:
                yield Link(Relation.FEED, address.url)
