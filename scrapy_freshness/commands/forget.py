"""Remove a page or a host with everything that is known about it.

What contains :// is a URL, anything else a host, as `scrapy freshness pages`
names it. A spider that yields the page again discovers it anew. Says what it
would remove and asks first. A crawl that runs removes them itself, within
seconds.
"""

import argparse
import sys

from scrapy_freshness.commands.context import Context, require_host
from scrapy_freshness.commands.lookup import pages_of
from scrapy_freshness.errors import FreshnessError, LockedError
from scrapy_freshness.insight.human import count, safe
from scrapy_freshness.storage.page_reports import PageFilter, PageReport, count_pages
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.wishes import ask_to_forget, ask_to_forget_host


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="URL|HOST")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(context: Context, options: argparse.Namespace) -> int:
    with context.store_beside_crawls() as store:
        pages: list[PageReport] = []
        if "://" in options.what:
            pages = pages_of(store, options.what)
        n_pages = len(pages) or _pages_of_host(store, options.what)
        urls = sorted({page.url for page in pages})
        what = f"{count(n_pages, 'page')} of {safe(' and '.join(urls) or f'host {options.what}')}"
        if not options.yes and not _agreed(f"Forget {what} with all visits?"):
            context.say("Nothing was removed.")
            return 1
        try:
            store.lock()
        except LockedError:
            is_done = False
            _ask_crawls(store, options.what, pages, context.clock.now())
        else:
            is_done = True
            n_pages = sum(store.forget(url=url) for url in urls) if urls else store.forget(host=options.what)
    if context.as_json:
        host = None if urls else options.what
        context.print_json({"urls": urls, "host": host, "pages": n_pages, "done": is_done})
    elif is_done:
        context.say(f"Forgot {what}.")
    else:
        context.say(f"The crawl is told to forget {what}.")
    return 0


def _ask_crawls(store: Store, what: str, pages: list[PageReport], now: float) -> None:
    if pages:
        ask_to_forget(store, [page.page_id for page in pages], now)
    else:
        ask_to_forget_host(store, what, now)


def _pages_of_host(store: Store, host: str) -> int:
    require_host(store, host)
    return count_pages(store, PageFilter(host=host))


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise FreshnessError("there is nobody to ask: add --yes to remove it")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
