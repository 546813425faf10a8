"""What `scrapy freshness top` shows: as much as there is room for."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from scrapy_freshness.commands.context import new_table
from scrapy_freshness.insight.human import (
    NOTHING,
    clipped,
    count,
    duration,
    number,
    rate,
    relative,
    safe,
    share,
)
from scrapy_freshness.storage.live_reports import LOOKED_AT

_BAR, _LEVELS = 20, "▁▂▃▄▅▆▇█"
#: Hosts that are listed at most, where there is room.
_MOST_HOSTS = 8
_STYLES = {"first": "green", "changed": "green", "failed": "red", "gone": "red", "moved": "yellow"}


class Screen:
    """The state of all crawls; fits itself into the room that there is."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or (console.height if console.is_terminal else 60)
        width = options.max_width
        head = Group(*self._crawls(width), *self._trouble(width))
        used = len(console.render_lines(head, options.update(height=None)))
        yield head
        room = height - used - 1
        hosts = min(len(self._state["hosts"]), _MOST_HOSTS, max(0, room // 3))
        if hosts and room > 8:
            yield _hosts(self._state["hosts"][:hosts])
            yield Text()
            room -= hosts + 3
        visits = self._state["visits"][: max(0, room - 3)]
        if visits:
            yield _visits(visits, self._state["now"], width, console.is_terminal)
        elif not self._state["visits"]:
            yield Text(self._no_visits(), style="dim")

    def _crawls(self, width: int) -> list[Any]:
        state = self._state
        if not state["spiders"]:
            return [Text("No spider has crawled with this database yet.")]
        parts: list[Any] = []
        for crawl in state["spiders"]:
            parts += [_heading(crawl, state, width), _gauges(crawl), _minute(crawl, width), Text()]
        return parts

    def _no_visits(self) -> str:
        statuses = {name for crawl in self._state["spiders"] for name, n in crawl["pages"].items() if n}
        if statuses <= {"new"}:
            return "No page has been visited yet."
        return f"None of the last {LOOKED_AT} visits in the database was one of these pages."

    def _trouble(self, width: int) -> list[Any]:
        hosts, now = self._state["hosts_in_backoff"], self._state["now"]
        if not hosts:
            return []
        named = ", ".join(f"{safe(each['host'])} ({relative(each['until'], now)})" for each in hosts)
        text = Text(f"{count(len(hosts), 'host')} in back-off: ", style="yellow").append(
            named, style="default"
        )
        text.truncate(width, overflow="ellipsis")
        return [text, Text()]


def _heading(crawl: dict[str, Any], state: dict[str, Any], width: int) -> Text:
    name = (safe(crawl["spider"]), "bold")
    if crawl["running"]:
        since = f" for {duration(state['now'] - crawl['started_at'])}" if crawl["started_at"] else ""
        line = Text.assemble(name, ": ", ("running", "green"), since)
    else:
        line = Text.assemble(name, ": ", ("not running", "yellow"))
    if crawl["updated_at"] is not None:
        line.append(f", wrote {relative(crawl['updated_at'], state['now'])}")
    line.append(f"  {clipped(safe(state['database']), max(20, width // 2))}", style="dim")
    line.truncate(width, overflow="ellipsis")
    return line


def _gauges(crawl: dict[str, Any]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=9)
    grid.add_column(no_wrap=True, min_width=_BAR)
    grid.add_column(overflow="ellipsis", no_wrap=True)
    used, budget = crawl["budget_used"], crawl["budget_per_second"]
    grid.add_row(
        "budget",
        _bar(used),
        f"{share(used)} of {rate(budget)}: {number(crawl['fetches_per_second'])} fetches a second"
        if budget
        else NOTHING,
    )
    fresh, uniform = crawl["freshness"], crawl["uniform_freshness"]
    words = f"{share(fresh[-1])} expected" if fresh else "told after the first minute"
    if fresh and uniform is not None:
        words += f", {share(uniform)} page by page in turn"
    grid.add_row("freshness", _bar(fresh[-1] if fresh else None), words)
    if len(fresh) > 1:
        grid.add_row("last hour", sparkline(fresh, _BAR), f"{share(min(fresh))} to {share(max(fresh))}")
    pages = crawl["pages"]
    by_status = [f"{pages[name]:,} {name}" for name in pages if pages[name]]
    price = f"a visit has to be worth {number(crawl['price'])}" if crawl["price"] else ""
    grid.add_row("pages", f"{sum(pages.values()):,}", ", ".join(by_status) or "none known yet")
    grid.add_row("policy", crawl["policy"] or NOTHING, price)
    return grid


def _minute(crawl: dict[str, Any], width: int) -> Text:
    """What the last minute brought, on a line."""
    line = Text("last minute  ", style="dim")
    for outcome, visits in crawl["visits"].items():
        if visits:
            style = _STYLES.get(outcome, "default")
            line.append(f"{visits:,} {outcome.replace('_', ' ')}", style=style).append("  ", style="default")
    others = {kind: n for kind, n in crawl["fetches"].items() if n and kind != "page"}
    if others:
        line.append("| " + "  ".join(f"{n:,} {safe(kind)}" for kind, n in others.items()), style="default")
    if not any(crawl["visits"].values()) and not others:
        line.append("nothing", style="default")
    line.truncate(width, overflow="ellipsis")
    return line


def _hosts(hosts: list[dict[str, Any]]) -> Table:
    table = new_table("host", ">visits lately", ">new or changed", ">failed", ">latency")
    for host in hosts:
        latency = host["latency_seconds"]
        table.add_row(
            clipped(safe(host["host"]), 40),
            f"{host['visits']:,}",
            share(host["changed"] / host["visits"]),
            Text(f"{host['failed']:,}", style="red" if host["failed"] else ""),
            NOTHING if latency is None else duration(latency),
        )
    return table


def _visits(visits: Sequence[dict[str, Any]], now: float, width: int, is_terminal: bool) -> Table:
    table = new_table("latest visits", "outcome", ">HTTP", ">moved", "URL", expand=is_terminal)
    table.columns[-1].ratio = 1
    for column in table.columns:
        column.no_wrap, column.overflow = True, "ellipsis"
    for visit in visits:
        moved = NOTHING if visit["divergence"] is None else share(visit["divergence"])
        table.add_row(
            relative(visit["at"], now),
            Text(visit["outcome"].replace("_", " "), style=_STYLES.get(visit["outcome"], "")),
            str(visit["http_status"] or NOTHING),
            moved,
            clipped(safe(visit["url"]), max(20, width - 40)),
        )
    return table


def _bar(value: float | None) -> Text:
    filled = 0 if value is None else round(_BAR * min(max(value, 0.0), 1.0))
    return Text("█" * filled, style="cyan").append("░" * (_BAR - filled), style="dim")


def sparkline(values: Sequence[float], width: int) -> str:
    """A curve of one line, from the least to the largest value.

    >>> sparkline([0.1, 0.2, 0.3, 0.4], 2), sparkline([0.5, 0.5], 9)
    ('▁█', '▁▁')
    """
    step = max(1, -(-len(values) // width))
    means = [sum(part) / len(part) for part in (values[i : i + step] for i in range(0, len(values), step))]
    least, most = min(means), max(means)
    scale = (len(_LEVELS) - 1) / (most - least) if most > least else 0.0
    return "".join(_LEVELS[round((mean - least) * scale)] for mean in means)
