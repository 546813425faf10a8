"""Try policies on recorded histories of pages: who would have kept the copy
freshest, with the same number of fetches?

TRACE is a recorded history (webtrace/1: JSON Lines, plain or compressed), such
as `scrapy freshness export --trace` writes; --git takes the history of files in
a git repository. Each record is a contest of its own, and so is each budget.
All policies see only what a crawler would have seen at the time.

Policies are those of a crawl with the project's settings;
-s FRESHNESS_CRAWL_COST=2 tries another. FRESHNESS_THRESHOLD, PARTICIPATION,
QUERY_IMPORTANCE and MIN_DIVERGENCE do not count. With --learn they learn from
their visits, as a crawl does (-s FRESHNESS_ESTIMATOR=mle); without, they know
the mean rates of the record, so that the difference is what learning costs.
All spend the budget when they like: rivals have all their intervals scaled by
one factor, our policies have one price that a fetch must be worth, both found
in hindsight so that each makes as many fetches. With --pacing rate ours are
held to a constant rate, as by FRESHNESS_BUDGET.
"""

import argparse
from collections.abc import Iterator

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.replay_plan import Plan, Record
from scrapy_freshness.commands.replay_plot import save_plot
from scrapy_freshness.commands.replay_table import print_tables
from scrapy_freshness.config import Config, setting_name
from scrapy_freshness.errors import InputError
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.simulator.comparison import compared
from scrapy_freshness.simulator.contest import takes_price
from scrapy_freshness.simulator.figures import check_plot
from scrapy_freshness.simulator.phases import at_phases
from scrapy_freshness.simulator.replay import REPLAYED_NAMES, Outcome, Replay, learning
from scrapy_freshness.simulator.run import Progress

Row = dict[str, str | float | bool | None]

#: Settings in whose place is what a contest is: fetches are limited by its budget, hubs lead nowhere, nobody
#: searches, and a copy is fresh or not.
_WITHOUT = tuple(map(setting_name, ("threshold", "participation", "query_importance", "min_divergence")))
#: Steps of the progress bar that a run is.
_STEPS = 100


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="a recorded history")
    parser.add_argument("--git", metavar="REPO", help="the history of files in a git repository")
    parser.add_argument("--path", metavar="GLOB", help="a file, a folder or a pattern; default: all files")
    parser.add_argument("--policy", metavar="A,B,...", required=True, help=f"of {', '.join(REPLAYED_NAMES)}")
    parser.add_argument(
        "--budget", metavar="N/day,...", required=True, help="fetches per time unit; several for a sweep"
    )
    parser.add_argument(
        "--pacing",
        choices=("price", "rate"),
        default="price",
        help="our policies at one price found in hindsight, or at a constant rate; default: price",
    )
    parser.add_argument("--phases", metavar="N", default="1", help="times to begin at, evenly; default: 1")
    parser.add_argument("--learn", action="store_true", help="learn from visits only, as a crawl does")
    parser.add_argument(
        "--warm-up", metavar="SHARE", default="0", help="share of the time that is not judged; default: 0"
    )
    times = parser.add_mutually_exclusive_group()
    times.add_argument(
        "--aligned", action="store_true", default=None, help="move all sources to the same time"
    )
    times.add_argument("--as-recorded", action="store_false", dest="aligned", help="leave them at theirs")
    parser.add_argument("--whole", action="store_true", help="also the time when few of the pages are there")
    parser.add_argument("--unscaled", action="store_true", help="rivals with the intervals they ship, too")
    parser.add_argument("--plot", metavar="FILE", help="draw a figure, .png or .svg")


def run(context: Context, options: argparse.Namespace) -> None:
    for name in (each.partition("=")[0] for each in options.set):
        if name in _WITHOUT:
            raise InputError(f"{name} says nothing here: contests know nothing of it (docs/replay.md)")
    plan = Plan.of(options)
    learner_for = learning(context.config) if plan.learn else None
    if learner_for is not None:
        for name in filter(takes_price, plan.policies):
            learner_for(policy_named(name))  # refuses what it cannot learn, before hours of work
    path = check_plot(options.plot) if options.plot else None
    n_runs = len(plan.records) * (len(plan.budgets_per_day) * len(plan.policies) + len(plan.rules))
    with context.progress("Replaying", n_runs * _STEPS) as advance:
        rows = [row for record in plan.records for row in _rows(plan, record, context.config, advance)]
    if path is not None:
        save_plot(path, rows)
    if context.as_json:
        context.print_json(rows)
    else:
        print_tables(context, rows)


def _rows(plan: Plan, record: Record, config: Config, advance: Progress) -> Iterator[Row]:
    """The results on one record."""
    replay = plan.replay(record)

    def row(name: str, budget: float | None, outcome: Outcome, first: Outcome | None) -> Row:
        return {
            "trace": record.name,
            "policy": name,
            "budget_per_day": budget,
            "learn": plan.learn,
            "unscaled": budget is None,
            "pacing": _pacing(name, outcome) if budget is not None else None,
            **compared(outcome, first, has_hubs=replay.has_hubs),
            "pages": len(replay.web.pages),
            "days": (replay.end - replay.judged_from) / 86400,
        }

    for budget in plan.budgets_per_day:
        first: Outcome | None = None
        for name in plan.policies:
            outcome = _run(plan, replay, name, budget / 86400, config, advance)
            first = first or outcome
            yield row(name, budget, outcome, first)
    for name in plan.rules:
        yield row(name, None, replay.run_as_shipped(name), None)
        advance(_STEPS)


def _pacing(name: str, outcome: Outcome) -> str | None:
    """How a policy was paced; None if by a rule of its own."""
    if not takes_price(name):
        return None
    return "price" if outcome.by_price else "rate"


def _run(
    plan: Plan,
    replay: Replay,
    name: str,
    fetches_per_second: float,
    config: Config,
    advance: Progress,
) -> Outcome:
    """One run, which moves the progress bar on."""
    wanted = max(fetches_per_second * (replay.end - replay.start), 1.0)
    done = before = 0

    def progress(ticks: int) -> None:
        nonlocal done
        reached = min(int((before + ticks / wanted) / plan.phases * _STEPS), _STEPS)
        if reached > done:
            advance(reached - done)
            done = reached

    def run(begun: Replay) -> Outcome:
        nonlocal before
        outcome = begun.run(
            name,
            fetches_per_second,
            config=config,
            learner_for=learning(config) if plan.learn else None,
            by_price=plan.pacing == "price",
            progress=progress,
        )
        before += 1
        return outcome

    outcome = at_phases(replay, fetches_per_second, plan.phases, run)
    advance(_STEPS - done)
    return outcome
