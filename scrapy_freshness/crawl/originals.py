"""The requests that the spider made, until their pages are visited for the first time."""

from scrapy import Request

#: Pages whose requests are kept, about 2 kB each; those of more pages are made anew from the database.
_ROOM = 100_000


class Originals:
    """Keeps requests by fingerprint; the first visit of a page is made with the very one it came with.

    So it has all that Scrapy would give it: what is not kept for revisits, too.
    """

    def __init__(self, room: int = _ROOM) -> None:
        self._room = room
        self._requests: dict[int, Request] = {}

    def keep(self, fingerprint: int, request: Request) -> None:
        """Keep a request for the next visit of its page, in place of an earlier one."""
        self._requests.pop(fingerprint, None)
        if len(self._requests) < self._room:
            self._requests[fingerprint] = request

    def take(self, fingerprint: int) -> Request | None:
        """Remove and return the request for the next visit of a page, None if it is not kept."""
        return self._requests.pop(fingerprint, None)
