"""Between records and rows: what may enter the database, and how it comes back.

Values come from servers, spiders and arithmetic, so the door is strict where a database would refuse a
whole batch for one value, and the two databases must keep the same:

* Text: NUL and lone surrogates, which PostgreSQL or UTF-8 cannot hold, become U+FFFD. Host names end
  after 255 characters, the longest that DNS knows, and reasons of failures after 200.
* Numbers: plain ``int`` and ``float``, also if numpy made them. NaN becomes None where a number may be
  missing, else the default of the field. Status codes and priorities are cut to what their columns hold.
"""

import json
import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from sqlalchemy import RowMapping, select

from scrapy_freshness.model import (
    HostRecord,
    Outcome,
    PageKind,
    PageRecord,
    PageStatus,
    Subscription,
    VisitRecord,
)
from scrapy_freshness.storage.schema import host, page, page_detail

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_HOST_LENGTH = 255
_REASON_LENGTH = 200


def page_row(
    record: PageRecord, spider_id: int, host_id: int, last_visit_id: int | None
) -> tuple[object, ...]:
    """The row of table ``page``, in the order of its columns."""
    return (
        int(record.page_id),
        int(record.fingerprint),
        spider_id,
        host_id,
        int(record.status),
        int(record.kind),
        max(-(2**31), min(int(record.priority), 2**31 - 1)),
        number(record.importance, 1.0),
        number(record.discovered_at),
        optional(record.last_visit_at),
        optional(record.last_change_at),
        number(record.not_before),
        int(record.visits),
        int(record.changes),
        int(record.failures),
        number(record.change_rate),
        number(record.change_rate_low),
        number(record.change_rate_high),
        status_code(record.http_status),
        last_visit_id,
        clean(record.url),
        beliefs_text(record.beliefs),
        None if record.found_on is None else int(record.found_on),
        int(record.in_links),
        0,  # whoever knows more of its importance says so
        optional(record.pinned_seconds),
    )


def detail_row(record: PageRecord) -> tuple[object, ...]:
    """The row of table ``page_detail``, in the order of its columns."""
    return (
        int(record.page_id),
        None if record.request is None else clean(record.request),
        None if record.etag is None else clean(record.etag),
        None if record.last_modified is None else clean(record.last_modified),
        None if record.content_hash is None else int(record.content_hash),
        None if record.body_hash is None else int(record.body_hash),
        int(record.run_callback),  # a bool takes the driver of SQLite longer
        record.history,
        record.profiles,
        record.signalled or None,
        record.polls or None,
        record.terms or None,
        record.touched or None,
        record.links or None,
    )


def subscription_row(record: Subscription, spider_id: int) -> tuple[object, ...]:
    """The row of table ``subscription``, in the order of its columns."""
    return (
        clean(record.token),
        spider_id,
        clean(record.callback),
        clean(record.topic),
        clean(record.hub),
        clean(record.secret),
        clean(record.found_at),
        number(record.lease_seconds),
        number(record.expires_at),
        number(record.next_try_at),
        int(record.failures),
        bool(record.is_asked),
        bool(record.is_ending),
        number(record.last_push_at),
        record.digests,
        record.seen,
    )


def visit_row(record: VisitRecord, visit_id: int, previous_id: int | None) -> tuple[object, ...]:
    """The row of table ``visit``, in the order of its columns."""
    return (
        visit_id,
        int(record.page_id),
        previous_id,
        number(record.at),
        int(record.outcome),
        status_code(record.http_status),
        optional(record.divergence),
        int(record.body_bytes),
        optional(record.latency_seconds),
        clean(record.reason)[:_REASON_LENGTH] if record.reason else None,
    )


def host_row(record: HostRecord) -> tuple[object, ...]:
    """The row of table ``host`` without its id, in the order of its columns."""
    return (
        host_name(record.host),
        number(record.blocked_until),
        int(record.failures),
        int(record.audits),
        int(record.false_not_modified),
    )


_NOT_IN_RECORDS = ("spider_id", "host_id", "last_visit_id", "importance_from")
#: Selects what `records_from` takes.
record_query = (
    select(
        *(column for column in page.c if column.name not in _NOT_IN_RECORDS),
        *(column for column in page_detail.c if column.name != "page_id"),
        host.c.name.label("host"),
    )
    .join_from(page, page_detail, page_detail.c.page_id == page.c.page_id)
    .join(host, host.c.id == page.c.host_id)
)
_RECORD_FIELDS = record_query.selected_columns.keys()


def records_from(rows: Iterable[Iterable[Any]]) -> list[PageRecord]:
    """The records of the rows of `record_query`."""
    records = [PageRecord(**dict(zip(_RECORD_FIELDS, row, strict=True))) for row in rows]
    for record in records:
        record.status = PageStatus(record.status)
        record.kind = PageKind(record.kind)
        record.run_callback = bool(record.run_callback)
        record.beliefs = beliefs_from(record.beliefs)  # type: ignore[arg-type]
        record.signalled = record.signalled or b""
        record.polls = record.polls or b""
        record.terms = record.terms or b""
        record.touched = record.touched or b""
        record.links = record.links or b""
    return records


def visits_from(rows: Iterable[RowMapping]) -> list[VisitRecord]:
    """The records of rows of table ``visit``."""
    return [
        VisitRecord(
            page_id=row["page_id"],
            at=row["at"],
            outcome=Outcome(row["outcome"]),
            http_status=row["http_status"],
            divergence=row["divergence"],
            body_bytes=row["body_bytes"],
            latency_seconds=row["latency_seconds"],
            reason=row["reason"],
        )
        for row in rows
    ]


def beliefs_text(beliefs: Mapping[str, float]) -> str | None:
    """Beliefs as JSON, without those that are no finite numbers; None if there are none."""
    kept = {name: float(value) for name, value in beliefs.items() if isfinite(value)}
    return json.dumps(kept, separators=(",", ":")) if kept else None


def beliefs_from(text: str | None) -> dict[str, float]:
    """Beliefs from JSON; none if somebody has written something else there.

    >>> beliefs_from('{"plateau":0.5}'), beliefs_from(None), beliefs_from("[1]")
    ({'plateau': 0.5}, {}, {})
    """
    try:
        found = json.loads(text) if text else {}
        return {str(name): float(value) for name, value in found.items()}
    except (AttributeError, TypeError, ValueError):
        return {}


def clean(text: str) -> str:
    """The text as it is kept: without characters that a database cannot hold."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def host_name(name: str) -> str:
    """The name of a host as it is kept."""
    return clean(name)[:_HOST_LENGTH]


def number(value: float, default: float = 0.0) -> float:
    """A plain float; the default for NaN."""
    value = float(value)
    return value if value == value else default


def optional(value: float | None) -> float | None:
    """A plain float; None for NaN."""
    if value is None:
        return None
    value = float(value)
    return value if value == value else None


def status_code(code: int | None) -> int | None:
    """An HTTP status that fits its column, whatever number the server sent."""
    return None if code is None else max(0, min(int(code), 2**15 - 1))
