"""The rows of a trace as whole versions: what is stored as a difference is put together again.

A row of ``webtrace/1`` is a JSON object with the keys ``page``, ``t`` and ``kind``, where it differs from the
row before ``url``, and the content in one of these forms (``noise`` and ``gone`` need none):

* ``text``: the whole text;
* ``delta``: ``[[i, n, [line, ...]], ...]``, replace n lines at index i of the lines before, ascending;
* ``same``: k, the text is that of the k-th row of the page (from 0) that has one of these three keys;
* ``rank``: numbers of links, in order, with ``score`` beside them; ``add`` tells what a number stands for:
  ``{number: [url, title, born]}``;
* ``links``: ``[[url, title, score, born], ...]``, the links whole.

Other keys are passed over.
"""

from typing import Any

from scrapy_freshness.simulator.trace import Kind, Link, Version

Row = dict[str, Any]
Lines = tuple[str, ...]

_KEYS = {"page", "url", "t", "kind", "carry", "text", "delta", "same", "links", "add", "rank", "score"}
_KINDS = {kind.value: kind for kind in Kind}
_TIMES = (0.0, 1e12)  # 1970 and some 30,000 years later
_LARGEST = 1e300


class PageDecoder:
    """Makes versions of the rows of one page, which must come in their order.

    >>> decoder = PageDecoder("a:b")
    >>> row = {"page": "a:b", "t": 1, "kind": "first", "text": "one\\ntwo"}
    >>> decoder.decode(row).lines
    ('one', 'two')
    >>> row = {"page": "a:b", "t": 2, "kind": "change", "delta": [[1, 1, ["2", "3"]]]}
    >>> decoder.decode(row).lines
    ('one', '2', '3')
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._url: str | None = None
        self._at = _TIMES[0]
        self._lines: Lines | None = None
        self._links: tuple[Link, ...] | None = None
        self._texts: list[Lines] = []
        self._entries: dict[int, tuple[str, str | None, float | None]] = {}

    def decode(self, row: Row) -> Version:
        """The version that a row stands for; raises ValueError if it stands for none."""
        at, kind = _time(row), _kind(row)
        if at < self._at:
            raise ValueError(f"time {at:.15g} is before {self._at:.15g}, the time of the line before")
        self._at = at
        if "url" in row:
            self._url = _checked(row["url"], str | None, "url")
        if kind is Kind.GONE:
            lines, links = None, None
        elif kind is Kind.NOISE:
            lines, links = self._unchanged(row)
        else:
            lines, links = self._content(row)
            if lines is not None:
                self._texts.append(lines)
            self._lines, self._links = lines, links
        carry = row.get("carry") is True
        return Version(
            page=self._page, at=at, kind=kind, url=self._url, lines=lines, links=links, carry=carry
        )

    def _unchanged(self, row: Row) -> tuple[Lines | None, tuple[Link, ...] | None]:
        before = self._lines, self._links
        if before == (None, None):
            raise ValueError("noise without a version before it")
        if row.keys() & {"text", "links", "rank"} and self._content(row) != before:
            raise ValueError("noise, but the content is not that of the version before")
        return before

    def _content(self, row: Row) -> tuple[Lines | None, tuple[Link, ...] | None]:
        links = self._read_links(row)
        lines = None if links is not None else self._read_lines(row)
        if lines is None and links is None:
            strange = sorted(map(repr, row.keys() - _KEYS))
            hint = f"; unknown: {', '.join(strange)}" if strange else ""
            raise ValueError(
                f"neither text nor links, one of which a version of kind {row['kind']} has{hint}"
            )
        if (lines is None and self._lines is not None) or (links is None and self._links is not None):
            raise ValueError("the page has links in one version and text in another")
        return lines, links

    def _read_lines(self, row: Row) -> Lines | None:
        if "text" in row:
            text: str = _checked(row["text"], str, "text")
            return tuple(text.split("\n"))
        if "delta" in row:
            if self._lines is None:
                raise ValueError("delta without a version that it is the difference to")
            return _edited(self._lines, row["delta"])
        if "same" in row:
            place: int = _checked(row["same"], int, "same")
            if not 0 <= place < len(self._texts):
                raise ValueError(f"same is {place}, but the page has {len(self._texts)} texts before")
            return self._texts[place]
        return None

    def _read_links(self, row: Row) -> tuple[Link, ...] | None:
        if "links" in row:
            return tuple(_link(*_list(each, 1, 4, "link")) for each in _checked(row["links"], list, "links"))
        if "rank" not in row:
            return None
        for number, entry in _checked(row.get("add", {}), dict, "add").items():
            url, title, born = (*_list(entry, 1, 3, "link"), None, None)[:3]
            link = _link(url, title, None, born)
            self._entries[_place(number)] = (link.url, link.title, link.born)
        rank = _checked(row["rank"], list, "rank")
        scores = row.get("score") or [None] * len(rank)
        if len(_checked(scores, list, "score")) != len(rank):
            raise ValueError(f"{len(scores)} scores for {len(rank)} links")
        try:
            entries = [self._entries[number] for number in rank]
        except (KeyError, TypeError):
            unknown = next(each for each in rank if not isinstance(each, int) or each not in self._entries)
            raise ValueError(f"rank names link {_short(unknown)}, which no line has added") from None
        return tuple(
            Link(url, title, _number(score), born)
            for (url, title, born), score in zip(entries, scores, strict=True)
        )


def page_of(row: Any) -> str:
    """The page that a row belongs to; raises ValueError if it is no row of a trace."""
    if not isinstance(row, dict):
        raise ValueError(f"a line of a trace is a JSON object, got {_short(row)}")
    for key in ("page", "t", "kind"):
        if key not in row:
            raise ValueError(f"no key {key!r}; there are {', '.join(map(repr, row)) or 'none'}")
    return str(_checked(row["page"], str, "page"))


def _edited(lines: Lines, delta: Any) -> Lines:
    edited: list[str] = []
    position = 0
    for each in _checked(delta, list, "delta"):
        start, count, added = _list(each, 3, 3, "edit")
        start, count = _checked(start, int, "delta"), _checked(count, int, "delta")
        if not (position <= start and 0 <= count <= len(lines) - start):
            raise ValueError(f"delta replaces {count} lines at {start} of {len(lines)}, after {position}")
        edited += lines[position:start]
        edited += (_checked(line, str, "line of delta") for line in _checked(added, list, "delta"))
        position = start + count
    return (*edited, *lines[position:])


def _time(row: Row) -> float:
    at = _checked(row["t"], int | float, "t")
    if not _TIMES[0] <= at <= _TIMES[1]:
        raise ValueError(f"t must be unix seconds, none before 1970, got {_short(at)}")
    return float(at)


def _kind(row: Row) -> Kind:
    kind = row["kind"]
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"unknown kind {_short(kind)}; there are {', '.join(_KINDS)}")
    return _KINDS[kind]


def _link(url: Any, title: Any = None, score: Any = None, born: Any = None) -> Link:
    return Link(
        _checked(url, str, "url of a link"),
        _checked(title, str | None, "title of a link"),
        _number(score),
        _number(born),
    )


def _list(value: Any, least: int, most: int, name: str) -> list[Any]:
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise ValueError(f"{name} must be a list of {least} to {most} values, got {_short(value)}")
    return value


def _number(value: Any) -> float | None:
    """The score or the birth of a link."""
    if value is None:
        return None
    if type(value) in (int, float) and abs(value) <= _LARGEST:
        return float(value)
    raise ValueError(f"score and born of a link must be numbers or null, got {_short(value)}")


def _place(key: str) -> int:
    if not (key.isascii() and key.isdecimal()):
        raise ValueError(f"the number of a link must be whole, got {_short(key)}")
    return int(key)


def _checked(value: Any, type_: Any, name: str) -> Any:
    if not isinstance(value, type_) or isinstance(value, bool):
        raise ValueError(f"{name} must not be {_short(value)}")
    return value


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."
