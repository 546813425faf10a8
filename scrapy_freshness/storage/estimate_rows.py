"""What estimates of importances and profits are made from, and where they go."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sqlalchemy import Connection, delete, func, or_, select

from scrapy_freshness.storage.click_rows import add_to_pages
from scrapy_freshness.storage.importance_rows import GIVEN, announce, hand_over_rules
from scrapy_freshness.storage.reading import CHUNK, number_of
from scrapy_freshness.storage.rows import clean
from scrapy_freshness.storage.schema import (
    host,
    page,
    page_click,
    page_feed,
    page_group,
    revision,
    source_click,
    spider,
    waiting_click,
)
from scrapy_freshness.storage.writing import numbers_of, upsert_groups


class PageClicks(NamedTuple):
    """All pages of a spider with what tells how important they are; one element a page."""

    page_id: NDArray[np.int64]
    host_id: NDArray[np.int64]
    kind: NDArray[np.int64]
    discovered_at: NDArray[np.float64]
    found_on: NDArray[np.int64]  #: page id of a source, 0 if it was found otherwise
    in_links: NDArray[np.int64]
    importance: NDArray[np.float64]
    importance_from: NDArray[np.int64]
    week: NDArray[np.int64]  #: 0 without clicks
    clicks: NDArray[np.float64]  #: in units of that week
    feed_week: NDArray[np.int64]  #: 0 if no feed has shown it
    feeds: NDArray[np.float64]  #: in units of that week


_SELECTED = (
    *(page.c[name] for name in ("page_id", "host_id", "kind", "discovered_at")),
    func.coalesce(page.c.found_on, 0),
    *(page.c[name] for name in ("in_links", "importance", "importance_from")),
    func.coalesce(page_click.c.week, 0),
    func.coalesce(page_click.c.clicks, 0.0),
    func.coalesce(page_feed.c.week, 0),
    func.coalesce(page_feed.c.feeds, 0.0),
)
_FLOATS = {"discovered_at", "importance", "clicks", "feeds"}
_TYPES: list[DTypeLike] = [np.float64 if name in _FLOATS else np.int64 for name in PageClicks._fields]


def load_page_clicks(connection: Connection, spider_name: str) -> PageClicks:
    """The pages of a spider; never more than a chunk of them as Python objects."""
    own = page.c.spider_id == number_of(spider, clean(spider_name))
    query = select(*_SELECTED).outerjoin_from(page, page_click, page_click.c.page_id == page.c.page_id)
    query = query.outerjoin(page_feed, page_feed.c.page_id == page.c.page_id).where(own)
    chunks: list[list[NDArray[Any]]] = [[np.empty(0, dtype)] for dtype in _TYPES]
    with connection.execute(query.execution_options(yield_per=CHUNK)) as result:
        for rows in result.partitions():
            for column, dtype, values in zip(chunks, _TYPES, zip(*rows, strict=True), strict=True):
                column.append(np.array(values, dtype))
    return PageClicks(*(np.concatenate(column) for column in chunks))


def load_source_clicks(
    connection: Connection,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Clicks on the pages of sources by age: source, bin, clicks."""
    rows = connection.execute(select(source_click)).all()
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    source, age_bin, clicks = (np.array(column) for column in columns)
    return source.astype(np.int64), age_bin.astype(np.int64), clicks.astype(np.float64)


def host_names_by_id(connection: Connection) -> dict[int, str]:
    """The names of all hosts."""
    return {row[0]: row[1] for row in connection.execute(select(host.c.id, host.c.name))}


def urls_of(connection: Connection, spider_name: str) -> Iterator[list[tuple[int, str]]]:
    """Page ids and addresses of a spider's pages, whose importance nobody has given, in chunks."""
    own = (page.c.spider_id == number_of(spider, clean(spider_name))) & (page.c.importance_from != GIVEN)
    query = select(page.c.page_id, page.c.url).where(own)
    with connection.execute(query.execution_options(yield_per=CHUNK)) as result:
        for rows in result.partitions():
            yield [(row[0], row[1]) for row in rows]


def hand_over(connection: Connection) -> None:
    """Give clicks and importances that waited for a page to those that have been found since."""
    of_page = waiting_click.c.fingerprint == page.c.fingerprint
    clicks = select(page.c.page_id, waiting_click.c.week, waiting_click.c.clicks, page.c.fingerprint)
    rows = connection.execute(clicks.join_from(waiting_click, page, of_page)).all()
    add_to_pages(connection, [(row[0], row[1], row[2]) for row in rows])
    for part in _parts({row[3] for row in rows}):
        connection.execute(delete(waiting_click).where(waiting_click.c.fingerprint.in_(part)))
    hand_over_rules(connection)


def replace_groups(
    connection: Connection, spider_name: str, learners: Iterable[str], groups: Mapping[str, bytes]
) -> None:
    """Put these groups of a spider in the place of all that some learners have, and tell its crawl."""
    name = clean(spider_name)
    spider_id = numbers_of(connection, spider, {name})[name]
    own = or_(*(page_group.c.name.startswith(f'["{learner}"', autoescape=True) for learner in learners))
    connection.execute(delete(page_group).where((page_group.c.spider_id == spider_id) & own))
    upsert_groups(connection, [(spider_id, clean(name), state) for name, state in sorted(groups.items())])
    announce(connection)


def revision_of(connection: Connection, spider_name: str) -> int:
    """A number that grows when somebody else than the crawl has written importances or profits."""
    own = revision.c.spider_id == number_of(spider, clean(spider_name))
    return connection.scalar(select(revision.c.number).where(own)) or 0


def load_importances(
    connection: Connection, spider_name: str
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Page ids of a spider and their importances."""
    own = page.c.spider_id == number_of(spider, clean(spider_name))
    ids, values = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    query = select(page.c.page_id, page.c.importance).where(own).execution_options(yield_per=CHUNK)
    with connection.execute(query) as result, np.errstate(over="ignore"):
        for rows in result.partitions():
            page_ids, importances = zip(*rows, strict=True)
            ids.append(np.array(page_ids, np.int64))
            values.append(np.array(importances, np.float32))
    return np.concatenate(ids), np.concatenate(values)


def _parts(keys: Iterable[int], length: int = 500) -> Iterator[list[int]]:
    ordered = sorted(keys)
    for start in range(0, len(ordered), length):
        yield ordered[start : start + length]
