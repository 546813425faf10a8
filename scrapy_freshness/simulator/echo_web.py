"""The world of the ECHO paper as a crawler sees it: sources to poll, and pages behind the links they show."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.rhythm import Rhythm
from scrapy_freshness.model import PageKind, PageRecord, SignalSource
from scrapy_freshness.planning.learner import NEVER_DEAF, AroundRates, Columns, Learner, QuietVisit
from scrapy_freshness.simulator.echo_graph import EchoGraph
from scrapy_freshness.simulator.echo_references import Chooser, Frontier
from scrapy_freshness.simulator.web import Address, Fetches, FloatArray, Look

#: Change rate of what does not change.
_NEVER = 1e-12


class EchoWeb:
    """Sources first, then the pages behind all links, which are worth nothing once they were fetched."""

    def __init__(self, graph: EchoGraph) -> None:
        self.graph = graph
        self.first_linked: int | None = len(graph.link_rate)
        hosts = [f"host{number}.example" for number in graph.host.tolist()]
        self.addresses = [
            Address(f"http://{host}/hub/{number}", host, kind=PageKind.SOURCE)
            for number, host in enumerate(hosts)
        ] + [
            Address(f"http://{hosts[source]}/{number}", hosts[source], importance=0.0)
            for number, source in enumerate(graph.births.owners.tolist())
        ]

    def appears_at(self, page: int) -> float:
        """Sources at the very beginning; pages only by their links."""
        return 0.0 if page < len(self.graph.link_rate) else np.inf

    def look(self, page: int, now: float) -> Look:
        """The links that a source shows; of a page, nothing that counts."""
        if page >= len(self.graph.link_rate):
            return Look(0)
        shown = self.graph.shown(page, -1.0, now)
        return Look(int(shown[-1]) if len(shown) else -1, links=shown.tolist())

    def profit(self, fetches: Fetches, start: float, end: float) -> float:
        """Profit of the pages that appear in some time, as a share of that of fetching each at once.

        Who fetches a page again earns nothing more.
        """
        graph = self.graph
        is_page = fetches.pages >= len(graph.link_rate)
        pages, first = np.unique(fetches.pages[is_page], return_index=True)
        links, times = pages - len(graph.link_rate), fetches.times[is_page][first]
        counted = self._appears(start, end)
        delay = times - graph.births.times[links]
        earned = graph.link_profit[links] * np.exp(-graph.decay[graph.births.owners[links]] * delay)
        bound = self.bound(start, end)
        return float(earned[counted[links]].sum()) / bound if bound else np.nan

    def bound(self, start: float, end: float) -> float:
        """Profit of fetching at once every page that appears in some time."""
        return float(self.graph.link_profit[self._appears(start, end)].sum())

    def _appears(self, start: float, end: float) -> NDArray[np.bool_]:
        times = self.graph.births.times
        return (times >= start) & (times <= end)


class KnownSources:
    """A learner that knows the truth about sources, and pages by the source that they were found on."""

    def __init__(self, graph: EchoGraph) -> None:
        self._graph = graph
        self._leaving = graph.leaving

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """The truth."""
        rate = {"change_rate": _NEVER, "mean_rate": _NEVER, "doubt": 0.0}
        known = {**rate, "link_rate": 0.0, "leaving": 0.0, **page.beliefs}
        if page.kind is PageKind.SOURCE:
            graph, number = self._graph, page.fingerprint
            known |= {
                "link_rate": float(graph.link_rate[number]),
                "profit": float(graph.profit[number]),
                "decay": float(graph.decay[number]),
                "leaving": float(self._leaving[number]),
            }
        return known

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """The truth."""
        known = [self.prior(page) for page in pages]
        columns = {name: np.array([each[name] for each in known]) for name in known[0]}
        return columns | {
            "change_rate_low": columns["change_rate"],
            "change_rate_high": columns["change_rate"],
        }

    def expect(self, seconds_between_visits: float) -> None:
        """Of no use to who knows."""

    def deaf_seconds(self, host: str) -> tuple[float, ...]:
        """There are no signals."""
        return NEVER_DEAF

    def told_afterwards(self, host: str, source: SignalSource, visit: QuietVisit) -> None:
        """There are no signals."""

    def rhythm_of(self, host: str) -> Rhythm | None:
        """Links come at a constant rate."""
        return None

    def take_groups(self) -> Mapping[str, bytes]:
        """Nothing was learned."""
        return {}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Nothing to take over."""

    def be_told(self, groups: Mapping[str, bytes]) -> None:
        """Nothing to take over."""


class KnownProfits(AroundRates):
    """A learner whose sources have the profits and decays that they have in truth; the rest is learned."""

    def __init__(self, learner: Learner, graph: EchoGraph) -> None:
        super().__init__(learner)
        self._graph = graph

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """What is learned, with the true profit and decay of a source."""
        return {**self._rates.prior(page), **self._known(page)}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """What is learned, with the true profits and decays of sources."""
        columns = self._rates.learn(pages)
        for place, page in enumerate(pages):
            for name, value in self._known(page).items():
                columns[name][place] = value
        return columns

    def _known(self, page: PageRecord) -> dict[str, float]:
        if page.kind is not PageKind.SOURCE:
            return {}
        number = page.fingerprint
        return {"profit": float(self._graph.profit[number]), "decay": float(self._graph.decay[number])}


def crawl_by_chooser(web: EchoWeb, chooser: Chooser, ticks: FloatArray) -> Fetches:
    """Let a reference policy decide at each tick: poll a source, or fetch the page that was found last."""
    assert web.first_linked is not None
    frontier = Frontier(np.full(web.first_linked, -np.inf), waiting=0, last_was_poll=False)
    waiting: list[int] = []
    seen: set[int] = set()
    pages: list[int] = []
    for now in ticks.tolist():
        frontier.waiting = len(waiting)
        source = chooser.source(frontier, now)
        frontier.last_was_poll = source is not None
        if source is None:
            pages.append(web.first_linked + waiting.pop())
        else:
            unseen = [link for link in web.look(source, now).links if link not in seen]
            seen.update(unseen)
            waiting += unseen
            frontier.polled_at[source] = now
            pages.append(source)
    return Fetches(np.array(pages, np.int64), ticks)
