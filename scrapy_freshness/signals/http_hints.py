"""What the headers of an answer say about when a page changed, and how long it will not (RFC 9110, 9111).

Weak evidence: dates that programs make up, and lifetimes that someone once configured. It is to be measured
like any other signal.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from scrapy_freshness.signals.contract import Moment
from scrapy_freshness.signals.dates import read_date

_LONGEST_SECONDS = 366 * 86_400.0
_DIRECTIVE = re.compile(r"""([A-Za-z-]{1,40})\s*+(?:=\s*+(?:"([^"]{0,100})"|([^\s,;"]{0,100})))?+""")
#: A page "last modified" when it was asked for was made for the question; that tells nothing.
_MADE_ON_DEMAND_SECONDS = 2.0


class HttpHints(NamedTuple):
    """What an answer says about its page, by our clock."""

    last_modified: Moment | None = None
    fresh_until: float | None = None  #: unix seconds; may be in the past
    lifetime_seconds: float | None = None  #: for how long caches may show it, since it left its server


def http_hints(headers: Mapping[str, str], now: float) -> HttpHints:
    """Read the headers of an answer that came at *now*; their names are in lower case.

    Dates are read by the clock of the server, which its own Date header shows.

    >>> hints = http_hints({"last-modified": "Tue, 17 Nov 2026 04:05:06 GMT",
    ...                     "cache-control": "max-age=60", "age": "20"}, now=1794900000.0)
    >>> hints.last_modified, hints.fresh_until
    (Moment(at=1794888306.0, resolution=1.0), 1794900040.0)
    """
    date = read_date(headers.get("date", ""))
    age = _seconds(headers.get("age", "")) or 0.0
    # An answer from a cache has the date of when it left the server.
    ahead = 0.0 if date is None else date.at - (now - age)
    modified = read_date(headers.get("last-modified", ""))
    if modified is not None:
        modified = Moment(modified.at - ahead, modified.resolution)
        if modified.at > now - age - _MADE_ON_DEMAND_SECONDS:
            modified = None
    lifetime = _lifetime(headers, date)
    return HttpHints(modified, None if lifetime is None else now - age + lifetime, lifetime)


def _lifetime(headers: Mapping[str, str], date: Moment | None) -> float | None:
    """How long the answer is fresh (RFC 9111, section 4.2.1), as for a cache of one's own."""
    directives: dict[str, str] = {}
    for name, quoted, token in _DIRECTIVE.findall(headers.get("cache-control", "")[:4096]):
        directives.setdefault(name.lower(), quoted or token)
    if "no-store" in directives or "no-cache" in directives:
        return None
    if "max-age" in directives:
        return _seconds(directives["max-age"])
    expires = read_date(headers.get("expires", ""))
    if expires is None or date is None:
        return None
    return min(max(expires.at - date.at, 0.0), _LONGEST_SECONDS)


def _seconds(text: str) -> float | None:
    text = text.strip()
    is_number = text.isascii() and text.isdigit()
    return min(float(text[:20]), _LONGEST_SECONDS) if is_number else None
