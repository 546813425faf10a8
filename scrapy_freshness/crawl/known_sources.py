"""The sitemaps and feeds that are known, and what is kept about each of them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from scrapy_freshness.model import PageKind, SourceRecord
from scrapy_freshness.signals.addresses import host_of


class KnownSources:
    """Sources by page id; remembers which have changed since they were written."""

    def __init__(self) -> None:
        self._records: dict[int, SourceRecord] = {}
        self._count: Counter[tuple[str, bool]] = Counter()  #: of a host, that are feeds or not
        self._of_host: dict[str, dict[int, SourceRecord]] = {}  #: those that speak for a host, by page id
        self._changed: dict[int, SourceRecord] = {}

    def load(self, records: Iterable[SourceRecord]) -> None:
        """Take over what earlier runs have found."""
        for record in records:
            self._add(record)

    def get(self, page_id: int) -> SourceRecord | None:
        return self._records.get(page_id)

    def add(self, record: SourceRecord) -> None:
        """A source was found."""
        self._add(record)
        self.note(record)

    def note(self, record: SourceRecord) -> None:
        """Something about a source has changed; it may have been forgotten while it was polled."""
        if record.page_id in self._records:
            self._changed[record.page_id] = record
            self._speaks_for(record)

    def forget(self, page_ids: Iterable[int]) -> None:
        """Know nothing of some sources any more."""
        for record in [self._records.pop(page_id) for page_id in page_ids if page_id in self._records]:
            self._changed.pop(record.page_id, None)
            self._count[_host(record), record.kind is PageKind.FEED] -= 1
            for host in (_host(record), *record.hosts):
                self._of_host.get(host, {}).pop(record.page_id, None)

    def take_changed(self) -> list[SourceRecord]:
        """Sources that have changed since the last call, for the writer, which keeps what they said."""
        changed = [replace(record) for record in self._changed.values()]
        for record in self._changed.values():
            record.seen = None
        self._changed = {}
        return changed

    def of_host(self, host: str) -> list[SourceRecord]:
        """Sources that speak for a host, those with most entries first."""
        return sorted(self._of_host.get(host, {}).values(), key=lambda record: -record.entries)

    def count(self, host: str, kind: PageKind) -> int:
        """How many sources of a kind a host has."""
        return self._count[host, kind is PageKind.FEED]

    def has_sitemap(self, host: str) -> bool:
        """Whether a host has a sitemap that somebody named, or that could be read."""
        return any(
            record.kind is PageKind.SITEMAP and (record.found != "usual" or record.entries)
            for record in self._of_host.get(host, {}).values()
        )

    def _add(self, record: SourceRecord) -> None:
        self._records[record.page_id] = record
        self._count[_host(record), record.kind is PageKind.FEED] += 1
        self._speaks_for(record)

    def _speaks_for(self, record: SourceRecord) -> None:
        for host in (_host(record), *record.hosts):
            self._of_host.setdefault(host, {})[record.page_id] = record


def _host(record: SourceRecord) -> str:
    return host_of(record.url) or ""
