"""One page for people: what `scrapy freshness show` prints."""

import json
from typing import Any

from rich.table import Table
from rich.text import Text

from scrapy_freshness.commands.context import Context, new_grid, new_table
from scrapy_freshness.insight.clockwork import busiest_hours
from scrapy_freshness.insight.human import (
    NOTHING,
    count,
    duration,
    every,
    expected,
    moment,
    number,
    relative,
    safe,
    share,
    size,
)
from scrapy_freshness.insight.rows import LEFT, Row, is_assumed

#: Observations that are shown of a history or a profile, the last ones.
_SHOWN = 8
_OUTCOME_STYLES = {"first": "green", "changed": "green", "failed": "red", "gone": "red", "moved": "yellow"}


def print_page(context: Context, page: Row, now: float) -> None:
    """Print everything about a page."""
    context.say(safe(page["url"]), style="bold")
    context.print()
    context.print(new_grid(_facts(page, now)))
    context.print()
    if page["log"]:
        context.print(_visits(page["log"], now))
        context.print()
    if page["signals"]:
        context.print(_signals(page["signals"], now))
        context.print()
    if page["searchers"] and page["searchers"]["touched"]:
        context.print(_touched(page["searchers"]))
        context.print()
    if page["profiles"]:
        context.print(_profiles(page["profiles"], now))
        context.print()


def _facts(page: Row, now: float) -> dict[str, str]:
    answer = f" (HTTP {page['http_status']})" if page["http_status"] else ""
    failed = f", {page['failures']:,} failed in a row" if page["failures"] else ""
    has_copy = page["last_visit_at"] is not None and page["status"] not in LEFT
    facts = {
        "status": page["status"] + answer,
        "spider": page["spider"],
        "host": page["host"] + _host_notes(page, now),
        "discovered": _time(page["discovered_at"], now),
        "last visit": _time(page["last_visit_at"], now),
        "last change": _time(page["last_change_at"], now),
        _what_is_next(page): expected(page["next_visit_at"], now),
        "seen": f"{count(page['visits'], 'visit')}, {count(page['changes'], 'change')}{failed}",
        "changes": every(
            page["change_rate"],
            page["change_rate_low"],
            page["change_rate_high"],
            is_assumed=is_assumed(page),
        ),
        "history": _history(page["history"]),
        "freshness": f"{share(page['freshness'])} expected now" if has_copy else NOTHING,
        "value now": f"{_value(page)}, with an importance of {number(page['importance'])}",
        "validators": "; ".join(filter(None, (page["etag"], page["last_modified"]))) or NOTHING,
        "request": _request(page["request"]),
    }
    if page["hourly_changes"]:
        begin, end, part = busiest_hours(page["hourly_changes"])
        facts["by the clock"] = f"{share(part)} of the changes come from {begin} to {end % 24} h UTC"
    if page["pinned_seconds"] is not None:
        facts["pinned"] = f"a visit every {duration(page['pinned_seconds'])}"
    if page["wishes"]:
        facts["asked for"] = "; ".join(_wish(wish, now) for wish in page["wishes"][:_SHOWN])
    if page["searchers"]:
        facts["searchers"] = _searchers(page["searchers"], now)
    if page["run_callback"]:
        facts["callback"] = "did not finish with the copy; runs again at the next visit"
    if page["profiles"] is None:
        facts["profiles"] = "cannot be read; the next visit begins new ones"
    return {name: safe(value) if name != "request" else value for name, value in facts.items()}


def false_answers(n_false: int, n_checked: int) -> str:
    """How far the answers "not modified" of a host can be believed."""
    return f"{n_false:,} of {n_checked:,} checked 304s were false"


def _what_is_next(page: Row) -> str:
    return "next attempt" if page["failures"] and page["status"] in ("new", "active") else "next visit"


def _value(page: Row) -> str:
    return NOTHING if page["status"] in LEFT else number(page["value"])


def _host_notes(page: Row, now: float) -> str:
    notes = []
    if page["host_blocked_until"] > now:
        notes.append(f"in back-off for another {duration(page['host_blocked_until'] - now)}")
    if page["host_audits"]:
        notes.append(false_answers(page["host_false_not_modified"], page["host_audits"]))
    return f" ({', '.join(notes)})" if notes else ""


def _wish(wish: dict[str, Any], now: float) -> str:
    what = f"{wish['kind']} {relative(wish['asked_at'], now)}"
    if wish["done_at"] is None:
        return f"{what}, waits for the crawl"
    return f"{what}, {wish['outcome'].replace('_', ' ')} {relative(wish['done_at'], now)}"


def _time(time: float | None, now: float) -> str:
    return "never" if time is None else f"{relative(time, now)} ({moment(time)})"


def _history(history: list[dict[str, Any]] | None) -> str:
    if history is None:
        return "cannot be read"
    seen = [
        f"{'changed within' if each['changed'] else 'same for'} {duration(each['seconds'])}"
        for each in history[-_SHOWN:]
    ]
    earlier = [f"… {len(history) - _SHOWN} more"] if len(history) > _SHOWN else []
    return ", ".join(earlier + seen) or NOTHING


def _request(request: dict[str, Any]) -> str:
    """What the request has beside its URL, a line each."""
    lines = [
        f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in request.items()
    ]
    return "\n".join(map(safe, lines)) or "callback: parse"


def _visits(log: list[dict[str, Any]], now: float) -> Table:
    with_reasons = any(visit["reason"] for visit in log)
    heads = [*("visits", "UTC", "outcome", ">HTTP", ">moved", ">size", ">latency"), *["why"] * with_reasons]
    table = new_table(*heads)
    for visit in log:
        table.add_row(
            relative(visit["at"], now),
            moment(visit["at"]).removesuffix(" UTC"),
            Text(visit["outcome"].replace("_", " "), style=_OUTCOME_STYLES.get(visit["outcome"], "")),
            str(visit["http_status"] or NOTHING),
            NOTHING if visit["divergence"] is None else share(visit["divergence"]),
            size(visit["body_bytes"]),
            NOTHING if visit["latency_seconds"] is None else duration(visit["latency_seconds"]),
            *[safe(visit["reason"] or NOTHING)] * with_reasons,
        )
    return table


def _signals(signals: list[dict[str, Any]], now: float) -> Table:
    """Who said that the page may have changed, and what the next visit found."""
    table = new_table("signals", "UTC", "source", "says changed", "visited", "found", "told by")
    found = {True: Text("changed", style="green"), False: Text("unchanged"), None: Text(NOTHING)}
    for signal in signals:
        visited = "not yet" if signal["answered_at"] is None else relative(signal["answered_at"], now)
        table.add_row(
            relative(signal["heard_at"], now),
            moment(signal["heard_at"]).removesuffix(" UTC"),
            signal["source"],
            NOTHING if signal["claimed_at"] is None else relative(signal["claimed_at"], now),
            visited,
            found[signal["changed"]],
            safe(signal["told_by"] or NOTHING),
        )
    return table


def _searchers(seen: dict[str, Any], now: float) -> str:
    """What searchers have to do with the page."""
    asked = f"{count(seen['terms_on_page'], 'term')} that they ask for"
    if seen["gain"] is None:
        return f"{asked}; no change that they would notice yet"
    by = "" if seen["gain_share"] is None else f", by {share(seen['gain_share'])} of all that they find"
    if not seen["n_touched"]:
        return f"{asked}; the change found {relative(seen['noticed_at'], now)} touched none of their results"
    touched = count(seen["n_touched"], "term")
    return f"{asked}; the change found {relative(seen['noticed_at'], now)} touched {touched}{by}"


def _touched(seen: dict[str, Any]) -> Table:
    """The terms whose results the page's last change moved."""
    table = new_table("term", ">gain", ">of the change")
    for each in seen["touched"]:
        part = each["gain"] / seen["gain"] if seen["gain"] else 0.0
        table.add_row(safe(each["term"]), number(each["gain"]), share(part))
    return table


def _profiles(profiles: list[dict[str, Any]], now: float) -> Table:
    """How far the page has moved from each base version, after how long."""
    table = new_table("base version", "UTC", ">fragments", "moved by")
    for profile in reversed(profiles):
        seen = list(zip(profile["divergence"], profile["elapsed_seconds"], strict=True))[-_SHOWN:]
        moved = ", ".join(f"{share(divergence)} in {duration(elapsed)}" for divergence, elapsed in seen)
        base = relative(profile["base_at"], now), moment(profile["base_at"]).removesuffix(" UTC")
        table.add_row(*base, f"{profile['fragments']:,}", moved or NOTHING)
    return table
