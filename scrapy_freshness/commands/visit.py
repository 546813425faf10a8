"""Ask the crawl for a visit of some pages now, before everything else.

A crawl that runs takes the wish within seconds; without one it waits for the
next. It costs a place of the budget, and a host in back-off is not asked
earlier. `scrapy freshness show URL` tells what came of it.
"""

import argparse

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.wished import pages_meant, print_wish
from scrapy_freshness.storage.wishes import ask_for_visits


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", metavar="URL", nargs="+")


def run(context: Context, options: argparse.Namespace) -> None:
    with context.store_beside_crawls() as store:
        pages = pages_meant(store, options.urls)
        ask_for_visits(store, [page.page_id for page in pages], context.clock.now())
        print_wish(context, store, pages, "visited")
