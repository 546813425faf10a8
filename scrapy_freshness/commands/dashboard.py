"""Web pages that show how the crawl does, and why: freshness and budget over
time, pages, hosts, sources of links and signals, other policies.

They only read the database, also while a crawl runs, unless --allow-actions
lets readers ask something of the crawl. Without --listen, only this machine
can see them. Whoever is to see them from elsewhere, also through a proxy, or to
act, needs the token; it is made and printed if none is given.
"""

import argparse
import importlib.util
import sys

from scrapy_freshness.commands.context import Context
from scrapy_freshness.errors import FreshnessError, InputError
from scrapy_freshness.insight.human import safe
from scrapy_freshness.units import endpoint, is_loopback

LISTEN = "127.0.0.1:8321"
#: Packages of the extra ``dashboard``, by the names that they are imported by.
_NEEDS = ("starlette", "uvicorn", "jinja2", "re2")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen", metavar="ADDRESS:PORT", default=LISTEN, help=f"where to be reached; default: {LISTEN}"
    )
    parser.add_argument(
        "--token",
        metavar="TOKEN",
        nargs="?",
        const="",
        help="ask for this token before anything is shown; without a value, for a new one",
    )
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="let readers ask the crawl to visit, pin or forget pages; they need the token",
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name by which it is reached through a proxy, with the token; may be given several times",
    )


def run(context: Context, options: argparse.Namespace) -> None:
    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise FreshnessError("the dashboard is not installed: pip install 'scrapy-freshness[dashboard]'")
    from scrapy_freshness.dashboard.app import new_app
    from scrapy_freshness.dashboard.security import Door, new_token
    from scrapy_freshness.dashboard.serving import serve

    host, port = _address(options.listen)
    token = options.token
    needs_token = options.allow_actions or options.allow_host or not is_loopback(host)
    if token == "" or (token is None and needs_token):
        token = new_token()
    door = Door(host=host, token=token, other_hosts=options.allow_host)

    def ready(url: str) -> None:
        shown = f"{url}?token={token}" if token is not None and options.token != token else url
        sys.stdout.write(
            f"The dashboard of {safe(str(store.database))} is at {shown}\nPress Ctrl-C to end it.\n"
        )
        sys.stdout.flush()

    with context.store() as store:
        open_store = context.store_beside_crawls if options.allow_actions else None
        serve(new_app(store, context.config, context.clock, door, open_store), host, port, ready)


def _address(text: str) -> tuple[str, int]:
    try:
        address = endpoint(text)
    except ValueError:
        address = None
    if address is None:
        raise InputError(f"--listen must not be {text!r}: write an address and a port, such as {LISTEN}")
    return address
