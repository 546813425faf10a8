"""Results of simulations as figures for a paper: dots with error bars, or lines over what was varied."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_freshness.simulator.figures import COLOURS, figure_in, style, tidy
from scrapy_freshness.simulator.simulate import Result, standings
from scrapy_freshness.simulator.worlds.contract import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 6.4  # inches


def plot(results: Sequence[Result], metrics: Sequence[Metric], path: Path, *, time_unit: str) -> None:
    """Draw results, a panel for each metric; over pages or rates if there are several."""
    shown = [
        metric
        for metric in metrics
        if any(_is_finite(each) for each in results if each.metric == metric.name)
    ]
    varied = next(
        (name for name in ("pages", "rate") if len({getattr(each, name) for each in results}) > 1), None
    )
    heights = 3.4 if varied else 1.0 + 0.28 * len({each.policy for each in results})
    with figure_in(path, _WIDTH, heights * max(len(shown), 1)) as figure:
        panels = figure.subplots(max(len(shown), 1), 1, squeeze=False)[:, 0].tolist()
        for metric, panel in zip(shown, panels, strict=False):
            own = [each for each in results if each.metric == metric.name]
            if varied is None:
                _dots(panel, own, metric)
            else:
                _lines(panel, own, metric, varied, time_unit)
        figure.suptitle(_title(results, time_unit, varied), fontsize=10)


def _dots(panel: "Axes", results: Sequence[Result], metric: Metric) -> None:
    """Means with their standard errors; beside them the differences, whose errors are much smaller."""
    ranked = [each for each in standings(results, metric) if _is_finite(each.result)][::-1]
    means, errors = ([getattr(each.result, name) for each in ranked] for name in ("mean", "stderr"))
    places = range(len(ranked))
    panel.errorbar(means, places, xerr=np.nan_to_num(errors), fmt="o", color=COLOURS[0], capsize=2, ms=4)
    panel.set_yticks(places, [each.result.policy for each in ranked])
    panel.set_ylim(-0.6, len(ranked) - 0.4)
    panel.set_xlabel(f"{metric.name}\n{metric.meaning}", fontsize=9)
    tidy(panel)
    if metric.is_gain is None:
        return
    beside: dict[str, Any] = {
        "transform": panel.get_yaxis_transform(),
        "fontsize": 8,
        "va": "center",
        "color": "0.3",
    }
    panel.text(1.02, len(ranked) - 0.35, "to the best", **beside)
    for place, each in zip(places, ranked, strict=True):
        error = "" if np.isnan(each.behind_error) else f" ± {each.behind_error:.4f}"
        panel.text(1.02, place, f"{each.behind:+.4f}{error}" if each.behind or error else "best", **beside)


def _lines(panel: "Axes", results: Sequence[Result], metric: Metric, varied: str, time_unit: str) -> None:
    policies = list(dict.fromkeys(each.policy for each in results))
    for number, policy in enumerate(policies):
        own = sorted(
            (each for each in results if each.policy == policy), key=lambda each: getattr(each, varied)
        )
        x, means = [getattr(each, varied) for each in own], [each.mean for each in own]
        errors = np.nan_to_num([each.stderr for each in own])
        panel.errorbar(x, means, yerr=errors, label=policy, **style(number))
    values = sorted({getattr(each, varied) for each in results})
    if values[-1] >= 5 * values[0]:
        panel.set_xscale("log")
        panel.set_xticks(values, [f"{value:g}" for value in values])
        panel.minorticks_off()
    panel.set_xlabel("pages" if varied == "pages" else f"crawls per {time_unit.removesuffix('s')}")
    panel.set_ylabel(f"{metric.name}\n{metric.meaning}", fontsize=9)
    panel.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    tidy(panel)


def _title(results: Sequence[Result], time_unit: str, varied: str | None) -> str:
    first = results[0]
    sizes = [f"{first.world}:"]
    if varied != "pages":
        sizes.append(f"{first.pages:,} pages,")
    if varied != "rate":
        sizes.append(f"{first.rate:g} crawls per {time_unit.removesuffix('s')},")
    webs = "1 web" if first.repeat == 1 else f"{first.repeat} webs"
    learning = "learned from visits" if first.learn else "known"
    return " ".join([*sizes, f"{first.horizon:g} {time_unit}, {webs}, parameters {learning}"])


def _is_finite(result: Result) -> bool:
    return bool(np.isfinite(result.mean))
