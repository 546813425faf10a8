"""Pieces of HTTP: validators, Retry-After, redirects."""

import math
import re
from email.utils import parsedate_to_datetime

from scrapy import Request
from scrapy.http import Response

_CONTROL = re.compile(r"[^\x20-\x7e\x80-\xff]")
_MAX_VALIDATOR = 1024
PERMANENT = frozenset({301, 308})


def header_text(response: Response, name: str) -> str | None:
    """A header's value if it can be sent back safely: printable and of sensible length."""
    value = response.headers.get(name)
    if value is None:
        return None
    text = value.decode("latin-1").strip()
    return text if text and len(text) <= _MAX_VALIDATOR and not _CONTROL.search(text) else None


def retry_after_seconds(response: Response, now: float) -> float | None:
    """How long the server asks to wait, None if it does not say; understands both forms (RFC 9110, 10.2.3).

    A date is read against the server's own Date header if there is one: clocks differ.
    """
    text = header_text(response, "Retry-After")
    if text is None:
        return None
    if re.fullmatch(r"\d{1,9}", text):
        return float(text)
    until = _http_date(text)
    if until is None:
        return None
    server_now = _http_date(header_text(response, "Date") or "")
    return max(until - (now if server_now is None else server_now), 0.0)


def is_moved_for_good(request: Request) -> bool:
    """Whether all redirects on the way to this request were permanent (and there was at least one)."""
    reasons = request.meta.get("redirect_reasons") or []
    return bool(reasons) and all(reason in PERMANENT for reason in reasons)


def is_redirected(request: Request) -> bool:
    """Whether the request is the target of a redirect."""
    return bool(request.meta.get("redirect_times"))


def _http_date(text: str) -> float | None:
    try:
        seconds = parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None
