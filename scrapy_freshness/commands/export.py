"""Write all pages, or all visits that are kept, as JSON Lines or CSV (with
--json as a single JSON array), to a file or the standard output.

The columns are those of the SQL views v_pages and v_visits; pages also get the
value of a visit now, the expected freshness of the copy and the time of the
next expected visit. Times are unix seconds.

--trace writes what the visits tell of the history of each page, in the format
of recorded histories (webtrace/1), so that policies can be tried on it. Texts
are not kept, so they are made up; they differ by as much as was measured.
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
from scrapy_freshness.errors import FreshnessError
from scrapy_freshness.insight.human import count, safe
from scrapy_freshness.insight.outlook import Terms
from scrapy_freshness.insight.rows import Row, assess
from scrapy_freshness.insight.visit_columns import VisitColumns
from scrapy_freshness.simulator.trace_encode import trace_lines
from scrapy_freshness.simulator.trace_io import trace_file
from scrapy_freshness.simulator.visit_trace import visit_versions
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
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--visits", action="store_true", help="the log of visits instead of pages")
    what.add_argument(
        "--trace",
        action="store_true",
        help="the history of each page; compressed if FILE ends in .gz or .zst",
    )


def run(context: Context, options: argparse.Namespace) -> None:
    format_ = _format(context, options)
    n_rows = 0
    write: Callable[[list[Row]], int]
    with context.store() as store, _opened(options.output, format_, is_trace=options.trace) as file:
        if options.trace:
            noun, total, chunks = "version", count_pages(store), _chunks(store, "v_pages")
            write = partial(_write_histories, file, _visits(context, store))
        elif options.visits:
            noun, total, chunks = "visit", None, _chunks(store, "v_visits")
            write = _writer(file, format_, VISIT_COLUMNS)
        else:
            noun, total, chunks = "page", count_pages(store), _pages(context, store)
            write = _writer(file, format_, PAGE_COLUMNS)
        with context.progress("Exporting", total) as advance:
            for rows in chunks:
                n_rows += write(rows)
                advance(len(rows))
    if options.output:
        sys.stderr.write(f"Wrote {count(n_rows, noun)} to {safe(options.output)}.\n")


def _pages(context: Context, store: Store) -> Iterator[list[Row]]:
    now = context.clock.now()
    terms_of = cache(partial(Terms.of, store, context.config))
    for rows in _chunks(store, "v_pages"):
        assess(store, rows, terms_of, now)
        yield rows


def _chunks(store: Store, view: str) -> Iterator[list[Row]]:
    """The rows of a view in the order of their ids, which are its first column."""
    key = next(iter(VIEWS[view]))
    after = 0
    while rows := view_rows(store, view, after, CHUNK):
        yield rows
        after = rows[-1][key]


def _format(context: Context, options: argparse.Namespace) -> str:
    if (context.as_json or options.trace) and options.format == "csv":
        other = "--trace" if options.trace else "--json"
        raise UsageError(f"{other} and --format csv exclude each other", print_help=False)
    if options.trace:
        return "jsonl"
    if options.format or context.as_json:
        return options.format or "json"
    return "csv" if str(options.output).lower().endswith(".csv") else "jsonl"


def _writer(file: TextIO, format_: str, columns: tuple[str, ...]) -> Callable[[list[Row]], int]:
    """A function that writes rows to a file and returns how many."""
    before, between, after = ("\n", ",\n", "") if format_ == "json" else ("", "", "\n")

    def write_objects(rows: list[Row]) -> int:
        nonlocal before
        for row in rows:
            chosen = {name: plain(row[name]) for name in columns}
            file.write(before + json.dumps(chosen, separators=(",", ":")) + after)
            before = between
        return len(rows)

    if format_ != "csv":
        return write_objects
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    shown = _on_terminal if file.isatty() else plain

    def write_records(rows: list[Row]) -> int:
        writer.writerows([shown(row[name]) for name in columns] for row in rows)
        return len(rows)

    return write_records


def _visits(context: Context, store: Store) -> VisitColumns:
    visits = VisitColumns()
    with context.progress("Reading visits"):
        for rows in _chunks(store, "v_visits"):
            visits.extend(rows)
    return visits


def _write_histories(file: TextIO, visits: VisitColumns, pages: list[Row]) -> int:
    """Write what the visits of pages tell of their histories; returns how many versions that are."""
    n_versions = 0
    for page in pages:
        name = f"{page['spider']}:{page['page_id']}"
        versions = visit_versions(name, page["url"], visits.of_page(page["page_id"]))
        for line in trace_lines(versions, only_ascii=True):
            file.write(line)
            n_versions += 1
    return n_versions


@contextmanager
def _array(file: TextIO, format_: str) -> Iterator[None]:
    """What JSON has around its objects, unless each has a line of its own."""
    file.write("[" if format_ == "json" else "")
    yield
    file.write("\n]\n" if format_ == "json" else "")


def _on_terminal(value: Any) -> Any:
    return safe(value) if isinstance(value, str) else plain(value)


@contextmanager
def _opened(name: str | None, format_: str, *, is_trace: bool) -> Iterator[TextIO]:
    """The file to write to; a file is replaced once all is written, so that it is never half of an export."""
    if name is None:
        with _array(sys.stdout, format_):
            yield sys.stdout
        return
    target = Path(name)
    is_special = target.exists() and not target.is_file()  # a pipe, a device
    growing = target if is_special else target.with_name(f"{target.name}.part")
    try:
        if is_trace:
            with trace_file(growing.open("wb"), name) as file:
                yield file
        else:
            with growing.open("w", encoding="utf-8", newline="") as file, _array(file, format_):
                yield file
        if growing != target:
            growing.replace(target)
    except OSError as error:
        raise FreshnessError(f"{name} cannot be written: {error.strerror}") from error
    finally:
        if growing != target:
            growing.unlink(missing_ok=True)
