"""Everything that is known about one page: its record, its visits and what
they saw.

The URL may be written in any way that Scrapy takes for the same page. If
several spiders know the page, each one's is shown.
"""

import argparse
import json
from dataclasses import asdict
from functools import partial
from typing import Any

from scrapy_freshness.commands.context import Context, whole_number
from scrapy_freshness.commands.lookup import pages_of
from scrapy_freshness.commands.searchers_view import searchers_view
from scrapy_freshness.commands.sheet import print_page
from scrapy_freshness.content.profiles import unpack
from scrapy_freshness.estimation.history import observations
from scrapy_freshness.insight.clockwork import MOST_VISITS, hourly_changes
from scrapy_freshness.insight.outlook import Terms
from scrapy_freshness.insight.rows import Row, assess, row_of
from scrapy_freshness.model import HostRecord, PageRecord, VisitRecord
from scrapy_freshness.storage.page_reports import page_visits
from scrapy_freshness.storage.signal_reports import PageSignal, page_signals
from scrapy_freshness.storage.wishes import page_wishes

#: What stands in the place of passwords, tokens and sessions.
_HIDDEN = "***"
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL")
    parser.add_argument(
        "--visits",
        type=whole_number,
        metavar="N",
        default=20,
        help="show the last N visits and signals; default: 20",
    )


def run(context: Context, options: argparse.Namespace) -> None:
    now = context.clock.now()
    with context.store() as store:
        spiders = {page.page_id: page.spider for page in pages_of(store, options.url)}
        hosts = {record.host: record for record in store.load_hosts()}
        pages = []
        for record in sorted(store.load_records(spiders), key=lambda record: record.page_id):
            host = hosts.get(record.host, HostRecord(host=record.host))
            visits = page_visits(store, record.page_id, max(options.visits, MOST_VISITS))
            signals = page_signals(store, record.page_id, options.visits)
            page = everything(record, spiders[record.page_id], host, visits[: options.visits], signals)
            wishes = [
                {**asdict(wish), "kind": wish.kind.name.lower()}
                for wish in page_wishes(store, record.page_id, options.visits)
            ]
            noticed = searchers_view(store, context.config, record, spiders[record.page_id])
            known = {"hourly_changes": hourly_changes(visits), "wishes": wishes, "searchers": noticed}
            pages.append(page | known)
        assess(store, pages, partial(Terms.of, store, context.config), now)
    if context.as_json:
        context.print_json({"now": now, "pages": pages})
        return
    for page in pages:
        print_page(context, page, now)


def everything(
    record: PageRecord,
    spider: str,
    host: HostRecord,
    visits: list[VisitRecord],
    signals: list[PageSignal],
) -> Row:
    """All that is known about a page as plain values."""
    return row_of(record, spider) | {
        "beliefs": record.beliefs,
        "etag": record.etag,
        "last_modified": record.last_modified,
        "content_hash": record.content_hash,
        "body_hash": record.body_hash,
        "run_callback": record.run_callback,
        "request": _request(record.request),
        "host_blocked_until": host.blocked_until,
        "host_failures": host.failures,
        "host_audits": host.audits,
        "host_false_not_modified": host.false_not_modified,
        "history": _history(record.history),
        "profiles": _profiles(record.profiles),
        "log": [
            {
                "at": visit.at,
                "outcome": visit.outcome.name.lower(),
                "http_status": visit.http_status,
                "divergence": visit.divergence,
                "body_bytes": visit.body_bytes,
                "latency_seconds": visit.latency_seconds,
                "reason": visit.reason,
            }
            for visit in visits
        ],
        "signals": [{**asdict(signal), "source": signal.source.name.lower()} for signal in signals],
    }


def _request(text: str | None) -> dict[str, Any]:
    """What the request has beside its URL, without the secrets in its headers and cookies."""
    try:
        request = json.loads(text or "{}")
    except ValueError:
        request = None
    if not isinstance(request, dict):
        return {"unreadable": text}
    if isinstance(headers := request.get("headers"), dict):
        request["headers"] = {
            name: _HIDDEN if name.lower() in _SECRET_HEADERS else value for name, value in headers.items()
        }
    if "cookies" in request:
        request["cookies"] = _HIDDEN
    return request


def _history(packed: bytes) -> list[dict[str, Any]] | None:
    """After how long the page had or had not changed, oldest first; None if it cannot be read."""
    try:
        return [{"seconds": abs(seen), "changed": seen < 0} for seen in observations(packed).tolist()]
    except ValueError:
        return None


def _profiles(packed: bytes) -> list[dict[str, Any]] | None:
    """The change profiles, newest base last; None if they cannot be read."""
    try:
        profiles = unpack(packed)
    except ValueError:
        return None
    return [
        {
            "base_at": profile.base_at,
            "fragments": len(profile.sketch),
            "elapsed_seconds": profile.elapsed.tolist(),
            "divergence": profile.divergence.tolist(),
        }
        for profile in profiles
    ]
