"""The words that a visitor of a page can read.

Most pages need no tree: their text is what is left without the markup, in half the time, or a quarter if
the markup is orderly (`plain.py`). A tree is built where selectors choose among the elements, or where an
element hides what is nested in it.
"""

import re
from collections.abc import Sequence
from html import unescape

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from scrapy_freshness.content.bounded import bounded
from scrapy_freshness.content.markup import ATTRIBUTES, COMMENT, NESTING, PERHAPS_HIDDEN, RAW
from scrapy_freshness.content.plain import plain_text
from scrapy_freshness.errors import ConfigError

_INVISIBLE = ("script", "style", "noscript", "template", "iframe", "noembed", "noframes", "datalist")
# Sites hide the whole page until their script has run; that is still their text.
_HIDDEN = "[hidden]:not(html, body)"
_PERHAPS_HIDDEN = re.compile(PERHAPS_HIDDEN, re.ASCII)
_NESTING = re.compile(NESTING, re.ASCII)
_MARKUP = re.compile(
    rf"<(?:/?+[a-hj-mo-rt-zA-HJ-MO-RT-Z]{ATTRIBUTES}>?+"  # cannot be raw text: the fast way for most tags
    rf"|(?i:{RAW})"
    rf"|{COMMENT}"
    rf"|/?+[a-zA-Z]{ATTRIBUTES}>?+"
    r"|[!?/][^>]*+>?+)",
    re.ASCII,
)

# From this length on a single call would keep all other threads waiting for too long.
_LONG = 100_000


def _space(_: re.Match[str]) -> str:
    """A space for each tag; being called, it lets other threads run in between."""
    return " "


def visible_text(html: str, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> str:
    """Text of a page as a browser shows it, the title first, with white space folded.

    Scripts, styles, comments, attributes and elements with the ``hidden`` attribute are left out; what a
    style sheet hides is not. Every tag and every comment ends a word. The text is that of the elements
    which one of the ``include`` selectors matches (all if there are none), without those which one of
    the ``exclude`` selectors matches. A selector that matches nothing adds or removes nothing.

    Takes any input: what is no HTML yields some text, perhaps none.

    >>> visible_text("<title>News</title><style>p {}</style><p>It <b>rains</b>.</p><p>Again</p>")
    'News It rains . Again'
    >>> visible_text("<main>It rains<aside>12:30</aside></main><nav>Home</nav>",
    ...              include=["main"], exclude=["aside"])
    'It rains'

    Raises
    ------
    ConfigError
        A selector is not valid.
    """
    if include or exclude:
        return " ".join(_text_of_tree(html, include, exclude).split())
    text = plain_text(html)
    return " ".join(_text_of_any(html).split()) if text is None else text


def _text_of_any(html: str) -> str:
    """Text of a page, whatever its markup is."""
    if _needs_tree(html.lower()):
        return _text_of_tree(html, (), ())
    text = _MARKUP.sub(" " if len(html) < _LONG else _space, html)
    return unescape(text) if "&" in text else text


def _needs_tree(html: str) -> bool:
    if "\0" in html or _NESTING.search(html):
        return True
    return "hidden" in html and _PERHAPS_HIDDEN.search(html) is not None


def _text_of_tree(html: str, include: Sequence[str], exclude: Sequence[str]) -> str:
    source = bounded(html.encode("utf-8", "replace"))
    # With scripting, as in a browser, the content of <noscript> is not part of the page.
    tree = LexborHTMLParser(source, options=LexborDocumentOptions.WO_EVENTS, scripting=True)
    root = tree.root
    if root is None:
        return ""
    unwanted = [node for tag in _INVISIBLE for node in tree.tags(tag)] + root.css(_HIDDEN)
    if exclude:
        unwanted += _matches(root, exclude)
    for node in unwanted:
        if node.mem_id == root.mem_id:
            return ""
        # Without `recursive` the node is unlinked with all it contains, and what else is in the list
        # stays valid.
        node.decompose(recursive=False)
    kept = _outermost(root, include) if include else [root]
    return " ".join(node.text(separator=" ") for node in kept)


def check_selector(selector: str) -> None:
    """Raise ConfigError if a CSS selector cannot be used.

    >>> check_selector("div.article > p")
    """
    try:
        # An unclosed bracket or quote is accepted at the end of a query and would swallow what follows.
        found = LexborHTMLParser("<x-probe>").css(f"{selector}, x-probe")
    except (SelectolaxError, UnicodeEncodeError):
        found = []
    if not found:
        raise ConfigError(f"{selector!r} is not a valid CSS selector; write one like 'div.article > p'")


def _matches(node: LexborNode, selectors: Sequence[str]) -> list[LexborNode]:
    """Elements that any of the selectors matches, in the order of the page, some more than once."""
    try:
        return node.css(", ".join(selectors))
    except (SelectolaxError, UnicodeEncodeError):
        for selector in selectors:
            check_selector(selector)
        raise


def _outermost(root: LexborNode, selectors: Sequence[str]) -> list[LexborNode]:
    """Matching elements that are not inside another one."""
    seen: set[int] = set()
    outermost = []
    for node in _matches(root, selectors):
        if node.mem_id not in seen:
            outermost.append(node)
            seen.update(inner.mem_id for inner in _matches(node, selectors))
    return outermost
