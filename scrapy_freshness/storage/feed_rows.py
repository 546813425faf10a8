"""Pages that feeds have shown: how many feeds, of which each counts half as much for each week since."""

import math
from collections.abc import Iterable

from sqlalchemy import Connection

from scrapy_freshness.storage.bulk import upsert
from scrapy_freshness.storage.click_rows import faded_sum
from scrapy_freshness.storage.rows import number
from scrapy_freshness.storage.schema import page_feed

_WEEK_SECONDS = 604_800.0

_add_feeds = upsert(page_feed, page_feed.c.keys(), ["page_id"], faded_sum("page_feed", "feeds"))


def write_shown(connection: Connection, shown: Iterable[tuple[int, float]]) -> None:
    """Add feeds that have begun to show pages to those that are known: page id, unix seconds."""
    sums: dict[int, tuple[int, float]] = {}
    for page_id, at in sorted((int(page_id), number(at)) for page_id, at in shown):
        week = int(at // _WEEK_SECONDS)
        latest, feeds = sums.get(page_id, (week, 0.0))
        sums[page_id] = week, math.ldexp(feeds, latest - week) + 1.0
    _add_feeds(connection, [(page_id, *sums[page_id]) for page_id in sorted(sums)])
