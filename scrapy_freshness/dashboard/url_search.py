"""Which addresses match what a reader has typed, among a million of them?

RE2 searches in a time that is proportional to the text, whatever the pattern: a pattern that would keep other
engines busy for years does no harm.
"""

from dataclasses import dataclass
from itertools import islice

import numpy as np
import re2
from numpy.typing import NDArray

from scrapy_freshness.errors import InputError
from scrapy_freshness.storage.census import Census

Rows = NDArray[np.intp]

#: Addresses that are tried to see whether many match, and the share from which on that is many.
_TRIED, _MANY = 2_000, 0.05


@dataclass(frozen=True, slots=True)
class Found:
    """Some of the rows that match, in the order that they were given in."""

    rows: Rows
    total: int
    is_exact: bool  #: whether the total was counted; otherwise it is about right


class UrlSearch:
    """A search for a text, in upper or lower case, or for a regular expression.

    >>> UrlSearch("A.b").matches(b"http://a.bc/"), UrlSearch("^h.+/$", is_regex=True).matches(b"http://a/")
    (True, True)
    """

    def __init__(self, text: str, *, is_regex: bool = False) -> None:
        pattern = text if is_regex else f"(?i){re2.escape(text)}"
        options = re2.Options()
        options.log_errors = False
        options.never_nl = True  # a match must not reach into the next address
        if text.isascii() and not is_regex:  # in Unicode, k and s have a third case each, which takes long
            options.encoding = re2.Options.Encoding.LATIN1
        try:
            self._pattern = re2.compile(pattern.encode("utf-8", "replace"), options)
            # The same for all addresses in a row: each line begins and ends by itself.
            self._in_lines = re2.compile(f"(?m){pattern}".encode("utf-8", "replace"), options)
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace")  # it is told in bytes, as it was asked
            raise InputError(
                f"this is not a regular expression that can be searched for: {reason}"
            ) from error

    def matches(self, url: bytes) -> bool:
        """Whether one address matches."""
        return self._pattern.search(url) is not None

    def find(self, census: Census, rows: Rows, first: int, count: int) -> Found:
        """So many of these rows that match, after the first ones."""
        tried = rows[:: max(1, len(rows) // _TRIED)].tolist()
        share = sum(self.matches(census.url(row)) for row in tried) / max(1, len(tried))
        if share > _MANY:
            return self._first_ones(census, rows, share, first, count)
        is_match = self.mask(census)
        found = rows[is_match[rows]]
        return Found(found[first : first + count], len(found), True)

    def mask(self, census: Census) -> NDArray[np.bool_]:
        """Which of all addresses match."""
        places = [found.start() for found in self._in_lines.finditer(census.urls)]
        is_match = np.zeros(len(census) + 1, np.bool_)
        is_match[np.searchsorted(census.url_starts, places, side="right") - 1] = True
        return is_match[:-1]  # nothing is after the last line

    def _first_ones(self, census: Census, rows: Rows, share: float, first: int, count: int) -> Found:
        """Many match: it is enough to go on until the wanted ones are found."""
        hits = (row for row in rows.tolist() if self.matches(census.url(row)))
        found = list(islice(hits, first + count))
        is_exact = len(found) < first + count
        total = len(found) if is_exact else max(len(found), round(share * len(rows)))
        return Found(np.array(found[first:], np.intp), total, is_exact)
