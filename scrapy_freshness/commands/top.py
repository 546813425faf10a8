"""Watch crawls live: rate, budget, freshness, hosts, errors, latest visits.

Reads the database only, from any terminal that reaches it. q or Ctrl-C ends
it. In a pipe, or with --once or --json, it tells the state once.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from rich.live import Live

from scrapy_freshness.commands.context import Context, require_spider
from scrapy_freshness.commands.keyboard import Keyboard
from scrapy_freshness.commands.status import last_minutes
from scrapy_freshness.commands.top_screen import Screen
from scrapy_freshness.model import Outcome, PageStatus
from scrapy_freshness.storage import inspection, reports
from scrapy_freshness.storage.live_reports import LatestVisit, freshness_history, latest_visits
from scrapy_freshness.storage.reports import HOUR_SECONDS, Activity
from scrapy_freshness.storage.store import Store
from scrapy_freshness.units import durations, parsed

#: Times between two looks.
_LEAST_SECONDS, _MOST_SECONDS = 0.1, 86400.0
#: Pages are counted again after this time, or so many times as long as it takes: there may be millions.
_COUNT_AGAIN_SECONDS, _COUNT_AGAIN_TIMES = 10.0, 50.0
#: How soon a key or another size of the terminal is noticed.
_ATTENTION_SECONDS = 0.2


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spider", metavar="NAME", help="only this spider")
    parser.add_argument(
        "--interval", metavar="TIME", default="2s", help="time between two looks; default: 2s"
    )
    parser.add_argument("--once", action="store_true", help="look once")


def run(context: Context, options: argparse.Namespace) -> None:
    interval = parsed("--interval", options.interval, durations(_LEAST_SECONDS, _MOST_SECONDS))
    with context.store() as store:
        require_spider(store, options.spider)
        watch = Watch(store, options.spider)
        if context.as_json:
            context.print_json(watch.look(context.clock.now()))
        elif options.once or not context.console.is_terminal:
            context.print(Screen(watch.look(context.clock.now())))
        else:
            _watch(context, watch, interval)


def _watch(context: Context, watch: "Watch", interval: float) -> None:
    clock, console = context.clock, context.console
    live = Live(Screen(watch.look(clock.now())), console=console, screen=True, auto_refresh=False)
    with suppress(KeyboardInterrupt), Keyboard(sys.stdin) as keyboard:  # Ctrl-C is as good as q
        try:
            live.start(refresh=True)
            looked_at, size = clock.now(), console.size
            while keyboard.pressed(_ATTENTION_SECONDS) not in ("q", "Q", "\x1b", "\x03", "\x04"):
                if clock.now() - looked_at >= interval:
                    looked_at = clock.now()
                    live.update(Screen(watch.look(looked_at)), refresh=True)
                elif console.size != size:
                    live.refresh()
                size = console.size
        finally:
            live.stop()  # also if it was interrupted while it was being drawn for the first time


class Watch:
    """Looks at a database again and again, and counts pages rarely."""

    def __init__(self, store: Store, spider: str | None = None) -> None:
        self._store = store
        self._spider = spider
        self._counted: dict[str, Mapping[PageStatus, int]] = {}
        self._count_at = -float("inf")

    def look(self, now: float) -> dict[str, Any]:
        """The state of all crawls as plain values."""
        store = self._store
        if now >= self._count_at:
            started = time.perf_counter()
            self._counted = {report.spider: report.pages for report in reports.spiders(store, now)}
            took = time.perf_counter() - started
            self._count_at = now + max(_COUNT_AGAIN_SECONDS, _COUNT_AGAIN_TIMES * took)
        minutes = last_minutes(store, now)
        running = inspection.crawling(store)
        visits = latest_visits(store, self._spider)
        spiders = [name for name in self._counted if self._spider in (None, name)]
        hosts = store.load_hosts()
        return {
            "now": now,
            "database": str(store.database),
            "spiders": [
                self._crawl(name, name in running, minutes.get(name, _NOTHING), now) for name in spiders
            ],
            "hosts": _hosts(visits),
            "hosts_in_backoff": [
                {"host": host.host, "until": host.blocked_until, "failures": host.failures}
                for host in sorted(hosts, key=lambda host: host.blocked_until)
                if host.blocked_until > now
            ],
            "visits": [{**asdict(visit), "outcome": visit.outcome.name.lower()} for visit in visits[:100]],
        }

    def _crawl(self, spider: str, is_running: bool, minute: Activity, now: float) -> dict[str, Any]:
        state = self._store.load_state(spider)
        fresh = freshness_history(self._store, spider, now - HOUR_SECONDS, 1)
        began = state.started_at if state and is_running else -float("inf")
        per_second = sum(minute.fetches.values()) / min(60.0, max(now - began, 1.0))
        budget = state.budget_per_second if state else None
        return {
            "spider": spider,
            "running": is_running,
            "started_at": state.started_at if state else None,
            "updated_at": state.updated_at if state else None,
            "policy": state.policy if state else None,
            "budget_per_second": budget,
            "budget_used": per_second / budget if budget else None,
            "price": state.price if state else None,
            "fetches_per_second": per_second,
            "pages": {status.name.lower(): self._counted[spider].get(status, 0) for status in PageStatus},
            "freshness": [record.freshness for record in fresh],
            "uniform_freshness": fresh[-1].uniform_freshness if fresh else None,
            "fetches": minute.fetches,
            "visits": {outcome.name.lower(): minute.visits.get(outcome, 0) for outcome in Outcome},
        }


_NOTHING = Activity(visits={}, fetches={})


def _hosts(visits: list[LatestVisit]) -> list[dict[str, Any]]:
    """Hosts by how many of the latest visits they had."""
    outcomes: dict[str, Counter[Outcome]] = defaultdict(Counter)
    latencies: dict[str, list[float]] = defaultdict(list)
    for visit in visits:
        if visit.outcome is Outcome.IGNORED:  # nothing was sent to it
            continue
        outcomes[visit.host][visit.outcome] += 1
        if visit.latency_seconds is not None:
            latencies[visit.host].append(visit.latency_seconds)
    return [
        {
            "host": host,
            "visits": counts.total(),
            "changed": counts[Outcome.CHANGED] + counts[Outcome.FIRST],
            "failed": counts[Outcome.FAILED] + counts[Outcome.GONE],
            "latency_seconds": sum(latencies[host]) / len(latencies[host]) if latencies[host] else None,
        }
        for host, counts in sorted(outcomes.items(), key=lambda each: (-each[1].total(), each[0]))
    ]
