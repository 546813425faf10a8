"""Find the page that a person means by a URL."""

import difflib
from collections.abc import Iterator

from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_freshness.errors import FreshnessError
from scrapy_freshness.insight.human import clipped, safe
from scrapy_freshness.storage.page_reports import PageReport, find_pages, neighbours, urls_with_fingerprint
from scrapy_freshness.storage.store import Store

_SUGGESTIONS = 3
_NEIGHBOURS = 20
_SHOWN_LENGTH = 120
_COMPARED_LENGTH = 500


class UnknownPageError(FreshnessError):
    """No page is known by a URL; the text names some that are close to it."""


def pages_of(store: Store, url: str) -> list[PageReport]:
    """The pages of a URL, of every spider, however each of them writes it."""
    spellings = {url}
    for request in _requests(url):
        number = int.from_bytes(fingerprint(request)[:8], "big", signed=True)
        spellings.update(urls_with_fingerprint(store, number))
    found = [page for spelling in sorted(spellings) for page in find_pages(store, spelling)]
    if not found:
        raise UnknownPageError(f"no page {_shown(url)} is known{_suggestion(store, url)}")
    return found


def _requests(url: str) -> Iterator[Request]:
    for candidate in [url] if "://" in url else _with_schemes(url):
        try:
            yield Request(candidate)
        except ValueError:
            continue


def _suggestion(store: Store, url: str) -> str:
    scheme, _, rest = url[:_COMPARED_LENGTH].rpartition("://")
    known = [each for start in _with_schemes(rest) for each in neighbours(store, start, _NEIGHBOURS)]
    candidates = list(dict.fromkeys(each[:_COMPARED_LENGTH] for each in known))
    close = difflib.get_close_matches(f"{scheme or 'http'}://{rest}", candidates, _SUGGESTIONS, cutoff=0.8)
    return f"; did you mean {' or '.join(map(_shown, close))}?" if close else ""


def _with_schemes(rest: str) -> list[str]:
    return [f"https://{rest}", f"http://{rest}"]


def _shown(url: str) -> str:
    return clipped(safe(url), _SHOWN_LENGTH)
