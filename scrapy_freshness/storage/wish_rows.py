"""What people ask of a crawl: rows in, rows out."""

from collections.abc import Mapping

from sqlalchemy import Connection, ScalarSelect, and_, bindparam, select, update

from scrapy_freshness.model import Wish, WishKind
from scrapy_freshness.storage.rows import clean, number
from scrapy_freshness.storage.schema import page, wish

_end = (
    update(wish)
    .where(wish.c.id == bindparam("granted"), wish.c.done_at.is_(None))
    .values(done_at=bindparam("at"), outcome=bindparam("became"))
)


def load_wishes(connection: Connection, spider_id: ScalarSelect[int]) -> list[Wish]:
    """Wishes that wait for the crawl of a spider, in the order in which they came."""
    columns = [wish.c[name] for name in ("kind", "what", "page_id", "seconds", "asked_at")]
    query = (
        select(wish.c.id.label("wish_id"), *columns, page.c.fingerprint)
        .outerjoin_from(wish, page, and_(page.c.page_id == wish.c.page_id, page.c.spider_id == spider_id))
        .where(wish.c.spider_id == spider_id, wish.c.done_at.is_(None))
        .order_by(wish.c.id)
    )
    rows = connection.execute(query).mappings()
    return [Wish(**{**row, "kind": WishKind(row["kind"])}) for row in rows]


def end_wishes(connection: Connection, granted: Mapping[int, tuple[float, str]]) -> None:
    """Wishes were granted: when, and what came of them; one that was granted before stays as it is."""
    rows = [
        {"granted": int(wish_id), "at": number(at), "became": clean(outcome)}
        for wish_id, (at, outcome) in sorted(granted.items())
    ]
    if rows:
        connection.execute(_end, rows)
