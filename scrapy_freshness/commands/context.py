"""What a subcommand works with: the settings, the time, the database, and where its output goes."""

import argparse
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Self

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from scrapy.settings import BaseSettings
from scrapy.utils.conf import arglist_to_dict

from scrapy_freshness.clock import Clock, SystemClock
from scrapy_freshness.config import PREFIX, Config
from scrapy_freshness.errors import InputError, LockedError
from scrapy_freshness.insight.human import clipped
from scrapy_freshness.storage.store import Store
from scrapy_freshness.units import whole

#: Columns of output that does not go to a terminal.
PIPE_WIDTH = 160
#: Text is not set wider than this.
TEXT_WIDTH = 100
#: Rows that can be asked for; databases take no number that is much larger.
_MOST_SHOWN = 10**9
#: Work that takes longer shows a bar.
PATIENCE_SECONDS = 2.0


class Context:
    """Settings, clock and output of one run of a subcommand."""

    def __init__(
        self, settings: BaseSettings, *, clock: Clock, as_json: bool = False, console: Console | None = None
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.as_json = as_json
        self.console = console or new_console()

    @classmethod
    def of(cls, settings: BaseSettings, options: argparse.Namespace, clock: Clock | None = None) -> Self:
        """The context for the settings of Scrapy and the common options of the command line."""
        settings = settings.copy()
        settings.setdict(arglist_to_dict(options.set), priority="cmdline")
        if options.database is not None:
            settings.set(f"{PREFIX}DATABASE_URL", options.database, priority="cmdline")
        return cls(settings, clock=clock or SystemClock(), as_json=options.json)

    @cached_property
    def config(self) -> Config:
        """All settings, validated."""
        return Config.from_settings(self.settings)

    def store(self) -> Store:
        """The database, for reading; to be used with `with`."""
        return Store.open_readonly(self.config.database_url)

    def store_beside_crawls(self) -> Store:
        """The database, which must exist, for writing a little at a time while crawls go on; for `with`."""
        return Store.open(self.config.database_url, create=False)

    @contextmanager
    def store_without_crawls(self) -> Iterator[Store]:
        """The database, which must exist, for writing; no crawl may be using it, and none can begin to."""
        with Store.open(self.config.database_url, create=False) as store:
            try:
                store.lock()
            except LockedError as error:
                raise LockedError(f"a crawl is using database {store.database}: stop it first") from error
            yield store

    def print(self, content: object = "", style: str | None = None) -> None:
        """Print a table, or text as it is, set in lines: nothing in it is taken for markup."""
        is_text = isinstance(content, str | Text)
        self._print(content, style=style, width=min(self.console.width, TEXT_WIDTH) if is_text else None)

    def say(self, line: str | Text, style: str | None = None) -> None:
        """Print one line, however long: URLs and names of files in it stay whole."""
        self._print(line, style=style, soft_wrap=True)

    def _print(self, content: object, **options: Any) -> None:
        if self.console.is_terminal:
            self.console.print(content, **options)
            return
        with self.console.capture() as captured:
            self.console.print(content, **options)
        sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())

    def print_json(self, value: object) -> None:
        """Print a value for programs; only ASCII, and null for numbers that JSON does not have."""
        sys.stdout.write(json.dumps(plain(value), indent=2, allow_nan=False) + "\n")

    @contextmanager
    def progress(self, task: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show a bar on the terminal once the block takes long; the block is given what moves it on."""
        console = new_console(stderr=True)
        if not console.is_interactive:
            yield lambda steps: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=console, transient=True)
        task_id = bar.add_task(task, total=total)
        timer = threading.Timer(PATIENCE_SECONDS, bar.start)
        timer.start()
        try:
            yield lambda steps: bar.advance(task_id, steps)
        finally:
            timer.cancel()
            timer.join()
            bar.stop()


def require_host(store: Store, host: str | None) -> None:
    """Refuse a host that nobody has met."""
    if host is not None and not store.has_host(host):
        raise InputError(f"no host {host} is known")


def require_spider(store: Store, spider: str | None) -> None:
    """Refuse a spider that has never crawled with the database."""
    known = store.spiders()
    if spider is not None and spider not in known:
        others = f", only {', '.join(known)}" if known else ""
        raise InputError(f"no spider {spider} is known{others}")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # not the exit that rich would make


def new_console(*, stderr: bool = False) -> Console:
    """A console that takes nothing in a text for markup, and is wide enough when nobody watches."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return _Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def print_rows(
    context: Context, columns: Sequence[str], rows: Iterable[Sequence[str]], *, width: int
) -> None:
    """Print a table that needs so much room; on a narrower terminal each row has two lines."""
    if context.console.width >= width:
        table = new_table(*columns)
        for row in rows:
            table.add_row(*row)
        context.print(table)
        return
    context.print(" · ".join(name.removeprefix(">") for name in columns[1:]), style="dim")
    for first, *others in rows:
        context.say(clipped(first, context.console.width), style="bold")
        context.print(Text("  " + " · ".join(others)))


def new_table(*columns: str, **options: Any) -> Table:
    """An empty table; columns whose name starts with ``>`` are right-justified."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        header_style="bold",
        **options,
    )
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name[:1] == ">" else "left")
    return table


def new_grid(rows: Mapping[str, str | Text]) -> Table:
    """Names and what they are, one a line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, value)
    return grid


def plain(value: Any) -> Any:
    """A value as JSON can hold it: NaN and infinity are None, and what it does not know is text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, str | int) else repr(value)


def whole_number(text: str) -> int:
    """How many of something, from the command line."""
    try:
        return whole(0, _MOST_SHOWN)(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be used: {error}") from None
