"""Between records and rows: what may enter the database, and how it comes back.

Values come from servers, spiders and arithmetic, so the door is strict where a database would refuse a
whole batch for one value, and the two databases must keep the same:

* Text: NUL and lone surrogates, which PostgreSQL or UTF-8 cannot hold, become U+FFFD. Host names end
  after 255 characters, the longest that DNS knows.
* Numbers: plain ``int`` and ``float``, also if numpy made them. NaN becomes None where a number may be
  missing, else the default of the field. A status code or priority outside its column is cut to its limits.
"""

import re
from typing import Any

from sqlalchemy import CursorResult, select

from scrapy_freshness.model import HostRecord, Outcome, PageKind, PageRecord, PageStatus, VisitRecord
from scrapy_freshness.storage.schema import host, page, page_detail, visit

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_HOST_LENGTH = 255

PAGE_COLUMNS = (
    "page_id fingerprint spider_id host_id status kind priority importance discovered_at last_visit_at "
    "last_change_at not_before visits changes failures change_rate change_rate_low change_rate_high http_status "
    "last_visit_id url"
).split()
DETAIL_COLUMNS = "page_id request etag last_modified content_hash run_callback history profiles".split()
VISIT_COLUMNS = (
    "id page_id previous_id at outcome http_status divergence body_bytes latency_seconds".split()
)
HOST_COLUMNS = "name blocked_until failures audits false_not_modified".split()


def page_row(record: PageRecord, spider_id: int, host_id: int, last_visit_id: int | None) -> tuple[object, ...]:
    """The row of table ``page``, in the order of `PAGE_COLUMNS`."""
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
    )


def detail_row(record: PageRecord) -> tuple[object, ...]:
    """The row of table ``page_detail``, in the order of `DETAIL_COLUMNS`."""
    return (
        int(record.page_id),
        None if record.request is None else clean(record.request),
        None if record.etag is None else clean(record.etag),
        None if record.last_modified is None else clean(record.last_modified),
        None if record.content_hash is None else int(record.content_hash),
        bool(record.run_callback),
        record.history,
        record.profiles,
    )


def visit_row(record: VisitRecord, visit_id: int, previous_id: int | None) -> tuple[object, ...]:
    """The row of table ``visit``, in the order of `VISIT_COLUMNS`."""
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
    )


def host_row(record: HostRecord) -> tuple[object, ...]:
    """The row of table ``host``, in the order of `HOST_COLUMNS`."""
    return (
        host_name(record.host),
        number(record.blocked_until),
        int(record.failures),
        int(record.audits),
        int(record.false_not_modified),
    )


#: Selects what `records_from` takes.
record_query = select(
    *(page.c[name] for name in PAGE_COLUMNS if name not in ("spider_id", "host_id", "last_visit_id")),
    *(page_detail.c[name] for name in DETAIL_COLUMNS if name != "page_id"),
    host.c.name.label("host"),
).select_from(page.join(page_detail, page_detail.c.page_id == page.c.page_id).join(host, host.c.id == page.c.host_id))


def records_from(result: CursorResult[Any]) -> list[PageRecord]:
    """The records of a result of `record_query`."""
    names = list(result.keys())
    records = [PageRecord(**dict(zip(names, row, strict=True))) for row in result.all()]
    for record in records:
        record.status = PageStatus(record.status)
        record.kind = PageKind(record.kind)
        record.run_callback = bool(record.run_callback)
    return records


#: The columns that `visits_from` takes.
visit_fields = [visit.c[name] for name in VISIT_COLUMNS if name not in ("id", "previous_id")]


def visits_from(result: CursorResult[Any]) -> list[VisitRecord]:
    """The records of a result of `visit_fields`."""
    names = list(result.keys())
    records = [VisitRecord(**dict(zip(names, row, strict=True))) for row in result.all()]
    for record in records:
        record.outcome = Outcome(record.outcome)
    return records


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
