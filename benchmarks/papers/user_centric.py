"""User-centric refreshing: Pandey, Olston, WWW 2005, re-run on evolving pages of our own.

The paper's two data sets and its query log are not public. Section 5.1: the measured gain of a refresh
against the exact one. What is claimed is the accuracy for logs of single terms, as in the paper, by whose
definition a gain is that of single terms; beside it is the one for logs with whole queries. In the column of
the paper are the figures of an independent implementation.

Figure 4: repository quality by budget. Policies know the whole history, as in the paper, or learn from their
visits; SBR and EBR know it, with the best of ten thresholds for every corpus and budget.

Figure 2, the overhead of measuring, is in benchmarks/search_index.py; figure 3 shows the paper's data.

With `--kept DIR`, what was found for each corpus is kept in a file, and taken from there by the next run;
with `--only N` nothing but corpus N is played, and kept.

    python benchmarks/papers/user_centric.py [--quick] [--output DIR] [--kept DIR] [--only N]
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from report import COMPARED, Report, mean_and_error
from user_centric_accuracy import WORKLOADS, Accuracy, accuracies
from user_centric_budgets import BUDGETS, Comparison, Key, compared, curve, qualities

from scrapy_freshness.search.scoring import SCORINGS
from scrapy_freshness.simulator.evolving_text import WEEK, TextShape
from scrapy_freshness.simulator.figures import new_figure, style, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = list[dict[Key, float]]

#: In the order of the plot and the table.
SHOWN = (
    "user-centric",
    "user-centric-linear",
    "sbr",
    "ebr",
    "greedy",
    "uniform",
    "user-centric (learned)",
    "user-centric-linear (learned)",
    "greedy (learned)",
)
#: Policies and rivals.
CLAIMS = (
    ("user-centric", "sbr"),
    ("user-centric", "ebr"),
    ("user-centric-linear", "sbr"),
    ("user-centric-linear", "ebr"),
    ("user-centric", "user-centric-linear"),
    ("user-centric (learned)", "sbr"),
    ("user-centric (learned)", "ebr"),
    ("user-centric (learned)", "greedy (learned)"),
    ("user-centric (learned)", "uniform"),
)
#: By `Accuracy`: what the other implementation found for single terms, the least and the most that will do.
REFERENCE = {
    "correlation per page": ("0.94–0.95", 0.94, 1.0),
    "correlation per refresh": ("0.87–0.91", 0.87, 1.0),
    "sum, measured / exact": ("0.6–1.4", 0.6, 1.4),
}


def gains(report: Report, corpora: int, shape: TextShape) -> None:
    """Section 5.1: measured against exact gains; the claim is about single terms."""
    found = [measured(report, seed, shape) for seed in range(corpora)]
    rows = []
    for scoring in SCORINGS:
        single, whole = (np.array([each[scoring, workload] for each in found]) for workload in WORKLOADS)
        for column, (name, (reference, least, most)) in enumerate(REFERENCE.items()):
            mean, error = mean_and_error(single[:, column])
            beside = "{:.3f} ± {:.3f}".format(*mean_and_error(whole[:, column]))
            verdict = "holds" if least <= mean <= most else "**does not hold**"
            label = f"section 5.1, {scoring}: {name}"
            rows.append((label, reference, f"{mean:.3f}", f"{error:.3f}", verdict, beside))
    report.table(
        f"Measured against exact gains for logs of single terms, {corpora} corpora of {shape.pages} pages",
        rows,
        (*COMPARED, "for logs of whole queries"),
    )


def budgets(report: Report, results: Results) -> None:
    """Figure 4, and policies against rivals at every budget."""
    for scoring in SCORINGS:
        rows = []
        for policy in SHOWN:
            lost = 1 - curve(results, scoring, policy)
            cells = (f"{mean:.4f} ± {error:.4f}" for mean, error in map(mean_and_error, lost.T))
            rows.append((policy, *cells))
        report.table(
            f"Figure 4, {scoring}: quality lost, 1 − Q, by refreshes per page and week (± standard error)",
            rows,
            ("policy", *(f"{budget:.2g}" for budget in BUDGETS)),
        )
    for scoring in SCORINGS:
        rows = []
        for policy, rival in CLAIMS:
            found = compared(results, scoring, policy, rival)
            rows.append((f"{policy} − {rival}", *map(cell, found), summary(found)))
        report.table(
            f"{scoring}: differences in quality on the same {len(results)} corpora (± standard error), and"
            " how many times the budget the rival needs for the same quality",
            rows,
            ("policy − rival", *(f"{budget:.2g}" for budget in BUDGETS), "all budgets"),
        )


def cell(found: Comparison) -> str:
    """A difference; bold if it is against the policy."""
    text = f"{found.difference:+.4f} ± {found.standard_error:.4f}"
    text = f"**{text}**" if found.verdict == "worse" else text
    return text if np.isnan(found.saved) else f"{text}, {found.saved:.1f}×"


def summary(found: list[Comparison]) -> str:
    """At how many budgets a policy is better or worse by more than two standard errors."""
    verdicts = [each.verdict for each in found]
    return ", ".join(f"{verdicts.count(word)} {word}" for word in ("better", "even", "worse"))


def drawing(results: Results) -> "Figure":
    """Figure 4 of the paper: the budget that a quality needs."""
    figure = new_figure(10.0, 5.4)
    panels = figure.subplots(1, len(SCORINGS), sharey=True)
    for panel, scoring in zip(panels, SCORINGS, strict=True):
        for policy in SHOWN:
            lost = 1 - curve(results, scoring, policy)
            means, errors = zip(*map(mean_and_error, lost.T), strict=True)
            # A policy that learns has the colour of the same one that knows.
            look = style(SHOWN.index(policy.removesuffix(" (learned)")))
            look["linestyle"] = "--" if policy.endswith(" (learned)") else "-"
            panel.errorbar(means, BUDGETS, xerr=errors, label=policy, **look)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.invert_xaxis()
        ticks = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01)
        panel.set_xticks(ticks, [f"{1 - tick:g}" for tick in ticks])
        panel.minorticks_off()
        panel.set_title(f"Scores by {scoring} (figure 4)", fontsize=10)
        panel.set_xlabel("repository quality (1: as if all pages were fresh)")
        tidy(panel)
    panels[0].set_ylabel("budget (refreshes per page and week)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def played(report: Report, seed: int, shape: TextShape) -> dict[Key, float]:
    """Quality by budget of one corpus."""

    def play() -> list[Any]:
        report.progress(f"quality by budget, corpus {seed + 1}")
        return [[*key, quality] for key, quality in qualities(seed, shape).items()]

    return {Key(*key): quality for *key, quality in kept(report, f"corpus-{seed}.json", play)}


def measured(report: Report, seed: int, shape: TextShape) -> dict[tuple[str, str], Accuracy]:
    """Measured against exact gains of one corpus."""

    def measure() -> list[Any]:
        report.progress(f"measured and exact gains, corpus {seed + 1}")
        return [[*key, *accuracy] for key, accuracy in accuracies(seed, shape).items()]

    rows = kept(report, f"gains-{seed}.json", measure)
    return {(scoring, workload): Accuracy(*found) for scoring, workload, *found in rows}


def kept(report: Report, name: str, find: Callable[[], list[Any]]) -> list[Any]:
    """What was found: from its file, if there is one."""
    folder: Path | None = report.options.kept
    if folder is None:
        return find()
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(find()))
    rows: list[Any] = json.loads(path.read_text())
    return rows


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kept", type=Path, metavar="DIR", help="folder for what was found for each corpus")
    parser.add_argument("--only", type=int, metavar="N", help="play corpus N alone")


def main() -> None:
    report = Report(__file__, __doc__ or "", own_options)
    corpora, shape, evolving = 10, TextShape(pages=100), TextShape(pages=100)
    if report.quick:
        corpora, shape, evolving = 2, TextShape(pages=12), TextShape(pages=12, horizon=8 * WEEK)
    if report.options.only is not None:
        measured(report, report.options.only, shape)
        played(report, report.options.only, evolving)
        return
    gains(report, corpora, shape)
    results = [played(report, seed, evolving) for seed in range(corpora)]
    budgets(report, results)
    report.publish(drawing(results))


if __name__ == "__main__":
    main()
