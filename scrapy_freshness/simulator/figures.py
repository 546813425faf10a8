"""Figures as files: what may be drawn where, and what all figures look like.

matplotlib is imported only here, and only when something is drawn; it is an extra of the package.
"""

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_freshness.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
#: Okabe and Ito's colours without their yellow, which is too pale for lines, and some of Tol's: people who
#: see colours differently can tell them apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255", "#999933")
MARKERS = "osD^vP*X<>hp"
_STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "savefig.dpi": 160,
    "svg.hashsalt": "scrapy-freshness",  # the same results are the same file
}


def check_plot(name: str) -> Path:
    """Refuse, before hours of work, a file that cannot be drawn."""
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"a plot is written to a file that ends in {' or '.join(SUFFIXES)}, not to {name!r}"
        )
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{name} cannot be written: there is no folder {str(path.absolute().parent)!r}")
    if path.is_dir():
        raise ConfigError(f"{name} cannot be written: it is a folder")
    if importlib.util.find_spec("matplotlib") is None:
        raise ConfigError(
            "plots need matplotlib, which is not installed: pip install scrapy-freshness[plots]"
        )
    return path


@contextmanager
def figure_in(path: Path, width: float, height: float) -> Iterator["Figure"]:
    """An empty figure, of inches, that is written to the file in the end."""
    with importlib.import_module("matplotlib").rc_context(_STYLE):
        figure = new_figure(width, height)
        yield figure
        try:
            figure.savefig(path, metadata={"Date" if path.suffix.lower() == ".svg" else "Software": None})
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from error


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure that belongs to no window."""
    figure: Figure = importlib.import_module("matplotlib.figure").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def style(number: int) -> dict[str, Any]:
    """Colour and marker of the line with that number."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": ("-", "--", ":")[number // len(COLOURS) % 3],
        "markersize": 4,
        "linewidth": 1.2,
        "capsize": 2,
    }


def tidy(panel: "Axes") -> None:
    """No frame where nothing is measured, and a light grid."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(color="0.9", linewidth=0.6)
    panel.set_axisbelow(True)
