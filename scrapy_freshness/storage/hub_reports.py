"""Which hubs are there, and what have they brought?  For commands and the dashboard."""

from dataclasses import dataclass, fields

from sqlalchemy import RowMapping, select

from scrapy_freshness.model import HubState, PageStatus
from scrapy_freshness.storage.bulk import BulkSelect
from scrapy_freshness.storage.hub_rows import hub_from
from scrapy_freshness.storage.reading import number_of
from scrapy_freshness.storage.rows import clean
from scrapy_freshness.storage.schema import host, hub, page, spider
from scrapy_freshness.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class HubReport:
    """One hub; fields as in `HubRecord`, and some of its page."""

    page_id: int
    spider: str
    host: str
    url: str
    status: PageStatus
    importance: float
    state: HubState
    found: str
    found_on: str
    evidence: str
    is_unseen: bool
    polls: int
    shown: int
    new_links: int
    barren: int
    last_poll_at: float | None
    next_look_at: float


_FIELDS = [each.name for each in fields(HubReport)]


_query = (
    select(
        *(column for column in hub.c if column.name in _FIELDS),
        page.c.url,
        page.c.status,
        page.c.importance,
        spider.c.name.label("spider"),
        host.c.name.label("host"),
    )
    .join_from(hub, page, page.c.page_id == hub.c.page_id)
    .join(spider, spider.c.id == page.c.spider_id)
    .join(host, host.c.id == page.c.host_id)
    .order_by(hub.c.new_links.desc(), page.c.url)
)


def hubs(store: Store) -> list[HubReport]:
    """All hubs, those that brought most first."""
    with store.reading() as connection:
        return [_report(row) for row in connection.execute(_query).mappings()]


def hub_report(store: Store, page_id: int) -> HubReport | None:
    """One hub; None if the page is not one."""
    with store.reading() as connection:
        row = connection.execute(_query.where(hub.c.page_id == page_id)).mappings().one_or_none()
    return None if row is None else _report(row)


def hubs_with_ids(store: Store, page_ids: list[int]) -> dict[int, HubReport]:
    """Those of some pages that are hubs, by page id."""
    with store.reading() as connection:
        rows = [_report(row._mapping) for row in _select_hubs(connection, page_ids)]
    return {report.page_id: report for report in rows}


def retired_hubs(store: Store, spider_name: str) -> list[int]:
    """Page ids of a spider's hubs that have shown nothing new for long, those that brought most first."""
    query = (
        select(hub.c.page_id)
        .join_from(hub, page, page.c.page_id == hub.c.page_id)
        .where(hub.c.state == int(HubState.RETIRED))
        .where(page.c.spider_id == number_of(spider, clean(spider_name)))
        .order_by(hub.c.new_links.desc(), hub.c.page_id)
    )
    with store.reading() as connection:
        return list(connection.scalars(query))


_select_hubs = BulkSelect(_query, hub.c.page_id)


def _report(row: RowMapping) -> HubReport:
    return HubReport(**{**hub_from(dict(row)), "status": PageStatus(row["status"])})
