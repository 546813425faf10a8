"""Which pages are worth most now?  A lazy arg max over all pages of the table.

Between events the value of a page only grows. So each page sleeps until the time at which its value
reaches the *rung*, a value a little below the price of a crawl; pages that sleep are worth less than
all pages that are awake (but for a while where visits to siblings have moved a value and the waking time
has not followed yet: see siblings.py), and only the latter are evaluated. When too many are awake the
rung is raised, when none is, it is lowered and the sleepers' times are computed anew, a slice of the
table at each call, so that no call takes longer than a few milliseconds at any size.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.model import PageKind, PageStatus
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.value.contract import FloatArray, ValueModel
from scrapy_freshness.value.polls import is_polled

Rows = NDArray[np.intp]

#: Rows whose waking times are computed anew in one call (about 4 ms).
_REKEY_SLICE = 4096
#: Pages evaluated in one call (about 2 ms).
_MAX_EVALUATED = 16384
#: Rows looked at in one call for pages that are awake (about 3 ms); larger tables are looked at in turn.
_WINDOW = 1 << 21
#: How soon to look again at such a table, rather than to find out when a page of a host with room wakes.
_LOOK_AGAIN_SECONDS = 0.5
#: Pages evaluated to find out how far the rung must be lowered.
_SAMPLE = 4096
_LOWER_BY = 0.8
#: Below this, nothing is worth a crawl to a model that knows worthless pages.
_WORTHLESS = 1e-12
#: As plain numbers, which numpy compares five times faster than members of an enumeration.
_ACTIVE, _GONE, _SUSPENDED, _MOVED = map(
    int, (PageStatus.ACTIVE, PageStatus.GONE, PageStatus.SUSPENDED, PageStatus.MOVED)
)
_SOURCE = int(PageKind.SOURCE)
#: How long a source waits at first that does not seem to be worth a poll, in times of the usual wait, and in
#: the end, after twice as long each time: if all sources are such, they take one fetch in so many.
_PATIENCE, _MOST_PATIENCE = 8.0, 32.0
#: Freshness that a signal leaves to a copy if it is nearly sure.
_HARDLY_FRESH = 0.1
#: Slices computed in one call while nobody is awake.
_MAX_LOWERED = 3
#: Share of floor or rung that may be missing: at the very time at which a page wakes its value is rounded.
_ROUNDING = 1e-6


class Frontier:
    """Chooses rows of the table by value; rows it has chosen are *taken* until they are released."""

    def __init__(
        self,
        table: PageTable,
        model: ValueModel,
        floor: float,
        min_interval: float,
        *,
        tries_sources: bool = False,
    ) -> None:
        """With *tries_sources* those are polled now and then, too, that do not seem to be worth it."""
        self._table = table
        self._model = model
        self._tries_sources = tries_sources
        self._floor = self._least(floor)  #: least value that is worth a crawl
        self._min_interval = min_interval
        self._rung = self._floor
        self._rekeyed = 0  #: rows before this one have waking times for the present rung
        self._window = 0  #: first row of the next look at those that are awake
        self._cursor = 0  #: where the last look at more pages than one call evaluates ended
        self.is_exhausted = False  #: whether nothing can be chosen before time passes or something happens
        self.price = 0.0  #: mean value of the visits chosen lately
        self.fetch_price = 0.0  #: what a fetch has to be worth, for models that count the pages of a source

    @property
    def is_keyed(self) -> bool:
        """Whether all waking times are those of the present rung."""
        return self._rekeyed >= self._table.size

    def values(self, rows: Rows, now: float) -> FloatArray:
        """Value of crawling each of these pages now."""
        table = self._table
        beliefs = table.beliefs(rows, now, self.fetch_price)
        status = table.status[rows]
        elapsed = np.maximum(now - table.last_visit[rows], 0.0)
        never_visited = np.isnan(elapsed)
        elapsed[never_visited] = 0.0
        values = self._model.value(beliefs, elapsed)
        new = never_visited.nonzero()[0]
        if len(new):
            values[new] = self._model.first_value(beliefs.at(new)) * table.first_factor[rows[new]]
        # A tombstone is worth exactly a crawl when the time of its next check has come. So is a poll of what
        # has tried our patience.
        due = max(self.price, self._floor)
        is_due = (status == _GONE) | (status == _MOVED)
        if table.has_polled:
            is_due |= is_polled(beliefs) & (elapsed >= table.patience_seconds[rows])
        values = np.where(is_due, np.maximum(values, due), values)
        if table.has_tried:
            is_tried = elapsed >= table.longest_wait[rows]
            values = np.where(is_tried, np.maximum(values, max(due, self._rung)), values)
        return values

    def take_best(self, now: float, count: int, full_hosts: NDArray[np.bool_]) -> tuple[Rows, FloatArray]:
        """Take up to *count* pages of the highest values, best first; none of a full host.

        May return fewer, even none, while waking times are being computed; ask again.
        """
        self.is_exhausted = bool(full_hosts.all())
        if self.is_exhausted:
            return np.empty(0, np.intp), np.empty(0)
        rows = self._awake(now, full_hosts)
        if len(rows) and self._rekeyed < self._table.size:
            self._rekey(now)
        if len(rows) == 0:
            rows = self._woken(now, full_hosts)
        if len(rows) > _MAX_EVALUATED:
            rows = self._some(rows)
        values = self.values(rows, now)
        if self._table.fades and (has_faded := values < self._rung * (1 - _ROUNDING)).any():
            rows = self._without_faded(rows, has_faded, now)
            if len(rows) == 0:
                rows = self._woken(now, full_hosts)
            values = self.values(rows, now)
        worth_it = values >= self._floor * (1 - _ROUNDING)
        if not self._table.fades:
            worth_it |= np.isnan(self._table.last_visit[rows])
        best = _largest(values, count)
        best = best[worth_it[best]]
        self._put_to_sleep(rows, values, best, count)
        if self._floor and not worth_it.all():
            # Woken too early: whoever asks when something is due would be told "now" for ever.
            self._back_to_sleep(rows[~worth_it], now)
        chosen = rows[best]
        self._table.taken[chosen] = True
        self._table.wake[chosen] = np.inf
        return chosen, values[best]

    def release(self, rows: Rows, now: float, *, others: Rows | None = None) -> None:
        """Give back pages that were taken, visited or not; they sleep until they are worth a crawl.

        Of *others*, something else is believed: to reconsider them at once takes half of the time.
        """
        table = self._table
        table.taken[rows] = False
        table.resting[rows] = table.status[rows] > _ACTIVE
        if self._tries_sources and table.fades:
            self._be_patient(rows[table.kind[rows] == _SOURCE], now)
        if others is not None:
            rows = np.concatenate((rows, others[~(table.taken[others] | table.resting[others])]))
        table.wake[rows] = self._waking_times(rows, now)

    def signalled(self, rows: Rows, sources: Rows, now: float) -> None:
        """Visited pages got signals, one for each time they are named: each brings their waking nearer."""
        table = self._table
        waits = ~(table.taken[rows] | table.resting[rows])
        rows, place = np.unique(rows[waits], return_inverse=True)
        weights = table.weights(rows[place], sources[waits])
        more: FloatArray = np.bincount(place, weights, len(rows)).astype(np.float64, copy=False)
        visited = table.last_visit[rows]
        sooner = self._model.sooner(table.beliefs(rows), table.wake[rows] - visited, more) + visited
        earliest = np.maximum(visited + self._min_interval, now) if self._min_interval else now
        # A page that is awake, though not worth its place yet, need not wake later.
        table.wake[rows] = np.minimum(table.wake[rows], np.maximum(sooner, earliest))

    def surely_stale(self, rows: Rows, sources: Rows) -> Rows:
        """Those of these pages of which one signal of the source leaves hardly a hope that they are fresh."""
        beliefs = self._table.beliefs(rows, signals=self._table.weights(rows, sources))
        return rows[self._model.freshness(beliefs, np.zeros(len(rows))) < _HARDLY_FRESH]

    def worthwhile(self, rows: Rows) -> Rows:
        """Those of these pages that are worth a crawl nowadays if their copies are stale for sure."""
        return rows[self._model.first_value(self._table.beliefs(rows)) > self._rung]

    def reconsider(self, rows: Rows, now: float) -> None:
        """Something else is believed of pages: those that sleep wake at other times."""
        table = self._table
        rows = rows[~(table.taken[rows] | table.resting[rows])]
        table.wake[rows] = self._waking_times(rows, now)

    def rouse(self, row: int, now: float) -> None:
        """Give back a page that was taken and may be taken again at once."""
        self._table.taken[row] = False
        self._table.wake[row] = now

    def rest(self, row: int, until: float) -> None:
        """Give back a page that must not be visited before *until* (inf: not at all)."""
        self._table.taken[row] = False
        self._table.resting[row] = True
        self._table.wake[row] = until

    def poll_soon(self, rows: Rows, now: float) -> None:
        """Pages that are polled have something to say: they are worth a crawl now."""
        table = self._table
        waits = rows[~(table.taken[rows] | table.resting[rows]) & ~np.isnan(table.last_visit[rows])]
        table.patience_seconds[waits] = 0.0
        table.wake[waits] = np.maximum(table.last_visit[waits] + self._min_interval, now)

    def start(self, price: float, now: float, *, floor: float) -> None:
        """Compute all waking times for a price known from earlier; called once after loading."""
        self.price = price
        self._floor = self._least(floor)
        self._table.usual_value = max(price, self._floor)
        self._rung = max(price * 0.9, self._floor)
        for part in self._table.slices(_REKEY_SLICE):
            rows = np.arange(part.start, part.stop)
            times, until = self._waking_times(rows, now), self._table.wake[rows]
            held = self._table.resting[rows]
            # Who rests wakes once in any case: no waking time is computed again for it before.
            is_asleep = np.isinf(times) & (self._table.status[rows] <= _ACTIVE)
            self._table.wake[rows] = np.where(
                held, np.where(is_asleep, until, np.maximum(until, times)), times
            )
        self._rekeyed = self._table.size

    def _least(self, floor: float) -> float:
        """The floor; where pages may be worthless it is above 0, so that they are not chosen."""
        return max(floor, _WORTHLESS) if "age" in self._model.needs else floor

    def chosen(self, value: float) -> None:
        """Note the value of a visit to a page with a copy: the price follows."""
        self.price += (value - self.price) * (0.05 if self.price else 1.0)
        self._table.usual_value = max(self.price, self._floor)

    def reprice(self, fetch_price: float) -> None:
        """A fetch has to be worth something else: all waking times are computed anew, bit by bit."""
        self.fetch_price = fetch_price
        self._rekeyed = 0

    def _awake(self, now: float, full_hosts: NDArray[np.bool_]) -> Rows:
        """Pages of hosts with room that are awake: all, or in a large table those of the next window."""
        table = self._table
        for _ in range(0, table.size, _WINDOW):
            start = self._window if self._window < table.size else 0
            self._window = start + _WINDOW
            rows = np.flatnonzero(table.wake[start : min(self._window, table.size)] <= now) + start
            if full_hosts.any():
                rows = rows[~full_hosts[table.host[rows]]]
            if len(rows):
                return rows
        return np.empty(0, np.intp)

    def _some(self, rows: Rows) -> Rows:
        """As many rows as one call evaluates, others at each call."""
        start = self._cursor if self._cursor < len(rows) else 0
        self._cursor = start + _MAX_EVALUATED
        return rows[start : self._cursor]

    def _without_faded(self, rows: Rows, has_faded: NDArray[np.bool_], now: float) -> Rows:
        """Send pages back to sleep that are not worth the rung any more; returns the others."""
        self._back_to_sleep(rows[has_faded], now)
        return rows[~has_faded]

    def _back_to_sleep(self, rows: Rows, now: float) -> None:
        """Pages that are awake are not worth a visit yet."""
        # Who rested, as after a failure, was awake: the rest is over, and ends no sleep.
        self._table.resting[rows] = self._table.status[rows] > _ACTIVE
        self._table.wake[rows] = self._waking_times(rows, now)

    def _woken(self, now: float, full_hosts: NDArray[np.bool_]) -> Rows:
        """Nobody is awake: lower the rung until somebody is, or nobody can be before time passes."""
        for _ in range(_MAX_LOWERED):
            self.is_exhausted = not self._lower_rung(now, full_hosts)
            if self.is_exhausted:
                break
            rows = self._awake(now, full_hosts)
            if len(rows):
                return rows
        return np.empty(0, np.intp)

    def _waking_times(self, rows: Rows, now: float) -> FloatArray:
        table = self._table
        last_visit = table.last_visit[rows]
        beliefs = table.beliefs(rows, now, self.fetch_price)
        if self._rung > 0:
            sleep = np.maximum(self._model.elapsed_at(beliefs, self._rung), self._min_interval)
        else:
            sleep = np.full(len(rows), self._min_interval)
        if table.has_polled:
            longest = np.maximum(table.patience_seconds[rows], self._min_interval)
            sleep = np.where(is_polled(beliefs), np.minimum(sleep, longest), sleep)
        if table.has_tried:
            sleep = np.minimum(sleep, np.maximum(table.longest_wait[rows], self._min_interval))
        if table.has_pinned:  # not earlier either, even if there is nothing else to do
            pinned = np.maximum(table.pinned[rows], self._min_interval)
            sleep = np.where(np.isnan(pinned), sleep, pinned)
        status = table.status[rows]
        is_new = np.isnan(last_visit)
        at_once = is_new | (status == _GONE) | (status == _MOVED)
        if self._table.fades and is_new.any():
            at_once &= ~is_new | (self._model.first_value(beliefs) >= self._rung) | is_polled(beliefs)
        times = np.where(at_once, now, np.where(is_new, np.inf, last_visit + sleep))
        return np.where(status == _SUSPENDED, np.inf, times)

    def _be_patient(self, sources: Rows, now: float) -> None:
        """Settle how long sources that were polled wait at the most, whatever the next poll is worth.

        By the links that were found so far it may never be worth it, and then nobody would notice that there
        are more. The longer that was so, the longer is the wait.
        """
        table = self._table
        sources = sources[~np.isnan(table.last_visit[sources])]
        if len(sources) == 0:
            return
        first = _PATIENCE * table.usual_wait
        before = table.longest_waits(sources, first)
        beliefs = table.beliefs(sources, now, self.fetch_price)
        due = self._model.elapsed_at(beliefs, max(self.fetch_price, self._rung))
        longer = np.minimum(2 * before, _MOST_PATIENCE * table.usual_wait)
        table.longest_wait[sources] = np.where(
            due > before, longer, np.maximum(np.minimum(before, 2 * due), first)
        )

    def next_wake(self, now: float, full_hosts: NDArray[np.bool_]) -> float:
        """When the next page of a host that is not full wakes, or earlier; inf if none does."""
        table = self._table
        wake = table.wake[: table.size]
        if full_hosts.all():
            return float("inf")
        if full_hosts.any():
            if table.size > _WINDOW:
                return now + _LOOK_AGAIN_SECONDS
            wake = wake[~full_hosts[table.host[: table.size]]]
        return float(np.min(wake, initial=np.inf))

    def _lower_rung(self, now: float, full_hosts: NDArray[np.bool_]) -> bool:
        """Lower the rung, or go on with computing times for the present one; False if both are done."""
        if self._rekeyed >= self._table.size:
            if self._rung <= self._floor:
                return False
            highest = self._highest_asleep(now, full_hosts)
            if highest is None:
                return False
            self._rung = max(min(_LOWER_BY * self._rung, 0.9 * highest), self._floor)
            self._rekeyed = 0
        self._rekey(now)
        return True

    def _highest_asleep(self, now: float, full_hosts: NDArray[np.bool_]) -> float | None:
        """Highest value in a sample of the pages asleep on hosts with room; None if there are none."""
        table = self._table
        rows = np.arange(0, table.size, max(1, table.size // _SAMPLE))
        rows = rows[~(table.taken[rows] | table.resting[rows] | full_hosts[table.host[rows]])]
        if len(rows) == 0:
            return None
        may_wake = ~(table.last_visit[rows] + self._min_interval > now)
        return float(np.max(self.values(rows, now), where=may_wake, initial=0.0))

    def _rekey(self, now: float) -> None:
        """Compute the waking times of one more slice of the table for the present rung."""
        table = self._table
        end = min(self._rekeyed + _REKEY_SLICE, table.size)
        rows = np.arange(self._rekeyed, end)
        rows = rows[~(table.taken[rows] | table.resting[rows])]
        self._rekeyed = end
        if len(rows):
            table.wake[rows] = np.minimum(table.wake[rows], self._waking_times(rows, now))

    def _put_to_sleep(self, rows: Rows, values: FloatArray, best: Rows, count: int) -> None:
        """If many more are awake than needed, raise the rung, or keep it, and let those below it sleep.

        Signals wake pages that may still be worth less than the rung.
        """
        # The rung is raised rarely; and to lower it costs more, the larger the table is.
        keep = count + 8 + self._table.size // 1000
        if len(rows) - len(best) <= 3 * keep:
            return
        table = self._table
        may_sleep = ~table.resting[rows]
        if not self._table.fades:
            may_sleep &= ~np.isnan(table.last_visit[rows])
        may_sleep[best] = False
        if np.count_nonzero(may_sleep) <= keep:
            return
        rung = max(float(np.partition(values[may_sleep], -keep)[-keep]), self._rung)
        if rung <= self._floor:
            return
        self._rung = rung
        sleepers = rows[may_sleep & (values < rung)][:_REKEY_SLICE]
        table.wake[sleepers] = self._waking_times(sleepers, np.inf)


def _largest(values: FloatArray, count: int) -> Rows:
    """Positions of the *count* largest values, largest first, ties in order of position."""
    if count == 1 and len(values):
        return np.array([values.argmax()])
    if count < len(values):
        chosen = np.sort(np.argpartition(-values, count - 1)[:count])
    else:
        chosen = np.arange(len(values))
    return chosen[np.argsort(-values[chosen], kind="stable")]
