"""The experiments of the noisy-signals paper, section 6 and its appendices.

The paper shows figures only, so the numbers to compare with are those of an independent implementation of the
same experiments: means over 12 webs, R = 100, t <= 1000, with standard errors. Webs differ more from each
other than policies do, so our means are those of the continuous optimum over many webs, plus the differences
to it on the webs that are crawled.

Part 1, figures 3, 4 and 6: no signals, partial signals, noisy signals, for 100, 500 and 1,000 pages.
Part 2, figures 5, 7 and 10: how often pages are crawled.
Part 3, figure 8: noise in what is believed of precision and recall. The paper has 100,000 pages of a search
engine; here they are 1,000, of which one in twenty has good signals, as there.
Part 4, figure 11: signals that come Poisson(6) ticks late, heeded at once or not for 5 ticks after a crawl.
Part 5, figure 12: GREEDY while the rate changes from 100 to 150 and back.
Part 6, figures 13 and 14: precision and recall, estimated from crawls.

    python benchmarks/papers/noisy_signals.py [--quick] [--output DIR]
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from report import Report, claimed, compared, is_above, mean_and_error
from signal_estimates import errors_of_estimates
from signalled_webs import RATE, SEED, Effort, Kind, Played, SignalledWeb, best, drawn, optima

from scrapy_freshness.simulator.bandwidth import Bandwidth
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import Contest, enter
from scrapy_freshness.simulator.figures import new_figure, style, tidy
from scrapy_freshness.simulator.instances import drawn_events, drawn_instance
from scrapy_freshness.simulator.simulate import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = Effort(webs=4, optima=100, fresh_start=40.0, end=120.0, pages=(100, 500, 1000))
QUICK = Effort(webs=2, optima=3, fresh_start=1.0, end=3.0, pages=(100,))
#: Signals, policy -> means for 100, 500 and 1,000 pages.
REFERENCE: dict[tuple[Kind, str], tuple[float, ...]] = {
    ("none", "optimum"): (0.8322, 0.5055, 0.3664),
    ("none", "greedy"): (0.8316, 0.5062, 0.3675),
    ("none", "lds"): (0.8315, 0.5063, 0.3674),
    ("partial", "greedy-cis"): (0.9225, 0.6111, 0.4391),
    ("noisy", "greedy-cis"): (0.9032, 0.4393, 0.2733),
    ("noisy", "greedy-ncis-approx-1"): (0.9091, 0.5286, 0.3662),
    ("noisy", "greedy-ncis-approx-2"): (0.9095, 0.5390, 0.3804),
    ("noisy", "greedy-ncis"): (0.9094, 0.5417, 0.3856),
    ("noisy", "optimum"): (0.9112, 0.5414, 0.3844),
}
#: Its standard errors; it gives them once for each kind of signals.
REFERENCE_ERRORS: dict[Kind, tuple[float, ...]] = {
    "none": (0.0042, 0.0032, 0.0027),
    "partial": (0.0034, 0.0040, 0.0031),
    "noisy": (0.0037, 0.0036, 0.0029),
}
FIGURE = {"none": 3, "partial": 4, "noisy": 6}
#: Pages most of whose changes are announced.
WELL_SIGNALLED = 0.9

Runs = dict[tuple[str, int, str], list[Played]]


class Crawls:
    """All runs of parts 1 to 4, web after web the same for all."""

    def __init__(self, report: Report, effort: Effort) -> None:
        self.effort = effort
        self._report = report
        self._runs: Runs = {}
        self.optima = {
            (signals, pages): optima(pages, signals, effort.optima)
            for signals in REFERENCE_ERRORS
            for pages in effort.pages
        }

    def runs(
        self, signals: Kind, pages: int, policy: str, *, deaf: float = 0.0, corruption: float = 0.0
    ) -> list[Played]:
        """One for each web."""
        key = (f"{signals} {deaf} {corruption}", pages, policy)
        if key not in self._runs:
            self._report.progress(f"{policy}, {pages} pages, signals {signals}")
            self._runs[key] = [
                SignalledWeb(pages, signals, number, self.effort, corruption).play(policy, deaf)
                for number in range(self.effort.webs)
            ]
        return self._runs[key]

    def accuracies(self, signals: Kind, pages: int, policy: str, **options: float) -> np.ndarray:
        return np.array([run.accuracy for run in self.runs(signals, pages, policy, **options)])

    def estimate(self, signals: Kind, pages: int, policy: str) -> tuple[float, float]:
        """Mean accuracy and its standard error, with the optimum of many webs as a control variate."""
        many = self.optima[signals, pages]
        mean, error = mean_and_error(many)
        if policy == "optimum":
            return mean, error
        ahead = self.accuracies(signals, pages, policy) - many[: self.effort.webs]
        return mean + float(ahead.mean()), float(np.hypot(error, standard_error(ahead)))

    def gain(
        self, one: tuple[Kind, str], other: tuple[Kind, str], pages: int, **options: float
    ) -> tuple[float, float]:
        """Paired difference of two policies on the same webs."""
        return mean_and_error(
            self.accuracies(one[0], pages, one[1], **options) - self.accuracies(other[0], pages, other[1])
        )


def accuracies(report: Report, crawls: Crawls) -> None:
    """Part 1: means against the reference, and the paper's claims as paired differences."""
    rows = []
    for (signals, policy), means in REFERENCE.items():
        for column, pages in enumerate(crawls.effort.pages):
            label = f"figure {FIGURE[signals]}, {policy}, {pages} pages"
            error = REFERENCE_ERRORS[signals][column]
            rows.append(compared(label, means[column], error, crawls.estimate(signals, pages, policy)))
    report.table("Accuracy; in the column of the paper, the reference implementation", rows)
    rows = []
    for pages in crawls.effort.pages:
        gain = crawls.gain(("none", "greedy"), ("none", "lds"), pages)
        holds = abs(gain[0]) < max(0.005, 2 * gain[1])
        rows.append(claimed(f"figure 3, {pages} pages: greedy − lds", "about 0", gain, holds))
    for pages in crawls.effort.pages:
        gain = crawls.gain(("partial", "greedy-cis"), ("none", "greedy"), pages)
        rows.append(claimed(f"figure 4, {pages} pages: greedy-cis − greedy", "> 0", gain, is_above(gain)))
    for pages in crawls.effort.pages:
        for rival, signals in (("greedy", "none"), ("greedy-cis", "noisy")):
            gain = crawls.gain(("noisy", "greedy-ncis"), (signals, rival), pages)
            label = f"figure 6, {pages} pages: greedy-ncis − {rival}"
            rows.append(claimed(label, "> 0", gain, is_above(gain)))
        for terms in (1, 2):
            gain = crawls.gain(("noisy", f"greedy-ncis-approx-{terms}"), ("noisy", "greedy-ncis"), pages)
            label = f"figure 6, {pages} pages: approx-{terms} − greedy-ncis"
            close = abs(gain[0]) < max(0.005, 2 * gain[1])
            claim = ("about 0", close) if pages <= 500 else ("< 0", gain[0] < -2 * gain[1])
            rows.append(claimed(label, claim[0], gain, claim[1]))
    report.table("Differences on the same webs: what the paper claims of figures 3, 4 and 6", rows)


def crawl_rates(report: Report, crawls: Crawls) -> None:
    """Part 2: where the crawls go."""
    rows = []
    for pages in crawls.effort.pages[:2]:
        for policy, claim, most in (("lds", "0", 0.02), ("greedy", "close", 0.1)):
            off = mean_and_error(
                [
                    float(np.abs(run.rates - best(drawn(pages, "none", number)).rates).sum() / RATE)
                    for number, run in enumerate(crawls.runs("none", pages, policy))
                ]
            )
            label = f"figure 10, {pages} pages: {policy}, crawls elsewhere than the optimum's"
            rows.append(claimed(label, claim, off, off[0] < most, 3))
    for figure, signals, base, rival in (
        (5, "partial", "none", "greedy"),
        (7, "noisy", "noisy", "greedy-ncis"),
    ):
        for pages in crawls.effort.pages if figure == 7 else crawls.effort.pages[:1]:
            runs = zip(
                crawls.runs(signals, pages, "greedy-cis"), crawls.runs(base, pages, rival), strict=True
            )
            more = mean_and_error(
                [
                    well_signalled(run, pages, number) - well_signalled(other, pages, number)
                    for number, (run, other) in enumerate(runs)
                ]
            )
            claim, holds = ("> 0", more[0] > 0) if figure == 7 else ("< 0", more[0] < 0)
            label = f"figure {figure}, {pages} pages: greedy-cis − {rival}, crawls of well signalled pages"
            rows.append(claimed(label, claim, more, holds, 3))
    report.table(f"Shares of all crawls; well signalled: recall above {WELL_SIGNALLED}", rows)


def well_signalled(run: Played, pages: int, number: int) -> float:
    """Share of the crawls that go to well signalled pages."""
    recall = drawn(pages, "noisy", number).recall
    return float(run.rates[recall > WELL_SIGNALLED].sum() / run.rates.sum())


def corrupted_beliefs(report: Report, crawls: Crawls) -> dict[tuple[str, float], tuple[float, float]]:
    """Part 3: differences to GREEDY by policy and share of noise."""
    pages = crawls.effort.pages[-1]
    found = {
        (policy, noise): crawls.gain(("tails", policy), ("tails", "greedy"), pages, corruption=noise)
        for noise in (0.0, 0.1, 0.2)
        for policy in ("greedy-ncis", "greedy-cis-plus")
    }
    rows = []
    for (policy, noise), gain in found.items():
        lost = found[policy, 0.0][0] - gain[0]
        claim = "ahead" if policy == "greedy-ncis" else "close to greedy-ncis" if not noise else "loses more"
        holds = {
            "ahead": is_above(gain),
            "close to greedy-ncis": gain[0] > found["greedy-ncis", 0.0][0] - 0.01,
            "loses more": lost > found["greedy-ncis", 0.0][0] - found["greedy-ncis", noise][0],
        }[claim]
        rows.append(claimed(f"figure 8, p = {noise:g}: {policy} − greedy", claim, gain, holds))
    report.table(f"Noise of share p in what is believed of precision and recall; {pages} pages", rows)
    return found


def late_signals(report: Report, crawls: Crawls) -> dict[int, list[tuple[float, float]]]:
    """Part 4: differences to GREEDY of NCIS with signals in time, late, and late but ignored at first."""
    found = {}
    rows = []
    for pages in crawls.effort.pages:
        base = ("none", "greedy")
        in_time, late = (crawls.gain((kind, "greedy-ncis"), base, pages) for kind in ("noisy", "delayed"))
        deaf = crawls.gain(("delayed", "greedy-ncis"), base, pages, deaf=5 / RATE)
        lost, regained = (
            mean_and_error(
                crawls.accuracies("delayed", pages, "greedy-ncis", **options)
                - crawls.accuracies(against, pages, "greedy-ncis")
            )
            for options, against in (({}, "noisy"), ({"deaf": 5 / RATE}, "delayed"))
        )
        found[pages] = [in_time, late, deaf]
        claim = "< 0" if pages == 100 else "nearer to 0"
        rows += [
            claimed(f"figure 11, {pages} pages: late − in time", claim, lost, lost[0] < 0),
            claimed(f"figure 11, {pages} pages: ignored for 5/R − late", "≥ 0", regained, regained[0] >= 0),
        ]
    report.table("greedy-ncis with signals that come Poisson(6) ticks late", rows)
    return found


def changing_rate(report: Report) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Part 5: accuracy over time, in windows of about 1,000 crawls, and in the last half of each rate."""
    pages, end, window = (50, 40.0, 1.0) if report.quick else (1000, 400.0, 10.0)
    rng = np.random.default_rng(SEED)
    instance = drawn_instance(pages, "none", rng)
    web = ChangingWeb(drawn_events(instance, end, rng).changes, numbered(instance.importance))
    third = end / 3
    shown = {}
    for label, rates in (
        ("100, 150, 100", ((0.0, 100.0), (third, 150.0), (2 * third, 100.0))),
        ("100", ((0.0, 100.0),)),
        ("150", ((0.0, 150.0),)),
    ):
        contest = Contest(
            web=web,
            fetches_per_second=100.0,
            start=0.0,
            end=end,
            truth=instance.beliefs,
            bandwidth=Bandwidth(rates),
        )
        fetches = enter(contest, "greedy")
        begins = np.arange(0.0, end - window / 2, window)
        accuracy = [web.freshness(fetches, begin, begin + window, first_copy_at=0.0) for begin in begins]
        shown[label] = begins + window / 2, np.array(accuracy)
    rows = []
    for number, rate in enumerate((100, 150, 100)):
        times, accuracy = shown["100, 150, 100"]
        late = (times > (number + 0.5) * third) & (times < (number + 1) * third)
        ahead = mean_and_error(accuracy[late] - shown[str(rate)][1][late])
        optimal = mean_and_error(accuracy[late] - best(instance, float(rate)).accuracy)
        span = (
            f"figure 12, t = {(number + 0.5) * third:.0f}–{(number + 1) * third:.0f}, rate {rate}: changing"
        )
        for rival, gain in (("constant", ahead), ("optimum", optimal)):
            holds = abs(gain[0]) < max(0.005, 3 * gain[1])
            rows.append(claimed(f"{span} − {rival}", "0", gain, holds))
    report.table(f"greedy while the rate changes, {pages} pages (errors from windows of {window:g})", rows)
    return shown


def estimates(report: Report) -> None:
    """Part 6: counting is biased, maximum likelihood is not."""
    pages, horizon = (4, 2000.0) if report.quick else (100, 100_000.0)
    found = errors_of_estimates(pages, horizon, np.random.default_rng(SEED))
    rows = []
    for name in ("precision", "recall"):
        bias = mean_and_error(found["counting"][name])
        rows.append(claimed(f"figure 13, counting, bias of {name}", "biased", bias, is_above(bias, 0.1)))
    for name in ("precision", "recall"):
        bias = mean_and_error(found["maximum likelihood"][name])
        size = mean_and_error(np.abs(found["maximum likelihood"][name]))
        label = f"figure 14, maximum likelihood, {name}"
        rows.append(claimed(f"{label}, bias", "about 0", bias, abs(bias[0]) < 0.01))
        rows.append(claimed(f"{label}, absolute error", "0.0001", size, size[0] < 0.001))
    report.table(f"Errors of estimates, {pages} pages", rows)


def drawing(
    crawls: Crawls,
    late: Mapping[int, list[tuple[float, float]]],
    noise: Mapping[tuple[str, float], tuple[float, float]],
    over_time: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> "Figure":
    figure = new_figure(10.0, 11.0)
    panels = figure.subplots(3, 2)
    for panel, kinds, title in (
        (panels[0, 0], ("none", "partial"), "No signals, and partial signals (figures 3, 4)"),
        (panels[0, 1], ("noisy",), "Noisy signals (figure 6)"),
    ):
        for number, (signals, policy) in enumerate(key for key in REFERENCE if key[0] in kinds):
            means, errors = zip(
                *(crawls.estimate(signals, pages, policy) for pages in crawls.effort.pages), strict=True
            )
            label = f"{policy}, partial signals" if signals == "partial" else policy
            panel.errorbar(crawls.effort.pages, means, yerr=errors, label=label, **style(number))
            reference = REFERENCE[signals, policy][: len(means)]
            panel.plot(crawls.effort.pages, reference, "_", color="0.2", ms=14, zorder=5)
        panel.plot([], [], "_", color="0.2", ms=14, label="reference implementation")
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("pages (100 crawls per unit of time)")
        panel.set_ylabel("accuracy (share of requests met fresh)")
    panel = panels[1, 0]
    labels = ("signals in time", "late signals", "late signals, ignored for 5/R after a crawl")
    for number, label in enumerate(labels):
        means, errors = zip(*(gains[number] for gains in late.values()), strict=True)
        shifted = np.array(list(late)) * (1 + 0.03 * (number - 1))
        panel.errorbar(shifted, means, yerr=errors, label=label, **style(number))
    panel.set_xscale("log")
    panel.set_xticks(list(late), [str(pages) for pages in late])
    panel.minorticks_off()
    panel.set_title("greedy-ncis with late signals (figure 11)", fontsize=10)
    panel.set_xlabel("pages (100 crawls per unit of time)")
    panel.set_ylabel("accuracy gained over greedy")
    panel = panels[1, 1]
    for number, policy in enumerate(dict.fromkeys(policy for policy, _ in noise)):
        shares = [share for name, share in noise if name == policy]
        means, errors = zip(*(noise[policy, share] for share in shares), strict=True)
        panel.errorbar(shares, means, yerr=errors, label=policy, **style(number))
    panel.axhline(0.0, color="0.5", linewidth=0.8)
    panel.set_title(f"Corrupted beliefs, {crawls.effort.pages[-1]:,} pages (figure 8)", fontsize=10)
    panel.set_xlabel("share of noise in precision and recall")
    panel.set_ylabel("accuracy gained over greedy")
    panel = panels[2, 0]
    for number, (label, (times, accuracy)) in enumerate(over_time.items()):
        panel.plot(times, accuracy, label=f"rate {label}", color=style(number)["color"], linewidth=1.2)
    panel.set_ylim(top=float(np.max([accuracy[2:].max() for _, accuracy in over_time.values()])) + 0.03)
    panel.set_title("greedy while the rate changes (figure 12)", fontsize=10)
    panel.set_xlabel("time")
    panel.set_ylabel("accuracy")
    panel = panels[2, 1]
    pages = crawls.effort.pages[0]
    optimal = best(drawn(pages, "none", 0)).rates
    for number, policy in enumerate(("lds", "greedy")):
        rates = crawls.runs("none", pages, policy)[0].rates
        look = style(number)
        panel.plot(optimal, rates, look["marker"], color=look["color"], ms=3, label=policy)
    panel.axline((0, 0), slope=1, color="0.6", linewidth=0.8, zorder=0)
    panel.set_title(f"Crawl rates of {pages} pages (figure 10)", fontsize=10)
    panel.set_xlabel("crawls of a page per unit of time, continuous optimum")
    panel.set_ylabel("crawls of a page per unit of time")
    for panel in panels.flat:
        panel.legend(fontsize=8, frameon=False)
        tidy(panel)
    return figure


def main() -> None:
    report = Report(__file__, __doc__ or "")
    crawls = Crawls(report, QUICK if report.quick else FULL)
    accuracies(report, crawls)
    crawl_rates(report, crawls)
    noise = corrupted_beliefs(report, crawls)
    late = late_signals(report, crawls)
    over_time = changing_rate(report)
    estimates(report)
    report.publish(drawing(crawls, late, noise, over_time))


if __name__ == "__main__":
    main()
