"""Pages: a table over all known pages, sorted and filtered here, a window at a time."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.url_search import Found, UrlSearch
from scrapy_freshness.dashboard.watch import LEFT, Sight
from scrapy_freshness.errors import InputError
from scrapy_freshness.insight.case import waits_for_hosts
from scrapy_freshness.insight.human import safe
from scrapy_freshness.insight.outlook import Outlook
from scrapy_freshness.insight.rows import columns_of, is_assumed, row_of
from scrapy_freshness.model import Outcome, PageKind, PageStatus, VisitRecord
from scrapy_freshness.storage.inspection import crawling
from scrapy_freshness.storage.live_reports import pages_with_ids
from scrapy_freshness.storage.page_reports import PageReport, last_visits, page_beliefs
from scrapy_freshness.storage.store import Store

Rows = NDArray[np.intp]

#: What pages can be sorted by: head of the column, name of the numbers, whether the largest comes first.
SORTS: dict[str, tuple[str, str, bool]] = {
    "url": ("Page", "url", False),
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


@dataclass(frozen=True, slots=True)
class Line:
    """One page of the table: what the database says, and what the policy thinks."""

    page: PageReport
    value: float
    freshness: float
    next_visit_at: float
    last: VisitRecord | None = None  #: the last line of the log, if it is still there

    @property
    def is_failing(self) -> bool:
        """Whether the last attempts to visit the page have failed, or were stopped."""
        return self.page.failures > 0 and self.page.status in (PageStatus.NEW, PageStatus.ACTIVE)

    @property
    def is_stopped(self) -> bool:
        """Whether the last of them never was sent."""
        if self.last is None:
            return self.is_failing and self.page.visits == 0
        return self.is_failing and self.last.outcome is Outcome.IGNORED

    @property
    def attempt(self) -> VisitRecord | None:
        """The last attempt, if it did not see the page."""
        return None if self.last is None or self.last.outcome.saw_content else self.last

    @property
    def is_assumed(self) -> bool:
        """Whether the change rate is what was assumed of it."""
        return is_assumed(row_of(self.page, self.page.spider))


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
    lines = _lines(asked.desk.store, sight, found.rows, asked.now)
    fitting = [line for line in lines if _fits(line.page, chosen)]
    age = asked.now - sight.now
    return asked.answer(
        template,
        lines=fitting,
        left_out=len(lines) - len(fitting),
        order_age=age if age > _OLD_SECONDS else None,
        total=found.total,
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
        is_held_up=_is_held_up(asked, sight),
        **chosen,
    )


def download(request: Request) -> Response:
    """The whole table as a file."""
    asked = Asked(request)
    if asked.spider is None:
        return asked.answer("empty.html")
    sight = asked.sight
    found = _found(asked, sight, 0, len(sight))
    head = {"Content-Disposition": 'attachment; filename="pages.csv"'}
    return StreamingResponse(_csv(asked, found.rows), media_type="text/csv", headers=head)


def _is_held_up(asked: Asked, sight: Sight) -> bool:
    """Whether pages that are due wait for their hosts."""
    store, spider = asked.desk.store, asked.spider
    assert spider is not None

    def look() -> bool:
        return spider in crawling(store) and waits_for_hosts(
            store, spider, (sight.terms, sight.outlook), sight.now
        )

    return asked.desk.remembered.answer(("held up", spider), look)


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
    rows = order if passes.all() else order[passes[order]]
    if chosen["query"]:
        search = UrlSearch(chosen["query"], is_regex=chosen["is_regex"])
        return search.find(sight.census, rows, first, count)
    return Found(rows[first : first + count], len(rows), True)


def _fits(page: PageReport, chosen: dict[str, Any]) -> bool:
    """Whether a page passes the filters as it is now."""
    status, kind = STATUSES.get(chosen["status"]), KINDS.get(chosen["kind"])
    return (
        (status is None or page.status is status)
        and (kind is None or page.kind is kind)
        and chosen["host"] in ("", page.host)
    )


def _lines(store: Store, sight: Sight, rows: Rows, now: float) -> list[Line]:
    """Pages as they are now, as their own pages show them; only their order is that of the sight."""
    pages = pages_with_ids(store, sight.census.columns["page_id"][rows].tolist())
    ids = [page.page_id for page in pages]
    last = last_visits(store, ids)
    columns = columns_of([row_of(page, page.spider) for page in pages], page_beliefs(store, ids))
    outlook = Outlook(sight.terms, columns, now)
    value = np.where(np.isin(columns.status, LEFT), np.nan, outlook.values())
    freshness = np.where(outlook.has_copy, outlook.freshness(), np.nan)
    next_visit = np.where(np.isinf(outlook.next_visits()), np.nan, outlook.next_visits())
    numbers = zip(pages, value.tolist(), freshness.tolist(), next_visit.tolist(), strict=True)
    return [Line(*each, last.get(each[0].page_id)) for each in numbers]


def _csv(asked: Asked, rows: Rows) -> Iterator[str]:
    """All these pages as they are when their part of the file is written."""
    desk, sight, chosen = asked.desk, asked.sight, _chosen(asked)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    for first in range(0, len(rows), _CHUNK):
        for line in _lines(desk.store, sight, rows[first : first + _CHUNK], desk.clock.now()):
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
