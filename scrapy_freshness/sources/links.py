"""The links that a page shows, with what may not be followed left out and what is boilerplate marked."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from scrapy_freshness.content.bounded import bounded
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.signals.addresses import read_address

#: Links of a page that are looked at.
_MOST_LINKS = 5000
#: What is no page: images, sound, film, archives, programs, styles. The words of documents stay.
_NO_PAGE = re.compile(
    r"(?i)\.(?:7z|aac|apk|avi|avif|bin|bmp|bz2|css|dmg|eot|exe|flac|gif|gz|ico|iso|jar|jpe?g|js|json|m4[av]|mjs"
    r"|mov|mp[34]|mpe?g|msi|og[agv]|png|rar|rpm|svg|swf|tar|tgz|tiff?|ttf|wav|web[mp]|wm[av]|woff2?|xz|zip)"
    r"(?:[?#]|$)"
)
_NOFOLLOW = frozenset({"nofollow", "none"})


class Shown(NamedTuple):
    """A link on a page."""

    url: str  #: absolute, without fragment
    host: str  #: lower case, with the port unless it is the scheme's own
    is_boilerplate: bool = False  #: it is shown only where a page has its navigation


class LinkReader:
    """Reads links off pages.

    Parameters
    ----------
    boilerplate : CSS selectors of elements whose links are no news
    obeys_nofollow : whether links and pages that say "nofollow" are obeyed
    """

    def __init__(self, boilerplate: Sequence[str] = (), *, obeys_nofollow: bool = True) -> None:
        self._boilerplate = ", ".join(boilerplate)
        self._obeys_nofollow = obeys_nofollow
        try:
            LexborHTMLParser("").css(self._boilerplate or "a")
        except (SelectolaxError, ValueError):
            raise ConfigError(f"no CSS selectors: {', '.join(boilerplate)}") from None

    def read(self, html: bytes, url: str) -> list[Shown]:
        """Return the links of a page, each address once, in the order of the page.

        >>> reader = LinkReader(["nav"])
        >>> page = b'<nav><a href=/news>News</a></nav><a href="a?b#c">A</a><a rel=nofollow href=/login>'
        >>> [(link.url, link.is_boilerplate) for link in reader.read(page, "http://a.example/x/")]
        [('http://a.example/news', True), ('http://a.example/x/a?b', False)]
        """
        tree = LexborHTMLParser(bounded(html))
        if self._obeys_nofollow and _forbids_following(tree):
            return []
        boilerplate = self._in_boilerplate(tree)
        base = _base(tree, url)
        own = url.partition("#")[0]
        found: dict[str, Shown] = {}
        for node in tree.css("a[href]")[:_MOST_LINKS]:
            attributes = node.attributes
            href = attributes.get("href") or ""
            if self._obeys_nofollow and "nofollow" in (attributes.get("rel") or "").lower().split():
                continue
            address = read_address(href, base)
            if address is None or address.url == own or _NO_PAGE.search(address.url):
                continue
            is_boilerplate = node.mem_id in boilerplate
            if address.url not in found or (found[address.url].is_boilerplate and not is_boilerplate):
                found[address.url] = Shown(address.url, address.host, is_boilerplate)
        return list(found.values())

    def _in_boilerplate(self, tree: LexborHTMLParser) -> set[int]:
        """Links inside boilerplate, each looked at once: a selector with "nav a" climbs from every link."""
        inside: set[int] = set()
        for node in tree.css(self._boilerplate) if self._boilerplate else ():
            if node.mem_id not in inside:
                inside.update(inner.mem_id for inner in node.css(f"a[href], {self._boilerplate}"))
        return inside


def says_nofollow(header: str) -> bool:
    """Whether the value of an X-Robots-Tag header forbids to follow links.

    >>> says_nofollow("noindex, NOFOLLOW"), says_nofollow("otherbot: none"), says_nofollow("noindex")
    (True, False, False)
    """
    return bool(_NOFOLLOW & {word.strip().lower() for word in header.split(",")})


def _forbids_following(tree: LexborHTMLParser) -> bool:
    for node in tree.css("meta[name][content]"):
        name, content = (node.attributes.get(each) or "" for each in ("name", "content"))
        if name.strip().lower() == "robots" and says_nofollow(content):
            return True
    return False


def _base(tree: LexborHTMLParser, url: str) -> str:
    for node in tree.css("base[href]")[:1]:
        if address := read_address(node.attributes.get("href") or "", url):
            return address.url
    return url
