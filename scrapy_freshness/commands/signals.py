"""What sitemaps, feeds and pings say about pages, and how true it was.

Sources are listed with their last poll and what their polls have brought: new
pages, and signals that a page may have changed. For each host and kind of
source it is told how many signals a visit has answered and how many of these
found a change, and what the policy has learned to expect: precision (share of
signals that announce a change) and recall (share of changes that are
announced).
"""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from scrapy_freshness.commands.context import Context, print_rows, require_host
from scrapy_freshness.insight.human import NOTHING, clipped, count, number, relative, safe, share
from scrapy_freshness.insight.learned_signals import NOT_LEARNED, learned_columns
from scrapy_freshness.insight.truth import JUDGEMENTS, Quality, dates_of, is_missing
from scrapy_freshness.model import SignalSource
from scrapy_freshness.planning.signal_trust import SourceTrust, signal_trust
from scrapy_freshness.storage import reports, signal_reports
from scrapy_freshness.storage.signal_reports import SourceReport
from scrapy_freshness.storage.store import Store

Qualities = dict[tuple[str, SignalSource], Quality]
#: Spider, host and kind of source -> how true its signals were, counted and learned.
Known = dict[tuple[str, str, SignalSource], tuple[Quality, SourceTrust | None]]

_URL_LENGTH = 60
_SOURCE_COLUMNS = (
    *("source", "kind", "last poll", ">polls", ">share", ">entries", ">new", ">signals", ">worth"),
    "dates",
)
_QUALITY_COLUMNS = (
    *("host", "source", "dates", ">heard", ">answered", "page had changed", "precision"),
    "recall",
)
#: What the tables need; on a narrower terminal each row has two lines.
_SOURCES_WIDTH, _QUALITY_WIDTH = 140, 125


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="NAME", help="only this host")


def run(context: Context, options: argparse.Namespace) -> None:
    now = context.clock.now()
    with context.store() as store:
        require_host(store, options.host)
        known = _quality(store)
        by_spider: dict[str, Qualities] = {}
        for (spider, _, _), (quality, _) in known.items():
            by_spider.setdefault(spider, {})[quality.host, quality.source] = quality
        budget = _budget(store, now)
        polls = signal_reports.polls_since(store, now - reports.DAY_SECONDS)
        fetches = {each["spider"]: each["fetches"] for each in budget}
        found = {
            "now": now,
            "budget": budget,
            "sources": [
                _source(
                    each, by_spider.get(each.spider, {}), polls.get(each.page_id, 0), fetches[each.spider]
                )
                for each in signal_reports.sources(store)
                if options.host in (None, each.host)
            ],
            "quality": [_row(*each) for each in sorted(known.items()) if options.host in (None, each[0][1])],
        }
    if context.as_json:
        context.print_json(found)
    else:
        _print(context, found, options.host)


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
                "share": _share_of(polls, total),
            }
        )
    return shares


def _share_of(polls: int, fetches: int) -> float | None:
    """What polls have taken of the budget."""
    return min(polls / fetches, 1.0) if fetches else None


def _source(source: SourceReport, qualities: Qualities, polls: int, fetches: int) -> dict[str, Any]:
    return {
        **asdict(source),
        "polls_last_day": polls,
        "share": _share_of(polls, fetches),
        "kind": source.kind.name.lower(),
        "status": source.status.name.lower(),
        "is_pinned": bool(source.is_pinned),
        "is_missing": is_missing(source),
        "dates": dates_of(source, qualities),
    }


def _quality(store: Store) -> Known:
    """Counted and learned quality of signals."""
    counted = {(each.spider, each.host, each.source): each for each in signal_reports.signal_counts(store)}
    learned = {
        (name, each.host, each.source): each
        for name in store.spiders()
        for each in signal_trust(store.load_groups(name))
    }
    return {
        key: (Quality.of(key[1:], counted.get(key), learned.get(key)), learned.get(key))
        for key in {*counted, *learned}
    }


def _row(key: tuple[str, str, SignalSource], known: tuple[Quality, SourceTrust | None]) -> dict[str, Any]:
    quality, trust = known
    return {
        "spider": key[0],
        "host": quality.host,
        "source": quality.source.name.lower(),
        "judgement": quality.judgement,
        "heard": quality.heard,
        "answered": quality.answered,
        "confirmed": quality.confirmed,
        "confirmed_low": quality.found.low if quality.found else None,
        "confirmed_high": quality.found.high if quality.found else None,
        **(learned_columns(trust) if trust else NOT_LEARNED),
    }


def _print(context: Context, found: dict[str, Any], host: str | None) -> None:
    if not found["sources"] and not found["quality"]:
        of_host = f" of {safe(host)}" if host else ""
        context.say(f"No sitemap or feed{of_host} is known, and no signal was heard.")
        return
    shown = [each for each in found["sources"] if not each["is_missing"]]
    if shown:
        print_rows(context, _SOURCE_COLUMNS, _sources(shown, found["now"]), width=_SOURCES_WIDTH)
        context.print()
    if missing := len(found["sources"]) - len(shown):
        context.say(f"{count(missing, 'place')} where sitemaps usually are had none.", style="dim")
        context.print()
    if found["quality"]:
        print_rows(context, _QUALITY_COLUMNS, _qualities(found["quality"]), width=_QUALITY_WIDTH)
        context.print()
    for each in found["budget"]:
        if each["share"] is not None:
            polls = count(each["polls"], "poll")
            context.say(
                f"{safe(each['spider'])}: {polls} in the last day, {share(each['share'])} of all fetches."
            )


def _sources(sources: list[dict[str, Any]], now: float) -> Iterator[tuple[str, ...]]:
    for each in sources:
        state = " (pinned)" if each["is_pinned"] else ""
        state += "" if each["status"] in ("new", "active") else f" ({each['status']})"
        yield (
            safe(clipped(each["url"], _URL_LENGTH)) + state,
            (each["format"] or each["kind"]).replace("_", " "),
            relative(each["last_poll_at"], now),
            f"{each['polls']:,}",
            NOTHING if each["share"] is None else share(each["share"]),
            f"{each['entries']:,}",
            f"{each['new_pages']:,}",
            f"{each['signals']:,}",
            number(each["last_yield"]),
            JUDGEMENTS.get(each["dates"], each["dates"].replace("_", " ")) or NOTHING,
        )


def _qualities(qualities: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for each in qualities:
        rate = each["confirmed"] / each["answered"] if each["answered"] else None
        yield (
            safe(each["host"]),
            each["source"],
            JUDGEMENTS[each["judgement"]],
            f"{each['heard']:,}",
            f"{each['answered']:,}",
            _with_interval(rate, each["confirmed_low"], each["confirmed_high"]),
            *(
                _with_interval(each[name], each[f"{name}_low"], each[f"{name}_high"])
                for name in ("precision", "recall")
            ),
        )


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or low is None or high is None:
        return NOTHING
    return f"{share(value)} ({share(low)}–{share(high)})"
