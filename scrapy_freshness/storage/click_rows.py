"""Clicks, added up: per page, per source and age of its pages, and the spans of time that logs cover."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import BigInteger, Connection, case, delete, func, literal, select

from scrapy_freshness.storage.bulk import BulkInsert, BulkSelect, upsert
from scrapy_freshness.storage.rows import clean, number
from scrapy_freshness.storage.schema import (
    click_span,
    host,
    import_file,
    page,
    page_click,
    source_click,
    waiting_click,
)

#: Kind of these imports.
KIND = "clicks"
#: Spans with less than this between them are one: from one part of a log to the next.
GAP_SECONDS = 3600.0
#: Addresses that no page has and of which clicks are kept.
MOST_WAITING = 100_000
#: Spans that are kept of a host; more are taken for one, where the least is between them.
MOST_SPANS = 500


class ClickedPage(NamedTuple):
    """What clicks on a page need to know of it."""

    fingerprint: int
    page_id: int
    host_id: int
    discovered_at: float
    found_on: int | None


@dataclass(slots=True)
class Clicks:
    """What a part of a log says, added up; each key occurs once."""

    pages: Sequence[tuple[int, int, float]] = ()  #: page id, week, clicks in units of that week
    waiting: Sequence[tuple[int, int, float, str]] = ()  #: fingerprint, week, clicks, address
    sources: Sequence[tuple[int, int, float]] = ()  #: page id of the source, age bin, clicks
    spans: Mapping[int, tuple[float, float]] = field(default_factory=dict)  #: host id -> beginning, end


def faded_sum(table: str, column: str) -> list[str]:
    """Changes that add what was counted in one week to a sum of another: it counts half a week later."""
    later, earlier = f"excluded.week - {table}.week", f"{table}.week - excluded.week"
    return [
        f"{column} = CASE WHEN {later} > 60 THEN excluded.{column} "
        f"WHEN {later} >= 0 THEN {table}.{column} / (CAST(1 AS BIGINT) << ({later})) + excluded.{column} "
        f"WHEN {earlier} > 60 THEN {table}.{column} "
        f"ELSE {table}.{column} + excluded.{column} / (CAST(1 AS BIGINT) << ({earlier})) END",
        f"week = CASE WHEN {later} > 0 THEN excluded.week ELSE {table}.week END",
    ]


_add_pages = upsert(page_click, page_click.c.keys(), ["page_id"], faded_sum("page_click", "clicks"))
_add_waiting = upsert(
    waiting_click, waiting_click.c.keys(), ["fingerprint"], faded_sum("waiting_click", "clicks")
)
_add_sources = upsert(
    source_click,
    source_click.c.keys(),
    ["page_id", "bin"],
    ["clicks = source_click.clicks + excluded.clicks"],
)
_insert_spans = BulkInsert(click_span, click_span.c.keys())
_select_spans = BulkSelect(select(click_span), click_span.c.host_id)
_select_pages = BulkSelect(
    select(page.c.fingerprint, page.c.page_id, page.c.host_id, page.c.discovered_at, page.c.found_on),
    page.c.fingerprint,
)


def clicked_pages(connection: Connection, fingerprints: Iterable[int]) -> list[ClickedPage]:
    """The pages, of all spiders, that are known by these numbers."""
    return [ClickedPage(*row) for row in _select_pages(connection, fingerprints)]


def host_names(connection: Connection) -> set[str]:
    """All hosts that have, or had, pages."""
    return set(connection.scalars(select(host.c.name)))


def write_clicks(connection: Connection, clicks: Clicks) -> None:
    """Add clicks to those that are known; sorted, so that nobody waits in a circle."""
    add_to_pages(connection, clicks.pages)
    waiting = [(key, week, number(total), clean(url)) for key, week, total, url in sorted(clicks.waiting)]
    _add_waiting(connection, waiting)
    _add_sources(connection, [(key, age, number(total)) for key, age, total in sorted(clicks.sources)])
    _add_spans(connection, clicks.spans)


def add_to_pages(connection: Connection, rows: Iterable[tuple[int, int, float]]) -> None:
    """Add clicks to those of pages: page id, week, clicks; a page may occur once."""
    _add_pages(connection, [(key, week, number(total)) for key, week, total in sorted(rows)])


def prune_waiting(connection: Connection) -> None:
    """Keep only the addresses that are clicked most; clicks count half for each week since then."""
    week, clicks = waiting_click.c.week, waiting_click.c.clicks
    n_rows, latest = connection.execute(select(func.count(), func.max(week))).one()
    if n_rows > MOST_WAITING:
        passed = latest - week
        faded = case((passed > 60, 0.0), else_=clicks / literal(1, BigInteger).bitwise_lshift(passed))
        doomed = select(waiting_click.c.fingerprint).order_by(faded, week).limit(n_rows - MOST_WAITING)
        connection.execute(delete(waiting_click).where(waiting_click.c.fingerprint.in_(doomed)))


def has_clicks(connection: Connection) -> bool:
    """Whether any clicks on pages were imported."""
    return connection.execute(select(click_span).limit(1)).first() is not None


def clear(connection: Connection) -> int:
    """Forget all clicks, and which logs they were in; returns how many pages had some, known or not."""
    connection.execute(delete(import_file).where(import_file.c.kind == KIND))
    for table in (source_click, click_span):
        connection.execute(delete(table))
    return sum(connection.execute(delete(table)).rowcount for table in (page_click, waiting_click))


def load_spans(connection: Connection) -> dict[int, list[tuple[float, float]]]:
    """The spans of time that logs cover, by host id, in the order of time."""
    found: dict[int, list[tuple[float, float]]] = {}
    for host_id, start, end in connection.execute(select(click_span).order_by(*click_span.c)):
        found.setdefault(host_id, []).append((start, end))
    return found


def _add_spans(connection: Connection, spans: Mapping[int, tuple[float, float]]) -> None:
    if not spans:
        return
    known: dict[int, list[tuple[float, float]]] = {host_id: [span] for host_id, span in spans.items()}
    for host_id, start, end in _select_spans(connection, sorted(spans)):
        known[host_id].append((start, end))
    connection.execute(delete(click_span).where(click_span.c.host_id.in_(sorted(spans))))
    rows = [(host_id, *span) for host_id, each in sorted(known.items()) for span in merged(each)]
    _insert_spans(connection, rows)


def merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans that do not overlap and have some time between them.

    >>> merged([(10_000.0, 10_001.0), (0.0, 50.0), (40.0, 60.0), (100.0, 200.0)])
    [(0.0, 200.0), (10000.0, 10001.0)]
    """
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1] + GAP_SECONDS:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    while len(found) > MOST_SPANS:
        gaps = [after[0] - before[1] for before, after in pairwise(found)]
        place = gaps.index(min(gaps))
        found[place : place + 2] = [(found[place][0], found[place + 1][1])]
    return found
