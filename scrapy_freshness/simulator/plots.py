"""Results as figures for a paper: dots with error bars, or lines over what was varied.

matplotlib is imported only here, and only when something is drawn; it is an extra of the package.
"""

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.simulate import Result, standings
from scrapy_freshness.simulator.worlds.contract import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
#: Colours that people who see colours differently can tell apart (Okabe and Ito), and what to use after them.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_MARKERS = "osD^vP*X"
_WIDTH = 6.4  # inches


def check_plot(name: str) -> Path:
    """Refuse, before hours of work, a file that cannot be drawn."""
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"a plot is written to a file that ends in {' or '.join(SUFFIXES)}, not to {name!r}"
        )
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise ConfigError(f"{name} cannot be written: there is no folder {str(path.absolute().parent)!r}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ConfigError(
            "plots need matplotlib, which is not installed: pip install scrapy-freshness[plots]"
        )
    return path


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
    figure = new_figure(_WIDTH, heights * max(len(shown), 1))
    panels = figure.subplots(max(len(shown), 1), 1, squeeze=False)[:, 0].tolist()
    for metric, panel in zip(shown, panels, strict=False):
        own = [each for each in results if each.metric == metric.name]
        if varied is None:
            _dots(panel, own, metric)
        else:
            _lines(panel, own, metric, varied, time_unit)
    figure.suptitle(_title(results, time_unit, varied), fontsize=10)
    save(figure, path)


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure that belongs to no window."""
    figure: Figure = importlib.import_module("matplotlib.figure").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def save(figure: "Figure", path: Path) -> None:
    """Write a figure as its file's name says."""
    try:
        figure.savefig(path, dpi=160)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def style(number: int) -> dict[str, Any]:
    """Colour and marker of the line with that number."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "linestyle": ("-", "--", ":")[number // len(_COLOURS) % 3],
        "markersize": 4,
        "linewidth": 1.2,
        "capsize": 2,
    }


def tidy(panel: "Axes") -> None:
    """No frame where nothing is measured, and a light grid."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(color="0.9", linewidth=0.6)
    panel.set_axisbelow(True)


def _dots(panel: "Axes", results: Sequence[Result], metric: Metric) -> None:
    """Means with their standard errors; beside them the differences, whose errors are much smaller."""
    ranked = [each for each in standings(results, metric) if _is_finite(each.result)][::-1]
    means, errors = ([getattr(each.result, name) for each in ranked] for name in ("mean", "stderr"))
    places = range(len(ranked))
    panel.errorbar(means, places, xerr=np.nan_to_num(errors), fmt="o", color=_COLOURS[0], capsize=2, ms=4)
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
