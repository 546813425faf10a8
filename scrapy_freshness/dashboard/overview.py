"""Overview: is the crawl keeping up, and where does its budget go?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from scrapy_freshness.dashboard.charts import (
    Chart,
    Key,
    freshness_chart,
    length_histogram,
    price_chart,
    stacked_chart,
)
from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.svg import Drawing, even_ticks
from scrapy_freshness.insight.human import rate, share
from scrapy_freshness.insight.keeping_up import Compared, Standing, verdict
from scrapy_freshness.insight.spending import spending
from scrapy_freshness.insight.what_if import Prospect, prospects
from scrapy_freshness.model import Outcome, PageKind
from scrapy_freshness.storage import live_reports
from scrapy_freshness.storage.inspection import crawling
from scrapy_freshness.storage.reports import HOUR_SECONDS

#: Spans of time that are shown: name, seconds, minutes a bar stands for.
RANGES: dict[str, tuple[str, float, int]] = {
    "1h": ("hour", 3600.0, 1),
    "6h": ("6 hours", 6 * 3600.0, 5),
    "1d": ("day", 86400.0, 20),
    "7d": ("week", 7 * 86400.0, 120),
    "30d": ("month", 30 * 86400.0, 720),
}
#: How visits end, in the words of the chart, and its colours.
OUTCOMES = {
    "changed": "c3",
    "first copy": "c1",
    "unchanged": "c2",
    "not modified (304)": "c5",
    "gone or moved": "c6",
    "failed": "bad",
}
_WORD = {
    Outcome.CHANGED: "changed",
    Outcome.FIRST: "first copy",
    Outcome.UNCHANGED: "unchanged",
    Outcome.NOT_MODIFIED: "not modified (304)",
    Outcome.GONE: "gone or moved",
    Outcome.MOVED: "gone or moved",
    Outcome.FAILED: "failed",
}
#: Kinds of fetches, in the words of the chart.
FETCHES = {
    "page": ("pages", "c1"),
    "hub": ("discovery: polls of hubs", "c8"),
    "poll": ("signals: sitemaps, feeds", "c4"),
    "audit": ("audits of 304s", "c5"),
    "retry": ("retries", "bad"),
    "redirect": ("redirects", "c6"),
    "robots": ("robots.txt", "c7"),
    "ping": ("pings", "c3"),
    "other": ("others", "c2"),
}
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_WORST = 6
_LATEST = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWaste:
    """A host and the fetches that brought nothing new from it."""

    host: str
    wasted: int
    fetches: int
    of_all: float  #: share of all such fetches
    freshness: float


def show(request: Request) -> Response:
    """The whole page."""
    asked = Asked(request)
    if asked.spider is None:
        return asked.answer("empty.html")
    span = asked.choice("range", RANGES, _usual_span(asked))
    return asked.answer("overview.html", ranges=RANGES, span=span, **_now(asked), **_charts(asked, span))


def show_now(request: Request) -> Response:
    """The part that changes by the second."""
    asked = Asked(request)
    return Response(status_code=204) if asked.spider is None else asked.answer("_now.html", **_now(asked))


def show_charts(request: Request) -> Response:
    """The part that changes by the minute."""
    asked = Asked(request)
    if asked.spider is None:
        return Response(status_code=204)
    span = asked.choice("range", RANGES, "6h")
    return asked.answer("_charts.html", ranges=RANGES, span=span, **_charts(asked, span))


def show_budgets(request: Request) -> Response:
    """What other budgets would bring: it takes a moment, so it is asked for apart."""
    asked = Asked(request)
    if asked.spider is None:
        return Response(status_code=204)
    sight = asked.sight
    found = asked.desk.remembered.answer(*_budgets(asked))
    return asked.answer(
        "_budgets.html", chart=_budget_chart(found, sight.terms.budget_per_second) if found else None
    )


def _budgets(asked: Asked) -> tuple[tuple[object, ...], Callable[[], list[Prospect]], float]:
    """What to remember of other budgets, how to find it, and for how many seconds it is good."""
    sight = asked.sight
    key = "budgets", asked.spider, sight.terms.budget_per_second
    return key, lambda: prospects(sight.terms, sight.outlook, _FACTORS), 120.0


def _usual_span(asked: Asked) -> str:
    """Six hours, or one if the first visit was less than that ago."""
    assert asked.spider is not None
    first = live_reports.first_visit_at(asked.desk.store, asked.spider)
    return "6h" if first is not None and first < asked.now - RANGES["1h"][1] else "1h"


def _now(asked: Asked) -> dict[str, Any]:
    assert asked.spider is not None
    store, sight = asked.desk.store, asked.sight
    state = store.load_state(asked.spider)
    started_at = state.started_at if state else None
    since = max(asked.now - HOUR_SECONDS, started_at or 0.0)
    minutes = live_reports.freshness_history(store, asked.spider, since, 1)
    fresh = sight.mean_freshness
    standing = Standing(
        spider=asked.spider,
        is_running=asked.spider in crawling(store),
        updated_at=state.updated_at if state else None,
        started_at=started_at,
        pages=int(np.count_nonzero(sight.census.columns["kind"] < PageKind.SITEMAP)),
        never_fetched=int(np.count_nonzero(sight.is_new)),
        due=int(np.count_nonzero(sight.is_due)),
        due_hosts=int(np.count_nonzero(sight.host_sums.due)),
        freshness=fresh,
        compared=Compared.over(minutes),
        spent=spending(
            store,
            asked.spider,
            budget_per_second=sight.terms.budget_per_second,
            started_at=started_at,
            now=asked.now,
        ),
        delay_seconds=state.delay_seconds if state else 0.0,
        blocked_hosts=sum(until > asked.now for until in sight.terms.blocked_until.values()),
        reach=sight.reach,
        prospects=asked.desk.remembered.soon(*_budgets(asked)) or (),
    )
    return {
        "standing": standing,
        "verdict": verdict(standing, asked.now),
        "terms": sight.terms,
        "visits": live_reports.latest_visits(store, asked.spider)[:_LATEST],
        "looked_at": live_reports.LOOKED_AT,
        "was_visited": sight.census.last_visit_id > 0,
        "worst": _worst(sight),
        "waste": sight.host_sums.waste,
    }


def _worst(sight: Any) -> list[HostWaste]:
    """The hosts from which most fetches brought nothing new."""
    sums = sight.host_sums
    order = np.argsort(-sums.wasted, kind="stable")[:_WORST].tolist()
    all_wasted = max(int(sums.wasted.sum()), 1)
    return [
        HostWaste(
            host=sight.census.hosts[row],
            wasted=int(sums.wasted[row]),
            fetches=int(sums.fetches[row]),
            of_all=float(sums.wasted[row]) / all_wasted,
            freshness=float(sums.freshness[row]),
        )
        for row in order
        if sums.wasted[row]
    ]


def _history(
    asked: Asked, since: float, minutes: int
) -> tuple[list[live_reports.FreshnessPoint], dict[float, dict[str, int]], dict[float, dict[str, int]]]:
    """Freshness, visits and fetches since a time, by spans of so many minutes."""
    assert asked.spider is not None
    store = asked.desk.store
    points = live_reports.freshness_history(store, asked.spider, since, minutes)
    visits: dict[float, dict[str, int]] = {}
    for at, outcomes in live_reports.outcome_history(store, asked.spider, since, minutes).items():
        for outcome, many in outcomes.items():
            if outcome in _WORD:
                kinds = visits.setdefault(at, {})
                kinds[_WORD[outcome]] = kinds.get(_WORD[outcome], 0) + many
    fetches: dict[float, dict[str, int]] = {}
    for at, counts in live_reports.fetch_history(store, asked.spider, since, minutes).items():
        for kind, many in counts.items():
            name, kinds = FETCHES.get(kind, FETCHES["other"])[0], fetches.setdefault(at, {})
            kinds[name] = kinds.get(name, 0) + many
    return points, visits, fetches


def _charts(asked: Asked, span: str) -> dict[str, Any]:
    """The charts of a span of time, which hardly change within seconds."""
    key = "charts", asked.spider, span
    return asked.desk.remembered.answer(key, lambda: _new_charts(asked, span), soonest=5.0)


def _new_charts(asked: Asked, span: str) -> dict[str, Any]:
    sight = asked.sight
    _, seconds, minutes = RANGES[span]
    bar = 60.0 * minutes
    since = (asked.now - seconds) // bar * bar
    points, visits, fetches = _history(asked, since, minutes)
    budget = sight.terms.budget_per_second
    columns = sight.census.columns
    copies = sight.has_copy
    rates = columns["change_rate"][sight.is_compared].astype(np.float64)
    return {
        "freshness_chart": freshness_chart(points, since, asked.now, bar) if points else None,
        "price_chart": price_chart(points, since, asked.now, bar) if points else None,
        "visits_chart": _stacked(
            visits, OUTCOMES, since, asked.now, bar, budget, "Visits by what they found"
        ),
        "fetches_chart": _stacked(
            fetches, dict(FETCHES.values()), since, asked.now, bar, budget, "Fetches by what they were for"
        ),
        "rates_chart": length_histogram(
            1 / rates, "c3", "Pages by the time between their changes", "time between changes"
        )
        if len(rates)
        else None,
        "n_assumed": int(np.count_nonzero(copies)) - len(rates),
        "ages_chart": length_histogram(
            sight.age[copies], "c1", "Pages by the age of their copies", "age of the copy"
        )
        if copies.any()
        else None,
    }


def _stacked(
    counts: dict[float, dict[str, int]],
    classes: dict[str, str],
    since: float,
    now: float,
    bar: float,
    budget: float,
    title: str,
) -> Chart | None:
    if not counts:
        return None
    return stacked_chart(counts, classes, since, now, bar, budget_per_second=budget, title=title)


def _budget_chart(found: list[Prospect], budget: float) -> Chart:
    """Expected freshness in the long run over the budget."""
    budgets = [each.budget_per_second for each in found]
    shares = [each.freshness for each in found] + [each.uniform_freshness for each in found]
    ticks = even_ticks(max(0.0, float(np.floor(10 * min(shares) - 0.5)) / 10), 1.0)
    drawing = Drawing.of((budgets[0] / 1.2, budgets[-1] * 1.2), (ticks[0], 1.0), log_x=True, height=230)
    drawing.y_axis(ticks, lambda tick: f"{100 * tick:g} %")
    drawing.x_axis(budgets, rate, "budget")
    drawing.down(budget, "budget", "the present budget")
    drawing.line(budgets, [each.uniform_freshness for each in found], "c2 dashed")
    drawing.line(budgets, [each.freshness for each in found], "c1 thick")
    for each in found:
        drawing.point(
            each.budget_per_second, each.uniform_freshness, "c2", f"in turn: {share(each.uniform_freshness)}"
        )
        drawing.point(
            each.budget_per_second,
            each.freshness,
            "c1",
            f"{rate(each.budget_per_second)}: {share(each.freshness)}",
        )
    return Chart(
        drawing.svg("Expected freshness in the long run at other budgets"),
        [Key("this policy", "c1"), Key("every page in turn", "c2"), Key("present budget", "budget")],
        ["budget", "this policy", "in turn"],
        [
            (rate(each.budget_per_second), share(each.freshness), share(each.uniform_freshness))
            for each in found
        ],
    )
