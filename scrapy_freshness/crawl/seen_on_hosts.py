"""The links that hubs of each host have shown: from the database when they are needed first."""

from collections.abc import Callable, Iterable

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_freshness.model import LinkSegment
from scrapy_freshness.signals.addresses import is_on_host
from scrapy_freshness.sources.seen import SeenLinks

#: Links that are kept in memory, eight bytes each; hosts that were asked for longest ago go first.
_MOST_LINKS = 8_000_000


class SeenOnHosts:
    """Sets of links by host.

    Parameters
    ----------
    read : the links of a host, from the database
    """

    def __init__(self, read: "Callable[[str], Deferred[SeenLinks]]") -> None:
        self._read = read
        self._sets: dict[str, SeenLinks] = {}  #: oldest first

    async def of(self, host: str) -> SeenLinks:
        """The links of a host."""
        if host not in self._sets:
            found = await maybe_deferred_to_future(self._read(host))
            self._sets.setdefault(host, found)  # two may have waited for it
        seen = self._sets.pop(host)
        self._sets[host] = seen
        self._make_room()
        return seen

    def add(self, host: str, keys: Iterable[int]) -> None:
        """Links were seen; what is found because of them is noted in the same turn of the reactor."""
        self._sets[host].add(keys)

    def forget(self, host: str) -> None:
        """All links of a host are new again, on every port; one may be looked at in this moment."""
        for name in self._sets:
            if is_on_host(name, host):
                self._sets[name] = SeenLinks()

    def take_segments(self) -> list[LinkSegment]:
        """What is new since the last call, for the writer."""
        return [
            LinkSegment(host=host, number=number, packed=packed)
            for host, seen in self._sets.items()
            for number, packed in seen.take_changed()
        ]

    def _make_room(self) -> None:
        total = sum(map(len, self._sets.values()))
        for host, seen in list(self._sets.items())[:-1]:
            if total <= _MOST_LINKS:
                return
            if seen.is_saved:
                total -= len(seen)
                del self._sets[host]
