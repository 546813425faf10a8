"""Queries of searchers: tables with a query and how often it was asked, exports of search logs, lines."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from scrapy_freshness.content.terms import query_terms
from scrapy_freshness.imports.access_log import AccessLog
from scrapy_freshness.imports.contract import Format, Parsed, numbered
from scrapy_freshness.imports.numerals import DOUBTFUL_COUNT, TOO_LARGE, is_doubtful, number_of
from scrapy_freshness.imports.tables import Csv, Field, JsonLines, cells, parsed_lines

#: The names of columns in exports of search consoles (several languages) and of site search (Matomo, Google
#: Analytics, ...).
#: Where a table tells impressions and clicks, a query was asked as often as it was answered.
FIELDS = (
    Field(
        "query",
        (
            *("queries", "top queries", "search query", "search_query", "search term", "search_term"),
            *("search keyword", "search_keyword", "keyword", "keywords", "searchterm", "search", "term", "q"),
            *(
                "label",
                "häufigste suchanfragen",
                "suchanfrage",
                "suchbegriff",
                "requêtes les plus fréquentes",
            ),
            *("consultas principales", "principais consultas", "query principali"),
        ),
    ),
    Field(
        "count",
        (
            *("frequency", "impressions", "searches", "search count", "nb_searches", "nb_hits", "nb_visits"),
            *("total unique searches", "event count", "event_count", "eventcount", "hits", "visits", "views"),
            *("total", "n", "times", "impressionen", "impresiones", "impressões", "impressioni"),
            *("clicks", "klicks", "clics", "cliques", "clic"),
        ),
        is_needed=False,
        is_number=True,
    ),
)

#: As `sort | uniq -c` writes.
_COUNTED = re.compile(r"\s+(\d+)\s(.*)")
#: A query may begin with a bracket, too.
_JSON_ARRAY = re.compile(rb"\s*\[\s*[\[{\"]")


class Asked(NamedTuple):
    """What the lines of a block ask for."""

    queries: float  #: how many, all together
    frequency: dict[str, float]  #: of each term, by how often the queries are asked in which it occurs


class QueryRows:
    """Takes the rows of one block."""

    def __init__(self) -> None:
        self._queries = 0.0
        self._frequency: dict[str, float] = {}

    def add(self, row: Sequence[str]) -> str | None:
        """Take a query and its count; `ValueError` says why not. Returns what is doubtful."""
        query, number = row
        count = count_of(number)
        terms = query_terms(query)
        if not terms:
            raise ValueError("has no words")
        self._queries += count
        for term in terms:
            self._frequency[term] = self._frequency.get(term, 0.0) + count
        return DOUBTFUL_COUNT if is_doubtful(number) else None

    def batch(self) -> Asked:
        """All that the rows say."""
        return Asked(self._queries, self._frequency)


class Lines:
    """A query a line; a count may follow after a tab, a comma or a semicolon, or come first (`uniq -c`)."""

    name = "lines"
    is_log = False
    header_lines = 0

    def parser(self, head: bytes) -> "Lines | None":
        """Any text will do, unless it would be taken apart into what nobody asks for."""
        _, first = next(numbered(head), (0, b""))
        if AccessLog(now=0.0).parser(first) is not None:
            raise ValueError("is an access log: take the queries out of it first, one a line")
        if _JSON_ARRAY.match(head):
            raise ValueError("is a JSON array: write it as JSON Lines, one object a line (`jq -c '.[]'`)")
        return None if b"\0" in head else self

    def parse(self, block: bytes) -> Parsed[Asked]:
        """Read whole lines."""
        return parsed_lines(block, QueryRows(), plain_row)


def plain_row(line: str) -> list[str]:
    r"""A query and its count, empty if there is none.

    >>> plain_row("red shoes"), plain_row("red shoes\t12"), plain_row('"shoes, red",12')
    (['red shoes', ''], ['red shoes', '12'], ['shoes, red', '12'])
    >>> plain_row("     12 red shoes")
    ['red shoes', '12']
    >>> plain_row("paris, 2024"), plain_row("windows 10")
    (['paris, 2024', ''], ['windows 10', ''])
    """
    if counted := _COUNTED.fullmatch(line):
        return [counted[2], counted[1]]
    for delimiter in "\t,;":
        if delimiter in line:
            *query, number = cells(line, delimiter)
            if query and number.isdecimal():
                return [delimiter.join(query), number]
    return [line, ""]


def count_of(text: str) -> float:
    """How often a query was asked: 1 if nothing is said; `ValueError` if it is no number.

    >>> count_of(""), count_of("12"), count_of("1.5"), count_of("1,234"), count_of("2\u202f000")
    (1.0, 12.0, 1.5, 1234.0, 2000.0)
    """
    count = number_of(text, is_count=True) if text else 1.0
    if not 0 <= count < TOO_LARGE:
        raise ValueError("count must be 0 or more, and below 1e15")
    return count


def formats() -> list[Format[Asked]]:
    """How queries may be written."""
    return [JsonLines(FIELDS, QueryRows), Csv(FIELDS, QueryRows, needs_header=True), Lines()]
