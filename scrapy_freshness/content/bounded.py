"""HTML that a conforming parser reads in time and memory proportional to its length.

The HTML standard's tree construction is quadratic for hostile input: with lexbor 100,000 nested
``<div>`` take half a minute, and 4,000 unclosed ``<b a=1>``, ``<b a=2>``, ... followed by 4,000 ``<p>``
take 20 seconds and 6 GB, because every open formatting element is copied into every paragraph. Pages
that could be of that kind are rewritten into properly nested ones; all others pass untouched.
"""

import re

# What passes untouched costs at most about a second for a megabyte.
_MAX_TAGS = 10_000  # nested in each other: 0.2 s
_MAX_TEXT_WORK = 2_000_000_000  # tags * bytes; text between ignored tags is copied at each: 0.4 s, 300 MB
_MAX_COPIES = 250_000  # formatting elements * tags to copy them into: 0.5 s, 100 MB
_UNTAGGED_BYTES = 4096  # without "<"; up to twice as many pass: 2,000 attributes in one tag, 7 ms

# What is rewritten has at most
_MAX_DEPTH = 256
_MAX_FORMATTING = 4  # formatting elements open at once
_MAX_ATTRIBUTE_BYTES = 2048  # in a tag

_VOID = frozenset(b"area base br col embed hr img input keygen link meta param source track wbr".split())
_FORMATTING = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
_ONCE = frozenset((b"html", b"head", b"body"))  # a repeated one adds its attributes to the first
_TABLE_PARTS = frozenset(b"table tbody thead tfoot tr colgroup".split())  # text in them is moved out
_ENDED_BY = {  # start tag -> open elements whose end tag may be left out before it
    b"a": frozenset((b"a",)),
    b"p": frozenset((b"p",)),
    b"li": frozenset((b"li", b"p")),
    b"dt": frozenset((b"dt", b"dd", b"p")),
    b"dd": frozenset((b"dt", b"dd", b"p")),
    b"option": frozenset((b"option",)),
    b"td": frozenset((b"td", b"th", b"p")),
    b"th": frozenset((b"td", b"th", b"p")),
    b"tr": frozenset((b"td", b"th", b"tr", b"p")),
}
_INVISIBLE = frozenset(b"script style noscript iframe noembed noframes".split())
_RAW_ENDS = {  # elements that contain text only
    name: re.compile(rb"</%b(?=[\s/>])[^>]*+>?" % name, re.IGNORECASE)
    for name in (*_INVISIBLE, b"xmp", b"title", b"textarea")
}
_BREAK = b"<!---->"  # ends a word, and keeps the parser from gathering all text in one growing node

_CLEAN_ATTRIBUTES = (
    rb"""(?:\s++[^\s"'<>/=]++(?:\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>=`]++))?+)*+\s*+/?+"""
)
_CLEAN = re.compile(_CLEAN_ATTRIBUTES)
_TOKEN = re.compile(
    rb"<(?:(?P<end>/?+)(?P<name>[a-zA-Z][^\s/>]*+)"
    rb"""(?P<attributes>(?:[^>=]++|=\s*+(?:"[^"]*+"?+|'[^']*+'?+)?+)*+)>?+"""
    rb"|!--(?:-?+>|.*?(?:--!?+>|\Z))"
    rb"|[!?/][^>]*+>?+)",
    re.DOTALL,
)
_NAME = re.compile(rb"[a-zA-Z][a-zA-Z0-9:_-]*+")

# Scripts, style sheets and images inside the page are most of its bytes and none of its text.
_CODE = re.compile(rb"(<s(cript|tyle)%b>)[^<]{2048,}+(?=</s\2[\s/>])" % _CLEAN_ATTRIBUTES)
_DATA = re.compile(rb'="data:[^"<>\s]{2048,}+(?=")')

# The parser copies at most three formatting elements without attributes, and one <a>. The first pattern also
# finds other elements, in a third of the time.
_PERHAPS_COPIED = re.compile(rb"<[bcefinstuBCEFINSTU][a-zA-Z]{0,5}[\s/]")
_COPIED = re.compile(rb"(?i)<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\s/]")
_ENDED_AT_ONCE = re.compile(
    rb"<(?P<name>b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/])%b>[^<]*+</(?P=name)>"
    % _CLEAN_ATTRIBUTES
)


def bounded(html: bytes) -> bytes:
    """HTML with the same text and, if it was properly nested and not too deep, the same elements.

    >>> bounded(b"<p>One<p>two")
    b'<p>One<p>two'
    >>> bounded(b"<p>One<p>two" + b"<div>" * 100_000).count(b"<div>")
    255
    """
    if _has_long_gap(html):
        html = _DATA.sub(b'="', _CODE.sub(rb"\1", html))
    return _renested(html) if _may_explode(html) else html


def _has_long_gap(html: bytes) -> bool:
    blocks = range(0, len(html) - _UNTAGGED_BYTES + 1, _UNTAGGED_BYTES)
    return any(html.find(b"<", block, block + _UNTAGGED_BYTES) < 0 for block in blocks)


def _may_explode(html: bytes) -> bool:
    tags = html.count(b"<")
    if tags > _MAX_TAGS or tags * len(html) > _MAX_TEXT_WORK or _has_long_gap(html):
        return True
    if tags * tags <= _MAX_COPIES or len(_PERHAPS_COPIED.findall(html)) * tags <= _MAX_COPIES:
        return False
    return (len(_COPIED.findall(html)) - len(_ENDED_AT_ONCE.findall(html))) * tags > _MAX_COPIES


def _renested(html: bytes) -> bytes:
    """HTML in which every element is ended in order.

    Everything that could begin a tag or a comment is a token, and of a token only what the parser
    cannot read differently is passed on; so what is counted here is what the parser will see.
    """
    pieces: list[bytes] = []
    open_elements: list[bytes] = []
    once: set[bytes] = set()
    formatting = 0
    position = 0
    while token := _TOKEN.search(html, position):
        text = html[position : token.start()]
        position = token.end()
        in_table = bool(open_elements) and open_elements[-1] in _TABLE_PARTS
        if in_table and text.strip():
            text = b"<span>%b</span>" % text
        pieces += (text, _BREAK)
        end, name, attributes = token.groups()
        if name is None or not _NAME.fullmatch(name):
            continue
        name = name.lower()

        ended = 0
        if end:
            if name in open_elements:
                ended = open_elements[::-1].index(name) + 1
        elif name in _ENDED_BY:
            while ended < len(open_elements) and open_elements[-1 - ended] in _ENDED_BY[name]:
                ended += 1
        for _ in range(ended):
            closed = open_elements.pop()
            formatting -= closed in _FORMATTING
            pieces.append(b"</%b>" % closed)
        if end:
            continue

        content = b""
        if name in _RAW_ENDS:
            raw_end = _RAW_ENDS[name].search(html, position)
            content = html[position : raw_end.start() if raw_end else len(html)]
            position = raw_end.end() if raw_end else len(html)
        if (
            name in _INVISIBLE
            or name in once
            or name == b"plaintext"
            or len(open_elements) >= _MAX_DEPTH
            or (name in _FORMATTING and formatting >= _MAX_FORMATTING)
            or (name == b"form" and in_table)
        ):
            continue
        if len(attributes) > _MAX_ATTRIBUTE_BYTES or not _CLEAN.fullmatch(attributes):
            attributes = b""
        pieces.append(b"<%b%b>" % (name, attributes))
        if name in _ONCE:
            once.add(name)
        elif name in _RAW_ENDS:
            pieces += (content.replace(b"<", b"&lt;"), b"</%b>" % name)
        elif attributes.endswith(b"/") and name not in _VOID:
            pieces.append(b"</%b>" % name)
        elif name not in _VOID:
            open_elements.append(name)
            formatting += name in _FORMATTING
    pieces.append(html[position:])
    return b"".join(pieces)
