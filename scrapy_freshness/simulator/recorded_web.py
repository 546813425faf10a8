"""A recorded web as a crawler sees it: addresses, and what a fetch at some time finds."""

from bisect import bisect_right

from scrapy_freshness.model import PageKind
from scrapy_freshness.simulator.recorded import RecordedWeb
from scrapy_freshness.simulator.recorded_page import GONE
from scrapy_freshness.simulator.web import Address, Look


class ReplayedWeb:
    """What the fetches of a replay see; sketches are made only if somebody needs them.

    A page is given up when the record of its source ends: what it shows afterwards nobody knows.
    """

    first_linked: int | None = None  #: the record does not have what links lead to

    def __init__(self, recorded: RecordedWeb, *, sketch_size: int | None = None) -> None:
        self.recorded = recorded
        self._sketch_size = sketch_size
        self.addresses = [
            Address(
                page.url or f"record:{page.name}",
                page.host,
                kind=PageKind.PAGE if page.links is None else PageKind.SOURCE,
                leaves_at=page.until,
            )
            for page in recorded.pages
        ]
        numbers: dict[str, int] = {}  # a link is known by its address, whichever hub shows it
        self._links = [
            [numbers.setdefault(url, len(numbers)) for url in page.links.urls] if page.links else []
            for page in recorded.pages
        ]
        # Searching a list for one time is several times faster than searching an array.
        self._times: list[list[float]] = [page.times.tolist() for page in recorded.pages]
        self._contents: list[list[int]] = [page.contents.tolist() for page in recorded.pages]

    def appears_at(self, page: int) -> float:
        """When the record of the page begins."""
        return self._times[page][0]

    def look(self, page: int, now: float) -> Look:
        """The version that is live."""
        version = bisect_right(self._times[page], now) - 1
        content = self._contents[page][version] if version >= 0 else GONE
        if content == GONE:
            return Look(GONE, is_gone=True)
        recorded = self.recorded.pages[page]
        sketch = None if self._sketch_size is None else recorded.sketch(version, self._sketch_size)
        if recorded.links is None:
            return Look(content, sketch)
        numbers, shown = self._links[page], recorded.links.on(version)
        links = [numbers[link] for link in shown.tolist()]
        return Look(content, sketch, links=links, born=recorded.links.born[shown].tolist())
