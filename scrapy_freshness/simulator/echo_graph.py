"""A web of content sources whose links appear, earn and vanish: the world of the ECHO paper.

A source shows its latest links, a fixed number of places; a link that is pushed out, or that has stood there
for too long, before anybody polled is lost. Rates of links and profits have heavy tails: a few sources bring
most of the links, and other few most of the profit. Some pages are linked from a second source of their host
a while later.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.streams import EventStream, poisson_events

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class EchoGraph:
    """Sources, and every link that appears on them."""

    host: NDArray[np.int64]  #: of each source
    link_rate: FloatArray  #: lambda, of each source, links per second
    profit: FloatArray  #: P, of each source, mean over its links
    decay: FloatArray  #: mu, of each source, per second
    births: EventStream  #: when the links of each source appear
    gone_at: FloatArray  #: of each link, seconds; inf: still there at the end
    link_profit: FloatArray  #: of each link, what fetching it at once earns; 0 if its page was linked before
    #: Of each link, the first link to the same page, which stands for the page; None: all are the first.
    first_link: NDArray[np.int64] | None = None

    @property
    def leaving(self) -> FloatArray:
        """How many of its links leave a source per second, of those that are still of interest.

        A link is so until an age of 1/mu; sources from which none leaves by then have 0.
        """
        owners, born = self.births.owners, self.births.times
        until = np.minimum(born + 1 / self.decay[owners], np.max(born, initial=0.0))
        left = self.gone_at < until
        stayed = np.maximum(np.minimum(self.gone_at, until) - born, 0.0)
        n = len(self.link_rate)
        seconds = np.bincount(owners, stayed, n)
        leaving: FloatArray = np.bincount(owners, left, n) / np.where(seconds > 0, seconds, 1.0)
        return leaving

    def shown(self, source: int, since: float, now: float) -> NDArray[np.int64]:
        """Pages that a source shows now by links that appeared after *since*, oldest first."""
        start = int(self.births.starts[source])
        born = self.births.of(source)
        first, last = np.searchsorted(born, (since, now), side="right")
        numbers: NDArray[np.int64] = start + np.arange(int(first), int(last))
        there = numbers[self.gone_at[numbers] > now]
        return there if self.first_link is None else self.first_link[there]

    def at(self, moved: Callable[[FloatArray], FloatArray]) -> "EchoGraph":
        """The same links at other times, in the same order."""
        births = replace(self.births, times=moved(self.births.times))
        return replace(self, births=births, gone_at=moved(self.gone_at))

    def faster(self, factor: float) -> "EchoGraph":
        """The same web, where everything happens so many times faster.

        >>> graph = drawn_echo_graph(3, 12, 0.01, 86400.0, np.random.default_rng(6)).faster(864.0)
        >>> round(float(graph.link_rate.sum()), 6), bool(graph.births.times.max() <= 100)
        (8.64, True)
        """
        sooner = self.at(lambda times: times / factor)
        return replace(sooner, link_rate=self.link_rate * factor, decay=self.decay * factor)


def drawn_echo_graph(
    hosts: int,
    sources: int,
    links_per_second: float,
    horizon: float,
    rng: np.random.Generator,
    *,
    profit_spread: float = 1.5,
    shared: float = 0.0,
    stay_seconds: float = np.inf,
) -> EchoGraph:
    """Draw sources and their links over [0, horizon].

    Rates are log-normal with standard deviation 1.5 of the logarithm (the largest of 100 brings a fifth
    of all links), mean profits log-normal too, the profits of a source's links exponential around its mean;
    interest halves within 6 to 48 hours, and there are 10 to 50 places.

    Parameters
    ----------
    links_per_second : of all sources together, to pages that were not linked before
    profit_spread : standard deviation of the logarithm of the sources' mean profits
    shared : share of the pages that another source of the host links to as well, an hour later on average
    stay_seconds : how long a link stays in its place at the most

    >>> graph = drawn_echo_graph(3, 12, 0.01, 86400.0, np.random.default_rng(6))
    >>> len(graph.births), round(float(graph.link_rate.sum()), 6), int(graph.host.max())
    (12, 0.01, 2)
    """
    link_rate = np.exp(1.5 * rng.standard_normal(sources))
    link_rate *= links_per_second / np.sum(link_rate)
    profit = np.exp(profit_spread * rng.standard_normal(sources))
    decay = np.log(2) / (3600 * np.exp(rng.uniform(np.log(6), np.log(48), sources)))
    places = rng.integers(10, 51, sources)
    host = np.arange(sources) % hosts
    births = poisson_events(link_rate, horizon, rng)
    link_profit = profit[births.owners] * rng.exponential(size=len(births.times))
    first_link = None
    if shared:
        first = births
        births, first_link = _linked_twice(first, host, shared, horizon, rng)
        first_profit, link_profit = link_profit, np.zeros(len(first_link))
        link_profit[first_link == np.arange(len(first_link))] = first_profit
    owners = births.owners
    pushed_out_by = np.arange(len(owners)) + places[owners]
    pushed_out = pushed_out_by < births.starts[owners + 1]
    gone_at = births.times + stay_seconds
    gone_at[pushed_out] = np.minimum(gone_at[pushed_out], births.times[pushed_out_by[pushed_out]])
    return EchoGraph(host, link_rate, profit, decay, births, gone_at, link_profit, first_link)


def _linked_twice(
    births: EventStream, host: NDArray[np.int64], shared: float, horizon: float, rng: np.random.Generator
) -> tuple[EventStream, NDArray[np.int64]]:
    """Add links to some pages on other sources of their hosts; returns all, and the first link of each."""
    links = np.flatnonzero(rng.random(len(births.times)) < shared)
    times = births.times[links] + rng.exponential(3600.0, len(links))
    by_host = np.argsort(host, kind="stable")
    begin = np.searchsorted(host[by_host], host)
    n_sources = np.bincount(host)[host]
    owner = births.owners[links]
    other = by_host[begin[owner] + (rng.random(len(links)) * n_sources[owner]).astype(np.int64)]
    kept = (other != owner) & (times <= horizon)
    all_times = np.concatenate([births.times, times[kept]])
    all_owners = np.concatenate([births.owners, other[kept]])
    order = np.lexsort((all_times, all_owners))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first = np.concatenate([np.arange(len(births.times)), links[kept]])
    counts = np.bincount(all_owners, minlength=len(births))
    starts = np.concatenate([[0], np.cumsum(counts)])
    return EventStream(all_times[order], starts), place[first[order]]
