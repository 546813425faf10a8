"""Pin the interval at which some pages are visited, or let them loose again.

A pinned page is visited when its interval is over, before everything else and
not earlier, whatever the policy thinks of it. What pinned pages take of the
budget is missing to the others. Back-off after failures comes first.
"""

import argparse

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.wished import pages_meant, print_wish
from scrapy_freshness.insight.pinning import pin_interval
from scrapy_freshness.storage.wishes import pin


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", metavar="URL", nargs="+")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--every", metavar="TIME", help='time between two visits, like "1h"')
    how.add_argument("--off", action="store_true", help="by their value again")


def run(context: Context, options: argparse.Namespace) -> None:
    seconds = None if options.off else pin_interval("--every", options.every, context.config)
    with context.store_beside_crawls() as store:
        pages = pages_meant(store, options.urls)
        pin(store, [page.page_id for page in pages], seconds, context.clock.now())
        how = "visited by their value again" if seconds is None else f"visited every {options.every}"
        print_wish(context, store, pages, how, seconds=seconds)
