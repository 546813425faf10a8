"""Queries as people and tools write them, and as nobody should."""

import gzip
import re
from pathlib import Path

import pytest

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.errors import InputError
from scrapy_freshness.imports.queries import count_of, formats
from scrapy_freshness.imports.query_sink import QuerySink
from scrapy_freshness.imports.run import Imported, import_file
from scrapy_freshness.storage.store import Store


def imported(store: Store, path: Path) -> tuple[dict[str, float], Imported]:
    """The terms after an import, and what came of it."""
    known = store.load_imports("queries")
    done = import_file(str(path), "queries", formats(), QuerySink(store), known, ManualClock(1e9))
    terms = store.load_queries()
    return dict(zip(terms.terms, terms.frequency.tolist(), strict=True)), done


@pytest.mark.parametrize(
    ("content", "format_", "terms"),
    [
        ("red shoes\nShoes\n", "lines", {"red": 1, "shoes": 2}),
        ("red shoes\t3\nshoes,2\n", "lines", {"red": 3, "shoes": 5}),
        ("      7 red shoes\n     12 shoes\n", "lines", {"red": 7, "shoes": 19}),
        ('query,count\n"shoes, red",3\nshoes,\n', "csv", {"red": 3, "shoes": 4}),
        # Search Console: a query was asked as often as it was answered.
        ('Top queries,Clicks,Impressions,CTR\nshoes,3,"1,200",0.25%\n', "csv", {"shoes": 1200}),
        ("Häufigste Suchanfragen;Klicks;Impressionen\nschuhe;3;40\n", "csv", {"schuhe": 40}),
        # Matomo, site search.
        ("label,nb_visits,nb_hits\nshoes,3,7\n", "csv", {"shoes": 7}),
        # Google Analytics, before and after 2023.
        ('Search Term,Total Unique Searches\nshoes,"1,234"\n', "csv", {"shoes": 1234}),
        ("# ----\n# Site search\n# ----\n\nSearch term,Event count\nshoes,7\n", "csv", {"shoes": 7}),
        ('{"query": "shoes", "count": 4}\n{"keyword": "red", "hits": 2}\n', "jsonl", {"red": 2, "shoes": 4}),
        (
            '{"searchTerm": "shoes", "event_count": 4}\n{"query": 3.14}\n',
            "jsonl",
            {"shoes": 4, "3": 1, "14": 1},
        ),
        # What begins like something else is a query all the same.
        ("#shoes\n[red shoes]\n", "lines", {"red": 1, "shoes": 2}),
    ],
)
def test_logs_are_understood(
    sqlite_url: str, tmp_path: Path, content: str, format_: str, terms: dict[str, float]
) -> None:
    path = tmp_path / "log"
    path.write_text(content)
    with Store.open(sqlite_url) as store:
        found, done = imported(store, path)

    assert found == terms
    assert done.progress.format == format_
    assert not done.bad


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            '203.0.113.9 - - [17/Nov/2026:04:05:06 +0000] "GET /?q=shoes HTTP/1.1" 200 5 "-" "Mozilla/5.0"\n',
            "log is an access log: take the queries out of it first, one a line",
        ),
        ('[{"query": "shoes", "count": 4}]\n', "log is a JSON array: write it as JSON Lines"),
        ('\n[\n  "shoes"\n]\n', "log is a JSON array: write it as JSON Lines"),
    ],
)
def test_what_is_no_log_of_queries_is_refused(
    sqlite_url: str, tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "log"
    path.write_text(content)
    with Store.open(sqlite_url) as store:
        with pytest.raises(InputError, match=re.escape(words)):
            imported(store, path)

        assert not store.load_queries().terms


def test_a_log_counts_once_and_goes_on_where_it_ended(database_url: str, tmp_path: Path) -> None:
    path, packed = tmp_path / "log", tmp_path / "log.gz"
    path.write_text("rain\nrain tokyo\n")
    with Store.open(database_url) as store:
        version = store.query_version()
        imported(store, path)
        imported(store, path)
        assert store.query_version() != version
        packed.write_bytes(gzip.compress(b"rain\nrain tokyo\nsnow rain\n"))
        found, done = imported(store, packed)

        assert found == {"rain": 3, "tokyo": 1, "snow": 1}
        assert done.lines == 1
        assert done.progress.counts == {"queries": 3}
        assert store.clear_queries() == 3
        assert imported(store, path)[0] == {"rain": 2, "tokyo": 1}
        assert store.load_queries().term_id.min() > 3  # a number is never given out again


def test_any_script_and_any_rubbish(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    lines = [
        b"query,count",
        "東京の天気,2".encode(),
        "погода Москва,1".encode(),
        "طقس القاهرة,1".encode(),
        "🍕,3".encode(),
        "café,1".encode("cp1252"),
        "café,1".encode(),
        b",5",
        b"   ,5",
        b"the of and,1",
        b"???,9",
        b"shoes,many",
        b"shoes,-1",
        b"shoes,nan",
        b"nul\0byte,1",
        b"\xff\xfe\xfd,1",
        b"a" * 10_000 + b",1",
        b" ".join(b"word%d" % number for number in range(1500)) + b",1",
        b'"open quote,1',
        b"",
    ]
    path.write_bytes(b"\r\n".join(lines))
    with Store.open(sqlite_url) as store:
        found, done = imported(store, path)

    assert {term: found[term] for term in ("東京", "天気", "погода", "القاهرة", "🍕", "café", "of")} == {
        "東京": 2, "天気": 2, "погода": 1, "القاهرة": 1, "🍕": 3, "café": 2, "of": 1,
    }  # fmt: skip
    assert "word31" in found
    assert "word32" not in found
    assert "shoes" not in found
    assert done.bad["has no words"] >= 3
    assert done.bad["no number"] == 1
    assert done.bad["count must be 0 or more, and below 1e15"] == 2
    assert done.bad["has NUL bytes"] == 1


def test_utf_16_as_spreadsheets_write_it(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes("Keyword\tSearches\nnaïve 東京\t12\n".encode("utf-16"))
    with Store.open(sqlite_url) as store:
        assert imported(store, path)[0] == {"naïve": 12, "東京": 12}


@pytest.mark.parametrize("text", ["x", "1e999", "1e308", "1e15", "nan", "-2", "1,2,3,"])
def test_a_count_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"count|no number"):
        count_of(text)
