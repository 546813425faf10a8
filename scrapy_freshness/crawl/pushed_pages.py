"""Pages and feeds that hubs have sent, kept until their visits begin: then nothing has to be fetched."""

from collections import OrderedDict

from scrapy import Request
from scrapy.http import Headers, Response, TextResponse
from scrapy.responsetypes import responsetypes

from scrapy_freshness.crawl.ping_contract import Push

#: The page is fetched instead if its visit comes later than that.
_USABLE_SECONDS = 600.0
_MOST_BYTES = 33_554_432
#: Of an answer that was pushed.
PUSHED_FLAG = "pushed"


class PushedPages:
    """Keeps the latest content of pages, by fingerprint; those that came first go when there are too many."""

    def __init__(self) -> None:
        self._pushes: OrderedDict[int, Push] = OrderedDict()
        self._n_bytes = 0

    def keep(self, fingerprint: int, push: Push) -> None:
        """Keep a page for its visit."""
        self._drop(fingerprint)
        self._pushes[fingerprint] = push
        self._n_bytes += len(push.body)
        while self._n_bytes > _MOST_BYTES:
            self._drop(next(iter(self._pushes)))

    def response_to(
        self, request: Request, fingerprint: int, seen_at: float | None, now: float
    ) -> Response | None:
        """Return the answer that a request would get, None if it is not known; *seen_at*: the last visit."""
        push = self._drop(fingerprint)
        if push is None or now - push.at > _USABLE_SECONDS or (seen_at is not None and push.at <= seen_at):
            return None
        headers = Headers({"Content-Type": push.content_type})
        kind = responsetypes.from_args(headers=headers, url=request.url, body=push.body)
        return kind(request.url, headers=headers, body=push.body, request=request, flags=[PUSHED_FLAG])

    def _drop(self, fingerprint: int) -> Push | None:
        push = self._pushes.pop(fingerprint, None)
        if push is not None:
            self._n_bytes -= len(push.body)
        return push


def is_page(push: Push) -> bool:
    """Whether a push can be the whole of a page: there is something, and it is text but no feed."""
    headers = Headers({"Content-Type": push.content_type})
    kind = responsetypes.from_args(headers=headers, url=push.url, body=push.body)
    return bool(push.body) and issubclass(kind, TextResponse) and "html" in push.content_type.lower()
