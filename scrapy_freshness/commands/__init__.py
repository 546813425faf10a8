"""`scrapy freshness ...`: what a person sees of a crawl.

Each subcommand is a module of this package with a docstring (its help), `add_options(parser)` and
`run(context, options)`; only the module of the subcommand that is run is imported, because Scrapy
imports this one for every command of its own.
"""

import argparse
import importlib
import sys
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_freshness.errors import FreshnessError

#: Subcommand -> one line of help; the module has the same name.
SUBCOMMANDS = {
    "status": "how the crawl is doing",
    "pages": "known pages, filtered and sorted",
    "show": "everything known about one page",
    "why": "why a page is visited when it is",
    "settings": "reference of all settings",
    "db": "upgrade, check or repair the database",
    "forget": "remove a page or a host",
    "export": "write all pages as JSON Lines or CSV",
}


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
        parser.add_argument("subcommand", nargs="?", choices=SUBCOMMANDS, metavar="SUBCOMMAND")
        parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.subcommand is None:
            raise UsageError("name a subcommand: " + ", ".join(SUBCOMMANDS), print_help=False)
        module = importlib.import_module(f"scrapy_freshness.commands.{opts.subcommand}")
        parser = argparse.ArgumentParser(
            prog=f"scrapy freshness {opts.subcommand}",
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_common_options(parser)
        module.add_options(parser)
        options = parser.parse_args(opts.rest)
        self.exitcode = run_subcommand(module, self.settings, options)


def run_subcommand(module: Any, settings: Any, options: argparse.Namespace) -> int:
    """Run a subcommand; an error it raises on purpose becomes one line and exit code 1."""
    from scrapy_freshness.commands.context import Context

    try:
        return int(module.run(Context.of(settings, options), options) or 0)
    except FreshnessError as error:
        print(f"scrapy freshness: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough
        return 0


def _add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", metavar="URL", help="database to use instead of FRESHNESS_DATABASE_URL")
    parser.add_argument(
        "-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="override a setting"
    )
