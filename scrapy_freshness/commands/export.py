"""Write all pages, or all visits that are kept, as JSON Lines or CSV, to a
file or the standard output.

The columns are those of the SQL views v_pages and v_visits; pages also get the
value of a visit now, the expected freshness of the copy and the time of the
next expected visit. Times are unix seconds.
"""

import argparse
import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

from scrapy.exceptions import UsageError

from scrapy_freshness.commands.context import Context, plain
from scrapy_freshness.commands.human import count, safe
from scrapy_freshness.commands.outlook import Terms
from scrapy_freshness.commands.rows import Row, assess
from scrapy_freshness.errors import FreshnessError
from scrapy_freshness.storage.page_reports import count_pages, view_rows
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.views import VIEWS

#: Rows in memory at a time.
CHUNK = 5_000
PAGE_COLUMNS = (*VIEWS["v_pages"], "value", "freshness", "next_visit_at")
VISIT_COLUMNS = tuple(VIEWS["v_visits"])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("jsonl", "csv"), help="default: csv if FILE ends so, else jsonl")
    parser.add_argument("--output", metavar="FILE", help="write to this file; replaces it when complete")
    parser.add_argument("--visits", action="store_true", help="the log of visits instead of pages")


def run(context: Context, options: argparse.Namespace) -> None:
    columns = VISIT_COLUMNS if options.visits else PAGE_COLUMNS
    n_rows = 0
    with context.store() as store, _opened(options.output) as file:
        write = _writer(file, _format(context, options), columns)
        total = None if options.visits else count_pages(store)
        with context.progress("Exporting", total) as advance:
            for rows in _chunks(store, "v_visits") if options.visits else _pages(context, store):
                write(rows)
                n_rows += len(rows)
                advance(len(rows))
    if options.output:
        written = count(n_rows, "visit" if options.visits else "page")
        sys.stderr.write(f"Wrote {written} to {safe(options.output)}.\n")


def _pages(context: Context, store: Store) -> Iterator[list[Row]]:
    now = context.clock.now()
    terms_of = cache(partial(Terms.of, store, context.config))
    for rows in _chunks(store, "v_pages"):
        assess(rows, terms_of, now)
        yield rows


def _chunks(store: Store, view: str) -> Iterator[list[Row]]:
    """The rows of a view in the order of their ids, which are its first column."""
    key = next(iter(VIEWS[view]))
    after = 0
    while rows := view_rows(store, view, after, CHUNK):
        yield rows
        after = rows[-1][key]


def _format(context: Context, options: argparse.Namespace) -> str:
    if context.as_json and options.format == "csv":
        raise UsageError("--json and --format csv exclude each other", print_help=False)
    if options.format or context.as_json:
        return options.format or "jsonl"
    return "csv" if str(options.output).lower().endswith(".csv") else "jsonl"


def _writer(file: TextIO, format_: str, columns: tuple[str, ...]) -> Callable[[list[Row]], None]:
    """A function that writes rows to a file."""

    def write_lines(rows: list[Row]) -> None:
        for row in rows:
            chosen = {name: plain(row[name]) for name in columns}
            file.write(json.dumps(chosen, separators=(",", ":")) + "\n")

    if format_ == "jsonl":
        return write_lines
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    shown = _on_terminal if file.isatty() else plain

    def write_records(rows: list[Row]) -> None:
        writer.writerows([shown(row[name]) for name in columns] for row in rows)

    return write_records


def _on_terminal(value: Any) -> Any:
    return safe(value) if isinstance(value, str) else plain(value)


@contextmanager
def _opened(name: str | None) -> Iterator[TextIO]:
    """The file to write to; a file is replaced once all is written, so that it is never half of an export."""
    if name is None:
        yield sys.stdout
        return
    target = Path(name)
    is_special = target.exists() and not target.is_file()  # a pipe, a device
    growing = target if is_special else target.with_name(f"{target.name}.part")
    try:
        with growing.open("w", encoding="utf-8", newline="") as file:
            yield file
        if growing != target:
            growing.replace(target)
    except OSError as error:
        raise FreshnessError(f"{name} cannot be written: {error.strerror}") from error
    finally:
        if growing != target:
            growing.unlink(missing_ok=True)
