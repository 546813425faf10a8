"""Importances that somebody has given, for pages that are known and for those that come."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from scrapy_freshness.storage.bulk import BulkSelect, BulkUpdate, upsert
from scrapy_freshness.storage.rows import clean, number
from scrapy_freshness.storage.schema import import_file, importance_rule, page, revision, spider

#: Kind of these imports.
KIND = "importance"
#: Where the importance of a page comes from, as kept in ``page.importance_from``; only what is assumed is
#: left to the crawl, whose records do not know of later estimates.
ASSUMED, BY_CLICKS, BY_LINKS, BY_RULE, GIVEN, BY_FEEDS, EQUAL = range(7)
#: Rules that are kept, at the most; they are in the memory of every crawl.
MOST_RULES = 100_000
#: Rules that are deleted with one statement.
_PART = 500


class Given(NamedTuple):
    """What became of importances that somebody has given."""

    pages: int = 0  #: that got one
    kept: int = 0  #: of addresses that no page has, and of beginnings of addresses
    refused: int = 0  #: the same, for which there was no room


class ImportanceRule(NamedTuple):
    """An importance for an address that no page has, or for all that begin so."""

    fingerprint: int  #: of the address or of its beginning
    is_prefix: bool
    url: str
    importance: float


_select_pages = BulkSelect(select(page.c.page_id, page.c.fingerprint), page.c.fingerprint)
_select_rules = BulkSelect(select(importance_rule.c.fingerprint), importance_rule.c.fingerprint)
_set_importance = BulkUpdate(page, "page_id", ["importance", "importance_from"])
_upsert_rules = upsert(
    importance_rule, importance_rule.c.keys(), ["fingerprint"], ["importance = excluded.importance"]
)
_upsert_revision = upsert(revision, ["spider_id", "number"], ["spider_id"], ["number = revision.number + 1"])


def give_importances(connection: Connection, rules: Mapping[int, ImportanceRule]) -> Given:
    """Give importances to pages, and keep those for which there is none, as far as there is room.

    Beginnings of addresses are only kept: see `imports.estimates` for how they reach pages.
    """
    exact = {key: rule for key, rule in rules.items() if not rule.is_prefix}
    found = _select_pages(connection, exact)
    write_importances(connection, ((row[0], exact[row[1]].importance, GIVEN) for row in found))
    known = {row[1] for row in found}
    kept = [rule for key, rule in rules.items() if key not in known]
    there = {row[0] for row in _select_rules(connection, [rule.fingerprint for rule in kept])}
    new = [rule for rule in kept if rule.fingerprint not in there]
    if _room(connection) < len(new):
        hand_over_rules(connection)
    fitting = [rule for rule in kept if rule.fingerprint in there] + new[: _room(connection)]
    _upsert_rules(
        connection,
        [(key, bool(is_prefix), clean(url), number(value)) for key, is_prefix, url, value in fitting],
    )
    announce(connection)
    return Given(len(known), len(fitting), len(kept) - len(fitting))


def hand_over_rules(connection: Connection) -> None:
    """Give importances that waited for a page to those that have been found since; they wait no more."""
    same = (importance_rule.c.fingerprint == page.c.fingerprint) & ~importance_rule.c.is_prefix
    given = select(page.c.page_id, importance_rule.c.importance, page.c.importance_from, page.c.fingerprint)
    found = connection.execute(given.join_from(importance_rule, page, same)).all()
    write_importances(connection, ((row[0], row[1], GIVEN) for row in found if row[2] != GIVEN))
    keys = sorted({row[3] for row in found})
    for start in range(0, len(keys), _PART):
        part = keys[start : start + _PART]
        connection.execute(delete(importance_rule).where(importance_rule.c.fingerprint.in_(part)))


def write_importances(connection: Connection, rows: Iterable[tuple[int, float, int]]) -> None:
    """Write importances of pages: page id, importance, and where it comes from."""
    _set_importance(
        connection, [(int(key), number(value, 1.0), int(origin)) for key, value, origin in sorted(rows)]
    )


def _room(connection: Connection) -> int:
    """How many rules more can be kept."""
    n_rules = connection.scalar(select(func.count()).select_from(importance_rule)) or 0
    return max(MOST_RULES - n_rules, 0)


def clear(connection: Connection) -> int:
    """Forget all that was given, and in which files; returns for how many pages and addresses it was.

    The pages keep their importances until estimates are made.
    """
    connection.execute(delete(import_file).where(import_file.c.kind == KIND))
    is_given = page.c.importance_from == GIVEN
    n_pages = connection.execute(update(page).where(is_given).values(importance_from=ASSUMED)).rowcount
    return n_pages + connection.execute(delete(importance_rule)).rowcount


def load_rules(connection: Connection) -> list[ImportanceRule]:
    """Importances of addresses that no page had, and of all that begin so."""
    rows = connection.execute(select(importance_rule))
    return [ImportanceRule(row[0], bool(row[1]), row[2], row[3]) for row in rows]


def has_estimates(connection: Connection) -> bool:
    """Whether importances of pages were estimated; looks at all pages if there are none."""
    is_estimated = page.c.importance_from.in_((BY_CLICKS, BY_LINKS, BY_FEEDS))
    return connection.execute(select(page.c.page_id).where(is_estimated).limit(1)).first() is not None


def announce(connection: Connection) -> None:
    """Tell all crawls that importances or profits are others now."""
    spiders = connection.scalars(select(spider.c.id)).all()
    _upsert_revision(connection, [(number_, 1) for number_ in sorted(spiders)])
