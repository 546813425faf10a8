"""The pictures of one page: how it diverges, how long its fragments live, what happened, what is believed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.dashboard.charts import Chart, Key
from scrapy_freshness.dashboard.desk import ending
from scrapy_freshness.dashboard.svg import Drawing, even_ticks, length_ticks, thinned
from scrapy_freshness.estimation.bounds import ProfilePoints, bound_curves
from scrapy_freshness.estimation.divergence_curve import FittedCurve
from scrapy_freshness.insight.fragments import Life
from scrapy_freshness.insight.human import duration, moment, number, safe, share
from scrapy_freshness.insight.posterior import Posterior
from scrapy_freshness.model import Outcome, VisitRecord
from scrapy_freshness.storage.signal_reports import PageSignal
from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.curves import Scroll, curve

FloatArray = NDArray[np.float64]

_OUTCOME_CLASSES = {
    Outcome.FIRST: "c1",
    Outcome.CHANGED: "c3",
    Outcome.UNCHANGED: "c2",
    Outcome.NOT_MODIFIED: "c5",
    Outcome.GONE: "c6",
    Outcome.MOVED: "c6",
    Outcome.FAILED: "bad",
    Outcome.IGNORED: "c7",
}
_OUTCOME_LANES = ("changed", "nothing new", "trouble", "signals")
_LANE = {Outcome.FIRST: 0, Outcome.CHANGED: 0, Outcome.UNCHANGED: 1, Outcome.NOT_MODIFIED: 1}
#: Fragments that are drawn.
_MOST_STRIPES = 48


def divergence_at(fit: FittedCurve, seconds: FloatArray) -> FloatArray:
    """The fitted curve: divergence from a copy after some times."""
    n = len(seconds)
    beliefs = Beliefs(
        importance=np.ones(n),
        change_rate=np.full(n, fit.rate),
        plateau=np.full(n, fit.plateau),
        stages=np.full(n, float(fit.stages)),
    )
    scroll, speed = Scroll.of(beliefs)
    return fit.plateau * np.minimum(curve(scroll, speed * fit.rate * seconds).divergence, 1.0)


def divergence_chart(profiles: Sequence[ProfilePoints], fit: FittedCurve, interval: float) -> Chart:
    """Observed divergences, the fitted curve, its bounds, and what a visit at the interval refreshes."""
    observed = [float(elapsed[-1]) for elapsed, _ in profiles if len(elapsed)]
    end = max([*observed, 1.3 * interval if np.isfinite(interval) else 0.0, 60.0])
    end = min(end, 20 * max(observed)) if observed else end
    xs = np.linspace(0.0, end, 121)
    fitted = divergence_at(fit, xs)
    points = [
        (x, y) for elapsed, moved in profiles for x, y in zip(elapsed.tolist(), moved.tolist(), strict=True)
    ]
    highest = max([float(fitted.max()), *(y for _, y in points), 0.05])
    ticks = even_ticks(0.0, min(1.0, 1.15 * highest))
    drawing = Drawing.of((0.0, end), (0.0, ticks[-1]), height=260)
    drawing.y_axis(ticks, lambda tick: f"{100 * tick:g} %")
    drawing.x_axis(np.linspace(0.0, end, 6)[1:].tolist(), duration, "time since the copy")
    if observed:
        covered = xs[1:][xs[1:] <= max(observed)]
        lower, upper = bound_curves(profiles, covered)
        drawing.line(covered.tolist(), lower.tolist(), "c7 dashed")
        drawing.line(covered.tolist(), upper.tolist(), "c7 dashed")
    if 0 < interval <= end:
        reached = [*xs[xs <= interval].tolist(), interval]
        below = divergence_at(fit, np.array(reached)).tolist()
        drawing.area(reached, below, [below[-1]] * len(reached), "c1")
        drawing.down(interval, "budget", f"visited every {duration(interval)}")
    drawing.line(xs.tolist(), fitted.tolist(), "c1 thick")
    for x, y in points:
        drawing.point(x, y, "c3", f"{share(y)} after {duration(x)}")
    keys = [
        Key("observed", "c3"),
        Key("fitted", "c1"),
        Key("bounds", "c7"),
        Key("interval in force", "budget"),
    ]
    rows = [(duration(x), share(y)) for x, y in sorted(points)]
    return Chart(drawing.svg("Divergence from a copy over time"), keys, ["after", "divergence"], rows)


def utility_at(fit: FittedCurve, interval: float) -> float:
    """U = t D(t) - the integral of D, the shaded area: divergence * seconds that a visit after t is worth."""
    if not np.isfinite(interval) or interval <= 0:
        return float("nan")
    xs = np.linspace(0.0, interval, 401)
    moved = divergence_at(fit, xs)
    return float(interval * moved[-1] - np.trapezoid(moved, xs))


def stripes_chart(found: Sequence[Life], until: float) -> Chart:
    """One line a fragment, for as long as it was there."""
    shown = found[:: max(1, -(-len(found) // _MOST_STRIPES))]
    start = min(life.first_seen for life in shown)
    height = 46 + 7 * len(shown)
    drawing = Drawing.of((start, max(until, start + 1)), (len(shown), 0.0), height=height, left=14)
    drawing.y = type(drawing.y)(0.0, len(shown), 12, height - 34)
    drawing.time_axis_at(height - 34)
    for row, life in enumerate(shown):
        lives_on = life.missed_at is None
        class_ = "c3" if lives_on else "c6"
        end = until if lives_on else life.last_seen
        told = f"from {moment(life.first_seen)} to {'now' if lives_on else moment(end)}"
        drawing.bar(life.first_seen, max(end, life.first_seen), row + 0.2, row + 0.8, class_, told, gap=0)
        if life.missed_at is not None:
            # Between two versions, nobody saw when it went.
            drawing.bar(life.last_seen, life.missed_at, row + 0.4, row + 0.6, "c6 faint", told, gap=0)
    keys = [Key("still there", "c3"), Key("has gone", "c6")]
    rows = [
        (
            moment(life.first_seen),
            moment(life.last_seen),
            moment(life.missed_at) if life.missed_at else "still there",
        )
        for life in shown
    ]
    heads = ["first seen", "last seen", "missed at"]
    return Chart(drawing.svg("Life times of sampled fragments"), keys, heads, rows)


def timeline_chart(visits: Sequence[VisitRecord], signals: Sequence[PageSignal], now: float) -> Chart:
    """Visits and signals over time, in lanes."""
    start = min([*(visit.at for visit in visits), *(signal.heard_at for signal in signals)])
    drawing = Drawing.of((start - 0.02 * (now - start) - 1, now), (0.0, 4.0), width=1240, height=176, left=92)
    drawing.y = type(drawing.y)(0.0, 4.0, 10, 142)
    drawing.time_axis_at(142)
    for lane, name in enumerate(_OUTCOME_LANES):
        drawing.across(lane + 0.5, "grid")
        drawing.add("text", name, x=84, y=drawing.y(lane + 0.5) + 4, text_anchor="end", class_="tick")
    for visit in reversed(visits):
        outcome = ending(visit.outcome)
        moved = f", {share(visit.divergence)} moved" if visit.divergence is not None else ""
        why = f" ({safe(visit.reason)})" if visit.reason else ""
        told = f"{outcome}{moved}{why}, {moment(visit.at)}"
        drawing.point(visit.at, _LANE.get(visit.outcome, 2) + 0.5, _OUTCOME_CLASSES[visit.outcome], told, 4)
    for signal in reversed(signals):
        class_ = {True: "c3", False: "bad", None: "c4 hollow"}[signal.changed]
        found = {True: "the page had changed", False: "nothing had changed", None: "not visited since"}
        told = f"{signal.source.name.lower()}: {found[signal.changed]}, {moment(signal.heard_at)}"
        drawing.point(signal.heard_at, 3.5, class_, told, 4)
    keys = [
        *(Key("changed", "c3"), Key("first copy", "c1"), Key("unchanged", "c2"), Key("not modified", "c5")),
        *(Key("gone or moved", "c6"), Key("failed, or a false signal", "bad")),
        *([Key("stopped", "c7")] if any(visit.outcome is Outcome.IGNORED for visit in visits) else []),
    ]
    rows = [(moment(visit.at), ending(visit.outcome)) for visit in visits[:50]]
    return Chart(drawing.svg("Visits and signals over time", "chart wide"), keys, ["time", "visit"], rows)


def posterior_chart(posterior: Posterior, rate: float) -> Chart:
    """What is believed of the time between two changes."""
    seconds = (1 / posterior.rates).tolist()
    parts = [posterior.after] + ([posterior.before] if posterior.before is not None else [])
    likely = np.flatnonzero(np.max(parts, axis=0) > 0.002 * max(part.max() for part in parts))
    first, last = max(int(likely[0]) - 1, 0), min(int(likely[-1]) + 1, len(seconds) - 1)
    low, high = seconds[last], seconds[first]
    top = float(max(part.max() for part in parts))
    drawing = Drawing.of((low, high), (0.0, 1.05 * top), log_x=True, height=200, left=20)
    drawing.across(0.0, "grid")
    drawing.x_axis(thinned(length_ticks(low, high), 7), duration, "time between two changes")
    chosen = slice(first, last + 1)
    zeros = [0.0] * (last + 1 - first)
    if posterior.before is not None:
        drawing.line(seconds[chosen], posterior.before[chosen].tolist(), "c2 dashed")
    drawing.area(seconds[chosen], zeros, posterior.after[chosen].tolist(), "c3")
    drawing.line(seconds[chosen], posterior.after[chosen].tolist(), "c3 thick")
    drawing.down(1 / rate, "budget", f"every {duration(1 / rate)}")
    keys = [Key("after its own visits", "c3"), Key("rate in use", "budget")]
    if posterior.before is not None:
        keys.insert(1, Key("what pages like it tell", "c2"))
    rows = [
        (duration(each), number(float(chance)))
        for each, chance in zip(seconds[chosen], posterior.after[chosen].tolist(), strict=True)
    ]
    return Chart(
        drawing.svg("Belief about the change rate"), keys, ["time between changes", "probability"], rows
    )
