"""Who read what and when: the clicks on the stories of the press, as a server log would tell them.

A story with profit P gets a Poisson number of clicks with mean P, at ages that are exponential with its
decay: at age a, P*exp(-mu*a) clicks are still to come.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from press.world import PressWorld


class Clicks(NamedTuple):
    """All clicks of a world, in the order of time."""

    times: NDArray[np.float64]  #: seconds since the epoch
    stories: NDArray[np.int64]


def drawn_clicks(world: PressWorld) -> Clicks:
    """Return the clicks on all stories; the same for the same seed."""
    graph = world.graph
    rng = np.random.default_rng([world.parameters.seed, world.parameters.hosts, 1])
    counts = rng.poisson(graph.link_profit)
    stories = np.repeat(np.arange(len(counts)), counts)
    ages = rng.exponential(size=len(stories)) / graph.decay[graph.births.owners[stories]]
    times = graph.births.times[stories] + ages
    order = np.argsort(times, kind="stable")
    return Clicks(times[order], stories[order])


def csv_lines(world: PressWorld, clicks: Clicks, epoch: float, start: float, end: float) -> Iterator[str]:
    """Yield the clicks after `start`, up to and including `end`, as lines `url,time` with Unix times."""
    for time, story in _between(clicks, start, end):
        yield f"{world.story_url(story)},{epoch + time:.3f}\n"


def access_log_lines(
    world: PressWorld, clicks: Clicks, epoch: float, start: float, end: float
) -> Iterator[str]:
    """Yield the clicks of some time in the Combined Log Format, each with its host in front."""
    for time, story in _between(clicks, start, end):
        moment = datetime.fromtimestamp(epoch + time, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
        host = world.host_of_story(story)
        yield (
            f"{host.address}:{host.port} 192.0.2.1 - - [{moment}] "
            f'"GET /story/{story} HTTP/1.1" 200 1234 "{host.site_url}/" "Mozilla/5.0"\n'
        )


def _between(clicks: Clicks, start: float, end: float) -> Iterator[tuple[float, int]]:
    first, last = np.searchsorted(clicks.times, (start, end), side="right")
    yield from zip(clicks.times[first:last].tolist(), clicks.stories[first:last].tolist(), strict=True)
