"""Pages as plain values, for tables, JSON and files; names and meanings are those of the view ``v_pages``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.model import PageColumns, PageKind, PageRecord, PageStatus
from scrapy_freshness.storage.page_reports import PageReport, page_beliefs
from scrapy_freshness.storage.store import Store

Row = dict[str, Any]

#: How a page stands that is not at its place any more: it has no copy, and a visit no value.
LEFT = ("gone", "moved")

_FIELDS = [field.name for field in fields(PageReport) if field.name != "spider"]


def row_of(page: PageReport | PageRecord, spider: str) -> Row:
    """One page of a spider."""
    row = {name: getattr(page, name) for name in _FIELDS}
    return row | {"spider": spider, "status": page.status.name.lower(), "kind": page.kind.name.lower()}


def is_assumed(row: Mapping[str, Any]) -> bool:
    """Whether the change rate of a page is what was assumed of it: no two versions have been compared.

    >>> first_copy = {"changes": 0, "last_visit_at": 5.0, "last_change_at": 5.0, "change_rate_low": 0.1}
    >>> is_assumed(first_copy), is_assumed(first_copy | {"last_visit_at": 9.0})
    (True, False)
    >>> is_assumed(first_copy | {"last_visit_at": 9.0, "change_rate_low": 0.0})  # nobody has estimated it
    True
    """
    return not was_compared(row)


def was_compared(pages: Mapping[str, Any]) -> Any:
    """Whether two versions of a page were compared: of one page, or of columns of pages that have copies."""
    has_two = (pages["changes"] > 0) | (pages["last_visit_at"] != pages["last_change_at"])
    return has_two & (pages["change_rate_low"] > 0)


def assess(store: Store, rows: Sequence[Row], terms_of: Callable[[str], Terms], now: float) -> None:
    """Add to each page what its spider's policy thinks of it: value, freshness and next visit."""
    beliefs = page_beliefs(store, [row["page_id"] for row in rows])
    for spider in {row["spider"] for row in rows}:
        own = [row for row in rows if row["spider"] == spider]
        outlook = Outlook(terms_of(spider), columns_of(own, beliefs), now)
        thoughts = zip(outlook.values(), outlook.freshness(), outlook.next_visits(), strict=True)
        for row, (value, fresh, next_visit) in zip(own, thoughts, strict=True):
            row["value"] = float(value)
            row["freshness"] = float(fresh)
            row["next_visit_at"] = float(next_visit)


def columns_of(
    rows: Sequence[Mapping[str, Any]], beliefs: Mapping[int, Mapping[str, float]] | None = None
) -> PageColumns:
    """The numbers of some pages as columns; *beliefs* are those beside the change rate, by page id."""
    known = [(beliefs or {}).get(row["page_id"], {}) for row in rows]
    names = {name for each in known for name in each}
    hosts = sorted({row["host"] for row in rows})
    number = {host: index for index, host in enumerate(hosts)}

    def column(name: str, dtype: Any) -> NDArray[Any]:
        with np.errstate(over="ignore"):  # what is too large for the type becomes infinite
            return np.array([row[name] for row in rows], dtype)

    return PageColumns(
        hosts=hosts,
        page_id=column("page_id", np.int64),
        fingerprint=np.zeros(len(rows), np.int64),
        host=np.array([number[row["host"]] for row in rows], np.int32),
        status=np.array([PageStatus[row["status"].upper()] for row in rows], np.uint8),
        kind=np.array([PageKind[row["kind"].upper()] for row in rows], np.uint8),
        priority=column("priority", np.int32),
        importance=column("importance", np.float32),
        discovered_at=column("discovered_at", np.float64),
        last_visit_at=column("last_visit_at", np.float64),
        not_before=column("not_before", np.float64),
        failures=column("failures", np.int32),
        change_rate=column("change_rate", np.float32),
        pinned_seconds=column("pinned_seconds", np.float64),
        beliefs={name: np.array([each.get(name, np.nan) for each in known], np.float32) for name in names},
    )
