"""`scrapy freshness export --trace`."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from answering import Answer
from scrapy.exceptions import UsageError
from small_web import HOSTILE, NOW, page

from scrapy_freshness.commands import export
from scrapy_freshness.model import Batch, Outcome, VisitRecord
from scrapy_freshness.simulator.recorded import load_web
from scrapy_freshness.simulator.trace_io import read_trace
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]

#: Outcomes of the hourly visits of three pages.
LOGS = {
    "http://a.example/": [Outcome.FIRST, Outcome.UNCHANGED, Outcome.CHANGED, Outcome.NOT_MODIFIED],
    HOSTILE: [Outcome.FIRST, Outcome.GONE, Outcome.CHANGED],
    "http://a.example/never": [],
}


@pytest.fixture
def visited_url(database_url: str) -> str:
    """A database with three pages, whose visits are mixed in the log."""
    pages = [
        page(url, 3600.0, 0.0, page_id=number, host="a.example", fingerprint=number, visits=len(log))
        for number, (url, log) in enumerate(LOGS.items(), start=1)
    ]
    visits = [
        VisitRecord(page_id=number, at=NOW + 3600 * hour, outcome=log[hour], divergence=0.5)
        for hour in range(4)
        for number, log in enumerate(LOGS.values(), start=1)
        if hour < len(log)
    ]
    with Store.open(database_url) as store:
        for start in range(0, len(visits), 2):  # in several batches, as a crawl writes
            store.save("news", Batch(pages=pages, visits=visits[start : start + 2]))
    return database_url


@pytest.mark.parametrize("chunk", [1, 1000])
@pytest.mark.parametrize("name", ["history.jsonl", "history.jsonl.gz", "history.jsonl.zst"])
def test_the_history_of_every_page_is_written(
    freshness: Run, visited_url: str, tmp_path: Path, name: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "CHUNK", chunk)
    target = tmp_path / name
    answer = freshness("export", "--trace", "--output", str(target), url=visited_url)
    versions = [
        (version.page, version.url, round((version.at - NOW) / 3600), version.kind.value)
        for version in read_trace(target)
    ]

    assert (answer.exit_code, answer.out, answer.err) == (0, "", f"Wrote 5 versions to {target}.\n")
    assert versions == [
        ("news:1", "http://a.example/", 0, "first"),
        ("news:1", "http://a.example/", 2, "change"),
        ("news:2", HOSTILE, 0, "first"),
        ("news:2", HOSTILE, 1, "gone"),
        ("news:2", HOSTILE, 2, "first"),
    ]
    assert [path.name for path in tmp_path.glob("*.part")] == []
    assert target.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_a_written_history_can_be_replayed(freshness: Run, visited_url: str, tmp_path: Path) -> None:
    target = tmp_path / "history.jsonl.gz"
    freshness("export", "--trace", "--output", str(target), url=visited_url)
    web = load_web(target)

    assert [page.contents.tolist() for page in web.pages] == [[0, 1], [0, -1, 2]]
    assert web.pages[0].divergence(0, 1) == pytest.approx(0.5, abs=0.01)


def test_a_history_on_the_terminal_is_plain_text(freshness: Run, visited_url: str) -> None:
    out = freshness("export", "--trace", url=visited_url).out

    assert len(out.splitlines()) == 5
    assert out.isascii()
    assert "\x1b" not in out


def test_an_empty_database_has_no_history(freshness: Run, sqlite_url: str) -> None:
    Store.open(sqlite_url).close()

    assert freshness("export", "--trace", url=sqlite_url).out == ""


def test_a_trace_is_no_table(freshness: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="--trace and --format csv exclude each other"):
        freshness("export", "--trace", "--format", "csv")
    with pytest.raises(SystemExit):
        freshness("export", "--trace", "--visits")
    assert "not allowed with argument" in capsys.readouterr().err


def test_a_trace_that_cannot_be_compressed_is_one_line(
    freshness: Run, visited_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    answer = freshness("export", "--trace", "--output", str(tmp_path / "history.zst"), url=visited_url)

    assert answer.exit_code == 2
    assert answer.err.endswith(
        "history.zst is compressed with zstd: install the package zstandard (scrapy-freshness[zstd])\n"
    )
    assert list(tmp_path.glob("history*")) == []
