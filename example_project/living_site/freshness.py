"""How fresh a crawler's copy of the living site was: exact, from the truth and the fetches.

A fetch is a pair of a time and the document fetched then, as it was at that time. The copy is fresh from the
fetch until the document changes next, and stale from then until the next fetch; a document that was never
fetched is stale. To know that a document is gone is to have a fresh copy, too.

An answer 304 is no fetch. If it is true, the copy that the crawler holds was fresh already; if it is a lie,
the copy stays stale. Either way it changes nothing.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import floor

from living_site.model import Document
from living_site.request_log import Entry
from living_site.world import World

COPIED = {200, 404, 410}
"""The statuses that tell a crawler what a document is at present."""

Fetches = Iterable[tuple[float, Document]]


def document_fetches(world: World, entries: Iterable[Entry]) -> list[tuple[float, Document]]:
    """Return the fetches in a log that gave the crawler a copy of a document."""
    fetches = []
    for entry in entries:
        page = world.page(entry.host, entry.path.partition("?")[0])
        if isinstance(page, Document) and entry.method == "GET" and entry.status in COPIED:
            fetches.append((entry.answered, page))
    return fetches


def mean_freshness(
    world: World, fetches: Fetches, start: float, end: float, *, weighted: bool = False
) -> float:
    """Return the share of the documents whose copy is fresh, averaged over the time from `start` to `end`.

    Give all fetches since the epoch, also those before `start`: they made the copies held at `start`.
    Weighted, each document counts by its importance.
    """
    if not start < end:
        raise ValueError(f"start must be before end, got {start} and {end}")
    times_of = _times_by_document(fetches)
    shares = {
        page: _fresh_seconds(world, page, times, start, end) / (end - start)
        for page, times in times_of.items()
    }
    return _mean(world, shares, weighted)


def freshness_at(world: World, fetches: Fetches, time: float, *, weighted: bool = False) -> float:
    """Return the share of the documents whose copy is fresh at `time`."""
    fresh = {}
    for page, times in _times_by_document(fetches).items():
        fetched = bisect_right(times, time)
        fresh[page] = float(fetched > 0 and world.next_change(page, times[fetched - 1]) > time)
    return _mean(world, fresh, weighted)


def fetches_per_second(entries: Iterable[Entry], start: float, end: float) -> list[int]:
    """Return how many requests arrived in each second from `start` to `end`, whatever they asked for."""
    counts = Counter(floor(entry.time - start) for entry in entries if start <= entry.time < end)
    return [counts[second] for second in range(-floor(start - end))]


def most_in_any_second(times: Iterable[float]) -> int:
    """Return the largest number of times within any one second, wherever it begins.

    >>> most_in_any_second([0.9, 1.0, 1.2, 1.85, 2.5])
    4
    """
    ordered = sorted(times)
    first = most = 0
    for last, time in enumerate(ordered):
        while ordered[first] <= time - 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most


def _times_by_document(fetches: Fetches) -> dict[Document, list[float]]:
    """Return when each document was fetched, in order."""
    times_of: defaultdict[Document, list[float]] = defaultdict(list)
    for time, page in fetches:
        times_of[page].append(time)
    return {page: sorted(times) for page, times in times_of.items()}


def _fresh_seconds(world: World, page: Document, times: Sequence[float], start: float, end: float) -> float:
    """Return for how long between `start` and `end` the copy of a document was fresh."""
    total = 0.0
    for fetched, next_fetch in zip(times, [*times[1:], end], strict=True):
        stale_from = min(world.next_change(page, fetched), next_fetch, end)
        total += max(0.0, stale_from - max(fetched, start))
    return total


def _mean(world: World, share_of: Mapping[Document, float], weighted: bool) -> float:
    """Return the mean over all documents of the world, those without a share counting as 0."""
    if not weighted:
        return sum(share_of.values()) / len(world.documents)
    total = sum(page.importance for page in world.documents)
    return sum(page.importance * share for page, share in share_of.items()) / total
