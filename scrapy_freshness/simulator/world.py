"""What the simulator needs to know of a web: its pages and when they change."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WorldPage:
    """One page of an artificial or recorded web; times in seconds since its start."""

    url: str
    host: str
    importance: float
    change_times: FloatArray  #: ascending


def poisson_world(
    change_rates: Sequence[float], horizon: float, rng: np.random.Generator, *, hosts: int = 1
) -> list[WorldPage]:
    """Pages that change as Poisson processes of the given rates, of importance 1.

    >>> world = poisson_world([0.5, 2.0], 100.0, np.random.default_rng(1))
    >>> [page.url for page in world]
    ['http://host0.example/0', 'http://host0.example/1']
    """
    pages = []
    for number, rate in enumerate(change_rates):
        times = np.sort(rng.uniform(0, horizon, rng.poisson(rate * horizon)))
        host = f"host{number % hosts}.example"
        pages.append(WorldPage(f"http://{host}/{number}", host, 1.0, times))
    return pages
