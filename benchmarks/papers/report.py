"""What all paper benchmarks share: their options, tables in markdown, verdicts and reproducible plots.

With `--output DIR`, a benchmark writes its plot to DIR, and its tables into the page of the same name if
there is one, between the two comments that mark their place. So a page shows what the command printed.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from scrapy_freshness.simulator.simulate import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The columns of a comparison.
COMPARED = ("experiment", "paper", "ours", "standard error", "verdict")
_MEASURED = re.compile("(<!-- measured by .* -->\n).*(<!-- end -->)", re.DOTALL)

_TAG = re.compile("<[^>]*>")


def _rounded(tag: re.Match[str]) -> str:
    """Coordinates with two digits after the point: the other four are half of a plot's file."""
    return re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0])


class Report:
    """Tables that are printed at once and published at the end."""

    def __init__(
        self, script: str, description: str, more: Callable[[argparse.ArgumentParser], None] | None = None
    ) -> None:
        """*more* adds options of the benchmark's own, which are then in `options`."""
        parser = argparse.ArgumentParser(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--quick", action="store_true", help="seconds instead of minutes: does it run?")
        parser.add_argument("--output", type=Path, default=Path(), help="folder of the plot (default: here)")
        if more is not None:
            more(parser)
        self.options = options = parser.parse_args()
        self.quick: bool = options.quick
        self._output: Path = options.output
        self._name = Path(script).stem.replace("_", "-")
        self._blocks: list[str] = []

    def say(self, text: str) -> None:
        """A paragraph."""
        print(text, end="\n\n", flush=True)
        self._blocks.append(text)

    def table(self, title: str, rows: Iterable[Sequence[Any]], head: Sequence[str] = COMPARED) -> None:
        """A table under its title; numbers as they are, so hand in strings."""
        lines = ("| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows))
        self.say("\n".join([f"**{title}**", "", *lines]))

    def progress(self, text: str) -> None:
        """What is being done, for whoever waits."""
        print(text, file=sys.stderr, flush=True)

    def publish(self, figure: "Figure") -> None:
        """Write the plot, the same bytes for the same numbers, and the tables into their page."""
        self._output.mkdir(parents=True, exist_ok=True)
        path = self._output / f"{self._name}.svg"
        with mpl.rc_context({"svg.hashsalt": self._name, "svg.fonttype": "none"}):
            figure.savefig(path, metadata={"Date": None, "Creator": None})
        path.write_text(_TAG.sub(_rounded, path.read_text()))
        self.progress(f"wrote {path}")
        page = path.with_suffix(".md")
        if page.exists():
            measured = "\n\n".join(self._blocks)
            text, found = _MEASURED.subn(
                lambda marks: f"{marks[1]}\n{measured}\n\n{marks[2]}", page.read_text()
            )
            if not found:
                sys.exit(f"{page} has no place for the tables: '<!-- measured by ... -->' to '<!-- end -->'")
            page.write_text(text)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean of independent values and its standard error; nan of none."""
    return float(np.mean(values)) if len(values) else float("nan"), standard_error(values)


def compared(
    experiment: str, paper: float, paper_error: float, ours: tuple[float, float], digits: int = 4
) -> tuple[str, ...]:
    """A row: two means, judged by the standard error of their difference."""
    mean, error = ours
    z = (mean - paper) / np.hypot(paper_error, error)
    verdict = f"agrees, z = {z:+.1f}" if abs(z) <= 3 else f"**differs**, z = {z:+.1f}"
    return (experiment, f"{paper:.{digits}f}", f"{mean:.{digits}f}", f"{error:.{digits}f}", verdict)


def claimed(
    experiment: str, claim: str, ours: tuple[float, float], holds: bool, digits: int = 4
) -> tuple[str, ...]:
    """A row: a claim in words, with a signed number of ours."""
    mean, error = ours
    verdict = "holds" if holds else "**does not hold**"
    if np.isnan(mean):
        return (experiment, claim, "–", "–", "cannot be said")
    return (experiment, claim, f"{mean:+.{digits}f}", f"{error:.{digits}f}", verdict)


def is_above(ours: tuple[float, float], least: float = 0.0) -> bool:
    """Whether a mean is above a number by more than two standard errors."""
    return ours[0] - least > 2 * ours[1]
