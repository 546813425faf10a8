"""Sources of signals and the log of signals: rows in, rows out."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, RowMapping, ScalarSelect, bindparam, select, update

from scrapy_freshness.model import (
    Batch,
    Outcome,
    PageKind,
    SignalRecord,
    SourceRecord,
    VisitRecord,
    WaitingSignals,
)
from scrapy_freshness.storage.bulk import BulkInsert, BulkSelect, replacing, upsert
from scrapy_freshness.storage.rows import clean, number, optional
from scrapy_freshness.storage.schema import page, signal, signal_count, signal_source

_SOURCE_COLUMNS = signal_source.c.keys()
_upsert_sources = upsert(
    signal_source,
    _SOURCE_COLUMNS,
    ["page_id"],
    [
        *replacing(name for name in _SOURCE_COLUMNS if name not in ("page_id", "seen")),
        "seen = coalesce(excluded.seen, signal_source.seen)",  # as stored, if it was not read
    ],
)
_insert_signals = BulkInsert(signal, ["page_id", "source", "told_by", "heard_at", "claimed_at"])
_select_waiting = BulkSelect(
    select(signal.c.id, signal.c.page_id, signal.c.source, signal.c.heard_at)
    .where(signal.c.answered_at.is_(None))
    .order_by(signal.c.id),
    signal.c.page_id,
)
_answer = (
    update(signal)
    .where(signal.c.id == bindparam("answered"))
    .values(answered_at=bindparam("visited_at"), changed=bindparam("was_changed"))
)
_select_hosts = BulkSelect(select(page.c.page_id, page.c.host_id), page.c.page_id)
_COUNTED = ("heard", "answered", "confirmed")
_add_counts = upsert(
    signal_count,
    signal_count.c.keys(),
    ["spider_id", "host_id", "source"],
    [f"{name} = signal_count.{name} + excluded.{name}" for name in _COUNTED],
)


def write_signals(connection: Connection, spider_id: int, batch: Batch) -> None:
    """Write what a batch has about sources and signals; first the signals, which its visits may answer."""
    latest: dict[int, SourceRecord] = {}
    for record in batch.sources:
        before = latest.get(record.page_id)
        if before is not None and record.seen is None:
            record = replace(record, seen=before.seen)
        latest[record.page_id] = record
    _upsert_sources(connection, [_source_row(record) for record in latest.values()])
    _insert_signals(connection, [_signal_row(record) for record in batch.signals])
    counts = Counter((int(record.page_id), int(record.source), "heard") for record in batch.signals)
    counts += _answered(connection, [visit for visit in batch.visits if visit.answers_signals])
    _count(connection, spider_id, counts)


#: (page id, source, one of `_COUNTED`) -> how many
_Counts = Counter[tuple[int, int, str]]


def _answered(connection: Connection, visits: list[VisitRecord]) -> _Counts:
    """Note for signals that wait which visit came first after them, and what it found; returns how many."""
    counts: _Counts = Counter()
    if not visits:
        return counts
    by_page: dict[int, list[VisitRecord]] = {}
    for visit in visits:
        by_page.setdefault(int(visit.page_id), []).append(visit)
    answers = []
    for signal_id, page_id, source, heard_at in _select_waiting(connection, by_page):
        first = next((each for each in by_page[page_id] if heard_at <= number(each.at)), None)
        if first is not None:
            changed = first.outcome in (Outcome.CHANGED, Outcome.FIRST)
            answers.append({"answered": signal_id, "visited_at": number(first.at), "was_changed": changed})
            counts[page_id, source, "answered"] += 1
            counts[page_id, source, "confirmed"] += changed
    if answers:
        connection.execute(_answer, answers)
    return counts


def _count(connection: Connection, spider_id: int, counts: _Counts) -> None:
    """Add to what is counted of the hosts of pages."""
    hosts = dict(_select_hosts(connection, {page_id for page_id, _, _ in counts})) if counts else {}
    sums: dict[tuple[int, int], Counter[str]] = {}
    for (page_id, source, name), count in counts.items():
        if page_id in hosts:
            sums.setdefault((hosts[page_id], source), Counter())[name] += count
    rows = [(spider_id, *key, *(total[name] for name in _COUNTED)) for key, total in sorted(sums.items())]
    _add_counts(connection, rows)


def load_sources(connection: Connection, spider_id: ScalarSelect[int]) -> list[SourceRecord]:
    """All sources of signals of a spider, without what they said at their last polls."""
    columns = [column for column in signal_source.c if column.name != "seen"]
    own = page.c.spider_id == spider_id
    query = select(*columns, page.c.url, page.c.kind)
    query = query.join_from(signal_source, page, page.c.page_id == signal_source.c.page_id)
    rows = connection.execute(query.where(own)).mappings()
    return [SourceRecord(**{**source_from(row), "hosts": tuple(json.loads(row["hosts"]))}) for row in rows]


def load_seen(connection: Connection, page_id: int) -> bytes:
    """What a source said at its last poll; nothing if it was not polled."""
    seen = connection.scalar(select(signal_source.c.seen).where(signal_source.c.page_id == page_id))
    return bytes(seen or b"")


def load_waiting(connection: Connection, spider_id: ScalarSelect[int]) -> WaitingSignals:
    """Signals for pages of a spider that no visit has answered."""
    query = (
        select(signal.c.page_id, signal.c.source)
        .join_from(signal, page, page.c.page_id == signal.c.page_id)
        .where(signal.c.answered_at.is_(None), page.c.spider_id == spider_id)
    )
    pairs: Iterable[Any] = connection.execute(query).all()
    page_ids, sources = zip(*pairs, strict=True) if pairs else ((), ())
    return WaitingSignals(page_id=np.array(page_ids, np.int64), source=np.array(sources, np.uint8))


def _source_row(record: SourceRecord) -> tuple[object, ...]:
    """The row of table ``signal_source``, in the order of its columns."""
    return (
        int(record.page_id),
        clean(record.found),
        clean(record.found_on),
        bool(record.is_pinned),
        int(record.depth),
        json.dumps([clean(host) for host in record.hosts]),
        clean(record.format),
        clean(record.verdict),
        int(record.entries),
        int(record.polls),
        int(record.new_pages),
        int(record.signals),
        int(record.barren),
        optional(record.last_poll_at),
        number(record.last_yield),
        json.dumps({clean(name): int(count) for name, count in record.oddities.items()}),
        None if record.hub is None else clean(record.hub),
        None if record.topic is None else clean(record.topic),
        record.seen,
    )


def source_from(row: RowMapping) -> dict[str, Any]:
    """The fields of a source, with those that are kept as JSON or numbers as what they are."""
    fields = {**row, "oddities": json.loads(row["oddities"]), "kind": PageKind(row["kind"])}
    return {**fields, "is_pinned": bool(row["is_pinned"])}


def _signal_row(record: SignalRecord) -> tuple[object, ...]:
    told_by = None if record.told_by is None else int(record.told_by)
    claimed_at = optional(record.claimed_at)
    return int(record.page_id), int(record.source), told_by, number(record.heard_at), claimed_at
