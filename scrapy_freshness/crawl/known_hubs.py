"""The hubs that are known, and what is kept about each of them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from scrapy_freshness.model import HubRecord, HubState
from scrapy_freshness.signals.addresses import host_of


class KnownHubs:
    """Hubs by page id; remembers which have changed since they were written."""

    def __init__(self) -> None:
        self._records: dict[int, HubRecord] = {}
        self._count: Counter[str] = Counter()  #: of a host; those that are retired do not count
        self.hosts: set[str] = set()  #: with a main page that is known
        self._changed: set[int] = set()

    def load(self, records: Iterable[HubRecord]) -> None:
        """Take over what earlier runs have found."""
        for record in records:
            self._put(record)

    def __contains__(self, page_id: int) -> bool:
        return page_id in self._records

    def __iter__(self) -> Iterator[HubRecord]:
        return iter(self._records.values())

    def get(self, page_id: int) -> HubRecord | None:
        return self._records.get(page_id)

    def put(self, record: HubRecord) -> None:
        """A hub was found, or something about it has changed."""
        self._put(record)
        self._changed.add(record.page_id)

    def forget(self, page_ids: Iterable[int]) -> None:
        """Know nothing of some hubs any more."""
        for record in [self._records.pop(page_id) for page_id in page_ids if page_id in self._records]:
            host = host_of(record.url) or ""
            self._changed.discard(record.page_id)
            self._count[host] -= _counts(record)
            if record.is_root:
                self.hosts.discard(host)

    def count(self, host: str) -> int:
        """How many hubs a host has."""
        return self._count[host]

    def take_changed(self) -> list[HubRecord]:
        """Hubs that have changed since the last call, for the writer."""
        changed, self._changed = self._changed, set()
        return [replace(self._records[page_id]) for page_id in changed]

    def _put(self, record: HubRecord) -> None:
        host = host_of(record.url) or ""
        before = self._records.get(record.page_id)
        self._count[host] += _counts(record) - (_counts(before) if before else 0)
        self._records[record.page_id] = record
        if record.is_root:
            self.hosts.add(host)


def _counts(record: HubRecord) -> int:
    return int(record.state is not HubState.RETIRED)
