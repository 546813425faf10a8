"""Remove and re-assign what is kept; `Store` sees to it that no crawl writes meanwhile."""

import json

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select, text, update

from scrapy_freshness.errors import StorageError
from scrapy_freshness.storage.reading import has_url, number_of, spider_names, visits_of
from scrapy_freshness.storage.rows import clean, host_name
from scrapy_freshness.storage.schema import (
    click_span,
    crawl,
    fetch_count,
    freshness_minute,
    host,
    host_count,
    hub,
    page,
    page_click,
    page_detail,
    page_feed,
    page_group,
    query_index,
    query_map,
    seen_links,
    signal,
    signal_count,
    signal_source,
    source_click,
    spider,
    subscription,
    visit,
    visit_count,
    waiting_click,
    wish,
)
from scrapy_freshness.storage.writing import numbers_of

#: Lines that are removed from the log in one transaction, so that a crawl waits for milliseconds only.
PRUNED_AT_ONCE = 20_000

_MOVE_COUNTS = (
    """INSERT INTO visit_count (spider_id, minute, outcome, visits)
    SELECT :heir, minute, outcome, visits FROM visit_count WHERE spider_id = :old
    ON CONFLICT (spider_id, minute, outcome) DO UPDATE SET visits = visit_count.visits + excluded.visits""",
    """INSERT INTO fetch_count (spider_id, minute, kind, fetches)
    SELECT :heir, minute, kind, fetches FROM fetch_count WHERE spider_id = :old
    ON CONFLICT (spider_id, minute, kind) DO UPDATE SET fetches = fetch_count.fetches + excluded.fetches""",
    """INSERT INTO freshness_minute (spider_id, minute, freshness, uniform_freshness, pages, price)
    SELECT :heir, minute, freshness, uniform_freshness, pages, price FROM freshness_minute
    WHERE spider_id = :old ON CONFLICT (spider_id, minute) DO NOTHING""",
    """INSERT INTO signal_count (spider_id, host_id, source, heard, answered, confirmed)
    SELECT :heir, host_id, source, heard, answered, confirmed FROM signal_count WHERE spider_id = :old
    ON CONFLICT (spider_id, host_id, source) DO UPDATE SET heard = signal_count.heard + excluded.heard,
        answered = signal_count.answered + excluded.answered,
        confirmed = signal_count.confirmed + excluded.confirmed""",
    """INSERT INTO host_count (spider_id, host_id, fetches, redirects, retries, fruitful)
    SELECT :heir, host_id, fetches, redirects, retries, fruitful FROM host_count WHERE spider_id = :old
    ON CONFLICT (spider_id, host_id) DO UPDATE SET fetches = host_count.fetches + excluded.fetches,
        redirects = host_count.redirects + excluded.redirects,
        retries = host_count.retries + excluded.retries,
        fruitful = host_count.fruitful + excluded.fruitful""",
)


def forget_url(connection: Connection, url: str) -> int:
    """Remove all pages with this URL, and their visits; returns how many pages."""
    return forget_pages(connection, has_url(url), are_few=True)


def forget_host(connection: Connection, name: str) -> int:
    """Remove a host, its pages and their visits; returns how many pages."""
    name = host_name(name)
    forgotten = forget_pages(connection, page.c.host_id == number_of(host, name))
    for spider_id in connection.scalars(select(spider.c.id)).all():
        forget_learned(connection, name, spider_id)
    forget_clicks(connection, name)
    connection.execute(delete(host).where(host.c.name == name))
    return forgotten


def forget_learned(connection: Connection, host_: str, spider_id: int) -> None:
    """Remove what a spider has counted and learned on a host, beside its pages."""
    for table in (signal_count, host_count):
        there = table.c.host_id == number_of(host, host_)
        connection.execute(delete(table).where(table.c.spider_id == spider_id, there))
    own = seen_links.c.spider_id == spider_id
    on_any_port = seen_links.c.host.startswith(f"{host_}:", autoescape=True)
    connection.execute(delete(seen_links).where(own, (seen_links.c.host == host_) | on_any_port))
    own = page_group.c.spider_id == spider_id
    named_so = page_group.c.name.contains(json.dumps(host_, ensure_ascii=False), autoescape=True)
    for name in connection.scalars(select(page_group.c.name).where(own, named_so)).all():
        if _host_of_group(name) == host_:
            connection.execute(delete(page_group).where(own, page_group.c.name == name))


def forget_clicks(connection: Connection, host_: str) -> None:
    """Remove when clicks on the pages of a host were logged, and those that wait for its pages."""
    connection.execute(delete(click_span).where(click_span.c.host_id == number_of(host, host_)))
    beginnings = [f"{scheme}://{host_}{end}" for scheme in ("http", "https") for end in "/:"]
    there = or_(*(waiting_click.c.url.startswith(each, autoescape=True) for each in beginnings))
    connection.execute(delete(waiting_click).where(there))


def _host_of_group(name: str) -> str | None:
    """The host whose pages a group has; None if they are of several.

    >>> _host_of_group('["rates", "a.example", "a.example/news/*"]'), _host_of_group('["rates"]')
    ('a.example', None)
    """
    try:
        _, group_host, *_ = json.loads(name)
    except ValueError:
        return None
    return str(group_host)


def prune_some_visits(connection: Connection, before: float) -> int:
    """Remove some of the oldest lines of the log; returns how many, 0 when none is older than *before*."""
    oldest = select(visit.c.id).where(visit.c.at < before).order_by(visit.c.at).limit(PRUNED_AT_ONCE)
    return connection.execute(delete(visit).where(visit.c.id.in_(oldest))).rowcount


def prune_some_signals(connection: Connection, before: float) -> int:
    """The same for the log of signals."""
    at = signal.c.heard_at
    oldest = select(signal.c.id).where(at < before).order_by(at).limit(PRUNED_AT_ONCE)
    return connection.execute(delete(signal).where(signal.c.id.in_(oldest))).rowcount


def prune_counts(connection: Connection, before: float) -> None:
    """Remove the counts of minutes that ended before a time, and wishes that were granted before it."""
    spider_ids = connection.scalars(select(spider.c.id)).all()
    for table in (visit_count, fetch_count, freshness_minute):
        for number in spider_ids:  # which their keys begin with
            old = (table.c.spider_id == number) & (table.c.minute < int(before // 60))
            connection.execute(delete(table).where(old))
    connection.execute(delete(wish).where(wish.c.done_at < before))


def adopt(connection: Connection, old_spider: str, new_spider: str) -> int:
    """Give all that is known for one spider to another; returns how many pages.

    Where both know a page, the one with the history, the old spider's, is kept.
    """
    names = spider_names(connection)
    if clean(old_spider) not in names:
        raise StorageError(f"no spider {old_spider!r} in the database; it has {', '.join(names) or 'none'}")
    if clean(old_spider) == clean(new_spider):
        raise StorageError(f"spider {new_spider!r} has these pages already")
    numbers = numbers_of(connection, spider, {clean(old_spider), clean(new_spider)})
    old, heir = numbers[clean(old_spider)], numbers[clean(new_spider)]
    inherited = select(page.c.fingerprint).where(page.c.spider_id == old)
    forget_pages(connection, (page.c.spider_id == heir) & page.c.fingerprint.in_(inherited))
    adopted = connection.execute(update(page).where(page.c.spider_id == old).values(spider_id=heir)).rowcount
    for statement in _MOVE_COUNTS:
        connection.execute(text(statement), {"old": old, "heir": heir})
    known = select(page_group.c.name).where(page_group.c.spider_id == heir)
    inherits = (page_group.c.spider_id == old) & page_group.c.name.not_in(known)
    connection.execute(update(page_group).where(inherits).values(spider_id=heir))
    shown = select(seen_links.c.host).where(seen_links.c.spider_id == heir)
    inherits = (seen_links.c.spider_id == old) & seen_links.c.host.not_in(shown)
    connection.execute(update(seen_links).where(inherits).values(spider_id=heir))
    for table in (subscription, wish):
        connection.execute(update(table).where(table.c.spider_id == old).values(spider_id=heir))
    # The maps of both are those of other pages than the heir has now; they are fitted anew.
    for table in (query_map, query_index):
        connection.execute(delete(table).where(table.c.spider_id.in_([old, heir])))
    counts = (visit_count, fetch_count, freshness_minute, signal_count, host_count)
    for table in (*counts, page_group, seen_links):
        connection.execute(delete(table).where(table.c.spider_id == old))
    has_state = select(func.count()).select_from(crawl).where(crawl.c.spider_id == heir)
    if not connection.scalar(has_state):
        connection.execute(update(crawl).where(crawl.c.spider_id == old).values(spider_id=heir))
    connection.execute(delete(crawl).where(crawl.c.spider_id == old))
    connection.execute(delete(spider).where(spider.c.id == old))
    return adopted


def forget_pages(connection: Connection, condition: ColumnElement[bool], *, are_few: bool = False) -> int:
    """Remove the pages for which a condition holds, and their visits; returns how many pages.

    The visits of a few pages are looked up; those of many are found sooner by going through the whole log.
    """
    doomed = select(page.c.page_id).where(condition)
    is_theirs = visit.c.page_id.in_(doomed)
    if are_few:
        is_theirs = visit.c.id.in_(select(visits_of(condition).c.id))
    connection.execute(delete(visit).where(is_theirs))
    for table in (signal, signal_source, hub, page_detail, page_click, page_feed, source_click):
        connection.execute(delete(table).where(table.c.page_id.in_(doomed)))
    return connection.execute(delete(page).where(condition)).rowcount
