"""What happened just now, for somebody who watches: cheap enough to be asked every second."""

from dataclasses import dataclass, fields

from sqlalchemy import select

from scrapy_freshness.model import FreshnessRecord, Outcome
from scrapy_freshness.storage.reading import number_of
from scrapy_freshness.storage.rows import clean
from scrapy_freshness.storage.schema import freshness_minute, host, page, spider, visit
from scrapy_freshness.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestVisit:
    """One of the last lines of the log."""

    at: float
    spider: str
    host: str
    url: str
    outcome: Outcome
    http_status: int | None
    divergence: float | None
    body_bytes: int
    latency_seconds: float | None


def latest_visits(store: Store, limit: int) -> list[LatestVisit]:
    """The last visits of all spiders, newest first."""
    last = select(visit).order_by(visit.c.id.desc()).limit(limit).subquery()
    own = [last.c[each.name] for each in fields(LatestVisit) if each.name in last.c]
    query = (
        select(*own, spider.c.name.label("spider"), host.c.name.label("host"), page.c.url)
        .join_from(last, page, page.c.page_id == last.c.page_id)
        .join(spider, spider.c.id == page.c.spider_id)
        .join(host, host.c.id == page.c.host_id)
        .order_by(last.c.id.desc())
    )
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return [LatestVisit(**{**row, "outcome": Outcome(row["outcome"])}) for row in rows]


def freshness_since(store: Store, spider_name: str, since: float) -> list[FreshnessRecord]:
    """How fresh the copies of a spider were, minute by minute, oldest first."""
    columns = [freshness_minute.c[each.name] for each in fields(FreshnessRecord)]
    own = freshness_minute.c.spider_id == number_of(spider, clean(spider_name))
    recent = freshness_minute.c.minute >= int(since // 60)
    query = select(*columns).where(own, recent).order_by(freshness_minute.c.minute)
    with store.reading() as connection:
        return [FreshnessRecord(**row) for row in connection.execute(query).mappings()]
