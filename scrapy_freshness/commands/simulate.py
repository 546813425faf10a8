"""Try policies on artificial webs that are drawn at random.

WORLD is what the webs are like; options below say which one they belong to.
All policies crawl the same webs, by the very code of a live crawl, on a manual
clock. They know the truth about the pages, or, with --learn, learn it from
their visits, as a live crawl does. They make the same number of fetches, but
for the world cost, where most fetch as often as they think it pays, and for
rules that know no budget, which come as near as they can: see the column
fetches. The project's settings do not count: what there is to choose are
options.

Several numbers of pages or rates, as in --pages 100,500,1000, are simulated
one after the other.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scrapy_freshness.commands.context import Context, new_table
from scrapy_freshness.config import PREFIX
from scrapy_freshness.errors import ConfigError, InputError
from scrapy_freshness.insight.human import NOTHING, count, safe
from scrapy_freshness.simulator.figures import check_plot
from scrapy_freshness.simulator.plots import plot
from scrapy_freshness.simulator.simulate import Result, Standing, simulate, standings
from scrapy_freshness.simulator.worlds import world_named, world_names
from scrapy_freshness.simulator.worlds.contract import Metric, Size, World, made_world, option_names
from scrapy_freshness.units import parsed, policy_names, positive_int, whole, words

_SEED = whole(0, 2**53)
#: Steps of the progress bar.
_STEPS = 1000


def add_options(parser: argparse.ArgumentParser) -> None:
    worlds = {name: world_named(name) for name in world_names()}
    parser.add_argument("world", metavar="WORLD", help=", ".join(worlds))
    parser.add_argument("--policy", metavar="A,B,...", help="policies to compare; a wrong name lists all")
    parser.add_argument("--pages", metavar="M", help="pages of a web")
    parser.add_argument("--rate", metavar="R", help="crawls per unit of time, all pages together")
    parser.add_argument("--horizon", metavar="T", help="units of time that a web is crawled")
    parser.add_argument("--seed", metavar="S", default="0", help="another seed draws other webs (default 0)")
    parser.add_argument("--repeat", metavar="N", help="number of webs")
    parser.add_argument("--learn", action="store_true", help="policies learn from visits only")
    parser.add_argument("--plot", metavar="FILE", help="draw the results to a .png or .svg file")
    for option, helps in _own_options(worlds).items():
        text = " ".join(f"{world}: {text}" for world, text in helps.items())
        parser.add_argument(option, metavar="X", default=argparse.SUPPRESS, help=text.replace("%", "%%"))
    parser.add_argument(
        "--no-participation",
        dest="participation",
        action="store_const",
        const="False",
        default=argparse.SUPPRESS,
        help="the same as --participation False",
    )


def run(context: Context, options: argparse.Namespace) -> None:
    for name in (each.partition("=")[0] for each in options.set):
        if name.startswith(PREFIX):
            raise InputError(f"{name} says nothing here: worlds have options of their own (-h tells which)")
    try:
        _simulate(context, options)
    except MemoryError as error:
        raise InputError(
            "such webs do not fit into memory: take fewer --pages or a shorter --horizon"
        ) from error


def _simulate(context: Context, options: argparse.Namespace) -> None:
    kind = world_named(options.world)
    given = _given(options, kind)
    world = made_world(kind, given)
    sizes = _sizes(options, kind)
    usual = kind.usual
    policies = policy_names(options.policy) if options.policy is not None else usual.policies
    seed = parsed("--seed", options.seed, _SEED)
    repeat = usual.repeat
    if options.repeat is not None:
        repeat = parsed("--repeat", options.repeat, positive_int)
    path = check_plot(options.plot) if options.plot else None
    told, done = 0, 1e-6  # so that rounding does not keep the last step back
    with context.progress(f"Simulating {options.world}", _STEPS) as advance:

        def progress(share: float) -> None:
            nonlocal told, done
            done += share
            advance(int(done * _STEPS) - told)
            told = int(done * _STEPS)

        results = simulate(
            options.world,
            world,
            sizes,
            policies,
            seed=seed,
            repeat=repeat,
            learn=options.learn,
            progress=progress,
        )
    if path is not None:
        plot(results, kind.metrics, path, time_unit=kind.time_unit)
    if context.as_json:
        context.print_json([_row(result, given) for result in results])
    else:
        _show(context, results, kind)
        _tell(path)


def _own_options(worlds: dict[str, type[World]]) -> dict[str, dict[str, str]]:
    """Options that not all worlds have: the help of each of their worlds."""
    found: dict[str, dict[str, str]] = {}
    for name, world in worlds.items():
        for option, (_, default, help_) in option_names(world).items():
            text = f"{help_} (default {default})" if default else help_
            found.setdefault(option, {})[name] = text
    return found


def _given(options: argparse.Namespace, kind: type[World]) -> dict[str, str]:
    """What was given of the world's own options; those of other worlds are refused."""
    own = {field: option for option, (field, _, _) in option_names(kind).items()}
    others = {
        field: option
        for name in world_names()
        for option, (field, _, _) in option_names(world_named(name)).items()
        if field not in own
    }
    for field, option in others.items():
        if hasattr(options, field):
            raise ConfigError(f"{option} is not an option of world {options.world}")
    return {field: getattr(options, field) for field in own if hasattr(options, field)}


def _sizes(options: argparse.Namespace, kind: type[World]) -> list[Size]:
    usual = kind.usual
    pages = [parsed("--pages", each, int) for each in words(_or(options.pages, usual.pages))]
    rates = [parsed("--rate", each, float) for each in words(_or(options.rate, usual.rate))]
    horizon = parsed("--horizon", _or(options.horizon, usual.horizon), float)
    sizes = [Size(each, rate, horizon) for each in pages for rate in rates]
    if not sizes:
        raise ConfigError("--pages and --rate need a number")
    return list(dict.fromkeys(sizes))


def _or(given: str | None, usual: float) -> str:
    return str(usual) if given is None else given


def _row(result: Result, given: dict[str, str]) -> dict[str, Any]:
    row = asdict(result)
    values = row.pop("values")
    return row | {"mean": result.mean, "stderr": result.stderr, "values": values, "options": given}


def _show(context: Context, results: Sequence[Result], kind: type[World]) -> None:
    for number, size in enumerate(dict.fromkeys(result.size for result in results)):
        own = [result for result in results if result.size == size]
        if number:
            context.print()
        context.print(_headline(own[0], kind))
        for metric in kind.metrics:
            context.print()
            context.print(_table([each for each in own if each.metric == metric.name], metric))
    if results[0].repeat > 1:
        context.print()
        context.print("± standard errors; differences are paired, because all policies crawl the same webs.")


def _headline(result: Result, kind: type[World]) -> str:
    unit = kind.time_unit.removesuffix("s")
    knowledge = "learned from visits" if result.learn else "known"
    return (
        f"{result.world}: {count(result.pages, 'page')}, {result.rate:g} crawls per {unit} for "
        f"{result.horizon:g} {kind.time_unit}, {count(result.repeat, 'web')} (seed {result.seed}), "
        f"parameters {knowledge}"
    )


def _table(results: Sequence[Result], metric: Metric) -> Any:
    behind = ">to the best" if metric.is_gain is not None else ">"
    table = new_table("policy", f">{metric.name}", ">", behind, ">", ">fetches", caption=None)
    for standing in standings(results, metric):
        table.add_row(*_cells(standing, metric))
    return table


def _cells(standing: Standing, metric: Metric) -> tuple[str, ...]:
    result = standing.result
    is_best = standing.behind == 0 and math.isnan(standing.behind_error)
    difference = ("", "")
    if metric.is_gain is not None and not is_best:
        difference = _signed(standing.behind), _error(standing.behind_error)
    mean = NOTHING if math.isnan(result.mean) else f"{result.mean:.4f}"
    return (result.policy, mean, _error(result.stderr), *difference, f"{result.fetches:,.0f}")


def _signed(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:+.4f}"


def _error(value: float) -> str:
    return "" if math.isnan(value) else f"± {value:.4f}"


def _tell(path: Path | None) -> None:
    if path is not None:
        sys.stderr.write(f"Wrote {safe(str(path))}.\n")
