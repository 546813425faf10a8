"""Adds up how often terms are asked for, and writes it."""

from functools import partial

from scrapy_freshness.imports.queries import Asked
from scrapy_freshness.model import ImportProgress
from scrapy_freshness.storage.query_rows import add_frequencies
from scrapy_freshness.storage.store import Store

#: Terms that are written in one transaction.
_ENOUGH = 20_000


class QuerySink:
    """Gathers frequencies by term."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._frequency: dict[str, float] = {}
        self._queries = 0.0
        self.queries = 0.0  #: that were written

    def add(self, batch: Asked) -> None:
        """Take what a block said."""
        self._queries += batch.queries
        for term, frequency in batch.frequency.items():
            self._frequency[term] = self._frequency.get(term, 0.0) + frequency

    @property
    def is_full(self) -> bool:
        """Whether to write."""
        return len(self._frequency) >= _ENOUGH

    def save(self, progress: ImportProgress) -> None:
        """Write what was gathered."""
        frequency, self._frequency = self._frequency, {}
        asked, self._queries = self._queries, 0.0
        progress.counts = {**progress.counts, "queries": int(progress.counts.get("queries", 0) + asked)}
        self._store.save_import(progress, partial(add_frequencies, frequencies=frequency))
        self.queries += asked
