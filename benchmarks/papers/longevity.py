"""The experiments of the longevity paper on pages of static, churning and scrolling regions.

The paper's pages are not public. Its figures show staleness (mean share of fragments in which a copy differs
from the page) over refresh cost (1: every page at every snapshot, which is every two days), each policy
swept over its threshold. The world `longevity` has the regions of the paper's model; 60 days, as there.

Figure 6: offline policies. Figure 8: curve fitting and bounds in the first 30 days, figures 9 and 11: in the
last 30, with CGM. Figure 10: compact summaries. Beyond the figures: the risk parameter rho.
Figures 1 to 5 and 12 show the paper's data.

    python benchmarks/papers/longevity.py [--quick] [--output DIR]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from report import Report, claimed, is_above, mean_and_error

from scrapy_freshness.simulator.figures import new_figure, style, tidy
from scrapy_freshness.simulator.worlds.contract import Size
from scrapy_freshness.simulator.worlds.longevity import DAY, Longevity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SNAPSHOT_DAYS, SEED = 2.0, 9
#: Refresh costs at which policies are compared.
COSTS = (0.1, 0.2, 0.4)
MIDDLE = 0.2
#: What each curve is swept over: refresh costs of policies without a threshold, thresholds in days of others.
SWEPT = tuple(
    zip((1.6, 0.8, 0.4, 0.2, 0.1, 0.05, 0.025), (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0), strict=True)
)

#: Refresh cost, staleness, and share of the refreshes that were of pages that never change.
Point = tuple[float, float, float]


@dataclass(frozen=True)
class Curve:
    """A line of a figure: a policy with its options, swept over thresholds (or rates, without one)."""

    label: str
    policy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    learn: bool = True
    days: float = 60.0

    def points(self, pages: int, web: int, swept: Sequence[tuple[float, float]]) -> list[Point]:
        """Refresh cost and staleness after the warm-up."""
        return [self._point(pages, web, cost, days) for cost, days in swept]

    def _point(self, pages: int, web: int, cost: float, threshold_days: float) -> Point:
        world = Longevity(**self.options)
        size = Size(pages, cost * pages / SNAPSHOT_DAYS, self.days)
        drawn = world.draw(size, np.random.default_rng([SEED, web]))
        snapshots = (1 - world.warm_up) * self.days / SNAPSHOT_DAYS * pages
        if self.policy.startswith("uniform"):
            outcome = drawn.play(self.policy, learn=False, advance=lambda share: None)
            return outcome.fetches / snapshots, outcome.measures["staleness"], float("nan")
        fetches = drawn.at_threshold(self.policy, threshold_days * DAY, learn=self.learn)
        outcome = drawn.judged(fetches)
        counted = fetches.pages[fetches.times > world.warm_up * self.days * DAY]
        in_vain = float(np.mean(~drawn.ever_changes[counted])) if len(counted) else 0.0
        return outcome.fetches / snapshots, outcome.measures["staleness"], in_vain


ALL_DAYS = {"warm_up": 0.0}
OFFLINE = [
    Curve("FS-D, all days", "fs-d", ALL_DAYS),
    Curve("HS-D, all days", "hs-d", ALL_DAYS),
    Curve("FS-S, all days", "fs-s", ALL_DAYS),
    Curve("HS-S, all days", "hs-s", ALL_DAYS),
    Curve("uniform, all days", "uniform-dynamic", ALL_DAYS),
]
FIRST_DAYS = [
    Curve("curve fitting, first 30 days", "longevity-curve", ALL_DAYS, days=30.0),
    Curve("bounds, first 30 days", "longevity-bounds", ALL_DAYS, days=30.0),
    Curve("uniform, first 30 days", "uniform-dynamic", ALL_DAYS, days=30.0),
    Curve("FS-D, first 30 days", "fs-d", ALL_DAYS, days=30.0),
]
STEADY = [
    Curve("curve fitting", "longevity-curve"),
    Curve("bounds", "longevity-bounds"),
    Curve("curves known", "longevity-curve", learn=False),
    Curve("uniform", "uniform-dynamic"),
    Curve("uniform, static pages too", "uniform"),
    Curve("FS-D", "fs-d"),
    Curve("CGM", "cgm"),
]
COMPACT = [
    Curve("curve fitting, h = 1, m = 8", "longevity-curve", {"profiles": 1, "sketch": 8}),
    Curve("bounds, h = 1, m = 8", "longevity-bounds", {"profiles": 1, "sketch": 8}),
]
RISK = [
    Curve("bounds, rho = 10", "longevity-bounds", {"risk": 10.0}),
    Curve("bounds, rho = 1000", "longevity-bounds", {"risk": 1000.0}),
    Curve("curve fitting, rho = 1000", "longevity-curve", {"risk": 1000.0}),
]
CURVES = (*OFFLINE, *FIRST_DAYS, *STEADY, *COMPACT, *RISK)

#: Label -> points of each web.
Found = dict[str, list[list[Point]]]


def at_cost(points: Sequence[Point], cost: float, column: int = 1) -> float:
    """Staleness at a refresh cost, on the line between the points; nan outside of them."""
    table = np.array(sorted(points))
    costs = np.maximum(table[:, 0], 1e-4)
    if not costs[0] <= cost <= costs[-1]:
        return float("nan")
    return float(np.interp(np.log(cost), np.log(costs), table[:, column]))


def cost_of(points: Sequence[Point], stale: float) -> float:
    """Refresh cost at which a staleness is reached; nan if it is not."""
    ordered = sorted(points, key=lambda point: -point[1])
    costs, values, _ = (np.array(each) for each in zip(*ordered, strict=True))
    if not values[-1] <= stale <= values[0]:
        return float("nan")
    return float(np.exp(np.interp(-stale, -values, np.log(np.maximum(costs, 1e-4)))))


def finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if np.isfinite(value)]


def staleness(found: Found, label: str, cost: float) -> str:
    values = finite([at_cost(points, cost) for points in found[label]])
    if len(values) < len(found[label]):
        return "–"
    mean, error = mean_and_error(values)
    return f"{mean:.4f} ± {error:.4f}"


def saved(found: Found, one: str, other: str, cost: float = MIDDLE) -> tuple[float, float]:
    """Paired difference in staleness at a cost: what *one* is ahead of *other*."""
    return mean_and_error(
        finite(
            [
                at_cost(theirs, cost) - at_cost(mine, cost)
                for mine, theirs in zip(found[one], found[other], strict=True)
            ]
        )
    )


def refreshes(found: Found, one: str, other: str) -> tuple[float, float]:
    """How many times as many refreshes *one* needs for the staleness that *other* has at the middle cost."""
    return mean_and_error(
        finite(
            [
                cost_of(mine, at_cost(theirs, MIDDLE)) / MIDDLE
                for mine, theirs in zip(found[one], found[other], strict=True)
            ]
        )
    )


def tables(report: Report, found: Found) -> None:
    head = ("policy", *(f"at cost {cost:g}" for cost in COSTS))
    for title, curves in (
        ("Figure 6: staleness of offline policies, 60 days", OFFLINE),
        ("Figure 8: staleness of online policies in the first 30 days", FIRST_DAYS),
        ("Figures 9 and 11: staleness of online policies in the last 30 of 60 days", STEADY),
        ("Figure 10 and risk: staleness in the last 30 days", (*COMPACT, *RISK)),
    ):
        rows = [(curve.label, *(staleness(found, curve.label, cost) for cost in COSTS)) for curve in curves]
        report.table(f"{title} (± standard error)", rows, head)
    rows = []
    for figure, one, other in (
        (6, "FS-D, all days", "FS-S, all days"),
        (6, "FS-S, all days", "HS-S, all days"),
        (6, "FS-S, all days", "uniform, all days"),
        (9, "curve fitting", "uniform"),
        (9, "bounds", "uniform"),
        (9, "FS-D", "curve fitting"),
        (11, "curve fitting", "CGM"),
    ):
        # FS-D never makes more refreshes than that.
        cost = COSTS[0] if one.startswith("FS-D") else MIDDLE
        ahead = saved(found, one, other, cost)
        label = f"figure {figure}, cost {cost:g}: staleness of {other} − {one}"
        rows.append(claimed(label, "> 0", ahead, is_above(ahead)))
    for figure, one, other in (
        (8, "curve fitting, first 30 days", "uniform, first 30 days"),
        (8, "bounds, first 30 days", "uniform, first 30 days"),
        (9, "curve fitting", "bounds"),
    ):
        ahead = saved(found, one, other)
        claim = "slightly > 0" if figure == 9 else "about 0"
        holds = is_above(ahead) if figure == 9 else abs(ahead[0]) < max(0.01, 2 * ahead[1])
        rows.append(
            claimed(f"figure {figure}, cost {MIDDLE:g}: staleness of {other} − {one}", claim, ahead, holds)
        )
    report.table("What the paper claims, differences on the same webs", rows)
    rows = []
    for one, other, paper, independent in (
        ("CGM", "curve fitting", "2", "1.8–2.2"),
        ("uniform", "curve fitting", "> 1", "–"),
        ("uniform, static pages too", "curve fitting", "–", "–"),
        ("bounds", "curve fitting", "> 1", "–"),
        ("curves known", "curve fitting", "–", "–"),
        ("curve fitting, h = 1, m = 8", "curve fitting", "about 1", "1.8"),
        ("bounds, h = 1, m = 8", "bounds", "about 1", "–"),
        ("bounds, rho = 10", "bounds", "–", "> uniform's"),
        ("bounds, rho = 1000", "bounds", "–", "–"),
        ("curve fitting, rho = 1000", "curve fitting", "–", "–"),
        ("CGM", "curves known", "–", "–"),
    ):
        mean, error = refreshes(found, one, other)
        rows.append((one, other, paper, independent, f"{mean:.2f}", f"{error:.2f}"))
    report.table(
        f"Refreshes for the staleness that another policy has at cost {MIDDLE:g}, relative to it",
        rows,
        ("policy", "other", "paper", "independent implementation", "ours", "standard error"),
    )


def in_vain(report: Report, found: Found) -> None:
    """What looking at pages that never change takes."""
    rows = []
    for label in ("curve fitting", "bounds", "curves known", "CGM"):
        shares = finite([at_cost(points, MIDDLE, column=2) for points in found[label]])
        mean, error = mean_and_error(shares)
        rows.append((label, f"{mean:.3f}", f"{error:.3f}"))
    report.table(
        f"Share of the refreshes that were of pages that never change, at cost {MIDDLE:g}, last 30 days",
        rows,
        ("policy", "ours", "standard error"),
    )


def drawing(found: Found) -> "Figure":
    figure = new_figure(10.0, 8.0)
    panels = figure.subplots(2, 2)
    parts = (
        ("Offline policies, 60 days (figure 6)", OFFLINE),
        ("First 30 days (figure 8)", FIRST_DAYS),
        ("Last 30 days (figures 9 and 11)", STEADY),
        ("Compact summaries (figure 10), and risk", (*STEADY[:2], *COMPACT, *RISK)),
    )
    for panel, (title, curves) in zip(panels.flat, parts, strict=True):
        for number, curve in enumerate(curves):
            points = np.mean([sorted(each) for each in found[curve.label]], axis=0)
            look = style(number)
            look.pop("capsize")
            label = curve.label.removesuffix(", all days").removesuffix(", first 30 days")
            panel.plot(points[:, 0], points[:, 1], label=label, **look)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("refresh cost (1: every page every two days)")
        panel.set_ylabel("staleness (share of fragments)")
        panel.set_xlim(0, 1.0)
        panel.set_ylim(0)
        panel.legend(fontsize=8, frameon=False)
        tidy(panel)
    return figure


def main() -> None:
    report = Report(__file__, __doc__ or "")
    pages, webs, swept = (5, 2, SWEPT[1:6:2]) if report.quick else (60, 5, SWEPT)
    found: Found = {}
    for curve in CURVES:
        report.progress(curve.label)
        found[curve.label] = [curve.points(pages, web, swept) for web in range(webs)]
    report.say(f"{webs} webs of {pages} pages each.")
    tables(report, found)
    in_vain(report, found)
    report.publish(drawing(found))


if __name__ == "__main__":
    main()
