"""The truth about the press: which hubs there are, and which stories appear on them and vanish when.

The web is the one that the simulator draws for its world `echo`, so that a simulated crawl meets the very
stories that a live one meets. Times are seconds of the site's clock since its epoch.
"""

import re

import numpy as np
from living_site.model import FIRST_ADDRESS, Host
from living_site.parameters import Character

from press.parameters import PressParameters
from scrapy_freshness.simulator.echo_graph import EchoGraph, drawn_echo_graph

DEFAULT_PORT = 8900
OLD_NAMES = ("about", "contact", "imprint", "jobs", "terms", "history", "masthead", "advertise")
_SECTION = re.compile(r"/section/([1-9][0-9]{0,5})/")
_STORY = re.compile(r"/story/([0-9]{1,12})")


class PressWorld:
    """Hosts, hubs and stories. Hub s is section s // hosts of host s % hosts; section 0 is the front page.

    >>> world = PressWorld(PressParameters(hosts=3, hubs_per_host=4, days=1.0))
    >>> len(world.hubs), world.hubs[0], world.hubs[4]
    (12, 'http://127.0.0.2:8900/', 'http://127.0.0.3:8900/section/1/')
    """

    def __init__(self, parameters: PressParameters, port: int = DEFAULT_PORT) -> None:
        self.parameters = parameters
        self.graph = drawn_graph(parameters)
        addresses = press_addresses(parameters)
        #: The newspapers, and last a host that is none of them: a crawl has no business there.
        self.hosts = tuple(Host(address, port, Character.HUB) for address in addresses)
        self._numbers = {host.address: number for number, host in enumerate(self.hosts)}
        self.hubs = [self._hub_url(number) for number in range(parameters.hubs)]

    @property
    def newspapers(self) -> tuple[Host, ...]:
        """The hosts that a crawl is meant for."""
        return self.hosts[:-1]

    @property
    def outsider(self) -> Host:
        """A host that newspapers link to and that is none of them."""
        return self.hosts[-1]

    @property
    def root_urls(self) -> list[str]:
        """The front page of every newspaper."""
        return [f"{host.site_url}/" for host in self.newspapers]

    def host(self, address: str) -> Host:
        """Return the host at a loopback address."""
        return self.hosts[self._numbers[address]]

    def hub_at(self, address: str, path: str) -> int | None:
        """Return the number of the hub at a path, None if there is none."""
        host = self._numbers.get(address, len(self.newspapers))
        if host == len(self.newspapers):
            return None
        match = _SECTION.fullmatch(path)
        section = int(match[1]) if match else 0
        is_there = (match or path == "/") and section < self.parameters.hubs_per_host
        return section * self.parameters.hosts + host if is_there else None

    def story_at(self, address: str, path: str, time: float) -> int | None:
        """Return the number of the story at a path if it has appeared by `time`; stories stay for ever."""
        match = _STORY.fullmatch(path)
        number = int(match[1]) if match else -1
        if not 0 <= number < len(self.graph.link_profit) or self.graph.births.times[number] > time:
            return None
        is_first = self.graph.first_link is None or self.graph.first_link[number] == number
        return number if is_first and self.host_of_story(number).address == address else None

    def old_paths(self) -> list[str]:
        """Return the paths of the pages of each host that have been there for years and list nothing."""
        names = (
            f"/{OLD_NAMES[number % len(OLD_NAMES)]}{number // len(OLD_NAMES) or ''}"
            for number in range(self.parameters.old_pages_per_host)
        )
        return list(names)

    def shown(self, hub: int, time: float) -> list[int]:
        """Return the stories that a hub links to at `time`, newest first."""
        return self.graph.shown(hub, -1.0, time)[::-1].tolist()

    def host_of_story(self, story: int) -> Host:
        """Return the newspaper of a story."""
        hub = int(np.searchsorted(self.graph.births.starts, story, side="right")) - 1
        return self.hosts[hub % self.parameters.hosts]

    def story_url(self, story: int) -> str:
        """Return the address of a story, without what hubs add to it."""
        return f"{self.host_of_story(story).site_url}/story/{story}"

    def _hub_url(self, hub: int) -> str:
        section, host = divmod(hub, self.parameters.hosts)
        return self.hosts[host].site_url + hub_path(section)


def hub_path(section: int) -> str:
    """Return the path of a section of a newspaper; the first one is the front page."""
    return f"/section/{section}/" if section else "/"


def press_addresses(parameters: PressParameters) -> list[str]:
    """Return one loopback address for each newspaper, and one for the host that is none."""
    return [str(FIRST_ADDRESS + number) for number in range(parameters.hosts + 1)]


def drawn_graph(parameters: PressParameters) -> EchoGraph:
    """Return the hubs and links of the press, on the site's clock."""
    hour = 3600.0
    graph = drawn_echo_graph(
        parameters.hosts,
        parameters.hubs,
        parameters.links_per_hour * parameters.hubs / hour,
        parameters.days * 24 * hour,
        np.random.default_rng([parameters.seed, parameters.hosts]),
        profit_spread=parameters.profit_spread,
        shared=parameters.shared,
        stay_seconds=parameters.stay_hours * hour,
    )
    return graph.faster(parameters.speed)
