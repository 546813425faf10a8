"""How all crawls are doing, for people: what `scrapy freshness status` prints."""

from typing import Any

from rich.table import Table
from rich.text import Text

from scrapy_freshness.commands.context import Context, new_grid, new_table
from scrapy_freshness.insight.human import (
    NOTHING,
    count,
    duration,
    number,
    rate,
    relative,
    safe,
    share,
    size,
)
from scrapy_freshness.model import Outcome
from scrapy_freshness.storage.reports import DAY_SECONDS

#: Hosts in back-off that are named; the others are counted.
_NAMED_HOSTS = 5


def print_status(context: Context, status: dict[str, Any]) -> None:
    """Print the status of every spider."""
    for spider in status["spiders"]:
        context.print(_heading(spider, status["now"]))
        context.print()
        context.print(new_grid(_facts(spider)))
        context.print()
        context.print(_activity(spider))
        started_at = spider["started_at"]
        if started_at is not None and 0 <= status["now"] - started_at < DAY_SECONDS:
            context.say(f"Of the budget: since the crawl started {relative(started_at, status['now'])}.")
        context.print()
    if not status["spiders"]:
        context.say("No spider has crawled with this database yet.")
    if hosts := status["hosts_in_backoff"]:
        named = [f"{safe(host['host'])} ({relative(host['until'], status['now'])})" for host in hosts]
        more = f" and {len(named) - _NAMED_HOSTS:,} more" if len(named) > _NAMED_HOSTS else ""
        context.say(f"{count(len(named), 'host')} in back-off: {', '.join(named[:_NAMED_HOSTS])}{more}")
    database = status["database"]
    context.say(f"Database {safe(database['name'])}, {size(database['bytes'])}", style="dim")


def _heading(spider: dict[str, Any], now: float) -> Text:
    state = Text("not running", style="yellow")
    if spider["running"]:
        state = Text("running", style="green")
        if spider["started_at"] is not None:
            state.append(f" for {duration(now - spider['started_at'])}")
    written = f", wrote {relative(spider['updated_at'], now)}"
    return Text.assemble((safe(spider["spider"]), "bold"), ": ", state, written)


def _facts(spider: dict[str, Any]) -> dict[str, str | Text]:
    pages = spider["pages"]
    n_pages = sum(pages.values())
    by_status = [f"{pages[status]:,} {status}" for status in pages if pages[status] and status != "new"]
    if pages["new"]:
        by_status.append(f"{pages['new']:,} never fetched ({share(spider['never_fetched_share'])})")
    fresh = Text(NOTHING)
    if spider["freshness"] is not None:
        fresh = Text(share(spider["freshness"]), style="bold").append(
            f" expected of the copies, which are {duration(spider['mean_age_seconds'])} old on average",
            style="not bold",
        )
    return {
        "Freshness": fresh,
        "Pages": f"{n_pages:,} known: {', '.join(by_status)}" if n_pages else "none known yet",
        "Policy": f"{spider['policy']} at {rate(spider['budget_per_second'])}; a visit has to be worth "
        f"{number(spider['price'])} now",
    }


def _activity(spider: dict[str, Any]) -> Table:
    spans = spider["fetches"]
    table = new_table("", *(f">last {span}" for span in spans))

    def add(name: str, of: str, parts: list[str], style: str | None = None) -> None:
        cells = [sum(spider[of][span].get(part, 0) for part in parts) for span in spans]
        if any(cells) or style:
            table.add_row(name, *(f"{cell:,}" for cell in cells), style=style)

    kinds = sorted(spans["day"], key=lambda kind: -spans["day"][kind])
    add("fetches", "fetches", kinds, style="bold")
    for kind in kinds:
        add(f"  {safe(kind)}", "fetches", [kind])
    table.add_row("  of the budget", *(share(used) for used in spider["budget_used"].values()), style="cyan")
    outcomes = [outcome.name.lower() for outcome in Outcome]
    add("visits of pages", "visits", outcomes, style="bold")
    for outcome in outcomes:
        add(f"  {outcome.replace('_', ' ')}", "visits", [outcome])
    return table
