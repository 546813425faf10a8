"""What the dashboard sees: all pages of a spider a moment ago, with what its policy thinks of them.

The pages are read once and then kept up to date. To look anew takes at most a twentieth of the time, however
many pages there are, and only while somebody is looking.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.clock import Clock
from scrapy_freshness.config import Config
from scrapy_freshness.dashboard.hosts_table import HostSums
from scrapy_freshness.dashboard.remembered import Remembered
from scrapy_freshness.errors import FreshnessError
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.insight.reach import Reach, reach_of
from scrapy_freshness.insight.rows import was_compared
from scrapy_freshness.model import PageKind, PageStatus
from scrapy_freshness.storage.census import Census, brought_up_to_date, take_census
from scrapy_freshness.storage.reports import HostTaken, taken_by_hosts
from scrapy_freshness.storage.store import Store

FloatArray = NDArray[np.float64]

#: Seconds after which a look is repeated at the earliest, and the share of time that this may take.
_SOONEST, _SHARE = 2.0, 0.05
#: The same for reading all pages anew: importances may have been set, pages forgotten.
_SOONEST_CENSUS, _CENSUS_SHARE = 120.0, 0.01


def _places(lines: Sequence[str] | Sequence[bytes]) -> NDArray[np.intp]:
    """The place of each line among all of them in alphabetical order."""
    places = np.empty(len(lines), np.intp)
    places[np.array(sorted(range(len(lines)), key=lines.__getitem__), np.intp)] = np.arange(len(lines))
    return places


@dataclass(frozen=True, eq=False)
class Alphabet:
    """Addresses, a line each, in alphabetical order: it takes a while, and stays as long as they do."""

    urls: bytes

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """The place of each address among all of them."""
        return _places(self.urls.split(b"\n")[:-1])  # nothing is after the last line


@dataclass(frozen=True, eq=False)
class Sight:
    """The pages of one spider at one moment."""

    census: Census
    terms: Terms
    now: float
    alphabet: Alphabet
    taken: Mapping[str, HostTaken]  #: of the budget, by hosts

    def __len__(self) -> int:
        return len(self.census)

    def column(self, name: str) -> NDArray[Any]:
        """A column of all pages; also value, freshness, next_visit, age, url and host_name."""
        if name == "url":
            return self.alphabet.places
        if name == "host_name":
            places: NDArray[Any] = _places(self.census.hosts)[self.census.columns["host"]]
            return places
        computed = getattr(self, name, None) if name in _COMPUTED else None
        found: NDArray[Any] = self.census.columns[name] if computed is None else computed
        return found

    @cached_property
    def outlook(self) -> Outlook:
        """What the policy thinks."""
        return Outlook(self.terms, self.census.planning_columns(), self.now)

    @cached_property
    def value(self) -> FloatArray:
        """Of a visit now; nan for pages that wait for something else, or are not at their place any more."""
        return np.where(np.isin(self.census.columns["status"], LEFT), np.nan, self.outlook.values())

    @cached_property
    def freshness(self) -> FloatArray:
        """Expected now; nan where there is no copy."""
        return np.where(self.has_copy, self.outlook.freshness(), np.nan)

    @cached_property
    def next_visit(self) -> FloatArray:
        """When each page is visited next; not before now, nan if never or by other rules."""
        times = np.maximum(self.outlook.next_visits(), self.now)
        times[np.isinf(times)] = np.nan
        return times

    @cached_property
    def age(self) -> FloatArray:
        """Seconds since the last visit."""
        return self.outlook.elapsed

    @cached_property
    def has_copy(self) -> NDArray[np.bool_]:
        """Which pages have a copy that is kept fresh."""
        return self.outlook.has_copy

    @cached_property
    def is_compared(self) -> NDArray[np.bool_]:
        """Of which pages two versions were compared: their change rates are not only assumed."""
        is_compared: NDArray[np.bool_] = self.has_copy & was_compared(self.census.columns)
        return is_compared

    @cached_property
    def is_new(self) -> NDArray[np.bool_]:
        """Which pages were never fetched; sitemaps and feeds do not count."""
        is_new: NDArray[np.bool_] = (self.census.columns["status"] == PageStatus.NEW) & (
            self.census.columns["kind"] < PageKind.SITEMAP
        )
        return is_new

    @cached_property
    def is_due(self) -> NDArray[np.bool_]:
        """Which pages with a copy are worth a visit now."""
        with np.errstate(invalid="ignore"):
            due: NDArray[np.bool_] = self.has_copy & (self.next_visit <= self.now)
        return due

    @cached_property
    def mean_freshness(self) -> float | None:
        """Of all copies, by importance."""
        return self.outlook.mean_freshness()

    @cached_property
    def reach(self) -> Reach:
        """How many visits the pages could take."""
        return reach_of(self.outlook, floor=self.terms.policy.pacing.floor, now=self.now)

    @cached_property
    def host_sums(self) -> HostSums:
        """What the pages of each host take and bring."""
        return HostSums.of(
            self.census.columns,
            self.census.hosts,
            self.taken,
            freshness=self.freshness,
            is_new=self.is_new,
            is_due=self.is_due,
        )

    def order(self, name: str, *, descending: bool) -> NDArray[np.intp]:
        """All rows in the order of a column; those without a value come last, either way."""
        key = name, descending
        if key not in self._orders:
            numbers = self.column(name).astype(np.float64)
            self._orders[key] = np.argsort(-numbers if descending else numbers, kind="stable")
        return self._orders[key]

    @cached_property
    def _orders(self) -> dict[tuple[str, bool], NDArray[np.intp]]:
        return {}

    def look(self, go_on: Callable[[], object]) -> "Sight":
        """Compute what nearly every page of the dashboard shows; *go_on* may raise an error to end it."""
        for name in ("value", "freshness", "next_visit", "is_due", "mean_freshness", "host_sums", "reach"):
            go_on()
            getattr(self, name)
        return self


#: How pages stand that are not at their place any more.
LEFT = (PageStatus.GONE, PageStatus.MOVED)
_COMPUTED = ("value", "freshness", "next_visit", "age")


class ClosingError(FreshnessError):
    """The dashboard is being closed: nobody looks any more."""


class Watch:
    """Looks at the pages of spiders, in a thread of its own."""

    def __init__(self, store: Store, config: Config, clock: Clock, timer: Callable[[], float]) -> None:
        """Look through *store*; *timer* tells how long things take."""
        self._store, self._config, self._clock, self._timer = store, config, clock, timer
        self._sights = Remembered(clock, timer, _SHARE)
        self._is_closing = threading.Event()
        self._census_costs: dict[str, float] = {}
        self._census_times: dict[str, float] = {}

    def sight(self, spider: str) -> Sight:
        """The pages of a spider as they were a moment ago; a first look, or one after long, is waited for."""
        return self._sights.answer(spider, partial(self._look, spider), _SOONEST)

    def look_ahead(self, spider: str) -> None:
        """Begin to look, so that nobody waits for the first look later."""
        self._sights.begin(spider, partial(self._look, spider), _SOONEST)

    def stop(self) -> None:
        """Look no more: who waits for a look is told so, and one that is under way ends soon."""
        self._is_closing.set()

    def close(self) -> None:
        """Look no more, and wait until nobody does."""
        self.stop()
        self._sights.close()

    def _go_on(self) -> None:
        if self._is_closing.is_set():
            raise ClosingError("the dashboard is being closed")

    def _look(self, spider: str) -> Sight:
        return self._new_sight(spider, self._sights.last(spider)).look(self._go_on)

    def _new_sight(self, spider: str, known: Sight | None) -> Sight:
        now = self._clock.now()
        age = now - self._census_times.get(spider, -np.inf)
        if known is None or age > max(_SOONEST_CENSUS, self._census_costs[spider] / _CENSUS_SHARE):
            started = self._timer()
            census = take_census(self._store, spider, self._go_on)
            terms = Terms.of(self._store, self._config, spider)
            self._census_costs[spider] = self._timer() - started
            self._census_times[spider] = now
            return Sight(census, terms, now, Alphabet(census.urls), taken_by_hosts(self._store, spider))
        census = brought_up_to_date(self._store, known.census)
        alphabet = known.alphabet if known.alphabet.urls is census.urls else Alphabet(census.urls)
        taken = taken_by_hosts(self._store, spider)
        return Sight(census, self._terms(spider, known), now, alphabet, taken)

    def _terms(self, spider: str, known: Sight) -> Terms:
        """The terms of now; of a crawl that goes on as it was, what it was started with stays."""
        state = self._store.load_state(spider)
        if state is None or state.policy != known.terms.policy.name:
            return Terms.of(self._store, self._config, spider)
        return known.terms.as_of_now(self._store, state)
