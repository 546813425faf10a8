"""Recorded hubs: profit and delay of new links over a sweep of budgets, the default against everybody else.

Everybody learns from visits only, as in `scrapy freshness replay --learn`. Budgets are multiples of the
changes that a record has. A poll is all that a link costs, because pages behind links are not recorded;
`FRESHNESS_PARTICIPATION` plays no part. Contests with few fetches begin at several times, as in the
league: with thirty fetches, when they happen to be made decides.

    python benchmarks/hub_sweep.py [--shares 0.1,0.25,0.5,1,2,4] [--policies A,B,...] [--workers 2] TRACE...

A result is that of a rule with a tenth more or fewer fetches than the default makes where it is marked †.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from league import DEFAULT, OURS, RIVALS, changes_of

from scrapy_freshness.config import Config
from scrapy_freshness.simulator.phases import at_phases, usual_phases
from scrapy_freshness.simulator.recorded import load_web
from scrapy_freshness.simulator.replay import Replay, learning

HOUR = 3600.0


class Find(NamedTuple):
    """What a policy found with a budget."""

    profit: float
    ahead: float  #: of the default policy
    ahead_stderr: float
    delay_p50: float  #: hours
    delay_p90: float
    fetches: float  #: of those of the default, which makes all that there are

    @property
    def is_off(self) -> bool:
        return abs(self.fetches - 1) > 0.1


def swept(path: Path, names: Sequence[str], share: float) -> dict[str, Find]:
    """What policies find on a trace; the default is the first of them."""
    replay = Replay.of(load_web(path))
    seconds = replay.end - replay.start
    per_second = max(share * changes_of(replay), 1.0) / seconds
    learner_for, phases = learning(Config()), usual_phases(per_second * seconds)
    outcomes = {
        name: at_phases(
            replay,
            per_second,
            phases,
            partial(
                Replay.run,
                name=name,
                fetches_per_second=per_second,
                learner_for=None if name in RIVALS else learner_for,
            ),
        )
        for name in names
    }
    first = outcomes[names[0]].profit
    assert first is not None, f"{path} has no hubs"
    finds = {}
    for name, outcome in outcomes.items():
        assert outcome.profit is not None
        ahead = outcome.profit - first
        p50, p90 = (outcome.measures[f"link_delay_seconds_{which}"] or 0.0 for which in ("p50", "p90"))
        made = (outcome.fetches or 0) / (outcomes[names[0]].fetches or 1)
        finds[name] = Find(outcome.profit.share, ahead.share, ahead.stderr, p50 / HOUR, p90 / HOUR, made)
    return finds


def print_sweep(path: Path, shares: Sequence[float], sweep: Sequence[dict[str, Find]]) -> list[str]:
    """Print two tables; returns where the default is behind."""
    titles = " | ".join(f"{share:g}" for share in shares)
    print(f"\n### {path.name.partition('.')[0]}: profit, per cent (difference to the default)\n")
    print(f"| fetches per change | {titles} |\n" + "|---" * (len(shares) + 1) + "|")
    lost = []
    for name in sweep[0]:
        cells = []
        for share, finds in zip(shares, sweep, strict=True):
            find = finds[name]
            cell = f"{100 * find.profit:.1f}{'†' if find.is_off else ''}"
            if name != DEFAULT:
                cell += f" ({100 * find.ahead:+.1f} ± {100 * find.ahead_stderr:.1f})"
                if find.ahead > 0 and find.fetches <= 1.1:
                    lost.append(f"{path.name.partition('.')[0]}, {share:g}: {name} by {100 * find.ahead:.1f}")
            cells.append(cell)
        print(f"| `{name}` | " + " | ".join(cells) + " |")
    print(f"\nDelay of new links that were found, hours: median, 90th percentile\n\n| | {titles} |")
    print("|---" * (len(shares) + 1) + "|")
    for name in sweep[0]:
        told = (f"{finds[name].delay_p50:.2f}, {finds[name].delay_p90:.2f}" for finds in sweep)
        print(f"| `{name}` | " + " | ".join(told) + " |", flush=True)
    return lost


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--shares", default="0.1,0.25,0.5,1,2,4")
    parser.add_argument("--policies", default=",".join((*OURS, *RIVALS)), help="beside the default")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    shares = [float(share) for share in options.shares.split(",")]
    names = list(dict.fromkeys((DEFAULT, *options.policies.split(","))))
    lost = []
    with ProcessPoolExecutor(options.workers) as pool:
        for path in options.traces:
            sweep = list(pool.map(partial(swept, path, names), shares))
            lost += print_sweep(path, shares, sweep)
    n = (len(names) - 1) * len(shares) * len(options.traces)
    print(f"\nThe default `{DEFAULT}` is behind in {len(lost)} of {n} comparisons.")
    print("".join(f"* {each}\n" for each in lost))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
