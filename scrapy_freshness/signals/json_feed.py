"""JSON Feed, version 1 and 1.1."""

import json
from collections.abc import Iterator
from typing import Any

from scrapy_freshness.signals.addresses import read_address
from scrapy_freshness.signals.collecting import Collector
from scrapy_freshness.signals.contract import Entry, Kind, Oddity, Relation


def json_feed_entries(text: str, collector: Collector) -> Iterator[list[Entry]]:
    """Yield the entries of a JSON Feed, all in one list."""
    try:
        feed = json.loads(text)
    except (ValueError, RecursionError):
        feed = None
    if not isinstance(feed, dict) or "jsonfeed.org/version/" not in _text(feed, "version"):
        collector.findings.kind = Kind.UNKNOWN
        collector.findings.oddities[Oddity.NOT_A_SOURCE] = 1
        return
    collector.link(Relation.HOME, _text(feed, "home_page_url"))
    if feed_url := _text(feed, "feed_url"):
        collector.link(Relation.SELF, feed_url)
    for hub in _list(feed, "hubs"):
        if isinstance(hub, dict) and _text(hub, "type").lower() in ("websub", "pubsubhubbub"):
            collector.link(Relation.HUB, _text(hub, "url"))
    yield [entry for each in _list(feed, "items") if (entry := _entry(each, collector))]


def _entry(item: Any, collector: Collector) -> Entry | None:
    if not isinstance(item, dict):
        collector.count(Oddity.NO_LINK)
        return None
    key = _text(item, "id")
    # The id is to be the page's address where that never changes.
    link = _text(item, "url") or (key if read_address(key) else "") or _text(item, "external_url")
    if not link:
        collector.count(Oddity.NO_LINK)
        return None
    changed = collector.date(_text(item, "date_modified"))
    published = collector.date(_text(item, "date_published"))
    return collector.entry(link, changed=changed, published=published, key=key)


def _text(item: dict[str, Any], name: str) -> str:
    """A text; ids are numbers in some feeds."""
    value = item.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**18 else ""
    return value.strip() if isinstance(value, str) else ""


def _list(item: dict[str, Any], name: str) -> list[Any]:
    value = item.get(name)
    return value if isinstance(value, list) else []
