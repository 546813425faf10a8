"""How does the crawl do? Spiders and hosts, for commands and the dashboard."""

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, bindparam, func, select

from scrapy_freshness.model import CrawlState, Outcome, PageStatus
from scrapy_freshness.storage.reading import load_states, number_of
from scrapy_freshness.storage.rows import clean
from scrapy_freshness.storage.schema import fetch_count, host, host_count, page, spider, visit_count
from scrapy_freshness.storage.store import Store

HOUR_SECONDS = 3600.0
DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a spider did in a span of time."""

    visits: dict[Outcome, int]
    fetches: dict[str, int]  #: by kind of fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiderReport:
    """How the crawl of one spider does."""

    spider: str
    pages: dict[PageStatus, int]
    last_hour: Activity
    last_day: Activity
    state: CrawlState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTaken:
    """What a host took of a spider's budget, and what that brought."""

    fetches: int  #: all requests, with redirects, retries and robots.txt
    redirects: int
    retries: int
    fruitful: int  #: visits that found a first copy, a change, or signals that were worth something


def spiders(store: Store, now: float) -> list[SpiderReport]:
    """How the crawl of every spider does."""
    with store.reading() as connection:
        states = {state.spider: state for state in load_states(connection)}
        last_hour, last_day = (_Minutes(connection, now - span) for span in (HOUR_SECONDS, DAY_SECONDS))
        numbers = connection.execute(select(spider.c.id, spider.c.name).order_by(spider.c.name)).all()
        return [
            SpiderReport(
                spider=name,
                pages=_pages_by_status(connection, number),
                last_hour=last_hour.activity(number),
                last_day=last_day.activity(number),
                state=states.get(name),
            )
            for number, name in numbers
        ]


def taken_by_hosts(store: Store, spider_name: str) -> dict[str, HostTaken]:
    """What each host took of a spider's budget."""
    counts = [host_count.c[each.name] for each in fields(HostTaken)]
    own = host_count.c.spider_id == number_of(spider, clean(spider_name))
    query = (
        select(host.c.name, *counts).join_from(host_count, host, host.c.id == host_count.c.host_id).where(own)
    )
    with store.reading() as connection:
        return {
            name: HostTaken(fetches=fetches, redirects=redirects, retries=retries, fruitful=fruitful)
            for name, fetches, redirects, retries, fruitful in connection.execute(query)
        }


def _pages_by_status(connection: Connection, spider_id: int) -> dict[PageStatus, int]:
    # One pass over the pages; GROUP BY would sort them first.
    counts = [func.count().filter(page.c.status == int(status)) for status in PageStatus]
    row = connection.execute(select(*counts).where(page.c.spider_id == spider_id)).one()
    return {status: count for status, count in zip(PageStatus, row, strict=True) if count}


class _Minutes:
    """The counts of the minutes since a time, of all spiders."""

    def __init__(self, connection: Connection, since: float) -> None:
        minute = {"minute": int(since // 60)}
        self._visits = connection.execute(_sums(visit_count, visit_count.c.outcome, "visits"), minute).all()
        self._fetches = connection.execute(_sums(fetch_count, fetch_count.c.kind, "fetches"), minute).all()

    def activity(self, spider_id: int) -> Activity:
        """What one spider did."""
        return Activity(
            visits={Outcome(key): int(count) for owner, key, count in self._visits if owner == spider_id},
            fetches={key: int(count) for owner, key, count in self._fetches if owner == spider_id},
        )


def _sums(table: Table, by: ColumnElement[Any], count: str) -> Select[Any]:
    # By spider, as the key begins: the minutes alone would be looked for among those of all times.
    recent = table.c.spider_id.in_(select(spider.c.id)) & (table.c.minute > bindparam("minute"))
    return (
        select(table.c.spider_id, by, func.sum(table.c[count])).where(recent).group_by(table.c.spider_id, by)
    )


def activity_since(store: Store, since: float) -> dict[str, Activity]:
    """What every spider did in the minutes that began after a time."""
    with store.reading() as connection:
        minutes = _Minutes(connection, since)
        numbers = connection.execute(select(spider.c.id, spider.c.name)).all()
        return {name: minutes.activity(number) for number, name in numbers}
