"""Hubs that are polled for links to new pages: how many they bring, what these
are worth, how often it pays to look, and why.

The link rate is that of the last polls. Profit is what a new page is worth if
it is fetched at once, in requests; its life is the mean time in which these
are made. The share of the budget counts the polls and the fetches of the new
pages that they find. Sitemaps and feeds bring new pages, too: their share is
that of their polls. What else they say is shown by `scrapy freshness signals`.
"""

import argparse
import math
from collections.abc import Iterator
from typing import Any

from scrapy_freshness.commands.context import Context, print_rows, require_host, require_spider
from scrapy_freshness.insight.announcers import Announcer, announcer_reason
from scrapy_freshness.insight.believed_sources import BelievedSources
from scrapy_freshness.insight.hub_reasons import HubCase, hub_reason
from scrapy_freshness.insight.human import (
    NOTHING,
    clipped,
    count,
    duration,
    number,
    rate,
    relative,
    safe,
    share,
)
from scrapy_freshness.storage import hub_reports, signal_reports
from scrapy_freshness.storage.hub_reports import HubReport
from scrapy_freshness.storage.signal_reports import SourceReport

_URL_LENGTH = 60
_HUB_COLUMNS = (
    *("hub", "found", "state", ">links", ">profit", ">life", ">interval", "last poll", ">polls", ">new"),
    *(">budget", "why"),
)
_ANNOUNCING_COLUMNS = (
    *("sitemap or feed", "kind", ">profit", ">life", ">interval", "last poll", ">polls", ">new"),
    *(">new a poll", ">worth", ">budget", "why"),
)
#: What the tables need; on a narrower terminal each row has two lines.
_WIDTH = 140


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="NAME", help="only this host")
    parser.add_argument("--spider", metavar="NAME", help="only this spider")


def run(context: Context, options: argparse.Namespace) -> None:
    now = context.clock.now()
    with context.store() as store, context.progress("Reading hubs"):
        require_spider(store, options.spider)
        require_host(store, options.host)
        chosen = [each for each in hub_reports.hubs(store) if _is_chosen(each, options)]
        announcing = [
            each
            for each in signal_reports.sources(store)
            if each.kind.is_polled and _is_chosen(each, options)
        ]
        spiders = {each.spider for each in chosen} | {each.spider for each in announcing}
        believed = {spider: BelievedSources(store, context.config, spider, now) for spider in spiders}
    found = {
        "now": now,
        "hubs": [_hub(case, now) for each in chosen if (case := believed[each.spider].hub(each))],
        "announcing": [
            _announcing(told) for each in announcing if (told := believed[each.spider].announcer(each))
        ],
    }
    if context.as_json:
        context.print_json(found)
    else:
        _print(context, found)


def _is_chosen(report: HubReport | SourceReport, options: argparse.Namespace) -> bool:
    return options.host in (None, report.host) and options.spider in (None, report.spider)


def _hub(case: HubCase, now: float) -> dict[str, Any]:
    hub = case.report
    fields = {name: getattr(hub, name) for name in HubReport.__slots__}
    return {
        **fields,
        "status": hub.status.name.lower(),
        "state": hub.state.name.lower(),
        "link_rate": case.link_rate,
        "profit": case.profit,
        "decay": case.decay,
        "interval_seconds": case.interval_seconds,
        "budget_share": case.budget_share,
        "is_polled": case.is_polled,
        "why": hub_reason(case, now),
    }


def _announcing(case: Announcer) -> dict[str, Any]:
    source = case.report
    return {
        "page_id": source.page_id,
        "spider": source.spider,
        "host": source.host,
        "url": source.url,
        "kind": source.kind.name.lower(),
        "polls": source.polls,
        "new_pages": source.new_pages,
        "pages_per_poll": source.new_pages / source.polls if source.polls else None,
        "last_poll_at": source.last_poll_at,
        "last_yield": source.last_yield,
        "barren": source.barren,
        "profit": case.profit,
        "decay": case.decay,
        "interval_seconds": case.interval_seconds,
        "budget_share": case.budget_share,
        "is_polled": case.is_polled,
        "why": announcer_reason(case),
    }


def _print(context: Context, found: dict[str, Any]) -> None:
    hubs, announcing = found["hubs"], found["announcing"]
    if not hubs and not announcing:
        context.say("No hub is known. FRESHNESS_HUBS = True looks for them.")
        return
    if hubs:
        print_rows(context, _HUB_COLUMNS, _hubs(hubs, found["now"]), width=_WIDTH)
        polled = [each for each in hubs if each["is_polled"]]
        budget = share(sum(each["budget_share"] for each in polled))
        context.print()
        context.say(f"{count(len(polled), 'hub')} of {len(hubs):,} polled, {budget} of the budget.")
        context.print()
    if announcing:
        rows = _announcements(announcing, found["now"])
        print_rows(context, _ANNOUNCING_COLUMNS, rows, width=_WIDTH)


def _hubs(hubs: list[dict[str, Any]], now: float) -> Iterator[tuple[str, ...]]:
    for each in hubs:
        knows_links = not math.isnan(each["link_rate"])
        yield (
            safe(clipped(each["url"], _URL_LENGTH)),
            each["found"],
            each["state"] if each["status"] == "active" else each["status"],
            rate(each["link_rate"]) if knows_links else NOTHING,
            number(each["profit"]) if knows_links else NOTHING,
            _life(each["decay"]),
            duration(each["interval_seconds"]) if each["is_polled"] else NOTHING,
            relative(each["last_poll_at"], now),
            f"{each['polls']:,}",
            f"{each['new_links']:,}",
            share(each["budget_share"]) if each["is_polled"] else NOTHING,
            safe(each["why"]),
        )


def _life(decay: float) -> str:
    return duration(1 / decay) if decay > 0 else NOTHING


def _announcements(sources: list[dict[str, Any]], now: float) -> Iterator[tuple[str, ...]]:
    for each in sources:
        per_poll = each["pages_per_poll"]
        yield (
            safe(clipped(each["url"], _URL_LENGTH)),
            each["kind"],
            NOTHING if math.isnan(each["profit"]) else number(each["profit"]),
            _life(each["decay"]),
            duration(each["interval_seconds"]) if each["is_polled"] else NOTHING,
            relative(each["last_poll_at"], now),
            f"{each['polls']:,}",
            f"{each['new_pages']:,}",
            NOTHING if per_poll is None else number(per_poll),
            number(each["last_yield"]),
            share(each["budget_share"]) if each["is_polled"] else NOTHING,
            safe(each["why"]),
        )
