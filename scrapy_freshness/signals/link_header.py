"""The HTTP header Link, as RFC 8288 says it is to be read (appendix B.2)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LONGEST = 65_536
_TARGET = re.compile(r"[\s,]*+<([^<>]*+)>")
# A parameter, its value a token or quoted; RFC 8288 lets white space stand around each of them.
_PARAMETER = re.compile(
    r"""\s*+;[\s;]*+([^\s=;,"]++)\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)(?:"|\Z)|([^\s;,"]*+)))?+""", re.DOTALL
)
_NEXT = re.compile(r"""(?:[^,"]|"(?:[^"\\]|\\.)*+(?:"|\Z))*+,""", re.DOTALL)


class HeaderLink(NamedTuple):
    """One link of a header."""

    target: str  #: as written, perhaps relative
    relations: tuple[str, ...]  #: lower case
    parameters: dict[str, str]  #: by lower case name, the first of each


def header_links(value: str) -> Iterator[HeaderLink]:
    r"""Yield the links of a header; several headers may be joined by commas.

    >>> for link in header_links('</hub>; rel="hub self", <a>;title="x\\",y";type=text/html;rel=next'):
    ...     print(link.target, link.relations, link.parameters.get("title"))
    /hub ('hub', 'self') None
    a ('next',) x",y
    """
    value = value[:_LONGEST]
    place = 0
    while target := _TARGET.match(value, place):
        place = target.end()
        parameters: dict[str, str] = {}
        while parameter := _PARAMETER.match(value, place):
            name, quoted, token = parameter.groups()
            text = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if quoted is not None else token or ""
            parameters.setdefault(name.lower(), text)
            place = parameter.end()
        yield HeaderLink(target[1].strip(), tuple(parameters.get("rel", "").lower().split()), parameters)
        following = _NEXT.match(value, place)
        if following is None:
            return
        place = following.end()
