"""Which requests are pages to keep fresh?"""

import logging
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

from scrapy import Request, Spider
from scrapy.utils.httpobj import urlparse_cached

from scrapy_freshness.config import Config
from scrapy_freshness.model import PageKind

logger = logging.getLogger(__name__)

#: Longer URLs are fetched but not tracked: no index of a database takes them.
MAX_URL_LENGTH = 4096


#: In ``meta["freshness"]``: the page is a source, which is fetched for the links that it shows.
SOURCE = "source"


class Tracking(Enum):
    """What to do with a request."""

    TRACK = "track"
    PLAIN = "plain"  #: serve it as Scrapy would and forget it


def kind_of(request: Request) -> PageKind:
    """What a page is fetched for, by the word of the spider."""
    return PageKind.SOURCE if request.meta.get("freshness") == SOURCE else PageKind.PAGE


class Tracker:
    """Decides by method, ``dont_filter``, ``meta["freshness"]``, URL patterns and the spider's hook.

    A spider may define ``freshness_track(request)``: True tracks, False does not, None leaves it to the
    other rules.
    """

    def __init__(self, config: Config, spider: Spider) -> None:
        self._allow = config.allow
        self._deny = config.deny
        self._hook = cast("Callable[[Request], bool | None] | None", getattr(spider, "freshness_track", None))

    def decide(self, request: Request) -> Tracking:
        """Return whether the page of this request is kept fresh."""
        return Tracking.TRACK if self._is_tracked(request) else Tracking.PLAIN

    def may_poll(self, request: Request, *, is_root: bool = False) -> bool:
        """Whether a page may be polled for its links; FRESHNESS_ALLOW does not keep from main pages."""
        if self._is_tracked(request):
            return True
        wish = self._hook(request) if self._hook is not None else None
        is_denied = any(pattern.search(request.url) for pattern in self._deny)
        return is_root and wish is None and not is_denied and len(request.url) <= MAX_URL_LENGTH

    def barrier(self, request: Request, *, is_root: bool = False) -> str | None:
        """The setting that keeps a known page out; None if none does, or the spider insists on the page.

        FRESHNESS_ALLOW does not keep out main pages that are polled for their links.
        """
        setting = self._barrier(request)
        if setting is None or (setting == "FRESHNESS_ALLOW" and is_root):
            return None
        try:
            return None if self._wish(request) else setting
        except Exception:  # no request of the spider's own: what it relies on may not have been kept
            logger.exception("freshness_track has failed for %s", request.url)
            return setting

    def _is_tracked(self, request: Request) -> bool:
        if request.method != "GET" or request.body or len(request.url) > MAX_URL_LENGTH:
            return False
        if urlparse_cached(request).scheme not in {"http", "https"}:
            return False
        wish = self._wish(request)
        if wish is not None:
            return bool(wish)
        # Scrapy sends start requests with dont_filter; elsewhere the spider means "again, now".
        if request.dont_filter and not request.meta.get("is_start_request"):
            return False
        return self._barrier(request) is None

    def _wish(self, request: Request) -> Any:
        """What the spider says about a request: not None if it decides."""
        wish = request.meta.get("freshness")
        return self._hook(request) if wish is None and self._hook is not None else wish

    def _barrier(self, request: Request) -> str | None:
        """The setting that keeps a page out, None if none does."""
        if self._allow and not any(pattern.search(request.url) for pattern in self._allow):
            return "FRESHNESS_ALLOW"
        return "FRESHNESS_DENY" if any(pattern.search(request.url) for pattern in self._deny) else None
