"""Hubs and the links that were seen on them: rows in, rows out."""

from typing import Any

from sqlalchemy import Connection, ScalarSelect, select

from scrapy_freshness.model import Batch, HubRecord, HubState, LinkSegment
from scrapy_freshness.storage.bulk import replacing, upsert
from scrapy_freshness.storage.rows import clean, host_name, number, optional
from scrapy_freshness.storage.schema import hub, page, seen_links

_upsert_hubs = upsert(hub, hub.c.keys(), ["page_id"], replacing(hub.c.keys()[1:]))
_upsert_links = upsert(
    seen_links, seen_links.c.keys(), ["spider_id", "host", "number"], replacing(["packed"])
)


def write_hubs(connection: Connection, spider_id: int, batch: Batch) -> None:
    """Write what a batch has about hubs and links; of what occurs twice the last counts."""
    latest = {record.page_id: record for record in batch.hubs}
    _upsert_hubs(connection, [_hub_row(record) for record in latest.values()])
    segments = {(host_name(each.host), each.number): each for each in batch.seen_links}
    _upsert_links(connection, [_links_row(spider_id, segments[key]) for key in sorted(segments)])


def load_hubs(connection: Connection, spider_id: ScalarSelect[int]) -> list[HubRecord]:
    """All hubs of a spider."""
    query = select(*hub.c, page.c.url).join_from(hub, page, page.c.page_id == hub.c.page_id)
    rows = connection.execute(query.where(page.c.spider_id == spider_id)).mappings()
    return [HubRecord(**hub_from(dict(row))) for row in rows]


def load_links(connection: Connection, spider_id: ScalarSelect[int], host: str) -> list[tuple[int, bytes]]:
    """Numbers and bytes of the segments of a host."""
    query = select(seen_links.c.number, seen_links.c.packed).where(
        seen_links.c.spider_id == spider_id, seen_links.c.host == host_name(host)
    )
    return [(number, bytes(packed)) for number, packed in connection.execute(query)]


def hub_from(row: dict[str, Any]) -> dict[str, Any]:
    """The fields of a hub as what they are."""
    fields = {**row, "state": HubState(row["state"]), "is_unseen": bool(row["is_unseen"])}
    return {**fields, "candidates": bytes(row["candidates"])} if "candidates" in row else fields


def _hub_row(record: HubRecord) -> tuple[object, ...]:
    """The row of table ``hub``, in the order of its columns."""
    return (
        int(record.page_id),
        clean(record.found),
        clean(record.found_on),
        clean(record.evidence),
        int(record.state),
        bool(record.is_unseen),
        int(record.polls),
        int(record.shown),
        int(record.new_links),
        int(record.barren),
        number(record.since),
        optional(record.last_poll_at),
        int(record.rests),
        number(record.next_look_at),
        record.candidates,
    )


def _links_row(spider_id: int, segment: LinkSegment) -> tuple[object, ...]:
    """The row of table ``seen_links``, in the order of its columns."""
    return spider_id, host_name(segment.host), int(segment.number), segment.packed
