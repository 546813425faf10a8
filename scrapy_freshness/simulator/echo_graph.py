"""A web of content sources whose links appear, earn and vanish: the world of the ECHO paper.

A source shows its latest links, a fixed number of places; a link that is pushed out before anybody polled
is lost. Rates of links and profits have heavy tails: a few sources bring most of the links, and other few
most of the profit.
"""

from dataclasses import dataclass

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
    link_profit: FloatArray  #: of each link, what fetching it at once earns

    @property
    def upper_bound(self) -> float:
        """Profit of fetching every link at once."""
        return float(np.sum(self.link_profit))

    def shown(self, source: int, since: float, now: float) -> NDArray[np.int64]:
        """Numbers of the links of a source that appeared after *since* and are there now, oldest first."""
        start = int(self.births.starts[source])
        born = self.births.of(source)
        first, last = np.searchsorted(born, (since, now), side="right")
        numbers: NDArray[np.int64] = start + np.arange(int(first), int(last))
        return numbers[self.gone_at[numbers] > now]


def drawn_echo_graph(
    hosts: int,
    sources: int,
    links_per_second: float,
    horizon: float,
    rng: np.random.Generator,
    *,
    profit_spread: float = 1.5,
) -> EchoGraph:
    """Draw sources and their links over [0, horizon].

    Rates are log-normal with standard deviation 1.5 of the logarithm (the largest of 100 brings a fifth
    of all links), mean profits log-normal too, the profits of a source's links exponential around its mean;
    interest halves within 6 to 48 hours, and there are 10 to 50 places.

    Parameters
    ----------
    links_per_second : of all sources together
    profit_spread : standard deviation of the logarithm of the sources' mean profits

    >>> graph = drawn_echo_graph(3, 12, 0.01, 86400.0, np.random.default_rng(6))
    >>> len(graph.births), round(float(graph.link_rate.sum()), 6), int(graph.host.max())
    (12, 0.01, 2)
    """
    link_rate = np.exp(1.5 * rng.standard_normal(sources))
    link_rate *= links_per_second / np.sum(link_rate)
    profit = np.exp(profit_spread * rng.standard_normal(sources))
    decay = np.log(2) / (3600 * np.exp(rng.uniform(np.log(6), np.log(48), sources)))
    places = rng.integers(10, 51, sources)
    births = poisson_events(link_rate, horizon, rng)
    owners = births.owners
    pushed_out_by = np.arange(len(owners)) + places[owners]
    pushed_out = pushed_out_by < births.starts[owners + 1]
    gone_at = np.full(len(owners), np.inf)
    gone_at[pushed_out] = births.times[pushed_out_by[pushed_out]]
    link_profit = profit[owners] * rng.exponential(size=len(owners))
    return EchoGraph(np.arange(sources) % hosts, link_rate, profit, decay, births, gone_at, link_profit)
