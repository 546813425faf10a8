"""The results of a replay as a figure, a panel for each record.

Several budgets are lines over the budget; a single one is a row of points, best policy on top, because bars
that begin at 0 would hide the differences that matter.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from scrapy_freshness.commands.replay_table import excess_of, main_measure, title_of
from scrapy_freshness.insight.human import number
from scrapy_freshness.simulator.contest import RIVAL_NAMES
from scrapy_freshness.simulator.figures import COLOURS, MARKERS, figure_in, tidy

Row = dict[str, Any]

_PANEL_INCHES = 4.4, 3.1
_MOST_COLUMNS = 3
_BESIDE = 0.012


def save_plot(path: Path, rows: Sequence[Row]) -> None:
    """Draw the results and write the figure."""
    scaled = [row for row in rows if not row["unscaled"]]
    panels = [list(of_trace) for _, of_trace in groupby(scaled, key=lambda row: row["trace"])]
    looks = {policy: _look(place, policy) for place, policy in enumerate(_policies(scaled))}
    is_sweep = len({row["budget_per_day"] for row in scaled}) > 1
    columns = min(len(panels), _MOST_COLUMNS)
    lines = math.ceil(len(panels) / columns)
    height = _PANEL_INCHES[1] if is_sweep else 0.9 + 0.22 * len(looks)
    with figure_in(path, columns * _PANEL_INCHES[0], lines * height + 0.4 * is_sweep) as figure:
        grid = figure.subplots(lines, columns, squeeze=False).flatten().tolist()
        for axes, results in zip(grid, panels, strict=False):
            tidy(axes)
            (_draw_sweep if is_sweep else _draw_points)(axes, results, looks)
            axes.set_title(_title(results[0], is_sweep), loc="left")
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        if is_sweep:
            shown = dict(zip(*reversed(grid[0].get_legend_handles_labels()), strict=True))
            figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=min(len(shown), 5))
        else:
            figure.supxlabel(
                f"thin: one standard error; thick: one of the difference to {scaled[0]['policy']}",
                fontsize=7,
                color="#555555",
            )


def _draw_sweep(axes: Any, rows: Sequence[Row], looks: dict[str, dict[str, Any]]) -> None:
    """The main measure over the fetches that were made, with standard errors."""
    main = main_measure(rows)
    for place, (policy, look) in enumerate(looks.items()):
        own = sorted(
            (row for row in rows if row["policy"] == policy and row[main] is not None),
            key=lambda row: row["budget_per_day"],
        )
        # Side by side by a hair, so that error bars do not hide each other.
        beside = 1 + _BESIDE * (place - (len(looks) - 1) / 2)
        budgets = [beside * row["budget_per_day"] * (1 + excess_of(row)) for row in own]
        errors = [100 * (row[f"{main}_stderr"] or 0.0) for row in own]
        shares = [100 * row[main] for row in own]
        axes.errorbar(budgets, shares, errors, label=policy, capsize=2, elinewidth=0.7, **look)
    axes.set_xscale("log")
    ticks = sorted({row["budget_per_day"] for row in rows})
    axes.set_xticks(ticks, [number(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("fetches a day")
    axes.set_ylabel(f"{main} (%)")


def _draw_points(axes: Any, rows: Sequence[Row], looks: dict[str, dict[str, Any]]) -> None:
    """The main measure of each policy, with its standard error and that of its difference to the first."""
    main = main_measure(rows)
    ordered = sorted((row for row in rows if row[main] is not None), key=lambda row: row[main])
    for place, row in enumerate(ordered):
        look = looks[row["policy"]] | {"linestyle": ""}
        share = 100 * row[main]
        for key, width in ((f"{main}_stderr", 0.8), (f"{main}_diff_stderr", 3.0)):
            if row[key]:
                axes.plot(
                    [share - 100 * row[key], share + 100 * row[key]],
                    [place, place],
                    color=look["color"],
                    linewidth=width,
                    solid_capstyle="butt",
                    alpha=0.6 if width > 1 else 1.0,
                )
        axes.plot([share], [place], **look)
    axes.set_yticks(range(len(ordered)), [row["policy"] for row in ordered])
    axes.set_ylim(-0.6, len(ordered) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"{main} (%)")


def _look(place: int, policy: str) -> dict[str, Any]:
    """How a policy is drawn in all panels: full lines are ours, dashed ones rivals, dotted ones promises."""
    is_ours = policy not in RIVAL_NAMES and policy != "optimum"
    return {
        "color": "#777777" if policy == "optimum" else COLOURS[place % len(COLOURS)],
        "marker": "|" if policy == "optimum" else MARKERS[place % len(MARKERS)],
        "markersize": 4.5,
        "linestyle": "-" if is_ours else ":" if policy == "optimum" else "--",
        "linewidth": 1.4 if is_ours else 1.0,
    }


def _policies(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["policy"] for row in rows))


def _title(row: Row, is_sweep: bool) -> str:
    title = title_of(row["trace"]).replace("$", r"\$")  # which would begin a formula
    return title if is_sweep else f"{title}, {number(row['budget_per_day'])}/day"
