"""Pages of the list: what the database says of them, and what the policy thinks."""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.watch import LEFT
from scrapy_freshness.insight.case import price_on_host, waits_for_hosts
from scrapy_freshness.insight.outlook import Outlook, some_of
from scrapy_freshness.insight.rows import columns_of, is_assumed, row_of
from scrapy_freshness.model import Outcome, PageColumns, PageStatus, VisitRecord
from scrapy_freshness.storage.inspection import crawling
from scrapy_freshness.storage.live_reports import pages_with_ids
from scrapy_freshness.storage.page_reports import PageReport, last_visits, page_beliefs

Rows = NDArray[np.intp]

#: Seconds that somebody waits for the prices on hosts that are not known yet.
_PATIENCE = 0.2


@dataclass(frozen=True, slots=True)
class Line:
    """One page of the table: what the database says, and what the policy thinks."""

    page: PageReport
    value: float
    freshness: float
    next_visit_at: float
    waits_for_host: bool  #: it would be visited by now if only the budget counted
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


def lines_of(asked: Asked, rows: Rows, now: float, *, by_hosts: bool = False) -> list[Line]:
    """Pages as they are now; only their order is that of the sight.

    Their next visits are told by the price of the crawl; *by_hosts* by the prices on their hosts, as their
    own pages do while hosts hold the crawl up. That is for few pages: each host takes a moment.
    """
    store, sight = asked.desk.store, asked.sight
    pages = pages_with_ids(store, sight.census.columns["page_id"][rows].tolist())
    ids = [page.page_id for page in pages]
    last = last_visits(store, ids)
    columns = columns_of([row_of(page, page.spider) for page in pages], page_beliefs(store, ids))
    outlook = Outlook(sight.terms, columns, now)
    value = np.where(np.isin(columns.status, LEFT), np.nan, outlook.values())
    freshness = np.where(outlook.has_copy, outlook.freshness(), np.nan)
    next_visit, waits = outlook.next_visits(), np.zeros(len(pages), np.bool_)
    if by_hosts:
        _tell_by_hosts(asked, columns, next_visit, now)
        is_kept = np.isin(columns.status, (PageStatus.NEW, PageStatus.ACTIVE))
        waits = is_kept & ((value >= sight.terms.price) | (next_visit <= now))
    next_visit[np.isinf(next_visit)] = np.nan
    numbers = zip(pages, value.tolist(), freshness.tolist(), next_visit.tolist(), waits.tolist(), strict=True)
    return [Line(*each, last.get(each[0].page_id)) for each in numbers]


def _tell_by_hosts(asked: Asked, columns: PageColumns, next_visit: NDArray[np.float64], now: float) -> None:
    """Correct *next_visit* by the prices on hosts that are known soon: pages compete on their host only."""
    until = time.monotonic() + _PATIENCE
    for number, host in enumerate(columns.hosts):
        price = _price_on(asked, host, until - time.monotonic())
        if price is not None:
            rows = np.flatnonzero(columns.host == number)
            own = replace(asked.sight.terms, price=price)
            next_visit[rows] = Outlook(own, some_of(columns, rows), now).next_visits()


def _price_on(asked: Asked, host: str, patience: float) -> float | None:
    """What a visit has to be worth on a host that holds the crawl up; None if it is not known soon."""
    store, sight, spider = asked.desk.store, asked.sight, asked.spider
    assert spider is not None

    def look() -> float:
        state = store.load_state(spider)
        return price_on_host(store, sight.outlook, host, state, sight.terms, sight.now)

    return asked.desk.remembered.soon(("price", spider, host), look, patience=patience)


def is_held_up(asked: Asked) -> bool:
    """Whether pages that are due wait for their hosts."""
    store, sight, spider = asked.desk.store, asked.sight, asked.spider
    assert spider is not None

    def look() -> bool:
        return spider in crawling(store) and waits_for_hosts(
            store, spider, sight.terms, sight.reach, sight.now
        )

    return asked.desk.remembered.answer(("held up", spider), look)
