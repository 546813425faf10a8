"""What searchers ask for, and the maps from score to rank: rows in, columns out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, ScalarSelect, delete, func, select

from scrapy_freshness.model import QueryTerms, TermMaps
from scrapy_freshness.storage.bulk import BulkInsert, BulkSelect, upsert
from scrapy_freshness.storage.rows import clean, number
from scrapy_freshness.storage.schema import import_file, page, page_detail, query_index, query_map, query_term

#: Pages whose terms are in memory at a time.
CHUNK = 4_000

#: Kind of these imports.
KIND = "queries"
_IS_OURS = import_file.c.kind == KIND
_insert_terms = BulkInsert(query_term, ["term", "frequency"], "ON CONFLICT (term) DO NOTHING")
_select_terms = BulkSelect(select(query_term.c.term, query_term.c.id), query_term.c.term)
# By the id: PostgreSQL would take another from its sequence for every row that has none.
_add_terms = upsert(
    query_term,
    ["id", "term", "frequency"],
    ["id"],
    ["frequency = query_term.frequency + excluded.frequency"],
)
_insert_maps = BulkInsert(query_map, query_map.c.keys())
_insert_index = BulkInsert(query_index, query_index.c.keys())


class StoredTerms(NamedTuple):
    """What is kept of one page for searchers."""

    page_id: int
    fingerprint: int
    terms: bytes
    links: bytes


def add_frequencies(connection: Connection, frequencies: Mapping[str, float]) -> None:
    """Terms are asked for so many times more; those that are new get a number."""
    rows = {clean(term): number(frequency) for term, frequency in frequencies.items()}
    ids = dict(_select_terms(connection, rows))
    missing = sorted(rows.keys() - ids.keys())
    if missing:
        _insert_terms(connection, [(term, 0.0) for term in missing])
        ids |= dict(_select_terms(connection, missing))
    _add_terms(connection, sorted((ids[term], term, frequency) for term, frequency in rows.items()))


def load_queries(connection: Connection) -> QueryTerms:
    """All terms that anybody asks for."""
    query = select(query_term).where(query_term.c.frequency > 0).order_by(query_term.c.id)
    rows: Sequence[Any] = connection.execute(query).all()
    term_ids, terms, frequencies = zip(*rows, strict=True) if rows else ((), (), ())
    return QueryTerms(
        term_id=np.array(term_ids, np.int64),
        terms=list(terms),
        frequency=np.array(frequencies, np.float64),
    )


def version(connection: Connection) -> tuple[int, float]:
    """Files of queries that were imported, and when the last of them was: another pair if there are more."""
    query = select(func.count(), func.max(import_file.c.updated_at)).where(_IS_OURS)
    count, updated_at = connection.execute(query).one()
    return int(count), float(updated_at or 0.0)


def clear(connection: Connection) -> int:
    """Forget all queries and what pages have to do with them; returns how many terms there were."""
    is_read = page_detail.c.terms.is_not(None) | page_detail.c.touched.is_not(None)
    is_read |= page_detail.c.links.is_not(None)
    connection.execute(page_detail.update().where(is_read).values(terms=None, touched=None, links=None))
    for table in (query_map, query_index):
        connection.execute(delete(table))
    connection.execute(delete(import_file).where(_IS_OURS))
    return connection.execute(delete(query_term)).rowcount


def stored_terms(connection: Connection, spider_id: ScalarSelect[int] | None) -> Iterator[list[StoredTerms]]:
    """What is kept of the pages of a spider (None: of all) that were read for terms, some at a time."""
    query = select(page.c.page_id, page.c.fingerprint, page_detail.c.terms, page_detail.c.links)
    query = query.join_from(page, page_detail, page_detail.c.page_id == page.c.page_id)
    query = query.where(page_detail.c.terms.is_not(None))
    if spider_id is not None:
        query = query.where(page.c.spider_id == spider_id)
    with connection.execute(query.execution_options(yield_per=CHUNK)) as result:
        for rows in result.partitions():
            yield [StoredTerms(row[0], row[1], bytes(row[2]), bytes(row[3] or b"")) for row in rows]


def stored_bytes(connection: Connection, spider_id: ScalarSelect[int]) -> int:
    """How much is kept of all pages of a spider for searchers."""
    total = select(func.sum(func.length(page_detail.c.terms)))
    total = total.join_from(page, page_detail, page_detail.c.page_id == page.c.page_id)
    return int(connection.scalar(total.where(page.c.spider_id == spider_id)) or 0)


def write_maps(connection: Connection, spider_id: int, maps: TermMaps) -> None:
    """Put new maps in the place of all that a spider had."""
    for table in (query_map, query_index):
        connection.execute(delete(table).where(table.c.spider_id == spider_id))
    _insert_index(connection, [(spider_id, clean(maps.scoring), int(maps.pages), number(maps.fitted_at))])
    columns = [maps.term_id.tolist(), maps.results.tolist(), *maps.knots.T.astype(np.float64).tolist()]
    _insert_maps(connection, [(spider_id, *row) for row in zip(*columns, strict=True)])


def load_maps(connection: Connection, spider_id: ScalarSelect[int]) -> TermMaps | None:
    """The maps of a spider, None if there are none."""
    own = select(query_index).where(query_index.c.spider_id == spider_id)
    index = connection.execute(own).mappings().first()
    if index is None:
        return None
    columns = list(query_map.c)[1:]
    query = select(*columns).where(query_map.c.spider_id == spider_id).order_by(query_map.c.term_id)
    rows: Sequence[Any] = connection.execute(query).all()
    term_ids, results, *knots = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return TermMaps(
        scoring=index["scoring"],
        pages=index["pages"],
        fitted_at=index["fitted_at"],
        term_id=np.array(term_ids, np.int64),
        results=np.array(results, np.int32),
        knots=np.array(knots, np.float32).T.reshape(-1, 4),
    )
