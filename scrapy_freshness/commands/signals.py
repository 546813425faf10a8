"""What sitemaps, feeds and pings say about pages, and how true it was.

Sources are listed with their last poll and what their polls have brought: new
pages, and signals that a page may have changed. For each host and kind of
source it is told how many signals a visit has answered and how many of these
found a change, and what the policy has learned to expect: precision (share of
signals that announce a change) and recall (share of changes that are
announced).
"""

import argparse
from dataclasses import asdict
from typing import Any

from rich.table import Table

from scrapy_freshness.commands.context import Context, new_table
from scrapy_freshness.insight.human import NOTHING, clipped, count, number, relative, safe, share
from scrapy_freshness.insight.learned_signals import NOT_LEARNED, learned_quality, share_interval
from scrapy_freshness.storage import reports, signal_reports
from scrapy_freshness.storage.signal_reports import SignalCounts, SourceReport
from scrapy_freshness.storage.store import Store

_URL_LENGTH = 60


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="NAME", help="only this host")


def run(context: Context, options: argparse.Namespace) -> None:
    now = context.clock.now()
    with context.store() as store:
        found = {
            "now": now,
            "budget": _budget(store, now),
            "sources": [
                _source(each) for each in signal_reports.sources(store) if options.host in (None, each.host)
            ],
            "quality": [each for each in _quality(store) if options.host in (None, each["host"])],
        }
    if context.as_json:
        context.print_json(found)
    else:
        _print(context, found)


def _budget(store: Store, now: float) -> list[dict[str, Any]]:
    """Share of the last day's fetches that were polls, by spider."""
    shares = []
    for report in reports.spiders(store, now):
        fetches = report.last_day.fetches
        total = sum(fetches.values())
        polls = fetches.get("poll", 0)
        shares.append(
            {
                "spider": report.spider,
                "polls": polls,
                "fetches": total,
                "share": polls / total if total else None,
            }
        )
    return shares


def _source(source: SourceReport) -> dict[str, Any]:
    return {
        **asdict(source),
        "kind": source.kind.name.lower(),
        "status": source.status.name.lower(),
        "is_pinned": bool(source.is_pinned),
    }


def _quality(store: Store) -> list[dict[str, Any]]:
    """Counted and learned quality of signals, by spider, host and kind of source."""
    counted = {(each.spider, each.host, each.source): each for each in signal_reports.signal_counts(store)}
    learned = {
        (name, host, source): quality
        for name in store.spiders()
        for (host, source), quality in learned_quality(store.load_groups(name)).items()
    }
    return [
        {
            "spider": key[0],
            "host": key[1],
            "source": key[2].name.lower(),
            **_counts(counted.get(key)),
            **learned.get(key, NOT_LEARNED),
        }
        for key in sorted({*counted, *learned})
    ]


def _counts(counts: SignalCounts | None) -> dict[str, Any]:
    heard, answered, confirmed = (counts.heard, counts.answered, counts.confirmed) if counts else (0, 0, 0)
    low, high = share_interval(confirmed, answered)
    return {
        "heard": heard,
        "answered": answered,
        "confirmed": confirmed,
        "confirmed_low": low,
        "confirmed_high": high,
    }


def _print(context: Context, found: dict[str, Any]) -> None:
    if not found["sources"] and not found["quality"]:
        context.say("No sitemap or feed is known, and no signal was heard.")
        return
    if found["sources"]:
        context.print(_sources(found["sources"], found["now"]))
        context.print()
    if found["quality"]:
        context.print(_qualities(found["quality"]))
        context.print()
    for each in found["budget"]:
        if each["share"] is not None:
            polls = count(each["polls"], "poll")
            context.say(
                f"{safe(each['spider'])}: {polls} in the last day, {share(each['share'])} of all fetches."
            )


def _sources(sources: list[dict[str, Any]], now: float) -> Table:
    columns = ("source", "kind", "found", "last poll", ">polls", ">entries", ">new", ">signals", ">worth")
    table = new_table(*columns, "dates")
    for each in sources:
        found = f"{each['found']}, pinned" if each["is_pinned"] else each["found"]
        state = "" if each["status"] in ("new", "active") else f" ({each['status']})"
        table.add_row(
            safe(clipped(each["url"], _URL_LENGTH)) + state,
            (each["format"] or each["kind"]).replace("_", " "),
            found,
            relative(each["last_poll_at"], now),
            f"{each['polls']:,}",
            f"{each['entries']:,}",
            f"{each['new_pages']:,}",
            f"{each['signals']:,}",
            number(each["last_yield"]),
            each["verdict"].replace("_", " ") or NOTHING,
        )
    return table


def _qualities(qualities: list[dict[str, Any]]) -> Table:
    table = new_table("host", "source", ">heard", ">answered", "page had changed", "precision", "recall")
    for each in qualities:
        rate = each["confirmed"] / each["answered"] if each["answered"] else None
        table.add_row(
            safe(each["host"]),
            each["source"],
            f"{each['heard']:,}",
            f"{each['answered']:,}",
            _with_interval(rate, each["confirmed_low"], each["confirmed_high"]),
            *(
                _with_interval(each[name], each[f"{name}_low"], each[f"{name}_high"])
                for name in ("precision", "recall")
            ),
        )
    return table


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or low is None or high is None:
        return NOTHING
    return f"{share(value)} ({share(low)}–{share(high)})"
