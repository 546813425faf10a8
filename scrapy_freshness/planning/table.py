"""The numbers of all known pages, as columns: about 45 bytes a page, and 4 for each further belief.

A belief that is the same of all pages takes no room: most crawls have no sources of links, and many hear no
signals. Once signals are heard, a page also has their number and weight for each source, and 8 bytes on its
last visit. Once pages are polled for signals, every page has two columns more.

URLs, histories and sketches stay in the database and are read for the pages about to be visited.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.sibling_pace import SiblingPaces
from scrapy_freshness.estimation.signal_counts import N_SOURCES
from scrapy_freshness.estimation.signal_delays import NOTHING_HEARD, Heard, age_code
from scrapy_freshness.model import PageColumns, PageKind, PageRecord, PageStatus, are_polled
from scrapy_freshness.planning.learner import QuietVisit
from scrapy_freshness.value.contract import Beliefs

_SOURCE = int(PageKind.SOURCE)
_NEW = int(PageStatus.NEW)
_COLUMNS = {
    "page_id": np.int64,
    "host": np.int32,  #: index into `hosts`
    "status": np.uint8,
    "kind": np.uint8,
    "importance": np.float32,
    "first_factor": np.float32,  #: weight of the first visit, by the request's priority
    "change_rate": np.float32,
    "last_visit": np.float64,  #: unix seconds; nan if never visited
    "wake": np.float64,  #: when the page may be worth a crawl; see frontier.py
    "taken": np.bool_,  #: chosen for a visit that has not ended
    "resting": np.bool_,  #: not before `wake` in any case: failures, tombstones, moved and suspended pages
}


#: Beliefs that follow from what is known anyway.
MADE_ON_THE_SPOT = frozenset(
    {"is_source", "age", "price", "signals", "pace", "poll_bound", "usual_wait", "pinned"}
)
#: Beliefs about the sources: what a signal of each says, in units of the page's mean signal.
WEIGHTS = tuple(f"weight_{source}" for source in range(N_SOURCES))
#: The largest weight: a signal that cannot be false.
MOST_WEIGHT = 6e4
_ONE, _MOST_HEARD = np.uint8(1), 255
_POLL_COLUMNS = ("yield_rate", "patience_seconds")


class PageTable:
    """Growing columns with one row a page; row numbers never change."""

    page_id: NDArray[np.int64]
    host: NDArray[np.int32]
    status: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    importance: NDArray[np.float32]
    first_factor: NDArray[np.float32]
    change_rate: NDArray[np.float32]
    last_visit: NDArray[np.float64]
    wake: NDArray[np.float64]
    taken: NDArray[np.bool_]
    resting: NDArray[np.bool_]

    def __init__(self, needs: Iterable[str] = ()) -> None:
        """*needs* names the beliefs that are kept beside importance and change rate."""
        self.size = 0
        self.hosts: list[str] = []
        self._host_index: dict[str, int] = {}
        self._beliefs = sorted(set(needs) - MADE_ON_THE_SPOT)
        self._tells_kinds = "is_source" in set(needs)
        self.has_sources = False
        self.listens = "signals" in set(needs)
        #: Signals since the last visit, a column a source, then those that came too soon; once one was heard.
        self.heard: NDArray[np.uint8]
        self.first_heard: NDArray[np.uint8]  #: source and age of the first of them, see `age_code`; likewise
        #: If nothing was heard before the last visit: seconds since the one before, less than 0 if it found a
        #: change, and the rate that was believed; likewise.
        self.quiet: NDArray[np.float32]
        self.weight: NDArray[np.float16]  #: of signals, in units of the mean signal; once they differ
        self.yield_rate: NDArray[np.float32]  #: prices of a visit that polls earn per second; once there are
        self.patience_seconds: NDArray[np.float32]  #: time after which a page is polled anyway; likewise
        self.longest_wait: NDArray[np.float32]  #: seconds after which a source is tried; inf: not; likewise
        self.pinned: NDArray[np.float64]  #: seconds between visits, nan if not pinned; once a page is
        self.sibling_paces: SiblingPaces | None = None  #: by numbers of hosts; None: time passes as it does
        self.usual_value = 0.0  #: mean value of the visits chosen lately, or the least that is worth one
        self.usual_wait = 1.0  #: seconds in which as many pages are visited as there are
        self._types: dict[str, Any] = dict(_COLUMNS)
        #: Columns that have the same number for all pages, and which; nan before there is a page.
        self._uniform: dict[str, np.float32] = dict.fromkeys(self._beliefs, np.float32(np.nan))
        self._unknown = dict.fromkeys(self._beliefs, 0.0) | dict.fromkeys(WEIGHTS, 1.0)
        self.found: NDArray[np.float64]  #: when a page was found; only if first visits lose value
        self._tells_ages = "age" in set(needs)
        for name, dtype in self._types.items():
            setattr(self, name, np.empty(0, dtype))
        self._grow()

    def __len__(self) -> int:
        return self.size

    @property
    def fades(self) -> bool:
        """Whether new pages lose value while they wait: the model says so, and there are sources of such."""
        return self.has_sources and self._tells_ages

    @property
    def values_links(self) -> bool:
        """Whether the model knows what links are worth."""
        return "link_rate" in self._beliefs

    @property
    def has_polled(self) -> bool:
        """Whether any page is polled for signals."""
        return "yield_rate" in self._types

    @property
    def has_tried(self) -> bool:
        """Whether any source is polled whatever that is worth, once it has waited for long."""
        return "longest_wait" in self._types

    @property
    def has_pinned(self) -> bool:
        """Whether the interval of any page has been pinned."""
        return "pinned" in self._types

    def waits_for_first_visit(self) -> NDArray[np.bool_]:
        """Which pages have no copy yet and will get one soon: not sources of signals, nor after a failure."""
        rows = slice(self.size)
        waits: NDArray[np.bool_] = (self.status[rows] == _NEW) & ~self.resting[rows]
        return waits & ~are_polled(self.kind[rows])

    def load(self, pages: PageColumns, now: float, prior: Mapping[str, float]) -> int:
        """Fill an empty table; returns how many pages claimed to have been visited in the future."""
        self.size = len(pages.page_id)
        for name, dtype in self._types.items():
            setattr(self, name, np.zeros(self.size, dtype))
        self._grow()
        self._set_hosts(pages.hosts)
        rows = slice(self.size)
        self.page_id[rows] = pages.page_id
        self.host[rows] = pages.host
        self.status[rows] = pages.status
        self.kind[rows] = pages.kind
        self.has_sources = bool((pages.kind == _SOURCE).any())
        self.importance[rows] = pages.importance
        self.first_factor[rows] = priority_factor(pages.priority)
        self.change_rate[rows] = np.where(pages.change_rate > 0, pages.change_rate, prior["change_rate"])
        self._uniform = dict.fromkeys(self._beliefs, np.float32(np.nan))
        for name in (*self._beliefs, *(WEIGHTS if self.listens else ())):
            usual: Any = prior.get(name, self._unknown[name])
            if name == "false_rate":  # in proportion to the page's own rate
                usual = usual * (self.change_rate[rows] / np.float32(prior["change_rate"]))
            known = pages.beliefs.get(name)
            self.believe(rows, {name: usual if known is None else np.where(np.isnan(known), usual, known)})
        if are_polled(pages.kind).any():
            self._add_poll_columns()
            for name in _POLL_COLUMNS:
                getattr(self, name)[rows] = np.nan_to_num(pages.beliefs.get(name, np.zeros(self.size)))
        if pages.pinned_seconds is not None:
            self.pin(rows, pages.pinned_seconds)
        self.last_visit[rows] = np.minimum(pages.last_visit_at, now)
        if self.fades:
            self._make_room("found", np.float64, now)
            self.found[rows] = np.minimum(pages.discovered_at, now)
        self.wake[rows] = pages.not_before
        self.resting[rows] = (pages.not_before > now) | (pages.status > PageStatus.ACTIVE)
        return int(np.count_nonzero(pages.last_visit_at > now))

    def add(self, record: PageRecord, beliefs: Mapping[str, float], now: float) -> int:
        """Append a page that was just discovered; returns its row."""
        if self.size == self._room:
            self._grow()
        row = self.size
        self.size += 1
        self.page_id[row] = record.page_id
        self.host[row] = self._host_number(record.host)
        self.status[row] = record.status
        self.kind[row] = record.kind
        self.has_sources |= record.kind is PageKind.SOURCE
        if record.kind.is_polled:
            self._add_poll_columns()
        if self.has_polled:
            self.yield_rate[row] = self.patience_seconds[row] = 0.0
        if self.has_tried:
            self.longest_wait[row] = np.inf
        if self.has_pinned:
            self.pinned[row] = np.nan
        self.importance[row] = record.importance
        self.first_factor[row] = priority_factor(np.array(record.priority))
        self.believe(row, self._unknown | dict(beliefs))
        self.last_visit[row] = np.nan
        self.forget_signals(row)
        if self.fades:
            self._make_room("found", np.float64, now)  # what was found before the first source does not fade
            self.found[row] = now
        self.wake[row] = now
        self.taken[row] = self.resting[row] = False
        return row

    def set_kind(self, row: int, kind: PageKind, now: float) -> None:
        """A page is fetched for something else from now on; what is polled stays so, or becomes a page."""
        had_sources = self.fades
        self.kind[row] = kind
        self.has_sources |= kind is PageKind.SOURCE
        if self.has_tried:
            self.longest_wait[row] = np.inf  # of a hub that is retired, no more polls are tried
        if self.fades and not had_sources:
            self._make_room("found", np.float64, now)

    def host_numbers(self, hosts: Iterable[str]) -> list[int]:
        """Numbers of those of these hosts that have pages."""
        return [self._host_index[host] for host in hosts if host in self._host_index]

    def beliefs(
        self,
        rows: NDArray[np.intp] | slice,
        now: float = 0.0,
        price: float = 0.0,
        *,
        signals: NDArray[np.float64] | None = None,
    ) -> Beliefs:
        """What is believed of the pages in these rows, at some time and price of a fetch.

        With *signals*, as if these and no others had been heard.
        """
        host = self.host[rows]
        size = len(host)
        names = ("importance", "change_rate", *self._beliefs)
        columns = {name: self._numbers(name, rows, size) for name in names}
        if self.listens:
            columns["signals"] = self._signals(rows, size) if signals is None else signals
        if self.sibling_paces is not None:
            columns["pace"] = self.sibling_paces.paces(host, self.last_visit[rows])
        if self._tells_kinds:
            columns["is_source"] = (self.kind[rows] == _SOURCE).astype(np.float64)
        if self._tells_ages:
            columns["age"] = np.maximum(now - self.found[rows], 0.0) if self.fades else np.zeros(size)
            columns["price"] = np.full(size, price)
        if self.has_polled:
            earns = self.usual_value * self.usual_wait * self.yield_rate[rows].astype(np.float64)
            columns["poll_bound"] = np.where(are_polled(self.kind[rows]), earns, np.nan)
            columns["usual_wait"] = np.full(size, self.usual_wait)
        if self.has_pinned:
            columns["pinned"] = self.pinned[rows]
        return Beliefs(**columns)

    def believe(self, rows: Any, beliefs: Mapping[str, Any]) -> None:
        """Note what was learned about pages; what the table has no column for is left out."""
        for name in ("change_rate", *self._beliefs):
            if name in beliefs and not self._is_as_usual(name, beliefs[name]):
                getattr(self, name)[rows] = beliefs[name]
        if self.listens:
            for source, name in enumerate(WEIGHTS):
                if name in beliefs and (self.tells_sources or not _is_one(beliefs[name])):
                    self._make_room("weight", np.dtype((np.float16, N_SOURCES)), 1.0)
                    self.weight[rows, source] = beliefs[name]

    def believe_poll(self, row: int, beliefs: Mapping[str, float]) -> None:
        """Note what was learned at a poll; that of a page which brings nothing may wait."""
        for name in _POLL_COLUMNS:
            getattr(self, name)[row] = beliefs[name]

    def longest_waits(self, rows: NDArray[np.intp], first: float) -> NDArray[np.float64]:
        """How long sources may wait; half of the first time for those that have not been polled yet."""
        self._make_room("longest_wait", np.float32, np.inf)
        known = self.longest_wait[rows].astype(np.float64)
        return np.where(np.isinf(known), first / 2, known)

    def pin(self, rows: Any, seconds: Any) -> None:
        """Pages are to be visited at these intervals; nan: by their value."""
        self._make_room("pinned", np.float64, np.nan)
        self.pinned[rows] = seconds

    @property
    def tells_sources(self) -> bool:
        """Whether signals of some sources say more than those of others."""
        return "weight" in self._types

    def weights(self, rows: NDArray[np.intp], sources: NDArray[np.intp]) -> NDArray[np.float64]:
        """What signals of some sources say of pages, in units of the mean signal."""
        if not self.tells_sources:
            return np.ones(len(rows))
        return self.weight[rows, sources].astype(np.float64)

    def hear(
        self,
        rows: NDArray[np.intp],
        sources: NDArray[np.intp],
        is_late: NDArray[np.bool_],
        after_visit: NDArray[np.float64],
    ) -> None:
        """Visited pages got a signal each, so many seconds after the visit, as many as they are named times.

        A late one, which announces what the last visit has seen, is counted apart.
        """
        self._make_room("heard", np.dtype((np.uint8, 2 * N_SOURCES)), 0)
        self._make_room("first_heard", np.uint8, 0)
        self._make_room("quiet", np.dtype((np.float32, 2)), 0.0)
        is_first = ~self.heard[rows].any(axis=1)
        self.first_heard[rows[is_first]] = age_code(sources[is_first], after_visit[is_first])
        places = rows * (2 * N_SOURCES) + sources + N_SOURCES * is_late
        heard = self.heard.reshape(-1)
        before = heard[places]
        np.add.at(heard, places, _ONE)
        heard[places[heard[places] < before]] = _MOST_HEARD

    def signals_of(self, row: int) -> Heard:
        """What was heard of a page since its last visit."""
        if "heard" not in self._types:
            return NOTHING_HEARD
        counts = self.heard[row].tolist()
        only = int(self.first_heard[row]) if sum(counts) == 1 else None
        return Heard(tuple(counts[:N_SOURCES]), tuple(counts[N_SOURCES:]), only)

    def visited(self, row: int, at: float, *, changed: bool) -> None:
        """A visit has answered the signals so far, and found the page changed or not."""
        if "heard" in self._types:
            seconds = 0.0 if self.heard[row].any() else max(at - self.last_visit[row], 0.0)
            self.forget_signals(row)
            if 0 < seconds < np.inf:
                self.quiet[row] = -seconds if changed else seconds, self.change_rate[row]
        self.last_visit[row] = at

    def forget_signals(self, row: int) -> None:
        """Nothing has been heard of a page."""
        if "heard" in self._types:
            self.heard[row] = 0
            self.quiet[row] = 0.0

    def take_quiet(
        self, rows: NDArray[np.intp], claimed_at: NDArray[np.float64]
    ) -> list[tuple[int, QuietVisit]]:
        """Last visits, by row, before which nothing was heard, and yet the page is said to have changed.

        Each is told of once only.
        """
        if "quiet" not in self._types:
            return []
        seconds, rate = self.quiet[rows].astype(np.float64).T
        since = self.last_visit[rows] - np.abs(seconds)
        is_told = (seconds != 0) & (claimed_at > since) & (claimed_at <= self.last_visit[rows])
        told = zip(rows[is_told].tolist(), seconds[is_told].tolist(), rate[is_told].tolist(), strict=True)
        self.quiet[rows[is_told]] = 0.0
        return [(row, QuietVisit(abs(each), believed, each < 0)) for row, each, believed in told]

    def _signals(self, rows: NDArray[np.intp] | slice, size: int) -> NDArray[np.float64]:
        """Signals since the last visit, in units of the mean signal, of so many pages."""
        if "heard" not in self._types:
            return np.zeros(size)
        heard = self.heard[rows, :N_SOURCES].astype(np.float64)
        if self.tells_sources:
            heard *= self.weight[rows]
        signals: NDArray[np.float64] = heard.sum(axis=1)
        return signals

    def _numbers(self, name: str, rows: NDArray[np.intp] | slice, size: int) -> NDArray[np.float64]:
        if name in self._uniform:
            return np.full(size, self._uniform[name], np.float64)
        numbers: NDArray[np.float64] = getattr(self, name)[rows].astype(np.float64)
        return numbers

    def _is_as_usual(self, name: str, values: Any) -> bool:
        """Whether these numbers are those of all pages, so that there is no need for a column."""
        if name not in self._uniform:
            return False
        numbers, usual = np.asarray(values, np.float32), self._uniform[name]
        if np.isnan(usual) and numbers.size:
            usual = self._uniform[name] = numbers.reshape(-1)[0]
        if (numbers == usual).all():
            return True
        self._make_room(name, np.float32, float(self._uniform.pop(name)))
        return False

    def _make_room(self, name: str, dtype: Any, usual: float) -> None:
        """Add a column, with the same number for all pages so far."""
        if name not in self._types:
            self._types[name] = dtype
            setattr(self, name, np.full(self._room, usual, dtype))

    def slices(self, length: int) -> Iterator[slice]:
        """Cut the rows into slices of at most *length*."""
        for start in range(0, self.size, length):
            yield slice(start, min(start + length, self.size))

    def _host_number(self, host: str) -> int:
        """Number of a host; a new one gets the next."""
        number = self._host_index.get(host)
        if number is None:
            number = self._host_index[host] = len(self.hosts)
            self.hosts.append(host)
        return number

    def _set_hosts(self, hosts: list[str]) -> None:
        self.hosts = list(hosts)
        self._host_index = {host: index for index, host in enumerate(self.hosts)}

    def _add_poll_columns(self) -> None:
        for name in _POLL_COLUMNS:
            self._make_room(name, np.float32, 0.0)

    def _grow(self) -> None:
        """Copy the columns that are full into longer ones.

        Each gets another length, so that later no call has to copy them all. Memory that was not
        written to is not used yet.
        """
        for number, (name, dtype) in enumerate(self._types.items()):
            column = getattr(self, name)
            if len(column) == self.size:
                longer: NDArray[Any] = np.empty(int(self.size * (1.2 + number / 50)) + 256 + number, dtype)
                longer[: self.size] = column
                setattr(self, name, longer)
        self._room = min(len(getattr(self, name)) for name in self._types)


def _is_one(weights: Any) -> bool:
    """Whether all weights are 1, as exactly as they are kept."""
    return bool((np.asarray(weights, np.float16) == 1).all())


def priority_factor(priority: NDArray[np.int32]) -> NDArray[np.float64]:
    """How much more the first visit of each page is worth for its request's priority.

    >>> priority_factor(np.array([0, 100])).round(3)
    array([1.   , 2.718])
    """
    factor: NDArray[np.float64] = np.exp(np.clip(priority, -5000, 5000) / 100)
    return factor


def rows_of(page_ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    """Rows of pages in a table; -1 of those that it does not have.

    >>> rows_of(np.array([5, 9, 7]), np.array([7, 8, 5])).tolist()
    [2, -1, 0]
    """
    if not len(page_ids):
        return np.full(len(wanted), -1)
    order = np.argsort(page_ids, kind="stable")
    place = order[np.minimum(np.searchsorted(page_ids, wanted, sorter=order), len(page_ids) - 1)]
    return np.where(page_ids[place] == wanted, place, -1)
