"""How the crawl of every spider is doing: freshness, budget, pages, hosts in
back-off.

The freshness is what the policy expects of the copies now, from the change
rates it believes in, as a mean over the pages that have a copy, weighted by
importance.
"""

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_freshness.commands.board import print_status
from scrapy_freshness.commands.context import Context, require_spider
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.insight.spending import MINUTE_SECONDS, spending
from scrapy_freshness.model import Outcome, PageColumns, PageStatus
from scrapy_freshness.storage import inspection, reports
from scrapy_freshness.storage.reports import DAY_SECONDS, HOUR_SECONDS, Activity, SpiderReport
from scrapy_freshness.storage.store import Store

_NOTHING_DONE = Activity(visits={}, fetches={})


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spider", metavar="NAME", help="only this spider")


def run(context: Context, options: argparse.Namespace) -> None:
    now = context.clock.now()
    with context.store() as store, context.progress("Reading pages"):
        require_spider(store, options.spider)
        # Minutes before hours: what a crawl adds meanwhile must not make a part larger than the whole.
        minutes = last_minutes(store, now)
        status = {
            "now": now,
            "database": {"name": str(store.database), "bytes": inspection.size_bytes(store)},
            "spiders": [
                _spider(context, store, report, minutes.get(report.spider, _NOTHING_DONE), now)
                for report in reports.spiders(store, now)
                if options.spider in (None, report.spider)
            ],
            "hosts_in_backoff": [
                {"host": host.host, "until": host.blocked_until, "failures": host.failures}
                for host in sorted(store.load_hosts(), key=lambda host: host.blocked_until)
                if host.blocked_until > now
            ],
        }
    if context.as_json:
        context.print_json(status)
    else:
        print_status(context, status)


def last_minutes(store: Store, now: float) -> dict[str, Activity]:
    """What every spider did in the last 60 seconds, about: counts are kept by minutes of the clock.

    Of the minute before this one, the share counts that is not older than 60 seconds.
    """
    this_minute = reports.activity_since(store, now - MINUTE_SECONDS)
    two_minutes = reports.activity_since(store, now - 2 * MINUTE_SECONDS)
    recent_share = 1 - now % MINUTE_SECONDS / MINUTE_SECONDS

    def blend(this: Mapping[Any, int], both: Mapping[Any, int]) -> dict[Any, int]:
        return {key: round(this.get(key, 0) + recent_share * (both[key] - this.get(key, 0))) for key in both}

    return {
        spider: Activity(
            visits=blend(this_minute.get(spider, _NOTHING_DONE).visits, both.visits),
            fetches=blend(this_minute.get(spider, _NOTHING_DONE).fetches, both.fetches),
        )
        for spider, both in two_minutes.items()
    }


def _spider(
    context: Context, store: Store, report: SpiderReport, minute: Activity, now: float
) -> dict[str, Any]:
    terms, state = Terms.of(store, context.config, report.spider), report.state
    activities = {"minute": minute, "hour": report.last_hour, "day": report.last_day}
    budget, started_at = terms.budget_per_second, state.started_at if state else None
    spent = {
        name: spending(
            store,
            report.spider,
            budget_per_second=budget,
            started_at=started_at,
            now=now,
            span=span,
            activity=activities[name],
        )
        for name, span in (("hour", HOUR_SECONDS), ("day", DAY_SECONDS))
    }
    return {
        "spider": report.spider,
        "running": report.spider in inspection.crawling(store),
        "started_at": started_at,
        "updated_at": state.updated_at if state else None,
        "policy": terms.policy.name,
        "budget_per_second": budget,
        "price": terms.price,
        **_freshness(terms, store.load_pages(report.spider), now),
        "pages": {status.name.lower(): report.pages.get(status, 0) for status in PageStatus},
        "fetches": {span: activity.fetches for span, activity in activities.items()},
        "budget_used": {
            "minute": sum(minute.fetches.values()) / (budget * MINUTE_SECONDS),
            **{name: each.share for name, each in spent.items()},
        },
        "visits": {
            span: {outcome.name.lower(): activity.visits.get(outcome, 0) for outcome in Outcome}
            for span, activity in activities.items()
        },
    }


def _freshness(terms: Terms, columns: PageColumns, now: float) -> dict[str, float | None]:
    outlook = Outlook(terms, columns, now)
    fresh = outlook.mean_freshness()
    is_new = columns.status == PageStatus.NEW
    return {
        "freshness": fresh,
        "mean_age_seconds": None if fresh is None else float(outlook.elapsed[outlook.has_copy].mean()),
        "never_fetched_share": float(np.mean(is_new)) if len(is_new) else None,
    }
