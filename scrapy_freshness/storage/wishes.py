"""What people ask of a crawl, running or not: visit a page now, pin its interval, forget a page or a host.

A wish is a row that waits until the crawl of its spider grants it: one that runs looks at every flush, any
other at its start. A visit that was wished for is granted with the transaction that logs it, so that it is
made again if the crawl dies before. A pin is in force when it is written, for whoever reads the page; the
crawl is only told. What is forgotten is removed by the crawl, which else would write it again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from scrapy_freshness.model import Wish, WishKind
from scrapy_freshness.storage.bulk import BulkSelect, BulkUpdate
from scrapy_freshness.storage.maintenance import forget_clicks, forget_learned, forget_pages
from scrapy_freshness.storage.reading import number_of
from scrapy_freshness.storage.rows import clean, host_name
from scrapy_freshness.storage.schema import host, page, spider, wish
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.wish_rows import end_wishes, load_wishes

# Sorted, and pages before wishes, as the crawl writes them: so nobody waits in a circle.
_lock_pages = BulkSelect(
    select(page.c.page_id, page.c.spider_id, page.c.url).order_by(page.c.page_id).with_for_update(),
    page.c.page_id,
)
_lock_waiting = BulkSelect(
    select(wish.c.id, wish.c.kind).where(wish.c.done_at.is_(None)).order_by(wish.c.id).with_for_update(),
    wish.c.page_id,
)
_delete_wish = delete(wish).where(wish.c.id == bindparam("doomed"))
_set_pins = BulkUpdate(page, "page_id", ["pinned_seconds"])


def ask_for_visits(store: Store, page_ids: Iterable[int], now: float) -> int:
    """Ask for visits of some pages as soon as possible; returns of how many, those that are known."""
    with store.writing() as connection:
        return _ask(connection, WishKind.VISIT, page_ids, now)


def pin(store: Store, page_ids: Iterable[int], seconds: float | None, now: float) -> int:
    """Let some pages be visited at this interval, None: by their value again; returns how many are known."""
    if seconds is not None and not seconds > 0:
        raise ValueError(f"pages can be pinned to intervals above 0, not to {seconds}")
    chosen = list(page_ids)
    with store.writing() as connection:
        known = _ask(connection, WishKind.PIN, chosen, now, seconds)
        _set_pins(connection, [(int(page_id), seconds) for page_id in chosen])
    return known


def ask_to_forget(store: Store, page_ids: Iterable[int], now: float) -> int:
    """Ask the crawls of some pages to forget them; returns how many are known."""
    with store.writing() as connection:
        return _ask(connection, WishKind.FORGET, page_ids, now)


def ask_to_forget_host(store: Store, name: str, now: float) -> int:
    """Ask all crawls that have pages of a host to forget them; returns how many crawls."""
    name = host_name(name)
    with store.writing() as connection:
        owners = select(page.c.spider_id).where(page.c.host_id == number_of(host, name)).distinct()
        rows = [_row(WishKind.FORGET, owner, None, name, now) for owner in connection.scalars(owners)]
        if rows:
            connection.execute(insert(wish), rows)
        return len(rows)


def waiting(store: Store, spider_name: str) -> list[Wish]:
    """Wishes that the crawl of a spider has not granted yet."""
    with store.reading() as connection:
        return load_wishes(connection, number_of(spider, clean(spider_name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWish:
    """Something that was asked about a page."""

    kind: WishKind
    seconds: float | None  #: of a pin
    asked_at: float
    done_at: float | None  #: None as long as it waits
    outcome: str | None


def page_wishes(store: Store, page_id: int, limit: int = 100) -> list[PageWish]:
    """What was asked about a page lately, newest first."""
    columns = [wish.c[each.name] for each in fields(PageWish)]
    query = select(*columns).where(wish.c.page_id == page_id).order_by(wish.c.id.desc()).limit(limit)
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
    return [PageWish(**{**row, "kind": WishKind(row["kind"])}) for row in rows]


def forget_as_wished(store: Store, spider_name: str, wished: Iterable[Wish], now: float) -> None:
    """Remove the pages that are to be forgotten, and grant these wishes, all or none."""
    with store.writing() as connection:
        for each in wished:
            _forget(connection, spider_name, each, now)


def _forget(connection: Connection, spider_name: str, wished: Wish, now: float) -> None:
    condition = page.c.page_id == wished.page_id
    if wished.page_id is None:
        name = host_name(wished.what)
        condition = page.c.host_id == number_of(host, name)
        condition &= page.c.spider_id == number_of(spider, clean(spider_name))
        # The host itself stays: crawls of other spiders know it by its number.
        clear = {"blocked_until": 0.0, "failures": 0, "audits": 0, "false_not_modified": 0}
        connection.execute(update(host).where(host.c.name == name).values(clear))
        owner = connection.scalar(select(spider.c.id).where(spider.c.name == clean(spider_name)))
        if owner is not None:
            forget_learned(connection, name, owner)
        forget_clicks(connection, name)
    doomed = select(page.c.page_id).where(condition)
    void = (wish.c.done_at.is_(None)) & wish.c.page_id.in_(doomed) & (wish.c.id != wished.wish_id)
    connection.execute(update(wish).where(void).values(done_at=now, outcome="forgotten"))
    forgotten = forget_pages(connection, condition, are_few=wished.page_id is not None)
    end_wishes(connection, {wished.wish_id: (now, "forgotten" if forgotten else "unknown")})


def _ask(
    connection: Connection,
    kind: WishKind,
    page_ids: Iterable[int],
    now: float,
    seconds: float | None = None,
) -> int:
    """Add a wish for each page, in place of the same that waits; returns how many pages are known."""
    found = _lock_pages(connection, map(int, page_ids))
    waiting = _lock_waiting(connection, [page_id for page_id, _, _ in found])
    same = [wish_id for wish_id, its_kind in waiting if its_kind == kind]
    if same:
        connection.execute(_delete_wish, [{"doomed": wish_id} for wish_id in same])
    if found:
        rows = [_row(kind, owner, page_id, url, now, seconds) for page_id, owner, url in found]
        connection.execute(insert(wish), rows)
    return len(found)


def _row(
    kind: WishKind, owner: int, page_id: int | None, what: str, now: float, seconds: float | None = None
) -> dict[str, object]:
    return {
        "spider_id": owner,
        "kind": int(kind),
        "page_id": page_id,
        "what": what,
        "seconds": seconds,
        "asked_at": now,
    }
