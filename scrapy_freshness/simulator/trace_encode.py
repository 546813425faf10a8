"""Versions as the lines of a ``webtrace/1`` file; `trace_decode` tells what they look like.

Successive versions share most of their lines, so that a history takes little more room than its changes.
"""

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from scrapy_freshness.errors import TraceError
from scrapy_freshness.simulator.trace import Kind, Link, Version

Row = dict[str, Any]
Lines = tuple[str, ...]
Edit = list[Any]  #: index, how many lines go, lines that come

#: Lines before times lines after, beyond which a difference is one edit: finding the best takes seconds.
_MAX_COMPARISONS = 1_000_000


def trace_lines(versions: Iterable[Version], *, only_ascii: bool = False) -> Iterator[str]:
    """The lines of a trace, each with its line end; versions of a page together, in the order of time.

    Characters beyond ASCII are escaped if ``only_ascii`` is set, which is safe for every terminal.

    >>> version = Version(page="a:b", at=5, kind=Kind.FIRST, lines=("It rains",))
    >>> print(*trace_lines([version]), sep="", end="")
    {"page":"a:b","url":null,"t":5,"kind":"first","text":"It rains"}
    """
    done: set[str] = set()
    page, encoder = None, PageEncoder()
    for version in versions:
        if version.page != page:
            page, encoder = version.page, PageEncoder()
            if page in done:
                raise TraceError(f"page {page!r} comes twice: a trace has the versions of a page together")
            done.add(page)
        yield _json(encoder.encode(version), only_ascii)


class PageEncoder:
    """Makes rows of the versions of one page, which must come in their order."""

    def __init__(self) -> None:
        self._url: str | None = None
        self._at: float | None = None
        self._lines: Lines | None = None
        self._places: dict[Lines, int] = {}
        self._n_texts = 0
        self._numbers: dict[tuple[str, str | None, float | None], int] = {}

    def encode(self, version: Version) -> Row:
        """The row that stands for a version."""
        if self._at is not None and version.at < self._at:
            raise TraceError(f"a version of page {version.page!r} is earlier than the one before it")
        row: Row = {"page": version.page}
        if self._at is None or version.url != self._url:
            row["url"] = version.url
        self._at, self._url = version.at, version.url
        row |= {"t": _number(version.at), "kind": version.kind.value}
        if version.carry:
            row["carry"] = True
        if version.kind is Kind.GONE:
            self._lines = None
        elif version.links is not None:
            row |= self._hub(version.links)
        elif version.lines is None:
            raise TraceError(f"a version of page {version.page!r} has neither lines nor links")
        elif version.kind is Kind.NOISE:
            self._lines = version.lines
        else:
            row |= self._document(version.lines)
        return row

    def _document(self, lines: Lines) -> Row:
        place = self._places.setdefault(lines, self._n_texts)
        before, self._lines = self._lines, lines
        self._n_texts += 1
        if place < self._n_texts - 1:
            return {"same": place}
        if before is not None:
            edits = line_edits(before, lines)
            added = sum(len(line) + 3 for _, _, new in edits for line in new)
            if added + 12 * len(edits) < sum(map(len, lines)):
                return {"delta": edits}
        return {"text": "\n".join(lines)}

    def _hub(self, links: tuple[Link, ...]) -> Row:
        added, rank = {}, []
        for url, title, _, born in links:
            known = len(self._numbers)
            number = self._numbers.setdefault((url, title, born), known)
            if number == known:
                added[str(number)] = [url, title] if born is None else [url, title, _number(born)]
            rank.append(number)
        row: Row = {"add": added} if added else {}
        row["rank"] = rank
        if any(link.score is not None for link in links):
            row["score"] = [_number(link.score) for link in links]
        return row


def line_edits(before: Lines, after: Lines) -> list[Edit]:
    """What makes some lines of others: ``[[index, how many go, [lines that come]], ...]``, ascending.

    >>> line_edits(("a", "b", "c", "d"), ("a", "x", "c", "d", "e"))
    [[1, 1, ['x']], [4, 0, ['e']]]
    """
    start, end, new_end = 0, len(before), len(after)
    while start < end and start < new_end and before[start] == after[start]:
        start += 1
    while start < end and start < new_end and before[end - 1] == after[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    old, new = before[start:end], after[start:new_end]
    if len(old) * len(new) > _MAX_COMPARISONS:
        return [[start, len(old), list(new)]]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        [start + i, i_end - i, list(new[j:j_end])]
        for tag, i, i_end, j, j_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _number(value: float | None) -> float | None:
    """A number, without a decimal point if it needs none."""
    return value if value is None or value != int(value) else int(value)


def _json(row: Row, only_ascii: bool) -> str:
    line = json.dumps(row, ensure_ascii=only_ascii, separators=(",", ":"), allow_nan=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can stand for
        return _json(row, True)
    return line + "\n"
