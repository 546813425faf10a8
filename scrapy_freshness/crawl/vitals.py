"""How the crawl is doing at this moment, from memory: for `/status.json` and for Prometheus."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from scrapy.statscollectors import StatsCollector

from scrapy_freshness.clock import Clock
from scrapy_freshness.config import Config
from scrapy_freshness.crawl.journal import Journal
from scrapy_freshness.model import FreshnessRecord, Outcome
from scrapy_freshness.planning.planner import Planner

MINUTE_SECONDS = 60.0
#: Flush intervals without a flush that has ended well, after which the crawl is in trouble.
_LATE_INTERVALS = 30
#: Name in the status -> stat that counts a kind of trouble, beside visits that failed.
ERRORS = {
    "visits_lost": "freshness/visits/lost",
    "callbacks_failed": "freshness/callback_failed",
    "hosts_backed_off": "freshness/backed_off",
    "flushes_failed": "freshness/flush_failed",
    "reads_failed": "freshness/read_failed",
    "not_learned": "freshness/not_learned",
    "internal_errors": "freshness/internal_errors",
}


class RecentFetches:
    """Counts the fetches of the last minute, by kind.

    >>> recent = RecentFetches()
    >>> for second in range(90):
    ...     recent.count("page", float(second))
    >>> recent.last_minute(90.0)
    {'page': 60}
    """

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, Counter[str]]] = deque()

    def count(self, kind: str, now: float) -> None:
        """A fetch begins."""
        second = int(now)
        if not self._seconds or self._seconds[-1][0] != second:
            self._forget_old(now)
            self._seconds.append((second, Counter()))
        self._seconds[-1][1][kind] += 1

    def last_minute(self, now: float) -> dict[str, int]:
        """Fetches of the last 60 seconds, the oldest as a whole second."""
        self._forget_old(now)
        return dict(sum((counts for _, counts in self._seconds), Counter[str]()))

    def _forget_old(self, now: float) -> None:
        while self._seconds and self._seconds[0][0] < int(now) - MINUTE_SECONDS:
            self._seconds.popleft()


class Vitals:
    """Puts together what the parts of a crawl know of its state; takes a millisecond for a million pages."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        planner: Planner,
        journal: Journal,
        stats: StatsCollector,
        *,
        spider: str,
        started_at: float,
    ) -> None:
        self._config = config
        self._clock = clock
        self._planner = planner
        self._journal = journal
        self._stats = stats
        self._spider = spider
        self._started_at = started_at
        self.fetches = RecentFetches()
        self.assessed: FreshnessRecord | None = None  #: how fresh the copies were a minute ago at most
        self.held: Callable[[], int] = lambda: 0  #: requests that wait for their host, told by the scheduler
        self.is_open = False

    def trouble(self) -> str | None:
        """Say what is wrong with the crawl; None if all is well."""
        if not self.is_open:
            return "the crawl is about to start or to end"
        if self._journal.failing_since is not None:
            return f"the database has refused what was learned for {self._failing_seconds():.0f} s"
        seconds = self._clock.now() - (self._journal.written_at or self._started_at)
        if seconds > _LATE_INTERVALS * self._config.flush_seconds:
            return f"nothing has been written for {seconds:.0f} s"
        return None

    def status(self) -> dict[str, Any]:
        """The state of the crawl; keys as in `scrapy freshness status --json`, as far as they are there."""
        now = self._clock.now()
        minute = self.fetches.last_minute(now)
        stats: Mapping[str, Any] = self._stats.get_stats()
        visits = {name: stats.get(f"freshness/visits/{name}", 0) for name in _OUTCOMES}
        hosts = self._planner.hosts
        span = min(MINUTE_SECONDS, max(now - self._started_at, 1.0))
        spider = {
            "spider": self._spider,
            "running": self.is_open,
            "started_at": self._started_at,
            "policy": self._config.policy,
            "budget_per_second": self._config.budget_per_second,
            "price": self._planner.going_price,
            "freshness": self.assessed.freshness if self.assessed else None,
            "uniform_freshness": self.assessed.uniform_freshness if self.assessed else None,
            "pages": {
                status.name.lower(): count for status, count in self._planner.known.pages_by_status().items()
            },
            "fetches": {"minute": minute, "run": _family(stats, "freshness/fetches/")},
            "fetches_per_second": sum(minute.values()) / span,
            "budget_used": {"minute": sum(minute.values()) / span / self._config.budget_per_second},
            "visits": {"run": visits},
            "polls": {"run": _family(stats, "freshness/polls/")},
            "signals": {"run": _family(stats, "freshness/signals/")},
            "open_visits": len(self._planner.open_visits),
            "queue": {"chosen": self._planner.at_hand, "held": self.held()},
            "unsaved_visits": self._journal.unsaved_visits,
            "errors": {
                "visits_failed": visits["failed"],
                **{name: stats.get(stat, 0) for name, stat in ERRORS.items()},
            },
            "trouble": self.trouble(),
        }
        return {
            "now": now,
            "spiders": [spider],
            "hosts_in_backoff": [
                {"host": host, "until": hosts.blocked_until(host), "failures": hosts.record(host).failures}
                for host in sorted(hosts.blocked(now))
            ],
        }

    def _failing_seconds(self) -> float:
        return self._clock.now() - (self._journal.failing_since or 0.0)


_OUTCOMES = [outcome.name.lower() for outcome in Outcome]


def _family(stats: Mapping[str, Any], prefix: str) -> dict[str, int]:
    """Stats that begin alike, by the rest of their names."""
    return {name.removeprefix(prefix): count for name, count in stats.items() if name.startswith(prefix)}
