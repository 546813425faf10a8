"""The league table: all policies and rivals at equal budgets, on recorded histories and artificial webs.

Everybody learns from visits only. On a recorded history there are half as many fetches as it has changes, for
all policies; in further tables as many, twice as many and a quarter, for the default policy and its rivals.
Traces of hubs are judged by profit, others by freshness. Contests with few fetches begin at several times.

Rivals may spend their fetches when they like. On the same terms the default policy has one price, found in
hindsight; that takes several runs, and is done for contests with up to PRICED fetches. In longer ones only
the constant rate is played, which is what a budget means in a crawl.

    python benchmarks/league.py [--output FILE.md] [--workers 2] [--seed 7] TRACE...

Part of the output file between two marks is replaced; without a file all is printed.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scrapy_freshness.config import Config
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.policy import POLICY_NAMES
from scrapy_freshness.simulator.phases import at_phases, usual_phases
from scrapy_freshness.simulator.recorded import load_web
from scrapy_freshness.simulator.replay import Outcome, Replay, learning
from scrapy_freshness.simulator.rivals import RULES
from scrapy_freshness.simulator.simulate import simulate
from scrapy_freshness.simulator.worlds import world_named
from scrapy_freshness.simulator.worlds.contract import Size, made_world

DEFAULT = Config().policy
RIVALS = (*sorted(RULES), "cgm")
#: `cost*` spend what is worth its cost, not the budget; gains of searchers are not measured on traces.
OURS = tuple(
    name
    for name in POLICY_NAMES
    if not name.startswith(("cost", "user-centric")) and name not in (DEFAULT, "greedy-ncis-approx-J")
)
REFERENCES = ("lds", "optimum")
#: The default policy at one price, and the most fetches of a contest for which that is played.
PRICED_NAME, PRICED = f"{DEFAULT}, one price", 5_000
DAY = 86400.0
BEGIN, END = "<!-- league: begin -->", "<!-- league: end -->"
#: Worlds of the second part: options, size and repetitions, small enough for a coffee break.
WORLDS = (
    ("poisson", {}, Size(100, 20.0, 60.0), 5),
    ("poisson", {"signals": "noisy"}, Size(100, 20.0, 60.0), 5),
    ("longevity", {}, Size(60, 12.0, 100.0), 4),
    ("echo", {}, Size(60, 20.0, 120.0), 4),
)


class Cell(NamedTuple):
    """How a policy did on a trace."""

    share: float
    fetches: float  #: of those that there were
    ahead: float  #: of the default policy
    ahead_stderr: float
    on_equal_terms: "Cell | None" = None  #: ahead of the default policy at one price, if that was played


def played(path: Path, share: float, names: Sequence[str]) -> dict[str, Cell]:
    """The results of policies on a trace; the default policy must be the first."""
    replay = Replay.of(load_web(path))
    days = (replay.end - replay.start) / DAY
    per_second = max(share * changes_of(replay) / days, 1 / days) / DAY
    budget = per_second * (replay.end - replay.start)
    learner_for = learning(Config())
    outcomes: dict[str, Outcome] = {}
    for name in names:
        if name.startswith("echo") and not replay.has_hubs:
            continue  # they revisit nothing but sources
        if name == PRICED_NAME and budget > PRICED:
            continue
        by_price = name == PRICED_NAME
        run = partial(
            Replay.run,
            name=DEFAULT if by_price else name,
            fetches_per_second=per_second,
            learner_for=None if name in (*RIVALS, *REFERENCES) else learner_for,
            by_price=by_price,
        )
        outcomes[name] = at_phases(replay, per_second, usual_phases(budget), run)
    first = outcomes[names[0]]
    cells = {name: _cell(outcome, first) for name, outcome in outcomes.items()}
    equal = outcomes.get(PRICED_NAME, first)
    return {name: cell._replace(on_equal_terms=_cell(outcomes[name], equal)) for name, cell in cells.items()}


def _cell(outcome: Outcome, first: Outcome) -> Cell:
    own = outcome.profit or outcome.freshness
    base = first.profit or first.freshness
    if own is None or base is None or outcome.fetches is None:
        promised = outcome.measures.get("freshness")
        return Cell(np.nan if promised is None or first.profit else promised, np.nan, np.nan, np.nan)
    difference = own - base
    return Cell(own.share, outcome.fetches / (first.fetches or 1), difference.share, difference.stderr)


def changes_of(replay: Replay) -> int:
    """Changes of content during the contest."""
    return sum(
        int(np.count_nonzero(np.diff(page.contents)[_within(page.times[1:], replay)]))
        for page in replay.web.pages
    )


def _within(times: np.ndarray, replay: Replay) -> np.ndarray:
    return (times > replay.start) & (times <= replay.end)


def trace_table(title: str, columns: dict[str, dict[str, Cell]], names: Sequence[str]) -> Iterator[str]:
    """One row a policy, one column a trace."""
    yield f"\n### {title}\n"
    yield "| policy | " + " | ".join(columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for name in names:
        cells = (_written(name, column[name]) if name in column else "" for column in columns.values())
        yield f"| `{name}` | " + " | ".join(cells) + " |"


def _written(name: str, cell: Cell) -> str:
    if np.isnan(cell.share):
        return ""
    text = f"{100 * cell.share:.1f}"
    if name != DEFAULT and not np.isnan(cell.ahead):
        text += f" ({100 * cell.ahead:+.1f} ± {100 * cell.ahead_stderr:.1f})"
    if abs(cell.fetches - 1) > 0.1:
        text += " †"
    is_ahead = cell.ahead > cell.ahead_stderr and cell.fetches < 1.1
    return f"**{text}**" if is_ahead else text


def verdict(columns: dict[str, dict[str, Cell]]) -> Iterator[str]:
    """Where the default policy is beaten by a rival by more than one standard error."""
    constant = {(trace, name): cell for trace, column in columns.items() for name, cell in column.items()}
    equal = {key: cell.on_equal_terms or cell for key, cell in constant.items()}
    for terms, cells in (("at a constant rate", constant), ("on the terms of the rivals", equal)):
        rivals = {key: cell for key, cell in cells.items() if key[1] in RIVALS}
        beaten = [
            f"{trace}: `{name}` by {100 * cell.ahead:.1f} ± {100 * cell.ahead_stderr:.1f}"
            for (trace, name), cell in rivals.items()
            if cell.ahead > cell.ahead_stderr and cell.fetches < 1.1
        ]
        won = sum(cell.ahead < -cell.ahead_stderr for cell in rivals.values())
        named = ": " + "; ".join(beaten) if beaten else ""
        yield (
            f"\nThe default {terms}: of {len(rivals)} comparisons with rivals, {won} are won by more than "
            f"one standard error, {len(beaten)} lost{named}."
        )


def world_tables(seed: int) -> Iterator[str]:
    """All policies that make sense in each world, learning."""
    for name, options, size, repeat in WORLDS:
        world = made_world(world_named(name), options)
        playable = [policy for policy in world.policy_names() if _can_play(world.check, policy, size)]
        results = simulate(name, world, [size], playable, seed=seed, repeat=repeat, learn=True)
        metric = world.metrics[0]
        mine = sorted(
            (each for each in results if each.metric == metric.name),
            key=lambda each: -each.mean if metric.is_gain else each.mean,
        )
        extra = " ".join(f"--{key} {value}" for key, value in options.items())
        yield f"\n### World `{name}{' ' + extra if extra else ''}`: {metric.meaning}\n"
        yield "| policy | " + metric.name + " | standard error |\n|---|---|---|"
        for each in mine:
            yield f"| `{each.policy}` | {each.mean:.4g} | {each.stderr:.2g} |"


def _can_play(check: Callable[..., None], policy: str, size: Size) -> bool:
    if policy.endswith("-J"):
        return False
    try:
        check(policy, size, learn=True)
    except ConfigError:
        return False
    return True


def tables(options: argparse.Namespace) -> Iterator[str]:
    """The whole league, line by line."""
    everybody = (DEFAULT, PRICED_NAME, *OURS, *RIVALS, *REFERENCES)
    rivals = (DEFAULT, PRICED_NAME, *RIVALS)
    parts = [
        ("A quarter as many fetches as changes", 0.25, rivals),
        ("Half as many fetches as changes: all policies", 0.5, everybody),
        ("As many fetches as changes", 1.0, rivals),
        ("Twice as many fetches as changes", 2.0, rivals),
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        for title, share, names in parts:
            futures = {_short(path): pool.submit(played, path, share, names) for path in options.traces}
            columns = {trace: future.result() for trace, future in futures.items()}
            yield from trace_table(title, columns, names)
            yield from verdict(columns)
    yield from world_tables(options.seed)


def _short(path: Path) -> str:
    return path.name.split(".")[0]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    lines = []
    for line in tables(options):
        print(line, flush=True)
        lines.append(line)
    if options.output:
        head, _, rest = options.output.read_text().partition(BEGIN)
        tail = rest.partition(END)[2]
        options.output.write_text(head + BEGIN + "\n" + "\n".join(lines) + "\n" + END + tail)
    return 0


if __name__ == "__main__":
    sys.exit(main())
