"""A web with known pages to be kept fresh and sources of new ones: both ask for the same fetches."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import PageRecord
from scrapy_freshness.simulator.changing import ChangingWeb
from scrapy_freshness.simulator.echo_graph import EchoGraph
from scrapy_freshness.simulator.echo_web import EchoWeb, KnownSources
from scrapy_freshness.simulator.known import CERTAIN, NOTHING_ELSE
from scrapy_freshness.simulator.web import Fetches, FloatArray, Look

#: What is known of every page of such a web.
_KNOWN = ("change_rate", *NOTHING_ELSE)


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Requests of users in some time, of documents and of new pages together."""

    fresh: float  #: that met a fresh copy, or a new page that had been fetched
    made: float

    @property
    def share(self) -> float:
        """Share of the requests that met fresh content; nan if there were none."""
        return self.fresh / self.made if self.made else np.nan


class MixedWeb:
    """Sources first, then documents that change, then the pages behind all links."""

    def __init__(self, news: EchoWeb, documents: ChangingWeb) -> None:
        self.news = news
        self.documents = documents
        self.n_sources = len(news.graph.link_rate)
        self.first_linked: int | None = self.n_sources + len(documents.changes)
        linked = news.addresses[self.n_sources :]
        self.addresses = [*news.addresses[: self.n_sources], *documents.addresses, *linked]

    def appears_at(self, page: int) -> float:
        """Sources and documents at the very beginning; new pages only by their links."""
        return 0.0 if page < self._first_linked else np.inf

    def look(self, page: int, now: float) -> Look:
        """The links of a source, the version of a document; of a new page, nothing that counts."""
        if self.n_sources <= page < self._first_linked:
            return self.documents.look(page - self.n_sources, now)
        return self.news.look(page, now) if page < self.n_sources else Look(0)

    def judged(self, fetches: Fetches, start: float, end: float, *, first_copy_at: float) -> Requests:
        """Requests of some time: those of documents, and all that pages ever meet which appear in it."""
        pages = fetches.pages
        is_document = (pages >= self.n_sources) & (pages < self._first_linked)
        documents = Fetches(pages[is_document] - self.n_sources, fetches.times[is_document])
        # As the web of the news numbers its pages, which has no documents.
        numbers = np.where(pages >= self._first_linked, pages - len(self.documents.changes), pages)
        news = Fetches(numbers[~is_document], fetches.times[~is_document])
        return judged_apart(self, documents, news, start, end, first_copy_at=first_copy_at)

    @property
    def _first_linked(self) -> int:
        assert self.first_linked is not None
        return self.first_linked


def judged_apart(
    web: MixedWeb, documents: Fetches, news: Fetches, start: float, end: float, *, first_copy_at: float
) -> Requests:
    """The same of a crawl of the documents and another one of the sources."""
    weights = np.array([address.importance for address in web.documents.addresses])
    of_documents = float(weights.sum()) * (end - start)
    of_news = web.news.bound(start, end)
    fresh = (
        web.documents.freshness(documents, start, end, first_copy_at=first_copy_at) if of_documents else 0.0
    )
    share = web.news.profit(news, start, end) if of_news else 0.0
    return Requests(of_documents * fresh + of_news * share, of_documents + of_news)


class KnownMixed(KnownSources):
    """A learner that knows the truth about sources and about documents."""

    def __init__(self, graph: EchoGraph, change_rate: FloatArray) -> None:
        super().__init__(graph)
        self._first_document = len(graph.link_rate)
        self._change_rate = change_rate

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """The truth; of documents, that they do not fade."""
        known = super().prior(page)
        known = {name: known.get(name, NOTHING_ELSE.get(name, 0.0)) for name in (*CERTAIN, *_KNOWN)}
        number = page.fingerprint - self._first_document
        if not 0 <= number < len(self._change_rate):
            return known
        rate = float(self._change_rate[number])
        return {**known, "change_rate": rate, "mean_rate": rate}


def in_turns(ticks: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """Share out ticks as evenly as can be: a share of them to one, the rest to another.

    >>> in_turns(np.arange(5.0), 0.4)
    (array([2., 4.]), array([0., 1., 3.]))
    """
    numbers = np.arange(len(ticks) + 1)
    is_first: NDArray[np.bool_] = np.diff(np.floor(numbers * share + 1e-9)) > 0
    return ticks[is_first], ticks[~is_first]
