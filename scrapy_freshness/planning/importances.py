"""How important is a page that has just been found?  As somebody has said, or as others of its host."""

import struct
from collections.abc import Iterable, Mapping

from scrapy_freshness.planning.learning import groups_named

_RATE = struct.Struct("<d")


class Importances:
    """Importances of pages before anything is known of them but their address.

    An importance that was given to the very address counts most, then that of the longest beginning of it,
    then the mean of its host by clicks, and of all hosts. Without any of these all pages are equal.
    """

    def __init__(self) -> None:
        self._given: dict[int, float] = {}
        self._prefixes: dict[str, float] = {}
        self._lengths: list[int] = []
        self._means: dict[tuple[str, ...], float] = {}

    def be_told(
        self,
        given: Mapping[int, float],
        prefixes: Iterable[tuple[str, float]],
        groups: Mapping[str, bytes],
    ) -> None:
        """Take over importances by fingerprint, by beginning of the address, and by host."""
        self._given = dict(given)
        self._prefixes = dict(prefixes)
        self._lengths = sorted({len(url) for url in self._prefixes}, reverse=True)
        self._means = {
            key: _RATE.unpack(state)[0]
            for key, state in groups_named("importance", groups).items()
            if len(state) == _RATE.size
        }

    def of(self, fingerprint: int, url: str, host: str) -> float:
        """The importance of a page.

        >>> known = Importances()
        >>> known.be_told({7: 5.0}, [("http://a/", 3.0)], {'["importance", "b"]': struct.pack("<d", 0.5)})
        >>> known.of(7, "http://a/x", "a"), known.of(8, "http://a/x", "a")
        (5.0, 3.0)
        >>> known.of(8, "http://b/x", "b"), known.of(8, "http://c/x", "c")
        (0.5, 1.0)
        """
        if fingerprint in self._given:
            return self._given[fingerprint]
        by_address = self.by_beginning(url)
        if by_address is not None:
            return by_address
        return self._means.get((host,), self._means.get((), 1.0))

    def by_beginning(self, url: str) -> float | None:
        """The importance of all addresses that begin like this one; the longest beginning counts."""
        for length in self._lengths:
            found = self._prefixes.get(url[:length])
            if found is not None:
                return found
        return None
