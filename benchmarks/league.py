"""The league table: all policies and rivals at equal budgets, on recorded histories and artificial webs.

Everybody learns from visits only. On a recorded history there are a quarter, half, as many and twice as many
fetches as it has changes. The default policy and its rivals are on equal terms: each may spend its fetches
when it likes, the rivals by one factor and the default by one price, found in hindsight. Beside it stands
the default at a constant rate, which is what a budget means in a crawl; one more table has all our policies
so. Traces of hubs are judged by profit, others by freshness. Contests with few fetches begin at several
times.

    python benchmarks/league.py [--output FILE.md] [--workers 2] [--seed 7] [--kept FOLDER] TRACE...

Part of the output file between two marks is replaced; without a file all is printed. What has been played is
kept in FOLDER, if there is one, and not played again: for one version of the code only.
"""

import argparse
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
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
APPROX = ("greedy-ncis-approx-1", "greedy-ncis-approx-2")
#: `cost*` spend what is worth its cost, not the budget; gains of searchers are not measured on traces.
OURS = sorted(
    name
    for name in (*POLICY_NAMES, *APPROX)
    if not name.startswith(("cost", "user-centric")) and name not in (DEFAULT, "greedy-ncis-approx-J")
)
REFERENCES = ("lds", "optimum")
#: The default policy at a constant rate.
PACED = f"{DEFAULT}, constant rate"
DAY = 86400.0
BEGIN, END = "<!-- league: begin -->", "<!-- league: end -->"
#: Worlds of the second part: options, size and repetitions, small enough for a coffee break.
WORLDS: tuple[tuple[str, dict[str, str], Size, int], ...] = (
    ("poisson", {}, Size(100, 20.0, 60.0), 5),
    ("poisson", {"signals": "noisy"}, Size(100, 20.0, 60.0), 5),
    ("cost", {}, Size(50, 6.25, 500.0), 4),
    ("longevity", {}, Size(60, 12.0, 100.0), 4),
    ("queries", {}, Size(200, 25.0, 24.0), 4),
    ("echo", {}, Size(60, 20.0, 120.0), 4),
    ("mixed", {}, Size(150, 15.0, 120.0), 4),
)


class Cell(NamedTuple):
    """How a policy did on a trace."""

    share: float
    fetches: float  #: of those that there were
    ahead: float  #: of the policy that others are compared with
    ahead_stderr: float


class Game(NamedTuple):
    """One policy with one budget on one trace."""

    path: Path
    share: float  #: fetches per change
    name: str
    by_price: bool
    kept: Path | None  #: folder of what has been played

    def play(self) -> Outcome | None:
        """How it went; None if the policy makes no sense there."""
        file = (
            self.kept and self.kept / f"{_short(self.path)}-{self.share:g}-{self.name}-{self.by_price}.pickle"
        )
        if file and file.exists():
            kept: Outcome | None = pickle.loads(file.read_bytes())
            return kept
        outcome = self._outcome()
        if file:
            file.write_bytes(pickle.dumps(outcome))
        return outcome

    def _outcome(self) -> Outcome | None:
        replay = _replay_of(self.path)
        if self.name.startswith("echo") and not replay.has_hubs:
            return None  # they revisit nothing but sources
        days = (replay.end - replay.start) / DAY
        per_second = max(self.share * changes_of(replay) / days, 1 / days) / DAY
        run = partial(
            Replay.run,
            name=DEFAULT if self.name == PACED else self.name,
            fetches_per_second=per_second,
            learner_for=None if self.name in (*RIVALS, *REFERENCES) else learning(Config()),
            by_price=self.by_price and self.name != PACED,
        )
        phases = usual_phases(per_second * (replay.end - replay.start))
        return at_phases(replay, per_second, phases, run)


@cache
def _replay_of(path: Path) -> Replay:
    return Replay.of(load_web(path))


def played(game: Game) -> Outcome | None:
    """A game, in a process of its own."""
    return game.play()


def cells_of(outcomes: dict[str, Outcome]) -> dict[str, Cell]:
    """The results on a trace, compared with the first."""
    first = next(iter(outcomes.values()))
    return {name: _cell(outcome, first) for name, outcome in outcomes.items()}


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


def verdict(columns: dict[str, dict[str, Cell]]) -> str:
    """Where the default policy is beaten by a rival by more than one standard error."""
    rivals = {
        (trace, name): cell
        for trace, column in columns.items()
        for name, cell in column.items()
        if name in RIVALS
    }
    beaten = [
        f"{trace}: `{name}` by {100 * cell.ahead:.1f} ± {100 * cell.ahead_stderr:.1f}"
        for (trace, name), cell in rivals.items()
        if cell.ahead > cell.ahead_stderr and cell.fetches < 1.1
    ]
    won = sum(cell.ahead < -cell.ahead_stderr for cell in rivals.values())
    named = ": " + "; ".join(beaten) if beaten else ""
    return (
        f"{won} of {len(rivals)} comparisons with rivals won by more than one standard error, "
        f"{len(beaten)} lost{named}."
    )


def world_table(played: tuple[str, dict[str, str], Size, int], seed: int) -> list[str]:
    """All policies that make sense in a world, learning."""
    name, options, size, repeat = played
    world = made_world(world_named(name), options)
    named = (*world.policy_names(), *APPROX)
    playable = [policy for policy in named if _can_play(world.check, policy, size)]
    results = simulate(name, world, [size], playable, seed=seed, repeat=repeat, learn=True)
    metric = world.metrics[0]
    mine = sorted(
        (each for each in results if each.metric == metric.name),
        key=lambda each: -each.mean if metric.is_gain else each.mean,
    )
    extra = " ".join(f"--{key} {value}" for key, value in options.items())
    return [
        f"\n### World `{name}{' ' + extra if extra else ''}`: {metric.meaning}\n",
        f"| policy | {metric.name} | standard error | fetches |",
        "|---|---|---|---|",
        *(
            f"| `{each.policy}` | {each.mean:.4g} | {each.stderr:.2g} | {each.fetches:,.0f} |"
            for each in mine
        ),
    ]


def _can_play(check: Callable[..., None], policy: str, size: Size) -> bool:
    if policy.endswith("-J"):
        return False
    try:
        check(policy, size, learn=True)
    except ConfigError:
        return False
    return True


#: Tables on recorded histories: title, fetches per change, names, and whether fetches are made by a price.
TABLES = (
    ("A quarter as many fetches as changes", 0.25, (DEFAULT, PACED, *RIVALS), True),
    ("Half as many fetches as changes", 0.5, (DEFAULT, PACED, *RIVALS), True),
    ("As many fetches as changes", 1.0, (DEFAULT, PACED, *RIVALS), True),
    ("Twice as many fetches as changes", 2.0, (DEFAULT, PACED, *RIVALS), True),
    (
        "Half as many fetches as changes, at a constant rate: all our policies",
        0.5,
        (DEFAULT, *OURS, *REFERENCES),
        False,
    ),
)


def tables(options: argparse.Namespace) -> Iterator[str]:
    """The whole league, line by line."""
    if options.kept:
        options.kept.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(options.workers) as pool:
        for title, share, names, by_price in TABLES:
            futures = {
                (path, name): pool.submit(played, Game(path, share, name, by_price, options.kept))
                for path in options.traces
                for name in names
            }
            outcomes = {key: future.result() for key, future in futures.items()}
            played_on = {
                path: {name: outcome for name in names if (outcome := outcomes[path, name]) is not None}
                for path in options.traces
            }
            columns = {_short(path): cells_of(results) for path, results in played_on.items()}
            yield from trace_table(title, columns, names)
            if by_price:
                yield f"\nThe default: {verdict(columns)}"
                held = {
                    _short(path): cells_of({PACED: results[PACED]} | results)
                    for path, results in played_on.items()
                }
                yield f"\nThe default held to a constant rate, which rivals are not: {verdict(held)}"
        for table in pool.map(partial(world_table, seed=options.seed), WORLDS):
            yield from table


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
    parser.add_argument("--kept", type=Path)
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
