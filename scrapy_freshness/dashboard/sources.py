"""Sources of links: what each brings, what that is worth, and how often it is polled at a price."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.watch import Sight
from scrapy_freshness.insight.outlook import Outlook, some_of
from scrapy_freshness.model import PageKind
from scrapy_freshness.storage.hub_reports import HubReport, hubs_with_ids, retired_hubs
from scrapy_freshness.storage.live_reports import pages_with_ids
from scrapy_freshness.storage.page_reports import PageReport

#: Sources that are shown, those with the highest link rates; and hubs that are not polled any more.
_MOST, _MOST_RETIRED = 200, 50
#: What is believed of a hub that is not polled, and its intervals.
_NOT_POLLED = (math.nan,) * 5
#: The slider goes from one present price over this to that many times as much; its unit is a factor of 2.
_DOUBLINGS = 6


@dataclass(frozen=True, slots=True)
class Line:
    """One source of the table; nan where the policy does not look at it."""

    page: PageReport
    hub: HubReport | None  #: what its polls brought; None if hubs are not looked for
    link_rate: float
    profit: float
    decay: float
    interval: float  #: between polls at the present price
    other_interval: float  #: at the price of the slider


def show(request: Request) -> Response:
    """The whole page."""
    asked = Asked(request)
    if asked.spider is None:
        return asked.answer("empty.html")
    return asked.answer("sources.html", doublings=_DOUBLINGS, **_table(asked))


def show_table(request: Request) -> Response:
    """The part that follows the slider."""
    asked = Asked(request)
    return (
        Response(status_code=204) if asked.spider is None else asked.answer("_sources.html", **_table(asked))
    )


def _table(asked: Asked) -> dict[str, Any]:
    sight = asked.sight
    step = _step(asked.text("step", "0"))
    price, other_price = sight.terms.price, sight.terms.price * 2.0**step
    rows = np.flatnonzero(sight.census.columns["kind"] == PageKind.SOURCE)
    rates = _column(sight, "link_rate", rows)
    rows = rows[np.argsort(-np.nan_to_num(rates), kind="stable")]
    n_sources = len(rows)
    rows = rows[:_MOST]
    outlook = Outlook(sight.terms, some_of(sight.census.planning_columns(), rows), sight.now)
    ids = sight.census.columns["page_id"][rows].tolist()
    numbers = zip(
        *(_column(sight, name, rows).tolist() for name in ("link_rate", "profit", "decay")),
        outlook.long_run_intervals(price).tolist(),
        outlook.long_run_intervals(other_price).tolist(),
        strict=True,
    )
    named = dict(zip(ids, numbers, strict=True))
    retired = [page_id for page_id in _retired(asked) if page_id not in named]
    shown = ids + retired[:_MOST_RETIRED]
    hubs = hubs_with_ids(asked.desk.store, shown)
    lines = [
        Line(page, hubs.get(page.page_id), *named.get(page.page_id, _NOT_POLLED))
        for page in pages_with_ids(asked.desk.store, shown)
    ]
    return {
        "lines": lines,
        "n_sources": n_sources,
        "n_retired": len(retired),
        "n_left_out": n_sources + len(retired) - len(shown),
        "step": step,
        "price": price,
        "other_price": other_price,
        "polls": _per_second(line.interval for line in lines),
        "other_polls": _per_second(line.other_interval for line in lines),
        "budget": sight.terms.budget_per_second,
        "policy": sight.terms.policy.name,
    }


def _retired(asked: Asked) -> list[int]:
    """Hubs that are not polled any more."""
    store, spider = asked.desk.store, asked.spider
    assert spider is not None
    return asked.desk.remembered.answer(("retired", spider), lambda: retired_hubs(store, spider))


def _column(sight: Sight, name: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """What is believed of some pages; nan where nothing is."""
    known = sight.census.beliefs.get(name)
    return np.full(len(rows), np.nan) if known is None else known[rows].astype(np.float64)


def _per_second(intervals: Iterable[float]) -> float:
    return sum(1 / interval for interval in intervals if interval > 0 and math.isfinite(interval))


def _step(text: str) -> float:
    try:
        step = float(text)
    except ValueError:
        return 0.0
    return min(max(step, -_DOUBLINGS), _DOUBLINGS) if math.isfinite(step) else 0.0
