"""Hosts: which ones take the budget, which ones refuse, which ones lie."""

from dataclasses import dataclass

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.insight.waste import Waste
from scrapy_freshness.model import HostRecord

#: What hosts can be sorted by: head of the column and whether the largest comes first.
SORTS: dict[str, tuple[str, bool]] = {
    "host": ("Host", False),
    "wasted": ("Wasted", True),
    "fetches": ("Fetches", True),
    "pages": ("Pages", True),
    "visits": ("Visits", True),
    "changes": ("Changes", True),
    "freshness": ("Fresh", False),
    "due": ("Due", True),
    "blocked_until": ("Back-off", True),
    "false_not_modified": ("False 304s", True),
}
_LENGTH = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One host of the table."""

    host: str
    pages: int
    never_fetched: int
    visits: int
    changes: int
    fetches: int
    redirects: int
    retries: int
    wasted: int
    of_all: float  #: share of all wasted fetches
    freshness: float
    due: int
    kept: HostRecord

    @property
    def waste(self) -> Waste:
        """What its fetches went to that brought nothing new."""
        return Waste(fetches=self.fetches, wasted=self.wasted, redirects=self.redirects, retries=self.retries)


def show(request: Request) -> Response:
    """The table of hosts."""
    asked = Asked(request)
    if asked.spider is None:
        return asked.answer("empty.html")
    lines = _lines(asked)
    wanted = asked.text("q").strip().lower()
    chosen = [line for line in lines if wanted in line.host.lower()]
    sort = asked.choice("sort", SORTS, "wasted")
    order = asked.choice("order", {"asc": 1, "desc": 1}, "desc" if SORTS[sort][1] else "asc")
    chosen.sort(key=lambda line: line.host)
    chosen.sort(key=lambda line: _key(line, sort, order == "desc"), reverse=order == "desc")
    number = asked.whole("page", 1, max(1, -(-len(chosen) // _LENGTH)))
    return asked.answer(
        "hosts.html",
        lines=chosen[(number - 1) * _LENGTH : number * _LENGTH],
        most=max(lines, key=lambda line: line.wasted, default=None),
        waste=asked.sight.host_sums.waste,
        total=len(chosen),
        first=(number - 1) * _LENGTH + 1,
        number=number,
        n_pages=max(1, -(-len(chosen) // _LENGTH)),
        sorts=SORTS,
        sort=sort,
        order=order,
        query=asked.text("q"),
    )


def _lines(asked: Asked) -> list[Line]:
    sight = asked.sight
    sums = sight.host_sums
    kept = {record.host: record for record in asked.desk.store.load_hosts()}
    all_wasted = max(int(sums.wasted.sum()), 1)
    return [
        Line(
            host=name,
            pages=int(sums.pages[row]),
            never_fetched=int(sums.never_fetched[row]),
            visits=int(sums.visits[row]),
            changes=int(sums.changes[row]),
            fetches=int(sums.fetches[row]),
            redirects=int(sums.redirects[row]),
            retries=int(sums.retries[row]),
            wasted=int(sums.wasted[row]),
            of_all=float(sums.wasted[row]) / all_wasted,
            freshness=float(sums.freshness[row]),
            due=int(sums.due[row]),
            kept=kept.get(name, HostRecord(host=name)),
        )
        for row, name in enumerate(sight.census.hosts)
        if sums.pages[row] or sums.fetches[row]
    ]


def _key(line: Line, sort: str, descending: bool) -> float | str:
    """What a host is sorted by; without a value it comes last."""
    value: float | str = getattr(line.kept if sort in ("blocked_until", "false_not_modified") else line, sort)
    if isinstance(value, float) and np.isnan(value):
        return -np.inf if descending else np.inf
    return value
