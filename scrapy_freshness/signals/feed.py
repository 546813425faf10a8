"""RSS, Atom and RDF feeds, read by feedparser as far as they go.

feedparser opens what it takes for a file name or a URL, bytes too, so it is handed a stream. Before that the
prolog has been cut off (`reading.py`), with all entities, and what is not needed (`thin_feed.py`).
"""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from scrapy_freshness.signals.addresses import read_address
from scrapy_freshness.signals.collecting import Collector
from scrapy_freshness.signals.contract import Entry, Oddity, Relation
from scrapy_freshness.signals.thin_feed import thin_feed

_PERIODS = {
    "hourly": 3600.0,
    "daily": 86_400.0,
    "weekly": 7 * 86_400.0,
    "monthly": 30 * 86_400.0,
    "yearly": 365 * 86_400.0,
}
_RELATIONS = {"hub": Relation.HUB, "self": Relation.SELF}


def feed_entries(text: str, collector: Collector) -> Iterator[list[Entry]]:
    """Yield the entries of a feed, all in one list."""
    import feedparser  # takes a tenth of a second, and most crawls meet no feed

    thin, is_whole = thin_feed(text)
    if not is_whole:
        collector.findings.oddities[Oddity.TOO_LARGE] = 1
    stream = BytesIO(thin.encode("utf-8", "replace"))
    headers = {"content-type": "application/xml; charset=utf-8"}
    try:
        parsed = feedparser.parse(
            stream, response_headers=headers, sanitize_html=False, resolve_relative_uris=False
        )
    # Strangers' feeds end in any error that the standard library knows.
    except Exception:
        collector.findings.oddities[Oddity.BROKEN] = 1
        return
    if parsed.bozo:
        collector.findings.oddities[Oddity.BROKEN] = 1
    feed = parsed.feed
    collector.findings.update_seconds = _update_seconds(feed)
    collector.link(Relation.HOME, _text(feed, "link"))
    for link in dict.get(feed, "links") or ():
        for relation in str(link.get("rel", "")).lower().split():
            if relation in _RELATIONS:
                collector.link(_RELATIONS[relation], str(link.get("href", "")))
    yield [entry for each in parsed.entries if (entry := _entry(each, collector))]


def _entry(item: dict[str, Any], collector: Collector) -> Entry | None:
    key = _text(item, "id")
    link = _text(item, "feedburner_origlink") or _text(item, "link")
    # Every guid counts as an address unless it says that it is none; many that do not say it are none.
    is_guid = bool(item.get("guidislink")) and link == key
    if not link or (is_guid and read_address(link) is None):
        collector.count(Oddity.NO_LINK)
        return None
    # The texts of dates: feedparser invents the day of some that it cannot read.
    changed = collector.date(_text(item, "updated"))
    published = collector.date(_text(item, "published") or _text(item, "created"))
    return collector.entry(link, changed=changed, published=published, key=key)


def _text(item: dict[str, Any], name: str) -> str:
    """A text of an entry; feedparser's own look-up answers for "updated" with "published"."""
    value = dict.get(item, name)
    return value.strip() if isinstance(value, str) else ""


def _update_seconds(feed: dict[str, Any]) -> float | None:
    """How often a feed says that it is updated: by the syndication module, or by the time it may be kept."""
    period = _PERIODS.get(_text(feed, "sy_updateperiod").lower())
    if period is not None:
        return period / (_number(_text(feed, "sy_updatefrequency")) or 1.0)
    minutes = _number(_text(feed, "ttl"))
    return minutes * 60 if minutes else None


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII) else None
