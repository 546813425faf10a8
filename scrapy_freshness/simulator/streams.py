"""Events of many pages in two arrays, and how to draw, thin, delay and merge them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class EventStream:
    """Times of events, page after page.

    >>> stream = EventStream(np.array([1.0, 4.0, 2.0]), np.array([0, 2, 2, 3]))
    >>> len(stream), stream.of(0), stream.of(1), stream.of(2)
    (3, array([1., 4.]), array([], dtype=float64), array([2.]))
    """

    times: FloatArray  #: seconds, ascending within each page
    starts: NDArray[np.int64]  #: page i has times[starts[i]:starts[i + 1]]
    kinds: NDArray[np.int64] | None = None  #: of each event; None: all are of kind 0

    def __len__(self) -> int:
        """How many pages there are."""
        return len(self.starts) - 1

    def of(self, page: int) -> FloatArray:
        """Times of one page, a view."""
        return self.times[self.starts[page] : self.starts[page + 1]]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many events each page has."""
        return np.diff(self.starts)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The page of each event."""
        return np.repeat(np.arange(len(self)), self.counts)


def event_stream(times: Sequence[FloatArray]) -> EventStream:
    """Events that are known page by page, ascending.

    >>> event_stream([np.array([1.0, 4.0]), np.empty(0)]).counts
    array([2, 0])
    """
    return EventStream(np.concatenate([np.empty(0), *times]), _starts(np.array([len(own) for own in times])))


def poisson_events(rates: FloatArray, horizon: float, rng: np.random.Generator) -> EventStream:
    """Draw a Poisson process over [0, horizon] for each page.

    >>> never, often = poisson_events(np.array([0.0, 3.0]), 1000.0, np.random.default_rng(5)).counts
    >>> int(never), abs(int(often) - 3000) < 300
    (0, True)
    """
    counts = rng.poisson(rates * horizon)
    owners = np.repeat(np.arange(len(rates), dtype=np.float64), counts)
    # One sort puts all pages in order: page number before the point, time behind it.
    keys = owners + rng.random(len(owners))
    keys.sort()
    return EventStream((keys - owners) * horizon, _starts(counts))


def divided(stream: EventStream, chances: NDArray[np.float64], rng: np.random.Generator) -> list[EventStream]:
    """Give each event to one of several streams, or to none.

    Parameters
    ----------
    chances : (streams, pages) array; those of a page add up to at most 1

    >>> stream = poisson_events(np.array([3.0]), 1000.0, np.random.default_rng(5))
    >>> some, others = divided(stream, np.array([[0.2], [0.8]]), np.random.default_rng(6))
    >>> len(some.times) + len(others.times) == len(stream.times), 400 < len(some.times) < 800
    (True, True)
    """
    place, owners = rng.random(len(stream.times)), stream.owners
    ends = np.cumsum(chances, axis=0)
    parts = []
    for begin, end in zip(np.vstack([np.zeros(len(stream)), ends]), ends, strict=False):
        kept = (begin[owners] <= place) & (place < end[owners])
        before = np.concatenate([[0], np.cumsum(kept)])
        parts.append(EventStream(stream.times[kept], before[stream.starts]))
    return parts


def delayed(stream: EventStream, delays: FloatArray, horizon: float) -> EventStream:
    """Move each event to the future by its own delay; what comes after the horizon is dropped."""
    times, owners = stream.times + delays, stream.owners
    in_time = times <= horizon
    return _in_order(times[in_time], owners[in_time], len(stream))


def merged(one: EventStream, other: EventStream) -> EventStream:
    """Events of both streams, page by page.

    >>> one, other = (EventStream(np.array(each), np.array([0, 2])) for each in ([1.0, 9.0], [3.0, 5.0]))
    >>> merged(one, other).times
    array([1., 3., 5., 9.])
    """
    times = np.concatenate([one.times, other.times])
    return _in_order(times, np.concatenate([one.owners, other.owners]), len(one))


def together(streams: Sequence[EventStream]) -> EventStream:
    """Events of several streams, page by page; the kind of an event is the number of its stream.

    >>> one, other = (EventStream(np.array(each), np.array([0, 2])) for each in ([1.0, 9.0], [3.0, 5.0]))
    >>> together([one, other]).kinds
    array([0, 1, 1, 0])
    """
    times = np.concatenate([stream.times for stream in streams])
    owners = np.concatenate([stream.owners for stream in streams])
    kinds = np.repeat(np.arange(len(streams)), [len(stream.times) for stream in streams])
    order = np.lexsort((times, owners))
    counts = np.bincount(owners, minlength=len(streams[0]))
    return EventStream(times[order], _starts(counts), kinds[order])


def _in_order(times: FloatArray, owners: NDArray[np.int64], pages: int) -> EventStream:
    order = np.lexsort((times, owners))
    return EventStream(times[order], _starts(np.bincount(owners, minlength=pages)))


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
