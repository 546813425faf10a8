"""Look after the database.

upgrade        creates what is missing and brings the tables to this version
check          looks for damage; exit code 1 if there is any
adopt OLD NEW  gives the pages of a renamed spider to its new name
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_freshness.commands.context import Context, new_grid, require_spider
from scrapy_freshness.content.profiles import unpack
from scrapy_freshness.errors import InputError
from scrapy_freshness.estimation.history import observations
from scrapy_freshness.insight.human import clipped, count, safe, size
from scrapy_freshness.model import PageRecord
from scrapy_freshness.storage import inspection, page_reports
from scrapy_freshness.storage.database import Database
from scrapy_freshness.storage.page_reports import ANY_PAGE
from scrapy_freshness.storage.store import Store

#: Records that are in memory at a time.
_CHUNK = 1_000
#: Pages that cannot be read and are named.
_NAMED = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("upgrade", "check", "adopt"))
    parser.add_argument("spiders", nargs="*", metavar="OLD NEW", help="for adopt: names of the spider")


def run(context: Context, options: argparse.Namespace) -> int:
    if options.action is None:
        raise InputError("usage: scrapy freshness db {upgrade,check,adopt OLD NEW}")
    if options.action == "adopt":
        if len(options.spiders) != 2:
            raise UsageError("adopt takes two names: adopt OLD NEW", print_help=False)
        return _adopt(context, *options.spiders)
    if options.spiders:
        raise UsageError(f"{options.action} takes no names", print_help=False)
    return _upgrade(context) if options.action == "upgrade" else _check(context)


def _upgrade(context: Context) -> int:
    url = context.config.database_url
    before = inspection.revision(url)
    Store.open(url).close()
    after = inspection.revision(url)
    if context.as_json:
        context.print_json({"database": str(Database(url)), "from": before, "to": after})
    elif before is None:
        context.say(f"Created database {safe(str(Database(url)))} with schema {after}.")
    elif before == after:
        context.say(f"Database {safe(str(Database(url)))} has schema {after} already.")
    else:
        context.say(f"Upgraded database {safe(str(Database(url)))} from schema {before} to {after}.")
    return 0


def _adopt(context: Context, old: str, new: str) -> int:
    with context.store_without_crawls() as store:
        require_spider(store, old)
        n_pages = store.adopt(old, new)
    if context.as_json:
        context.print_json({"old": old, "new": new, "pages": n_pages})
    else:
        context.say(f"Spider {safe(new)} has the {count(n_pages, 'page')} of {safe(old)}.")
    return 0


def _check(context: Context) -> int:
    with context.store() as store:
        with context.progress("Checking the database"):
            integrity = inspection.integrity_errors(store)
            strays = inspection.strays(store)
        n_pages = {spider: store.page_count(spider) for spider in store.spiders()}
        with context.progress("Reading all pages", sum(n_pages.values())) as advance:
            unreadable = list(_unreadable_urls(store, advance))
        is_fine = not (integrity or any(strays.values()) or unreadable)
        found = {
            "database": str(store.database),
            "bytes": inspection.size_bytes(store),
            "revision": inspection.revision(context.config.database_url),
            "is_fine": is_fine,
            "pages": n_pages,
            "integrity": integrity,
            "strays": strays,
            "unreadable": len(unreadable),
            "unreadable_urls": unreadable[:_NAMED],
        }
    if context.as_json:
        context.print_json(found)
    else:
        _print(context, found)
    return 0 if is_fine else 1


def _unreadable_urls(store: Store, advance: Callable[[int], None]) -> Iterator[str]:
    """URLs of pages whose packed history or change profiles cannot be read."""
    ids = sorted(page_reports.page_ids(store, ANY_PAGE))
    for start in range(0, len(ids), _CHUNK):
        records = store.load_records(ids[start : start + _CHUNK])
        yield from (record.url for record in records if not _is_readable(record))
        advance(len(records))


def _is_readable(record: PageRecord) -> bool:
    try:
        observations(record.history)
        unpack(record.profiles)
    except ValueError:
        return False
    return True


def _print(context: Context, found: dict[str, Any]) -> None:
    pages = [f"{n_pages:,} of {safe(spider)}" for spider, n_pages in found["pages"].items()]
    context.print(
        new_grid(
            {
                "database": f"{safe(found['database'])}, {size(found['bytes'])}",
                "schema": found["revision"],
                "pages": ", ".join(pages) or "none",
            }
        )
    )
    troubles = [safe(line) for line in found["integrity"]]
    troubles += [f"{n_rows:,} {what}" for what, n_rows in found["strays"].items() if n_rows]
    if found["unreadable"]:
        named = ", ".join(clipped(safe(url), 100) for url in found["unreadable_urls"])
        troubles.append(
            f"history or profiles of {count(found['unreadable'], 'page')} cannot be read: {named}"
        )
    context.print()
    for trouble in troubles:
        context.say(trouble, style="red")
    if not troubles:
        context.say("All is well.", style="green")
