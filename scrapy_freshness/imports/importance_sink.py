"""Writes importances to pages; they are set, not added, so that the last file counts."""

from collections.abc import Callable
from functools import partial

from scrapy_freshness.imports.importance import Importance
from scrapy_freshness.model import ImportProgress
from scrapy_freshness.storage.importance_rows import ImportanceRule, give_importances
from scrapy_freshness.storage.store import Store

#: Pages that are written in one transaction.
_ENOUGH = 10_000


class ImportanceSink:
    """Gathers importances by page; *fingerprint* tells by which number a page with an address is known."""

    def __init__(self, store: Store, fingerprint: Callable[[str], int]) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self._rules: dict[int, ImportanceRule] = {}
        self.pages = 0  #: that got an importance
        self.waiting = 0  #: addresses that no page has, and beginnings of addresses
        self.refused = 0  #: the same, for which there was no room

    def add(self, batch: list[Importance]) -> None:
        """Take what a block said; the last word counts."""
        for url, importance, is_prefix in batch:
            key = self._fingerprint(f"{url}*" if is_prefix else url)
            self._rules[key] = ImportanceRule(key, is_prefix, url, importance)

    @property
    def is_full(self) -> bool:
        """Whether to write."""
        return len(self._rules) >= _ENOUGH

    def save(self, progress: ImportProgress) -> None:
        """Write what was gathered."""
        rules, self._rules = self._rules, {}
        given = self._store.save_import(progress, partial(give_importances, rules=rules))
        self.pages += given.pages
        self.waiting += given.kept
        self.refused += given.refused
