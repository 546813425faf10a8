"""Pages: a table over all known pages, sorted and filtered here, a window at a time."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.page_lines import Line, is_held_up, lines_of
from scrapy_freshness.dashboard.url_search import Found, UrlSearch
from scrapy_freshness.dashboard.watch import Sight
from scrapy_freshness.errors import InputError
from scrapy_freshness.insight.human import safe
from scrapy_freshness.model import PageKind, PageStatus, are_polled
from scrapy_freshness.storage.page_reports import PageReport

Rows = NDArray[np.intp]

#: What pages can be sorted by: head of the column, name of the numbers, whether the largest comes first.
SORTS: dict[str, tuple[str, str, bool]] = {
    "url": ("Page", "url", False),
    "host": ("Host", "host_name", False),
    "kind": ("Kind", "kind", False),
    "status": ("Status", "status", False),
    "last_visit": ("Last visit", "last_visit_at", True),
    "next_visit": ("Next visit", "next_visit", False),
    "change_rate": ("Changes every", "change_rate", True),
    "value": ("Value now", "value", True),
    "importance": ("Importance", "importance", True),
    "visits": ("Visits", "visits", True),
    "freshness": ("Fresh", "freshness", False),
}
_LENGTH = 50
_MOST_PAGES = 1_000_000
#: Pages of a download that are read from the database at a time.
_CHUNK = 1_000
#: An order that is older is told with its age.
_OLD_SECONDS = 5.0
STATUSES = {status.name.lower(): status for status in PageStatus}
KINDS = {kind.name.lower(): kind for kind in PageKind}
CSV_COLUMNS = (
    *("url", "host", "status", "kind", "importance", "last_visit_at", "next_visit_at", "change_rate"),
    *(
        "change_rate_low",
        "change_rate_high",
        "value",
        "freshness",
        "visits",
        "changes",
        "failures",
        "http_status",
    ),
)


def show(request: Request) -> Response:
    """One window of the table, and what chooses it."""
    return _answer(Asked(request), "pages.html")


def show_table(request: Request) -> Response:
    """The same window alone, brought up to date."""
    return _answer(Asked(request), "_pages.html")


def _answer(asked: Asked, template: str) -> Response:
    if asked.spider is None:
        return asked.answer("empty.html")
    sight, number = asked.sight, asked.whole("page", 1, _MOST_PAGES)
    error = None
    try:
        found = _found(asked, sight, (number - 1) * _LENGTH, _LENGTH)
    except InputError as wrong:
        found, error = Found(np.empty(0, np.intp), 0, True), str(wrong)
    chosen = _chosen(asked)
    waits_for_hosts = is_held_up(asked)
    lines = lines_of(asked, found.rows, asked.now, by_hosts=waits_for_hosts)
    fitting = [line for line in lines if _fits(line.page, chosen)]
    age = asked.now - sight.now
    return asked.answer(
        template,
        lines=fitting,
        left_out=len(lines) - len(fitting),
        order_age=age if age > _OLD_SECONDS else None,
        total=found.total,
        polled=_polled(sight, chosen),
        is_exact=found.is_exact,
        first=(number - 1) * _LENGTH + 1,
        number=number,
        n_pages=max(1, -(-found.total // _LENGTH)),
        error=error,
        sorts=SORTS,
        statuses=STATUSES,
        kinds=KINDS,
        price=sight.terms.price,
        known=len(sight),
        is_held_up=waits_for_hosts,
        **chosen,
    )


def download(request: Request) -> Response:
    """The whole table as a file; next visits are told by the price of the crawl, whatever hosts allow."""
    asked = Asked(request)
    if asked.spider is None:
        return asked.answer("empty.html")
    sight = asked.sight
    found = _found(asked, sight, 0, len(sight))
    head = {"Content-Disposition": 'attachment; filename="pages.csv"'}
    return StreamingResponse(_csv(asked, found.rows), media_type="text/csv", headers=head)


def _chosen(asked: Asked) -> dict[str, Any]:
    """What the reader has chosen, as the address says it."""
    sort = asked.choice("sort", SORTS, "value")
    usual = "desc" if SORTS[sort][2] else "asc"
    return {
        "query": asked.text("q"),
        "is_regex": asked.text("regex") == "1",
        "host": asked.text("host"),
        "status": asked.choice("status", STATUSES, ""),
        "kind": asked.choice("kind", KINDS, ""),
        "sort": sort,
        "order": asked.choice("order", {"asc": 1, "desc": 1}, usual),
    }


def _found(asked: Asked, sight: Sight, first: int, count: int) -> Found:
    chosen = _chosen(asked)
    order = sight.order(SORTS[chosen["sort"]][1], descending=chosen["order"] == "desc")
    passes = _passing(sight, chosen)
    rows = order if passes.all() else order[passes[order]]
    if chosen["query"]:
        search = UrlSearch(chosen["query"], is_regex=chosen["is_regex"])
        return search.find(sight.census, rows, first, count)
    return Found(rows[first : first + count], len(rows), True)


def _passing(sight: Sight, chosen: dict[str, Any]) -> NDArray[np.bool_]:
    """Which pages pass the filters, whatever their addresses."""
    columns = sight.census.columns
    passes = np.ones(len(sight), np.bool_)
    if chosen["status"]:
        passes &= columns["status"] == STATUSES[chosen["status"]]
    if chosen["kind"]:
        passes &= columns["kind"] == KINDS[chosen["kind"]]
    if chosen["host"]:
        hosts = sight.census.hosts
        number = hosts.index(chosen["host"]) if chosen["host"] in hosts else -1
        passes &= columns["host"] == number
    return passes


def _polled(sight: Sight, chosen: dict[str, Any]) -> int:
    """How many of the pages of the list are sitemaps and feeds, where it tells them apart from others."""
    if chosen["query"] or chosen["kind"]:
        return 0
    return int(np.count_nonzero(_passing(sight, chosen) & are_polled(sight.census.columns["kind"])))


def _fits(page: PageReport, chosen: dict[str, Any]) -> bool:
    """Whether a page passes the filters as it is now."""
    status, kind = STATUSES.get(chosen["status"]), KINDS.get(chosen["kind"])
    return (
        (status is None or page.status is status)
        and (kind is None or page.kind is kind)
        and chosen["host"] in ("", page.host)
    )


def _csv(asked: Asked, rows: Rows) -> Iterator[str]:
    """All these pages as they are when their part of the file is written."""
    desk, chosen = asked.desk, _chosen(asked)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    for first in range(0, len(rows), _CHUNK):
        for line in lines_of(asked, rows[first : first + _CHUNK], desk.clock.now()):
            if _fits(line.page, chosen):
                writer.writerow(map(cell, _record(line)))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def _record(line: Line) -> Iterator[Any]:
    for name in CSV_COLUMNS:
        value = getattr(line, name) if name in Line.__slots__ else getattr(line.page, name)
        yield value.name.lower() if isinstance(value, PageStatus | PageKind) else value


def cell(value: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula."""
    if isinstance(value, float):
        return "" if np.isnan(value) else value
    if isinstance(value, str):
        text = safe(value)
        return f"'{text}" if text[:1] in tuple("=+-@\t\r") else text
    return value
