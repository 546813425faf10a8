"""`scrapy freshness export`."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from answering import Answer
from scrapy.exceptions import UsageError
from small_web import HOSTILE, SLOW, fill

from scrapy_freshness.commands import export
from scrapy_freshness.commands.export import PAGE_COLUMNS, VISIT_COLUMNS
from scrapy_freshness.errors import StorageError
from scrapy_freshness.storage.page_reports import view_rows
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def failing_rows(store: Store, view: str, after: int, limit: int) -> list[dict[str, object]]:
    """A database that breaks after the first rows."""
    if after:
        raise StorageError("the disk reports an error")
    return view_rows(store, view, after, 3)


@pytest.fixture(params=[1, 5, 1000])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(export, "CHUNK", request.param)
    return int(request.param)


def test_every_page_is_exported_once_in_chunks_of_any_size(freshness: Run, chunk: int) -> None:
    rows = lines(freshness("export").out)
    listed = freshness("pages", "--json", "--limit", "99").json["pages"]

    assert sorted(row["page_id"] for row in rows) == sorted(page["page_id"] for page in listed)
    assert all(tuple(row) == PAGE_COLUMNS for row in rows)


def test_exported_numbers_are_those_that_pages_shows(freshness: Run) -> None:
    rows = {row["page_id"]: row for row in lines(freshness("export").out)}
    for page in freshness("pages", "--json", "--limit", "99").json["pages"]:
        assert {name: rows[page["page_id"]][name] for name in page} == page


def test_both_formats_have_the_same_values(freshness: Run, database_url: str) -> None:
    fill(database_url)
    rows = lines(freshness("export", url=database_url).out)
    table = list(
        csv.DictReader(io.StringIO(freshness("export", "--format", "csv", url=database_url).out, newline=""))
    )

    assert [row["url"] for row in table] == [row["url"] for row in rows]
    assert tuple(table[0]) == PAGE_COLUMNS
    for text, row in zip(table, rows, strict=True):
        assert text == {name: "" if value is None else str(value) for name, value in row.items()}


def test_json_is_one_array_and_json_lines_are_lines(freshness: Run, chunk: int, tmp_path: Path) -> None:
    rows = lines(freshness("export", "--format", "jsonl").out)
    freshness("export", "--json", "--output", str(tmp_path / "pages.csv"))

    assert freshness("export", "--json").json == rows
    assert lines(freshness("export", "--json", "--format", "jsonl").out) == rows
    assert json.loads((tmp_path / "pages.csv").read_text()) == rows
    assert len(freshness("export", "--visits", "--json").json) == 3


def test_the_log_of_visits_is_exported(freshness: Run, database_url: str, chunk: int) -> None:
    fill(database_url)
    rows = lines(freshness("export", "--visits", url=database_url).out)

    assert [row["outcome"] for row in rows] == ["changed", "not_modified", "failed"]
    assert tuple(rows[0]) == VISIT_COLUMNS
    assert rows[0]["url"] == SLOW


def test_a_file_is_written_as_its_name_says(freshness: Run, tmp_path: Path) -> None:
    answer = freshness("export", "--output", str(tmp_path / "pages.csv"))

    assert (answer.out, answer.err) == ("", f"Wrote 13 pages to {tmp_path / 'pages.csv'}.\n")
    assert (tmp_path / "pages.csv").read_text().startswith("page_id,spider,")
    assert [path.name for path in tmp_path.glob("*.part")] == []


def test_a_failing_export_leaves_the_old_file(
    freshness: Run, web_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "pages.jsonl"
    target.write_text("old")
    monkeypatch.setattr(export, "view_rows", failing_rows)
    answer = freshness("export", "--output", str(target))

    assert answer.exit_code == 1
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.glob("*.part")] == []


@pytest.mark.parametrize("name", ["", "nowhere/pages.jsonl"])
def test_a_file_that_cannot_be_written_is_one_line(freshness: Run, tmp_path: Path, name: str) -> None:
    answer = freshness("export", "--output", str(tmp_path / name))

    assert answer.exit_code == 1
    assert "cannot be written" in answer.err
    assert len(answer.err.splitlines()) == 1


def test_hostile_text_arrives_as_it_is(freshness: Run) -> None:
    with_json = lines(freshness("export").out)
    table = csv.DictReader(io.StringIO(freshness("export", "--format", "csv").out, newline=""))

    assert HOSTILE in {row["url"] for row in with_json}
    assert HOSTILE in {row["url"] for row in table}


def test_an_empty_database_is_an_empty_file(freshness: Run, sqlite_url: str) -> None:
    Store.open(sqlite_url).close()

    assert freshness("export", url=sqlite_url).out == ""
    assert freshness("export", "--json", url=sqlite_url).json == []
    assert freshness("export", "--format", "csv", url=sqlite_url).out == ",".join(PAGE_COLUMNS) + "\n"


def test_two_formats_at_once_are_a_usage_error(freshness: Run) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        freshness("export", "--json", "--format", "csv")
