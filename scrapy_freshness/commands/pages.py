"""Known pages with what is believed of them: change rate, value of a visit
now, next expected visit.

The change rate is shown as the time between two changes, with its 90 %
interval. A page is visited when its value reaches the price of a visit;
`scrapy freshness why URL` tells more.
"""

import argparse
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from scrapy_freshness.commands.context import Context, new_table, require_host, require_spider, whole_number
from scrapy_freshness.insight.human import clipped, count, every, expected, number, relative, safe
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.insight.rows import Row, assess, is_assumed, row_of
from scrapy_freshness.model import PageStatus
from scrapy_freshness.storage.page_reports import ANY_PAGE, PageFilter, count_pages, page_ids, pages
from scrapy_freshness.storage.store import Store

#: --sort -> column of the database, and whether the largest comes first.
STORED_ORDERS = {
    "url": ("url", False),
    "host": ("host", False),
    "status": ("status", False),
    "last_visit": ("last_visit_at", True),
    "last_change": ("last_change_at", True),
    "discovered": ("discovered_at", True),
    "change_rate": ("change_rate", True),
    "importance": ("importance", True),
    "visits": ("visits", True),
    "changes": ("changes", True),
    "failures": ("failures", True),
}
#: --sort by what is computed: the most valuable first, the soonest first.
COMPUTED_ORDERS = ("value", "next_visit")
ORDERS = (*STORED_ORDERS, *COMPUTED_ORDERS)

#: The table needs so much room; on a narrower terminal each page gets two lines.
_TABLE_WIDTH = 120
_COLUMNS = ("status", "kind", "last visit", "changes", "visits/changes", "value", "next visit")
_STYLES = {"new": "cyan", "gone": "red", "suspended": "yellow", "moved": "dim"}


def add_options(parser: argparse.ArgumentParser) -> None:
    statuses = [status.name.lower() for status in PageStatus]
    parser.add_argument("--spider", metavar="NAME", help="only pages of this spider")
    parser.add_argument("--host", metavar="HOST", help="only pages of this host")
    parser.add_argument(
        "--status", choices=statuses, metavar="STATUS", help=f"only pages that are {', '.join(statuses)}"
    )
    parser.add_argument("--url", metavar="TEXT", help="only URLs that contain this text")
    parser.add_argument(
        "--sort", choices=ORDERS, metavar="BY", default="url", help=f"{', '.join(ORDERS)}; default: url"
    )
    parser.add_argument("--reverse", action="store_true", help="turn the order around")
    parser.add_argument("--limit", type=whole_number, metavar="N", default=20, help="at most N; default: 20")
    parser.add_argument("--offset", type=whole_number, metavar="N", default=0, help="leave out the first N")


def run(context: Context, options: argparse.Namespace) -> None:
    now = context.clock.now()
    which = PageFilter(
        spider=options.spider,
        host=options.host,
        status=PageStatus[options.status.upper()] if options.status else None,
        url_contains=options.url,
    )
    with context.store() as store, context.progress("Reading pages"):
        require_spider(store, options.spider)
        require_host(store, options.host)
        terms_of = cache(partial(Terms.of, store, context.config))
        total = count_pages(store, which)
        if options.sort in COMPUTED_ORDERS:
            rows = _best(store, which, terms_of, options, now)
        else:
            column, largest_first = STORED_ORDERS[options.sort]
            descending = largest_first is not options.reverse
            window = {"limit": options.limit, "offset": options.offset}
            found = pages(store, which, order=column, descending=descending, **window)
            rows = [row_of(page, page.spider) for page in found]
        assess(store, rows, terms_of, now)
    if context.as_json:
        context.print_json({"total": total, "pages": rows})
    else:
        _print(context, rows, total, options.offset, now)


def _best(
    store: Store, which: PageFilter, terms_of: Callable[[str], Terms], options: argparse.Namespace, now: float
) -> list[Row]:
    """The pages of the window in an order that is computed; those that have no place in it come last."""
    wanted = None if which == ANY_PAGE else np.array(page_ids(store, which), np.int64)
    spiders = store.spiders()
    parts: list[tuple[NDArray[Any], ...]] = []
    for spider in spiders:
        columns = store.load_pages(spider)
        outlook = Outlook(terms_of(spider), columns, now)
        order_by = by_value = -outlook.values()
        if options.sort == "next_visit":
            order_by = np.maximum(outlook.next_visits(), now)
            order_by[np.isinf(order_by)] = np.nan
        owner = np.full(len(order_by), len(parts))
        chosen = slice(None) if wanted is None else np.isin(columns.page_id, wanted)
        parts.append(tuple(column[chosen] for column in (columns.page_id, order_by, by_value, owner)))
    if not parts:
        return []
    ids, order_by, by_value, owners = (np.concatenate(column) for column in zip(*parts, strict=True))
    # Pages that are due at once go by value; nan comes last either way.
    order = np.lexsort((ids, by_value, -order_by if options.reverse else order_by))
    window = order[options.offset : options.offset + options.limit]
    records = {record.page_id: record for record in store.load_records(ids[window].tolist())}
    found = zip(ids[window].tolist(), owners[window].tolist(), strict=True)
    return [row_of(records[page_id], spiders[owner]) for page_id, owner in found if page_id in records]


def _print(context: Context, rows: list[Row], total: int, offset: int, now: float) -> None:
    if not rows:
        context.print("No such pages." if total == 0 else f"There are only {count(total, 'page')}.")
        return
    if context.console.width >= _TABLE_WIDTH:
        context.print(_table(rows, now))
    else:
        context.print(" · ".join(_COLUMNS), style="dim")
        for row in rows:
            context.say(clipped(safe(row["url"]), context.console.width), style="bold")
            context.print(Text("  ").append_text(Text(" · ").join(map(Text, _cells(row, now)))))
    if len(rows) < total:
        context.print(f"\n{offset + 1:,}–{offset + len(rows):,} of {count(total, 'page')}", style="dim")


def _table(rows: list[Row], now: float) -> Table:
    has_spiders = len({row["spider"] for row in rows}) > 1
    table = new_table("URL", *_COLUMNS)
    table.columns[0].ratio = 1
    table.columns[0].overflow = "ellipsis"
    for column in table.columns:
        column.no_wrap = True
    if has_spiders:
        table.add_column("spider", no_wrap=True)
    for row in rows:
        spider = [clipped(safe(row["spider"]), 20)] if has_spiders else []
        table.add_row(safe(row["url"]), *_cells(row, now), *spider, style=_STYLES.get(row["status"]))
    return table


def _cells(row: Row, now: float) -> tuple[str, ...]:
    """What `_COLUMNS` name."""
    return (
        row["status"],
        row["kind"],
        relative(row["last_visit_at"], now),
        every(
            row["change_rate"], row["change_rate_low"], row["change_rate_high"], is_assumed=is_assumed(row)
        ),
        f"{row['visits']:,}/{row['changes']:,}",
        number(row["value"]),
        expected(row["next_visit_at"], now) + (" (pinned)" if row["pinned_seconds"] is not None else ""),
    )
