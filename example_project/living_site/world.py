"""The truth: what exists on the living site and when it changes, a pure function of the seed and the time.

Times are seconds since the site's epoch. A world needs no server: a simulator with a clock of its own asks it
the same questions and sees the same history as a live crawl.
"""

import re
from math import inf

from living_site.building import build_documents, build_hosts, build_navigation
from living_site.chance import stream
from living_site.histories import (
    birth_times,
    churn_times,
    false_signal_times,
    page_change_times,
    scroll_times,
)
from living_site.model import Document, Host, Hub, Page, Post
from living_site.parameters import WorldParameters
from living_site.timeline import Timeline

DEFAULT_PORT = 8800
POST_PATH = re.compile(r"(/hub/[0-9]+/)post/([0-9]{1,9})")


class World:
    """Every host and page of a living site, with the exact times of all changes.

    >>> world = World(WorldParameters(seed=3))
    >>> page = world.documents[0]
    >>> len(world.change_times(page, 0.0, 600.0)) == world.version_at(page, 600.0)
    True
    """

    def __init__(self, parameters: WorldParameters, port: int = DEFAULT_PORT) -> None:
        self.parameters = parameters
        self.hosts = build_hosts(parameters, port)
        self._pages_of: dict[Host, tuple[Page, ...]] = {}
        documents: list[Document] = []
        for host in self.hosts:
            own = build_documents(parameters, host, first_index=len(documents))
            documents += own
            self._pages_of[host] = (*build_navigation(parameters, self.hosts, host, own), *own)

        self.documents = tuple(documents)
        """The pages that freshness is measured on; `documents[i].index == i`."""

        self.pages = tuple(page for pages in self._pages_of.values() for page in pages)
        """All pages that exist from the start, documents and navigation; posts come later."""

        self._host_at = {host.address: host for host in self.hosts}
        self._page_at = {(page.host.address, page.path): page for page in self.pages}
        self._changes = {page: Timeline(page_change_times(parameters, page)) for page in self.pages}
        self._churns = {page: Timeline(churn_times(parameters, page)) for page in documents}
        self._scrolls = {page: Timeline(scroll_times(parameters, page)) for page in documents}
        self._false_signals = {page: Timeline(false_signal_times(parameters, page)) for page in documents}
        hubs = (page for page in self.pages if isinstance(page, Hub))
        self._births = {hub: Timeline(birth_times(parameters, hub)) for hub in hubs}
        self._posts: dict[tuple[Hub, int], Post] = {}

    @property
    def total_change_rate(self) -> float:
        """The sum of the documents' change rates: changes per second, while none of them is gone."""
        return sum(page.change_rate for page in self.documents)

    @property
    def root_urls(self) -> list[str]:
        """The URL of every host's root; the first one links to all others."""
        return [f"{host.site_url}/" for host in self.hosts]

    def host(self, address: str) -> Host:
        """Return the host at a loopback address."""
        return self._host_at[address]

    def pages_of(self, host: Host) -> tuple[Page, ...]:
        """Return the pages that a host has from the start."""
        return self._pages_of[host]

    def page(self, address: str, path: str) -> Page | None:
        """Return the page that is there from the start at a path, None if there is none."""
        return self._page_at.get((address, path))

    def version_at(self, page: Page, time: float) -> int:
        """Return the number of a page's version at `time`; it grows by one at every change."""
        timeline = self._changes.get(page)
        return timeline.count(time) if timeline else 0

    def change_times(self, page: Page, start: float, end: float) -> list[float]:
        """Return when a page changed after `start`, up to and including `end`."""
        timeline = self._changes.get(page)
        return timeline.between(start, end) if timeline else []

    def next_change(self, page: Page, time: float) -> float:
        """Return when a page changes first after `time`, infinity if it never does."""
        timeline = self._changes.get(page)
        return timeline.after(time) if timeline else inf

    def changed_at(self, page: Page, time: float) -> float:
        """Return since when a page has been as it is at `time`; negative if since before the epoch."""
        if isinstance(page, Post):
            return page.born
        changed = self._changes[page].last(time)
        if changed is not None:
            return changed
        # The age of a Poisson process is exponential; a page that never changes is about a day old.
        random = stream(self.parameters.seed, page.host.address, page.path, "age")
        return -random.expovariate(page.change_rate or 1 / 86_400)

    def false_signals(self, page: Document, start: float, end: float) -> list[float]:
        """Return when changes of a document were made up after `start`, up to and including `end`."""
        return self._false_signals[page].between(start, end)

    def region_versions(self, page: Document, time: float) -> tuple[int, int]:
        """Return how often a document's churning and its scrolling region were updated up to `time`."""
        return self._churns[page].count(time), self._scrolls[page].count(time)

    def status_at(self, page: Page, time: float) -> int:
        """Return the true status of a page at `time`: 200, or 404 or 410 while it is gone."""
        if isinstance(page, Post):
            return 404 if time < page.born else 200 if time < page.dead else 410
        if isinstance(page, Document) and page.absence and page.absence.covers(time):
            return page.absence.status
        return 200

    def posts_born(self, hub: Hub, start: float, end: float) -> list[Post]:
        """Return the posts that appeared on a hub after `start`, up to and including `end`, oldest first."""
        births = self._births[hub]
        first_number = births.count(start)
        times = births.between(start, end)
        return [self._post(hub, first_number + offset, born) for offset, born in enumerate(times)]

    def posts_listed(self, hub: Hub, time: float) -> list[Post]:
        """Return the posts that a hub lists at `time`, oldest first."""
        candidates = self.posts_born(hub, time - 2 * self.parameters.post_listed_seconds, time)
        return [post for post in candidates if time < post.delisted]

    def post(self, address: str, path: str, time: float) -> Post | None:
        """Return the post at a path if it has appeared by `time`, dead or alive."""
        match = POST_PATH.fullmatch(path)
        hub = self.page(address, match[1]) if match else None
        if match is None or not isinstance(hub, Hub):
            return None
        births = self._births[hub].between(-inf, time)
        number = int(match[2])
        return self._post(hub, number, births[number]) if number < len(births) else None

    def _post(self, hub: Hub, number: int, born: float) -> Post:
        """Return the one object for a hub's post."""
        post = Post(
            host=hub.host,
            path=f"{hub.path}post/{number}",
            title=f"Post {number} of {hub.title}",
            born=born,
            delisted=born + self.parameters.post_listed_seconds,
            dead=born + self.parameters.post_life_seconds,
        )
        return self._posts.setdefault((hub, number), post)
