"""The charts of the overview, each with its numbers for who cannot see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from scrapy_freshness.dashboard.svg import UNTITLED, Drawing, even_ticks, length_ticks, power_ticks, thinned
from scrapy_freshness.insight.human import count, duration, moment, number, share
from scrapy_freshness.storage.live_reports import FreshnessPoint

#: The axis of numbers that differ by more is logarithmic.
_MANY_TIMES = 30.0


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    name: str
    class_: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture, its legend, and its numbers as a table."""

    svg: Markup
    keys: Sequence[Key] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()


def freshness_chart(points: Sequence[FreshnessPoint], since: float, now: float, span_seconds: float) -> Chart:
    """Expected freshness over time, with what visiting all pages in turn would give."""
    fresh = [point.freshness for point in points]
    uniform = [point.uniform_freshness for point in points]
    lowest = min([*fresh, *uniform], default=0.0)
    ticks = even_ticks(max(0.0, np.floor(10 * lowest - 0.5) / 10), 1.0)
    drawing = Drawing.of((since, now), (ticks[0], 1.0), height=234, bottom=UNTITLED)
    drawing.y_axis(ticks, lambda tick: f"{100 * tick:g} %")
    drawing.time_axis()
    for part in _without_gaps(points, 3 * span_seconds):
        at = [point.at for point in part]
        drawing.line(at, [point.uniform_freshness for point in part], "c2 dashed")
        drawing.line(at, [point.freshness for point in part], "c1 thick")
        if len(part) == 1:
            drawing.point(at[0], part[0].freshness, "c1")
            drawing.point(at[0], part[0].uniform_freshness, "c2")
    return Chart(
        drawing.svg("Expected freshness over time, beside that of visiting all pages in turn"),
        [Key("this crawl", "c1"), Key("every page in turn", "c2")],
        ["time", "this crawl", "in turn"],
        [(moment(point.at), share(point.freshness), share(point.uniform_freshness)) for point in points],
    )


def price_chart(points: Sequence[FreshnessPoint], since: float, now: float, span_seconds: float) -> Chart:
    """The price of a visit over time."""
    prices = [point.price for point in points if point.price > 0] or [1.0]
    low, high = min(prices), max(prices)
    is_log = high > _MANY_TIMES * low
    ticks = power_ticks(low, high) if is_log else even_ticks(0.0, high, 3)
    drawing = Drawing.of((since, now), (ticks[0], ticks[-1]), height=154, log_y=is_log, bottom=UNTITLED)
    drawing.y_axis(ticks, number)
    drawing.time_axis()
    for part in _without_gaps(points, 3 * span_seconds):
        drawing.line([point.at for point in part], [point.price for point in part], "c4 thick")
        if len(part) == 1:
            drawing.point(part[0].at, part[0].price, "c4")
    rows = [(moment(point.at), number(point.price)) for point in points]
    return Chart(drawing.svg("Price of a visit over time"), [], ["time", "price"], rows)


def stacked_chart(
    counts: Mapping[float, Mapping[str, int]],
    classes: Mapping[str, str],
    since: float,
    now: float,
    span_seconds: float,
    *,
    budget_per_second: float,
    title: str,
) -> Chart:
    """Counts by span of time and kind, as bars on each other; the budget is a line across."""
    totals = [sum(each.values()) for each in counts.values()]
    budget = budget_per_second * span_seconds
    highest = max([*totals, 1])
    has_budget = budget <= 4 * highest
    ticks = even_ticks(0.0, max(highest, budget if has_budget else 0.0))
    drawing = Drawing.of((since, now), (0.0, ticks[-1]), height=234, bottom=UNTITLED)
    drawing.y_axis(ticks, number)
    drawing.time_axis()
    for at, kinds in counts.items():
        below = 0
        for kind, class_ in classes.items():
            many = kinds.get(kind, 0)
            if many:
                begin, end = max(at, since), min(at + span_seconds, now)
                drawing.bar(begin, end, below, below + many, class_, f"{kind}: {many:,}")
                below += many
    if has_budget:
        drawing.across(budget, "budget")
    used = [name for name in classes if any(name in kinds for kinds in counts.values())]
    keys = [Key(name, classes[name]) for name in used] + ([Key("budget", "budget")] if has_budget else [])
    rows = [(moment(at), *(kinds.get(name, 0) for name in used)) for at, kinds in counts.items()]
    return Chart(drawing.svg(title), keys, ["time", *used], rows)


def length_histogram(seconds: NDArray[np.float64], class_: str, title: str, label: str) -> Chart:
    """How many pages have which length of time, on a logarithmic scale."""
    seconds = seconds[np.isfinite(seconds)]
    drawn = np.clip(seconds, 1.0, 10 * 365 * 86400.0)
    low, high = (float(drawn.min()), float(drawn.max())) if len(drawn) else (60.0, 86400.0)
    low, high = low / 1.3, max(high * 1.3, low * 10)
    edges = np.geomspace(low, high, 25)
    many, _ = np.histogram(drawn, edges)
    ticks = even_ticks(0.0, float(max(many.max(), 1)), 3)
    drawing = Drawing.of((low, high), (0.0, ticks[-1]), height=200, log_x=True)
    drawing.y_axis(ticks, number)
    drawing.x_axis(thinned(length_ticks(low, high), 7), duration, label)
    rows = []
    for begin, end, each in zip(edges[:-1].tolist(), edges[1:].tolist(), many.tolist(), strict=True):
        if each:
            told = f"{duration(begin)} to {duration(end)}", f"{each:,}"
            drawing.bar(begin, end, 0.0, each, class_, f"{told[0]}: {count(each, 'page')}")
            rows.append(told)
    return Chart(drawing.svg(title), [], [label, "pages"], rows)


def _without_gaps(points: Sequence[FreshnessPoint], longest: float) -> list[list[FreshnessPoint]]:
    """Parts between which the crawl did not run."""
    parts: list[list[FreshnessPoint]] = []
    for point in points:
        if not parts or point.at - parts[-1][-1].at > longest:
            parts.append([])
        parts[-1].append(point)
    return parts
