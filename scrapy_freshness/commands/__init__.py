"""`scrapy freshness ...`: what a person sees of a crawl.

Each subcommand is a module of this package with a docstring (its help), `add_options(parser)` and
`run(context, options)`; only the module of the subcommand that is run is imported, because Scrapy
imports this one for every command of its own.
"""

import argparse
import importlib
import keyword
import os
import sys
from typing import Any, NoReturn

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_freshness.errors import ConfigError, FreshnessError, InputError, TraceError
from scrapy_freshness.insight.human import clipped, safe

#: Subcommand -> one line of help; the module has the same name, see `module_of`.
SUBCOMMANDS = {
    "status": "how the crawl is doing",
    "top": "crawls live in the terminal",
    "pages": "known pages, filtered and sorted",
    "show": "everything known about one page",
    "why": "why a page is visited when it is",
    "sources": "hubs that are polled for new links, and why",
    "queries": "what searchers ask for, and what they may miss",
    "search": "search the crawled copy",
    "signals": "sitemaps, feeds and pings, and how true they were",
    "dashboard": "web pages that show how the crawl does, and why",
    "settings": "reference of all settings",
    "import": "take over clicks, importances and queries from files",
    "db": "upgrade or check the database, rename a spider in it",
    "visit": "ask for a visit of a page now",
    "pin": "visit a page at a fixed interval",
    "forget": "remove a page or a host",
    "export": "write all pages as JSON Lines or CSV",
    "replay": "try policies on recorded histories",
    "simulate": "try policies on artificial webs",
}

#: Letters of a file's name that are shown.
_SHOWN_NAME = 120

#: Exit code after Ctrl-C, as shells have it.
INTERRUPTED = 130


class FreshnessCommand(ScrapyCommand):
    """Finds the subcommand and lets it parse its own options."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return f"{{{','.join(SUBCOMMANDS)}}} ..."

    def short_desc(self) -> str:
        return "Look after a crawl that keeps itself fresh"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        lines = [f"  {name:<10} {help_}" for name, help_ in SUBCOMMANDS.items()]
        parser.epilog = "\n".join(
            ["subcommands:", *lines, "", "`scrapy freshness SUBCOMMAND -h` tells more about one."]
        )
        _add_common_options(parser, default=None)
        parser.add_argument("subcommand", nargs="?", choices=SUBCOMMANDS, metavar="SUBCOMMAND")
        parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.subcommand is None:
            raise UsageError("name a subcommand: " + ", ".join(SUBCOMMANDS), print_help=False)
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}", print_help=False)
        try:
            module = module_of(opts.subcommand)
            options = parse(module, opts.subcommand, opts.rest, opts)
            self.exitcode = run_subcommand(module, self.settings, options)
        except KeyboardInterrupt:
            self.exitcode = INTERRUPTED


def module_of(subcommand: str) -> Any:
    """The module of a subcommand; a name that is a keyword of Python has an underscore more there."""
    name = f"{subcommand}_" if keyword.iskeyword(subcommand) else subcommand
    return importlib.import_module(f"scrapy_freshness.commands.{name}")


class _Parser(argparse.ArgumentParser):
    """Tells a mistake in one line, as all commands do."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"scrapy freshness: {safe(message)} (see `{self.prog} -h`)\n")


def parse(
    module: Any, name: str, arguments: list[str], before: argparse.Namespace | None = None
) -> argparse.Namespace:
    """The options of a subcommand; common ones may have been given *before* its name."""
    parser = _Parser(
        prog=f"scrapy freshness {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_common_options(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="override a setting"
    )
    module.add_options(parser)
    known = argparse.Namespace(
        database=before.database if before else None, json=bool(before and before.json)
    )
    options = parser.parse_intermixed_args(arguments, known)
    if not all("=" in override for override in options.set):
        parser.error("invalid -s value, use -s NAME=VALUE")
    return options


def run_subcommand(module: Any, settings: Any, options: argparse.Namespace, clock: Any = None) -> int:
    """Run a subcommand; an error that is no bug becomes one line and exit code 1 (2 for bad input)."""
    from scrapy_freshness.commands.context import Context

    try:
        exit_code = int(module.run(Context.of(settings, options, clock), options) or 0)
        sys.stdout.flush()
    except FreshnessError as error:
        sys.stderr.write(f"scrapy freshness: {safe(str(error))}\n")
        return 2 if isinstance(error, InputError | ConfigError | TraceError) else 1
    except BrokenPipeError:
        # The reader has seen enough; what is still buffered would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # What nobody who knows more has put into words: a name that no file can have, or a full disk.
        name = clipped(safe(str(error.filename)), _SHOWN_NAME) + ": " if error.filename else ""
        sys.stderr.write(f"scrapy freshness: {name}{safe(error.strerror or str(error))}\n")
        return 2 if name else 1
    return exit_code


def _add_common_options(parser: argparse.ArgumentParser, default: Any) -> None:
    parser.add_argument(
        "--database", metavar="URL", default=default, help="database to use instead of FRESHNESS_DATABASE_URL"
    )
    parser.add_argument("--json", action="store_true", default=default, help="print JSON, for programs")
