"""User-centric refreshing: Pandey, Olston, WWW 2005, re-run on evolving pages of our own.

The paper's two data sets and its query log are not public. Section 5.1: the measured gain of a refresh
against the exact one. The measured gain is that of single terms; for logs with whole queries the figures are
told as well. In the column of the paper are those of an independent implementation.

Figure 4: repository quality by budget. Policies know the whole history, as in the paper, or learn from their
visits; SBR and EBR know it, with the best of ten thresholds for every corpus and budget.

Figure 2, the overhead of measuring, is in benchmarks/search_index.py; figure 3 shows the paper's data.

    python benchmarks/papers/user_centric.py [--quick] [--output DIR]
"""

from typing import TYPE_CHECKING

import numpy as np
from report import Report, claimed, mean_and_error
from user_centric_accuracy import WORKLOADS, accuracies
from user_centric_budgets import BUDGETS, Key, compared, curve, qualities

from scrapy_freshness.search.scoring import SCORINGS
from scrapy_freshness.simulator.evolving_text import WEEK, TextShape
from scrapy_freshness.simulator.plots import new_figure, style, tidy

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
#: Policy, rival, and what is claimed of the policy.
CLAIMS = (
    ("user-centric-linear", "sbr", "better"),
    ("user-centric-linear", "ebr", "better"),
    ("user-centric", "sbr", "better"),
    ("user-centric", "ebr", "better"),
    ("user-centric (learned)", "greedy (learned)", "–"),
    ("user-centric (learned)", "uniform", "–"),
)
#: Spearman's correlations of the other implementation, per page and per refresh (single terms).
REFERENCE = {"per page": ("0.94–0.95", 0.94), "per refresh": ("0.87–0.91", 0.87)}


def gains(report: Report, corpora: int, shape: TextShape) -> None:
    """Section 5.1: measured against exact gains."""
    report.progress("measured and exact gains")
    found = [accuracies(seed, shape) for seed in range(corpora)]
    rows = []
    for scoring in SCORINGS:
        for workload in WORKLOADS:
            values = np.array([each[scoring, workload] for each in found])
            is_judged = workload == "single terms"
            for column, (name, (reference, least)) in enumerate(REFERENCE.items()):
                mean, error = mean_and_error(values[:, column])
                verdict = "" if not is_judged else "holds" if mean >= least else "**does not hold**"
                label = f"section 5.1, {scoring}, {workload}: correlation {name}"
                stated = reference if is_judged else "–"
                rows.append((label, stated, f"{mean:.3f}", f"{error:.3f}", verdict))
            mean, error = mean_and_error(values[:, 2])
            holds = 0.6 <= mean <= 1.4
            verdict = "" if not is_judged else "holds" if holds else "**does not hold**"
            label = f"section 5.1, {scoring}, {workload}: sum, measured / exact"
            rows.append((label, "0.6–1.4" if is_judged else "–", f"{mean:.3f}", f"{error:.3f}", verdict))
    report.table(f"Measured against exact gains, {corpora} corpora of {shape.pages} pages", rows)


def budgets(report: Report, results: Results) -> None:
    """Figure 4, and the paper's claim at every budget."""
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
    rows = []
    for scoring in SCORINGS:
        for policy, rival, claim in CLAIMS:
            # A tiny budget refreshes so few pages that the order is noise.
            for budget, row in list(zip(BUDGETS, compared(results, scoring, policy, rival), strict=True))[
                1::2
            ]:
                label = f"figure 4, {scoring}, {budget:.2g} a week: {policy} − {rival}, quality"
                found = row.difference, row.standard_error
                holds = row.verdict == "better" or (claim == "–" and row.verdict == "even")
                saved = "" if np.isnan(row.saved) else f", {rival} needs {row.saved:.1f} times the budget"
                line = claimed(label, claim, found, holds)
                verdict = row.verdict if claim == "–" else line[-1]
                rows.append((*line[:-1], verdict + saved))
    report.table("Quality on the same corpora; better and worse: by more than two standard errors", rows)


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


def main() -> None:
    report = Report(__file__, __doc__ or "")
    corpora, shape, evolving = 5, TextShape(pages=100), TextShape(pages=100)
    if report.quick:
        corpora, shape, evolving = 2, TextShape(pages=12), TextShape(pages=12, horizon=8 * WEEK)
    gains(report, 2 * corpora, shape)
    results = []
    for seed in range(corpora):
        report.progress(f"quality by budget, corpus {seed + 1} of {corpora}")
        results.append(qualities(seed, evolving))
    budgets(report, results)
    report.publish(drawing(results))


if __name__ == "__main__":
    main()
