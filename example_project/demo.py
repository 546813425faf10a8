"""`make demo`: the living site, a crawl that keeps its copy fresh, and how well that went."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from experiment import (
    Budget,
    LiveCrawl,
    freshness_now,
    measured_freshness,
    simulated_freshness,
    visit_times,
    world_parameters,
)
from living_site.running import RunningSite
from rich.console import Console
from rich.live import Live
from rich.table import Table

from scrapy_freshness.errors import StorageError
from scrapy_freshness.storage.store import Store

#: Freshness is measured from here on: before, the pages are fetched for the first time.
WARM_UP_SHARE = 1 / 3
#: How long the crawl may go on if the demo is killed and cannot end it.
ORPHAN_SECONDS = 30.0
EIGHTHS = " ▁▂▃▄▅▆▇█"


def main() -> int:
    options = _options()
    console = Console()
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP; nohup ignores it
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    parameters = world_parameters(options.seed)
    try:
        with RunningSite(parameters) as site, tempfile.TemporaryDirectory(prefix="freshness-demo-") as folder:
            return _run(console, site, Path(folder), options)
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=170.0, help="length of the crawl (%(default)g)")
    parser.add_argument("--seed", type=int, default=1, help="which living site (%(default)d)")
    parser.add_argument("--policy", default="greedy", help="what a crawl is worth (%(default)s)")
    options = parser.parse_args()
    if options.seconds < 3:
        parser.error("--seconds must be at least 3")
    return options


def _run(console: Console, site: RunningSite, folder: Path, options: argparse.Namespace) -> int:
    world = site.world
    per_second = Budget().per_second(world)
    console.print(
        f"[bold]A living site:[/] {len(world.documents)} documents on {len(site.root_urls)} hosts, "
        f"{world.total_change_rate:.0f} changes a second.\n"
        f"[bold]A crawl of it[/] by an ordinary spider, kept fresh with {per_second:.1f} fetches a second "
        f"({options.policy}), for {options.seconds:.0f} s. Ctrl-C ends it earlier."
    )
    with LiveCrawl(
        folder,
        site_url=site.root_urls[0],
        policy=options.policy,
        per_second=per_second,
        settings={"CLOSESPIDER_TIMEOUT": f"{options.seconds + ORPHAN_SECONDS}"},
    ) as crawl:
        try:
            _watch(console, site, crawl, per_second, options.seconds)
        except KeyboardInterrupt:
            console.print("Stopping...")
        if not crawl.is_running:
            console.print(f"[red]The crawl ended by itself.[/] Its log ends with:\n{_tail(crawl.log_file)}")
            return 1
        end = site.now()
        crawl.stop()
    _print_result(console, site, options.policy, end)
    return 0


def _watch(console: Console, site: RunningSite, crawl: LiveCrawl, per_second: float, seconds: float) -> None:
    history: list[float] = []
    with Live(console=console, refresh_per_second=2, transient=False) as live:
        while crawl.is_running and _elapsed(site) < seconds:
            history.append(freshness_now(site))
            live.update(_status(site, crawl, per_second, seconds, history))
            time.sleep(1.0)


def _elapsed(site: RunningSite) -> float:
    """Seconds since the first fetch."""
    entries = site.log.entries
    return site.now() - entries[0].time if entries else 0.0


def _status(
    site: RunningSite, crawl: LiveCrawl, per_second: float, seconds: float, history: list[float]
) -> Table:
    entries = list(site.log.entries)
    now = site.now()
    answers = Counter(entry.status for entry in entries)
    lately = sum(now - 10 < entry.time for entry in entries) / min(10.0, now)
    table = Table.grid(padding=(0, 2))
    table.add_row("time", f"{_elapsed(site):.0f} of {seconds:.0f} s")
    table.add_row("fresh now", f"[bold]{history[-1]:.3f}[/]  {_sparkline(history)}")
    table.add_row("fetches", f"{len(entries)}, {lately:.1f} a second (budget {per_second:.1f})")
    table.add_row(
        "answers", ", ".join(f"{count} x {status or 'none'}" for status, count in answers.most_common(7))
    )
    table.add_row("known pages", _known(crawl))
    return table


def _known(crawl: LiveCrawl) -> str:
    try:
        with Store.open_readonly(crawl.database_url) as store:
            state = store.load_state("everything")
            return f"{store.page_count('everything')}" + (f", price {state.price:.3g}" if state else "")
    except StorageError:
        return "starting"


def _sparkline(history: list[float], width: int = 48) -> str:
    recent = history[-width:]
    return "".join(EIGHTHS[round(value * (len(EIGHTHS) - 1))] for value in recent)


def _print_result(console: Console, site: RunningSite, policy: str, end: float) -> None:
    start = end * WARM_UP_SHARE
    times = visit_times(site, end)
    if not times:
        console.print("Nothing was fetched.")
        return

    def simulated(name: str) -> float:
        return simulated_freshness(site.world, times, name, start, end)

    with console.status("Simulating the same time on a manual clock..."):
        rows = [
            (f"{policy}: this crawl, measured", measured_freshness(site, start, end)),
            (f"{policy}: same planner, manual clock", simulated(policy)),
            ("uniform: same planner, manual clock", simulated("uniform")),
        ]
    console.print()
    table = Table(title=f"Freshness from {start:.0f} s to {end:.0f} s, {len(times)} visits of documents")
    table.add_column("policy")
    table.add_column("current documents", justify="right")
    for name, freshness in rows:
        table.add_row(name, f"{freshness:.4f}")
    console.print(table)


def _tail(path: Path, lines: int = 15) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else "(no log)"


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
