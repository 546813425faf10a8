"""The results of a replay for people: a table for each record, best policy first."""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any

from rich.table import Table
from rich.text import Text

from scrapy_freshness.commands.context import Context, new_table
from scrapy_freshness.insight.human import NOTHING, count, duration, number, safe, share

Row = dict[str, Any]
Column = tuple[str, Callable[[Row], str]]

_BEST, _PROMISED = "bold green", "dim"
#: Share of the budget by which the fetches of a policy may differ without a remark.
_TOLERANCE = 0.1
_REMARK = "† more than a tenth off the budget: intervals cannot be scaled to it, or the rest was not worth it"


def title_of(trace: str) -> str:
    """The name of a record without folders and endings.

    >>> title_of("data/news.jsonl.gz"), title_of("/home/me/archive:pages/*.html")
    ('news', 'archive:pages/*.html')
    """
    path, colon, pattern = trace.partition(":")
    name = PurePath(path).name
    for suffix in (".gz", ".zst", ".jsonl"):
        name = name.removesuffix(suffix)
    return f"{name}{colon}{pattern}"


def main_measure(rows: Sequence[Row]) -> str:
    """What the results of a record are ordered by: profit if links appeared on hubs, else freshness."""
    return "profit" if any(row.get("profit") is not None for row in rows) else "freshness"


def best_of(rows: Sequence[Row], measure: str) -> Row | None:
    """The best of some results; what is only promised, or had more than the budget, does not count."""
    made = [row for row in rows if row["fetches"] is not None and row[measure] is not None]
    fair = [row for row in made if excess_of(row) <= _TOLERANCE]
    return max(fair, key=lambda row: row[measure], default=None)


def excess_of(row: Row) -> float:
    """By what share of the budget more fetches were made; 0 without a budget."""
    if row["budget_per_day"] is None or row["fetches"] is None:
        return 0.0
    excess: float = row["fetches"] / (row["budget_per_day"] * row["days"]) - 1
    return excess


def print_tables(context: Context, rows: Sequence[Row]) -> None:
    """Print the results of every record."""
    for trace, results in groupby(rows, key=lambda row: row["trace"]):
        of_trace = list(results)
        scaled = [row for row in of_trace if not row["unscaled"]]
        unscaled = [row for row in of_trace if row["unscaled"]]
        budgets = sorted({row["budget_per_day"] for row in scaled})
        context.say(_heading(trace, scaled[0], budgets))
        context.print()
        context.print(_details(scaled) if len(budgets) == 1 else _sweep(scaled, budgets))
        if any(_mark(row) for row in scaled):
            context.print(_REMARK, style="dim")
        context.print()
        if unscaled:
            context.say("with the intervals that they ship:")
            context.print()
            context.print(_details(unscaled))
            context.print()


def _heading(trace: str, row: Row, budgets: Sequence[float]) -> Text:
    knowledge = "learning from visits" if row["learn"] else "with the mean rates known"
    facts = (
        f": {count(row['pages'], 'page')} for {duration(86400 * row['days'])}, "
        f"{', '.join(map(number, budgets))} fetches a day, {knowledge}"
    )
    return Text.assemble((safe(title_of(trace)), "bold"), facts)


def _details(rows: Sequence[Row]) -> Table:
    """The measures for one budget."""
    main = main_measure(rows)
    columns: list[Column] = [
        ("policy", lambda row: row["policy"]),
        (">fetches", lambda row: NOTHING if row["fetches"] is None else f"{_mark(row)}{row['fetches']:,}"),
        (f">{main} %", lambda row: _percent(row[main], row[f"{main}_stderr"])),
    ]
    if len(rows) > 1 and not rows[0]["unscaled"]:
        columns.append(
            (
                f">to {rows[0]['policy']}",
                lambda row: NOTHING if row is rows[0] else _difference(row, main),
            )
        )
    columns += _OF_LINKS if main == "profit" else _OF_DOCUMENTS
    columns.append((">wasted", _told("wasted_fetches", share)))
    table = new_table("", *(name for name, _ in columns))
    best = best_of(rows, main)
    for row in sorted(rows, key=lambda row: -(row[main] or 0.0)):
        style = _BEST if row is best else _PROMISED if row["fetches"] is None else ""
        table.add_row("★" if row is best else "", *(tell(row) for _, tell in columns), style=style)
    return table


def _sweep(rows: Sequence[Row], budgets: Sequence[float]) -> Table:
    """The main measure for several budgets; policies in the order of their mean."""
    main = main_measure(rows)
    best = [best_of([row for row in rows if row["budget_per_day"] == budget], main) for budget in budgets]
    found = {(row["policy"], row["budget_per_day"]): row for row in rows}
    table = new_table(f"{main} %", *(f">{number(budget)}/day" for budget in budgets))
    policies = dict.fromkeys(row["policy"] for row in rows)
    for policy in sorted(policies, key=lambda name: -sum(found[name, each][main] or 0.0 for each in budgets)):
        own = [found[policy, budget] for budget in budgets]
        cells = [
            Text(f"★ {_measured(row, main)}", style=_BEST) if row is winner else Text(_measured(row, main))
            for row, winner in zip(own, best, strict=True)
        ]
        table.add_row(policy, *cells, style=_PROMISED if own[0]["fetches"] is None else "")
    return table


def _mark(row: Row) -> str:
    return "† " if abs(excess_of(row)) > _TOLERANCE else ""


def _measured(row: Row, measure: str) -> str:
    return _mark(row) + _percent(row[measure], row[f"{measure}_stderr"])


def _difference(row: Row, measure: str) -> str:
    return _percent(row[f"{measure}_diff"], row[f"{measure}_diff_stderr"], sign="+")


def _percent(value: float | None, stderr: float | None, *, sign: str = "") -> str:
    """A share in per cent, with its standard error."""
    if value is None:
        return NOTHING
    text = f"{100 * value:{sign}.2f}"
    return text if stderr is None else f"{text} ± {100 * stderr:.2f}"


def _told(key: str, as_text: Callable[[float], str]) -> Callable[[Row], str]:
    return lambda row: NOTHING if row[key] is None else as_text(row[key])


_OF_LINKS: list[Column] = [
    (">links found", _told("new_links_found", share)),
    (">after (median)", _told("link_delay_seconds_p50", duration)),
    (">(p90)", _told("link_delay_seconds_p90", duration)),
    (">freshness", _told("freshness", share)),
]
_OF_DOCUMENTS: list[Column] = [
    (">fragments", _told("fragment_freshness", share)),
    (">mean age", _told("mean_age_seconds", duration)),
]
