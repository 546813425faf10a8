"""Whose pages are kept fresh?  Nobody else is listened to."""

from collections.abc import Callable, Iterable

from scrapy import Request

from scrapy_freshness.crawl.rows import row_of_url
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.signals.addresses import host_of

#: Hosts with a port of their own that are remembered.
_MOST_MET = 10_000


class KnownHosts:
    """Tells whether a host, as in `addresses.Address`, has pages that are kept fresh."""

    def __init__(self, planner: Planner, fingerprint: Callable[[Request], int]) -> None:
        self._planner = planner
        self._fingerprint = fingerprint
        self._met: dict[str, None] = {}

    def met(self, url: str) -> None:
        """A page of this address is being visited."""
        host = host_of(url)
        if host is not None and host not in self._met and len(self._met) < _MOST_MET:
            self._met[host] = None

    def row_of(self, url: str) -> int | None:
        """Row of the page with this URL, None if there is none."""
        return row_of_url(url, self._planner, self._fingerprint)

    def is_known(self, host: str, urls: Iterable[str] = ()) -> bool:
        """Whether a host has pages; *urls* are some addresses on it, of which the first few are looked up.

        Pages are kept by host name, without the port. Another port may be another server, so it has to have
        been visited, or to have a page that is known.
        """
        if host in self._met:
            return True
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if self._planner.known.knows_host(name) and host in (name, f"[{name}]"):
            return True
        return any(self.row_of(url) is not None for url, _ in zip(urls, range(10), strict=False))
