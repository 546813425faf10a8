"""Importances by the beginning of an address: the longest that fits counts."""

from collections.abc import Iterable

from scrapy_freshness.storage.importance_rows import ImportanceRule


class Prefixes:
    """Finds the longest beginning of an address that has an importance.

    Examples
    --------
    >>> found = Prefixes(
    ...     [ImportanceRule(0, True, "http://a.example/", 2.0), ImportanceRule(1, True, "http://a.example/b", 5.0)])
    >>> found.importance_of("http://a.example/bc"), found.importance_of("http://b.example/")
    (5.0, None)
    """

    def __init__(self, rules: Iterable[ImportanceRule]) -> None:
        self._importance = {rule.url: rule.importance for rule in rules}
        self._lengths = sorted({len(url) for url in self._importance}, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._importance)

    def importance_of(self, url: str) -> float | None:
        """The importance of an address by its beginning; None if no rule fits."""
        for length in self._lengths:
            found = self._importance.get(url[:length])
            if found is not None:
                return found
        return None
