"""`scrapy freshness import`: files in, pages changed, the rest told."""

from collections.abc import Callable
from pathlib import Path

import pytest
from answering import Answer, answer_of
from small_web import FAST, NEW, SLOW, fill

from scrapy_freshness.model import Batch
from scrapy_freshness.storage.store import Store


def importances(url: str) -> dict[str, float]:
    with Store.open_readonly(url) as store:
        return {record.url: record.importance for record in store.load_records(range(1, 20))}


def test_importances_reach_pages_while_a_crawl_runs(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(database_url)
    file = tmp_path / "importance.csv"
    file.write_text(f"url;importance\n{SLOW};7,5\n{FAST}#top;2\nhttp://a.example/unknown;3\nx;1\n{NEW};-1\n")
    with Store.open(database_url) as crawl:
        crawl.lock("news")
        answer = answer_of("import", "importance", str(file), "--json", url=database_url, capsys=capsys)
        record = crawl.load_records([1])[0]
        record.importance = 1.0  # what the crawl still believes
        crawl.save("news", Batch(pages=[record]))
    found = importances(database_url)

    assert answer.exit_code == 0
    assert answer.json["pages"] == 2
    assert answer.json["kept"] == 1
    assert answer.json["files"][0]["bad"] == {"no usable URL": 1, "importance must be above 0": 1}
    assert [each["line"] for each in answer.json["files"][0]["shown"]] == [5, 6]
    assert (found[SLOW], found[FAST], found[NEW]) == (7.5, 2.0, 1.0)


def test_trouble_is_one_line(freshness: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    for arguments, words in [
        ((str(tmp_path / "missing"),), "missing cannot be read: No such file"),
        ((str(file),), "picture.png is not in a format that is known here (jsonl, csv)"),
        ((str(file), "--format", "xml"), "there is no format xml of importance: choose one of jsonl, csv"),
    ]:
        answer = freshness("import", "importance", *arguments)

        assert (answer.exit_code, answer.out) == (2, "")
        assert words in answer.err
        assert answer.err.count("\n") == 1
