"""Reference of all settings: name, default, meaning, and the present value
where it is another.

The present values are those of the project and of -s; the `custom_settings` of
a spider are not looked at.
"""

import argparse
import json
import sys
from typing import Any

from rich.padding import Padding
from rich.text import Text

from scrapy_freshness.commands.context import Context
from scrapy_freshness.config import PREFIX, Config, reference, unknown_settings
from scrapy_freshness.errors import StorageError
from scrapy_freshness.insight.human import safe
from scrapy_freshness.storage.database import Database

_INTRODUCTION = """\
# Settings

All settings of scrapy-freshness, as `scrapy freshness settings --markdown` prints them. They are ordinary
Scrapy settings: write them in `settings.py`, in the `custom_settings` of a spider, or after `-s`. Rates are
written like `"2/s"`, `"5000/h"` or `"100000/day"`, durations like `"30s"`, `"10min"`, `"2h"` or `"7d"`, sizes
like `"500kB"` or `"2MB"`. A value that cannot be used stops the crawl at its start.

| Setting | Default | Meaning |
|---|---|---|
"""


#: A vertical bar inside a table.
BAR = "\\|"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--markdown", action="store_true", help="print the reference as Markdown")


def run(context: Context, options: argparse.Namespace) -> None:
    if options.markdown:
        sys.stdout.write(markdown())
        return
    settings = [
        {"name": name, "default": default, "value": _present(context, name, default), "help": meaning}
        for name, default, meaning in reference()
    ]
    unknown = unknown_settings(list(context.settings))
    if context.as_json:
        context.print_json({"settings": settings, "unknown": unknown})
    else:
        for setting in settings:
            context.print(_title(setting["name"], setting["default"], setting["value"]))
            context.print(Padding(setting["help"], (0, 0, 1, 4)))
        for name in unknown:
            context.say(f"{safe(name)} is not a setting of scrapy-freshness; misspelt?", style="yellow")
    # Told at the end, below the reference, if a value cannot be used.
    Config.from_settings(context.settings)


def markdown() -> str:
    """The reference as a page of documentation."""
    lines = [
        f"| `{name}` | `{_written(default).replace('|', BAR)}` | {meaning} |"
        for name, default, meaning in reference()
    ]
    return _INTRODUCTION + "\n".join(lines) + "\n"


def _present(context: Context, name: str, default: Any) -> Any:
    value = context.settings.get(name)
    if value is None:
        return default
    if name == f"{PREFIX}DATABASE_URL" and value != default:
        return _without_password(str(value))
    return value


def _without_password(url: str) -> str:
    try:
        database = Database(url)
    except StorageError:
        return "(cannot be read)"
    return url if database.is_sqlite else str(database)


def _title(name: str, default: Any, value: Any) -> Text:
    if value == default:
        return Text.assemble((name, "bold"), f" = {_written(default)}")
    present = (safe(_written(value)), "green")
    return Text.assemble((name, "bold"), " = ", present, f"  (default: {_written(default)})")


def _written(value: Any) -> str:
    """A value as in settings.py."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
