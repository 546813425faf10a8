"""Rows are found in CSV of any dialect and in JSON Lines; what cannot be used is told by line."""

from collections.abc import Sequence

import pytest

from scrapy_freshness.imports.tables import Csv, Field, JsonLines

FIELDS = (Field("url", ("page",)), Field("time"), Field("count", is_needed=False, is_number=True))


class Rows:
    """Keeps rows whose first field is an address."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, ...]] = []

    def add(self, row: Sequence[str]) -> None:
        if not row[0].startswith("http"):
            raise ValueError("no usable URL")
        self.rows.append(tuple(row))

    def batch(self) -> list[tuple[str, ...]]:
        return self.rows


@pytest.mark.parametrize(
    ("head", "line", "row"),
    [
        (b"url,time,count\n", b"http://a/,1,2", ("http://a/", "1", "2")),
        (b"# ----\n# Pages, all\n\n#\nurl,time\n", b"http://a/,1", ("http://a/", "1", "")),
        (b"# Pages, all\n", b"http://a/,1", ("http://a/", "1", "")),
        (b"Count;TIME;Page\r\n", b"2;1;http://a/?b,c", ("http://a/?b,c", "1", "2")),
        (b"\nurl\ttime\n", b"http://a/\t1", ("http://a/", "1", "")),
        (b'"url","time","x"\n', b'"http://a/?b=""c"",d",1,9', ('http://a/?b="c",d', "1", "")),
        (b"", b"http://a/,1", ("http://a/", "1", "")),
        (b"", b"http://a/|1|2", ("http://a/", "1", "2")),
        (b"page,time\n", b"http://a/\xe9,1", ("http://a/é", "1", "")),
    ],
)
def test_csv_of_any_dialect(head: bytes, line: bytes, row: tuple[str, ...]) -> None:
    block = head + line + b"\r\nnothing\n\nno\0ne,1\n" + line
    parser = Csv(FIELDS, Rows).parser(block)
    assert parser is not None
    found = parser.parse(block[len(head) :])

    assert parser.header_lines == head.count(b"\n")
    assert found.batch == [row, row]
    assert found.lines == 5
    assert [(bad.line, bad.reason, bad.text) for bad in found.bad] == [
        (1, "no usable URL", b"nothing"),
        (3, "has NUL bytes", b"no\0ne,1"),
    ]


def test_json_lines() -> None:
    block = (
        b'{"Page": "http://a/", "time": 1.5, "count": 1.5, "x": []}\n[1]\n{"url": null}\n{"a\n'
        + b"[" * 100_000
    )
    parser = JsonLines(FIELDS, Rows).parser(block)
    assert parser is not None
    found = parser.parse(block)

    assert found.batch == [("http://a/", "1.5", "1.5000")]
    assert [bad.reason for bad in found.bad] == [
        "not a JSON object",
        "no usable URL",
        "not JSON",
        "not JSON",
    ]


@pytest.mark.parametrize(
    ("block", "doubt"),
    [
        (b"time,url\n1,http://a/", None),
        (b"time,url,count\n1,http://a/,2", None),
        (b"time,url,often\n1,http://a/,2", "time, url"),
        (b'{"page": "http://a/", "time": 1}', None),
        (b'{"page": "http://a/", "time": 1, "count": 2, "often": 3}', None),
        (b'{"page": "http://a/", "often": 2, "time": 1}', None),  # another line may have a count
    ],
)
def test_a_count_may_be_in_a_column_that_is_not_known(block: bytes, doubt: str | None) -> None:
    format_ = JsonLines(FIELDS, Rows) if block.startswith(b"{") else Csv(FIELDS, Rows)
    parser = format_.parser(block)
    assert parser is not None
    doubts = parser.parse(b"\n".join([*block.splitlines()[parser.header_lines :], b"bad", b""])).doubts

    words = f"no count that is known, so that each counts once (columns read: {doubt})"
    assert doubts == ({} if doubt is None else {words: 1})


@pytest.mark.parametrize("head", [b"", b"just words\n", b"a,b,c\n", b"\x00\x01\x02", b'"' * 200_000])
def test_what_is_no_table_is_not_taken_for_one(head: bytes) -> None:
    assert Csv(FIELDS, Rows).parser(head) is None
    assert JsonLines(FIELDS, Rows).parser(head) is None
