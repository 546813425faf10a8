"""A web of pages that change at known times, without any content but a number."""

import numpy as np

from scrapy_freshness.simulator.freshness import mean_freshness
from scrapy_freshness.simulator.streams import EventStream
from scrapy_freshness.simulator.web import Address, Fetches, FloatArray, Look


class ChangingWeb:
    """Pages whose content is how often they have changed; all are there from the beginning.

    >>> web = ChangingWeb(EventStream(np.array([3.0, 5.0]), np.array([0, 2])))
    >>> [web.look(0, now).content_hash for now in (2.9, 3.0, 9.0)]
    [0, 1, 2]
    """

    first_linked: int | None = None

    def __init__(self, changes: EventStream, addresses: list[Address] | None = None) -> None:
        self.changes = changes
        self.addresses = addresses or numbered(np.ones(len(changes)))

    def appears_at(self, page: int) -> float:
        """At the very beginning."""
        return 0.0

    def look(self, page: int, now: float) -> Look:
        """How often the page has changed so far."""
        return Look(int(self.changes.of(page).searchsorted(now, side="right")))

    def freshness(
        self, fetches: Fetches, start: float, end: float, *, first_copy_at: float | None = None
    ) -> float:
        """Importance-weighted, time-averaged share of the pages whose copy is current."""
        pages = range(len(self.changes))
        visits = fetches.by_page(len(self.changes))
        if first_copy_at is not None:
            visits = [np.append(first_copy_at, times) for times in visits]
        weights = np.array([address.importance for address in self.addresses])
        return mean_freshness([self.changes.of(page) for page in pages], visits, start, end, weights)


def numbered(importance: FloatArray, *, hosts: int = 1) -> list[Address]:
    """Addresses of pages on some hosts in turn.

    >>> [address.url for address in numbered(np.ones(2))]
    ['http://host0.example/0', 'http://host0.example/1']
    """
    return [
        Address(f"http://host{page % hosts}.example/{page}", f"host{page % hosts}.example", weight)
        for page, weight in enumerate(importance.tolist())
    ]
