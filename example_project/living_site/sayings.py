"""What announcing hosts say about their documents, by their manner, and how much of it is true.

A saying is one announcement that one document has changed: a date in a sitemap that moves, or a ping. The
world knows all changes, so the site knows which sayings are true, and which changes were never told of.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, inf
from typing import NamedTuple

from living_site.chance import stream
from living_site.model import Document, Host
from living_site.parameters import Character, Manner
from living_site.world import World


class Saying(NamedTuple):
    """One announcement of a change of a document."""

    at: float
    """When it is said first."""
    claimed: float
    """When the document is said to have changed."""
    is_true: bool
    """Whether the document has changed since the saying before."""


def claimed_at(world: World, page: Document, time: float) -> float:
    """Return when a document is said, at `time`, to have changed last."""
    parameters = world.parameters
    match page.host.manner:
        case Manner.DELAYED:
            return world.changed_at(page, time - parameters.announcement_delay_seconds)
        case Manner.STALE:
            return world.changed_at(
                page, parameters.sitemap_seconds * floor(time / parameters.sitemap_seconds)
            )
        case Manner.SAME:
            return _latest_of_any(world, page.host, time)
        case Manner.NOW:
            return time
        case Manner.PERFECT:
            return world.changed_at(page, time)
        case Manner.PARTIAL | Manner.NOISY | Manner.FALSE:
            return max([_latest_told(world, page, time), *world.false_signals(page, -inf, time)[-1:]])


def sayings(world: World, page: Document, start: float, end: float) -> list[Saying]:
    """Return what is said about a document after `start`, up to and including `end`, in order.

    A host that always says "now" says it whenever it is asked; that is no list, and empty here.
    """
    delay = world.parameters.announcement_delay_seconds
    match page.host.manner:
        case Manner.NOW:
            return []
        case Manner.DELAYED:
            times = world.change_times(page, start - delay, end - delay)
            return [Saying(time + delay, time, True) for time in times]
        case Manner.STALE:
            period = world.parameters.sitemap_seconds
            first, last = floor(start / period) * period, floor(end / period) * period
            # Of several changes before a sitemap is written, it tells the last.
            latest = {ceil(time / period) * period: time for time in world.change_times(page, first, last)}
            return [Saying(at, time, True) for at, time in latest.items()]
        case Manner.SAME:
            own = set(world.change_times(page, start, end))
            of_any = {
                t for other in _documents(world, page.host) for t in world.change_times(other, start, end)
            }
            return [Saying(time, time, time in own) for time in sorted(of_any)]
        case _:
            told = [Saying(time, time, True) for time in _told_changes(world, page, start, end)]
            return sorted(
                told + [Saying(time, time, False) for time in world.false_signals(page, start, end)]
            )


@dataclass(frozen=True, slots=True)
class SignalTruth:
    """How true the sayings of a host were over a span of time, and how complete."""

    changes: int
    told_changes: int
    """Changes that were told of in time."""
    sayings: int
    true_sayings: int

    @property
    def precision(self) -> float:
        """Share of the sayings that follow a change; nan if nothing was said."""
        return self.true_sayings / self.sayings if self.sayings else float("nan")

    @property
    def recall(self) -> float:
        """Share of the changes that were told of; nan if nothing changed."""
        return self.told_changes / self.changes if self.changes else float("nan")


def signal_truth(
    world: World, host: Host, start: float, end: float, *, within_seconds: float = inf
) -> SignalTruth:
    """Return how true and complete the sayings of an announcing host are, from `start` to `end`.

    A change counts as told of if the first saying that covers it comes within a time, whether or not it is
    over by `end`. A host that always says "now" tells of every change at once, but what it says means
    nothing: it has one saying for each second and document, and the true ones are those in whose second
    there was a change.
    """
    changes = told = said = true = 0
    for page in _documents(world, host):
        times = world.change_times(page, start, end)
        changes += len(times)
        if host.manner is Manner.NOW:
            told += len(times)
            said += ceil(end - start)
            true += len({floor(time - start) for time in times})
            continue
        spoken = sayings(world, page, start, end)
        said += len(spoken)
        true += sum(saying.is_true for saying in spoken)
        delays = [told_after(world, page, time) for time in times]
        told += sum(delay < inf and delay <= within_seconds for delay in delays)
    return SignalTruth(changes, told, said, true)


def announcing_hosts(world: World) -> list[Host]:
    """Return the hosts that announce their changes."""
    return [host for host in world.hosts if host.character is Character.ANNOUNCING]


def told_after(world: World, page: Document, time: float) -> float:
    """Return how long after a change it is told of, infinity for never."""
    match page.host.manner:
        case Manner.DELAYED:
            return world.parameters.announcement_delay_seconds
        case Manner.STALE:
            period = world.parameters.sitemap_seconds
            return ceil(time / period) * period - time
        case Manner.PARTIAL | Manner.NOISY:
            return 0.0 if _is_told(world, page, world.version_at(page, time)) else inf
        case _:
            return 0.0


def _told_changes(world: World, page: Document, start: float, end: float) -> list[float]:
    """Return the changes within a time that a partial or noisy host tells of; others tell of all."""
    times = world.change_times(page, start, end)
    if page.host.manner not in (Manner.PARTIAL, Manner.NOISY):
        return times
    first = world.version_at(page, start) + 1
    return [time for number, time in enumerate(times, first) if _is_told(world, page, number)]


def _latest_told(world: World, page: Document, time: float) -> float:
    """Return when the latest change happened that is told of; negative if that was before the epoch."""
    if page.host.manner is Manner.FALSE:
        return world.changed_at(page, time)
    times = world.change_times(page, -inf, time)
    while times and not _is_told(world, page, len(times)):
        times.pop()
    return times[-1] if times else world.changed_at(page, -inf)


@lru_cache(maxsize=16)
def _latest_of_any(world: World, host: Host, time: float) -> float:
    """Return when a document of a host changed last."""
    return max(world.changed_at(page, time) for page in _documents(world, host))


def _is_told(world: World, page: Document, version: int) -> bool:
    key = (world.parameters.seed, page.host.address, page.path, "told", version)
    return stream(*key).random() < world.parameters.announced_share


def _documents(world: World, host: Host) -> list[Document]:
    return [page for page in world.pages_of(host) if isinstance(page, Document)]
