"""Remove a page or a host with everything that is known about it.

What contains :// is a URL, anything else a host, as `scrapy freshness pages`
names it. A spider that yields the page again discovers it anew. Says what it
would remove and asks first.
"""

import argparse
import sys

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.lookup import pages_of
from scrapy_freshness.errors import FreshnessError
from scrapy_freshness.insight.human import count, safe
from scrapy_freshness.storage.page_reports import PageFilter, count_pages
from scrapy_freshness.storage.store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="URL|HOST")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(context: Context, options: argparse.Namespace) -> int:
    with context.store_without_crawls() as store:
        urls: list[str] = []
        if "://" in options.what:
            pages = pages_of(store, options.what)
            urls, n_pages = sorted({page.url for page in pages}), len(pages)
        else:
            n_pages = _pages_of_host(store, options.what)
        what = f"{count(n_pages, 'page')} of {safe(' and '.join(urls) or f'host {options.what}')}"
        if not options.yes and not _agreed(f"Forget {what} with all visits?"):
            context.say("Nothing was removed.")
            return 1
        n_removed = sum(store.forget(url=url) for url in urls) if urls else store.forget(host=options.what)
    if context.as_json:
        context.print_json({"urls": urls, "host": None if urls else options.what, "pages": n_removed})
    else:
        context.say(f"Forgot {what}.")
    return 0


def _pages_of_host(store: Store, host: str) -> int:
    known = {record.host for record in store.load_hosts()}
    if host not in known:
        raise FreshnessError(f"no host {safe(host)} is known; `scrapy freshness pages` shows pages by host")
    return count_pages(store, PageFilter(host=host))


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise FreshnessError("there is nobody to ask: add --yes to remove it")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
