"""When each page changes: endless streams of times, drawn from the seed."""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import dropwhile, takewhile
from math import inf

from living_site.chance import poisson_times, stream
from living_site.model import Document, Hub, Page, Section
from living_site.parameters import Manner, WorldParameters


def churn_times(parameters: WorldParameters, page: Document) -> Iterator[float]:
    """Yield when a document's churning region is replaced."""
    rate = page.change_rate * page.layout.churn_share
    updates = poisson_times(stream(parameters.seed, page.host.address, page.path, "churn"), rate)
    return merge(updates, _return_times(page)) if page.layout.churn_words else updates


def scroll_times(parameters: WorldParameters, page: Document) -> Iterator[float]:
    """Yield when a document's scrolling region gets an item."""
    rate = page.change_rate * (1 - page.layout.churn_share)
    updates = poisson_times(stream(parameters.seed, page.host.address, page.path, "scroll"), rate)
    return updates if page.layout.churn_words else merge(updates, _return_times(page))


def birth_times(parameters: WorldParameters, hub: Hub) -> Iterator[float]:
    """Yield when posts appear on a hub, from so long before the epoch that its list starts full."""
    random = stream(parameters.seed, hub.host.address, hub.path, "births")
    return poisson_times(random, hub.posts_per_second, start=-parameters.post_life_seconds)


def false_signal_times(parameters: WorldParameters, page: Document) -> Iterator[float]:
    """Yield when a host announces a change of a document that never happened."""
    if page.host.manner not in (Manner.FALSE, Manner.NOISY):
        return iter(())
    random = stream(parameters.seed, page.host.address, page.path, "false signals")
    return poisson_times(random, parameters.false_signal_rate)


def page_change_times(parameters: WorldParameters, page: Page) -> Iterable[float]:
    """Yield when a page changes for those who look at it; dying and coming back are changes too."""
    match page:
        case Document():
            return _visible_changes(parameters, page)
        case Hub():
            listed_seconds = parameters.post_listed_seconds
            departures = (born + listed_seconds for born in birth_times(parameters, page))
            return merge(birth_times(parameters, page), departures)
        case Section():
            absences = [document.absence for document in page.documents if document.absence]
            edges = {edge for absence in absences for edge in (absence.start, absence.end)}
            return sorted(edges - {inf})
        case _:
            return ()


def _return_times(page: Document) -> list[float]:
    """Return when a document comes back, edited, after having been gone."""
    return [page.absence.end] if page.absence and page.absence.end < inf else []


def _visible_changes(parameters: WorldParameters, page: Document) -> Iterator[float]:
    """Yield when a document changes, dies or comes back, without the edits made while it is gone."""
    if page.absence is None:
        yield from _edits(parameters, page)
        return
    start, end = page.absence.start, page.absence.end
    yield from takewhile(lambda time: time < start, _edits(parameters, page))
    yield start
    if end < inf:
        yield from dropwhile(lambda time: time < end, _edits(parameters, page))


def _edits(parameters: WorldParameters, page: Document) -> Iterator[float]:
    """Yield when any region of a document is updated, its return after an absence included."""
    return merge(churn_times(parameters, page), scroll_times(parameters, page))
