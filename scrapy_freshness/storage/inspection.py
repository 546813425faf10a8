"""Is the database itself in order?  Who uses it, how large it is, what is wrong with it."""

from typing import Any

from sqlalchemy import Column, Select, exists, func, select, text

from scrapy_freshness.storage import migrations
from scrapy_freshness.storage.database import Database
from scrapy_freshness.storage.failures import our_errors
from scrapy_freshness.storage.locks import is_locked
from scrapy_freshness.storage.reading import load_states
from scrapy_freshness.storage.schema import (
    click_span,
    host,
    hub,
    page,
    page_click,
    page_detail,
    page_feed,
    signal,
    signal_source,
    spider,
    visit,
)
from scrapy_freshness.storage.store import Store


def crawling(store: Store) -> set[str]:
    """Spiders that crawl now; the lock of SQLite has no name, there it is the one that wrote last."""
    with store.reading() as connection:
        if not is_locked(store.database, connection):
            return set()
        if store.database.is_sqlite:
            states = sorted(load_states(connection), key=lambda state: state.updated_at)
            return {state.spider for state in states[-1:]}
        numbers = connection.execute(select(spider.c.id, spider.c.name)).all()
        return {name for number, name in numbers if is_locked(store.database, connection, number)}


def size_bytes(store: Store) -> int:
    """How much room the database takes on disk."""
    path = store.database.path
    if path is not None:
        files = (path, path.with_name(f"{path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())
    with store.reading() as connection:
        if store.database.is_sqlite:
            return 0
        return connection.scalar(select(func.pg_database_size(func.current_database()))) or 0


def revision(url: str) -> str | None:
    """The revision of a database's schema; None if there is no database or it has no tables of ours."""
    database = Database(url)
    if database.path is not None and not database.path.exists():
        return None
    engine = database.engine(read_only=True)
    try:
        with our_errors(database), engine.connect() as connection:
            return migrations.current_revision(connection)
    finally:
        engine.dispose()


def integrity_errors(store: Store) -> list[str]:
    """What SQLite finds wrong with its file; PostgreSQL has no such check."""
    if not store.database.is_sqlite:
        return []
    with store.reading() as connection:
        return [line for line in connection.scalars(text("PRAGMA integrity_check(10)")) if line != "ok"]


def strays(store: Store) -> dict[str, int]:
    """Rows that refer to something that does not exist, by what they are; all counts are 0 if all is well."""
    pairs = {
        "pages without details": (page.c.page_id, page_detail.c.page_id),
        "details without a page": (page_detail.c.page_id, page.c.page_id),
        "pages of an unknown host": (page.c.host_id, host.c.id),
        "pages of an unknown spider": (page.c.spider_id, spider.c.id),
        "visits of an unknown page": (visit.c.page_id, page.c.page_id),
        "signals of an unknown page": (signal.c.page_id, page.c.page_id),
        "sources that are no page": (signal_source.c.page_id, page.c.page_id),
        "hubs that are no page": (hub.c.page_id, page.c.page_id),
        "clicks on an unknown page": (page_click.c.page_id, page.c.page_id),
        "times of clicks on an unknown host": (click_span.c.host_id, host.c.id),
        "pages of feeds that are unknown": (page_feed.c.page_id, page.c.page_id),
    }
    with store.reading() as connection:
        return {what: connection.scalar(_count_strays(*pair)) or 0 for what, pair in pairs.items()}


def _count_strays(reference: Column[Any], key: Column[Any]) -> Select[Any]:
    return select(func.count()).select_from(reference.table).where(~exists().where(key == reference))
