"""Which hubs are there, and what have they brought?  For commands and the dashboard."""

from dataclasses import dataclass, fields

from sqlalchemy import select

from scrapy_freshness.model import HubState, PageStatus
from scrapy_freshness.storage.hub_rows import hub_from
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


def hubs(store: Store) -> list[HubReport]:
    """All hubs, those that brought most first."""
    query = (
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
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return [HubReport(**{**hub_from(dict(row)), "status": PageStatus(row["status"])}) for row in rows]
