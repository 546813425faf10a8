"""What a crawl of the press has earned: exact, from the truth and the request log.

A story that is fetched for the first time when it is d seconds old earns P*exp(-mu*d), the clicks that it
still gets. The upper bound is what fetching every story at once would earn.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from living_site.request_log import Entry

from press.world import PressWorld
from scrapy_freshness.simulator.echo_web import EchoWeb
from scrapy_freshness.simulator.web import Fetches

#: Statuses of an answer that shows a crawler what is there; of a hub, also that nothing is new.
_SEEN = {200, 304}


def press_fetches(world: PressWorld, entries: Iterable[Entry]) -> Fetches:
    """Return the fetches of hubs and stories in a log, as the simulator numbers them: hubs, then stories."""
    n_hubs = len(world.hubs)
    found: list[tuple[float, int]] = []
    for entry in entries:
        path = entry.path.partition("?")[0]
        if entry.method != "GET" or entry.status not in _SEEN or entry.path.endswith("?page=2"):
            continue
        hub = world.hub_at(entry.host, path)
        story = None if hub is not None else world.story_at(entry.host, path, entry.answered)
        if hub is not None:
            found.append((entry.answered, hub))
        elif story is not None:
            found.append((entry.answered, n_hubs + story))
    found.sort()
    pages, times = [page for _, page in found], [time for time, _ in found]
    return Fetches(np.array(pages, np.int64), np.array(times, np.float64))


def captured_profit(world: PressWorld, entries: Iterable[Entry], start: float, end: float) -> float:
    """Return the share of the upper bound that a crawl earned on stories that appeared in some time."""
    return EchoWeb(world.graph).profit(press_fetches(world, entries), start, end)


class Found(NamedTuple):
    """How well the hubs of the press were found."""

    recall: float  #: of the true hubs, the share that was found
    precision: float  #: of what was found, the share that are true hubs


def found_hubs(world: PressWorld, urls: Iterable[str]) -> Found:
    """Judge what a crawler takes for hubs; all true ones are front pages or one hop away."""
    found, true = set(urls), set(world.hubs)
    return Found(len(found & true) / len(true), len(found & true) / len(found) if found else float("nan"))


def outside_requests(world: PressWorld, entries: Iterable[Entry]) -> list[Entry]:
    """Return the requests that a polite crawl of the newspapers does not make."""
    return [
        entry
        for entry in entries
        if (entry.host == world.outsider.address and entry.path != "/robots.txt")
        or entry.path.startswith("/private/")
    ]
