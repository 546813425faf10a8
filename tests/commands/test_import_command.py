"""`scrapy freshness import`: files in, pages changed, the rest told."""

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from answering import Answer, answer_of
from small_web import FAST, NEW, SLOW, fill
from test_command_docs import ancestors, documented, paths

from scrapy_freshness.commands.import_ import KINDS
from scrapy_freshness.model import Batch
from scrapy_freshness.storage.store import Store


def importances(url: str) -> dict[str, float]:
    with Store.open_readonly(url) as store:
        return {record.url: record.importance for record in store.load_records(range(1, 20))}


def test_numbers_beyond_all_measure_are_bad_lines(
    freshness: Callable[..., Answer], web_url: str, tmp_path: Path
) -> None:
    """Two of them added up, or one of them times a rate, would be infinite."""
    queries, importance = tmp_path / "queries.csv", tmp_path / "importance.csv"
    queries.write_text("query,count\nrain,1e308\nsun,1e308\nsnow,2\n")
    importance.write_text(f"url,importance\n{FAST},1e308\n")
    asked = freshness("import", "queries", str(queries), "--json")
    weighed = freshness("import", "importance", str(importance), "--json")

    assert asked.json["files"][0]["bad"] == {"count must be 0 or more, and below 1e15": 2}
    assert weighed.json["files"][0]["bad"] == {"importance must be above 0, and below 1e15": 1}
    assert importances(web_url)[FAST] == 1.0


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
    assert answer.json["files"][0]["bad"] == {
        "no usable URL": 1,
        "importance must be above 0, and below 1e15": 1,
    }
    assert [each["line"] for each in answer.json["files"][0]["shown"]] == [5, 6]
    assert (found[SLOW], found[FAST], found[NEW]) == (7.5, 2.0, 1.0)


def test_importances_that_were_imported_last_count(
    freshness: Callable[..., Answer], web_url: str, tmp_path: Path
) -> None:
    both, other = tmp_path / "both.csv", tmp_path / "other.csv"
    both.write_text(f"url,importance\n{FAST},5\n{SLOW},6\n")
    other.write_text(f"url,importance\n{FAST},7\n")

    def found_after(*files: Path) -> tuple[float, float]:
        assert freshness("import", "importance", *map(str, files)).exit_code == 0
        found = importances(web_url)
        return found[FAST], found[SLOW]

    assert found_after(both) == found_after(both) == (5.0, 6.0)
    assert found_after(other) == (7.0, 6.0)
    assert found_after(both) == (5.0, 6.0)
    assert found_after(both, other) == (7.0, 6.0)


def test_importances_that_were_cut_off_are_gone_on_with(
    freshness: Callable[..., Answer], web_url: str, tmp_path: Path
) -> None:
    rng = random.Random(1)
    others = "".join(f"http://a.example/{rng.random()},2\n" for _ in range(3000))
    whole = gzip.compress(f"url,importance\n{FAST},5\n{others}{SLOW},6\n".encode())
    file = tmp_path / "importance.csv.gz"
    arguments = ("import", "importance", str(file), "--json")
    file.write_bytes(whole[: len(whole) // 2])
    assert freshness(*arguments).exit_code == 2
    assert importances(web_url)[FAST] == 5.0

    file.write_bytes(whole)
    rest, again = freshness(*arguments).json, freshness(*arguments).json
    (rest_of_it,), (all_of_it,) = rest["files"], again["files"]

    assert importances(web_url)[SLOW] == 6.0
    assert rest_of_it["known_bytes"] > 0 == all_of_it["known_bytes"]
    assert 0 < rest_of_it["lines"] < all_of_it["lines"] == 3002
    assert (rest["pages"], again["pages"]) == (1, 2)


def test_clicks_are_told_and_believed(freshness: Callable[..., Answer], web_url: str, tmp_path: Path) -> None:
    lines = [
        f'10.0.0.1 - - [16/Nov/2026:{minute // 60:02}:{minute % 60:02}:00 +0000] "GET {path} HTTP/1.1" 200 5 '
        f'"-" "{agent}"\n'
        for minute in range(900)
        for path, agent in (("/fast", "Firefox/140"), ("/slow", "Googlebot"), ("/nowhere", "Firefox/140"))
    ]
    log = tmp_path / "access.log.gz"
    log.write_bytes(gzip.compress("".join([*lines, "garbage\n"]).encode()))
    arguments = ("import", "clicks", str(log), "--base-url", "http://a.example", "--json")
    answer = freshness(*arguments)
    again = freshness(*arguments)
    assert importances(web_url)[FAST] == pytest.approx(1 / 60, rel=0.1)
    told = freshness(*arguments[:-1], "--again")

    csv = tmp_path / "importance.csv"
    csv.write_text("http://a.example/*,2\n")
    given = freshness("import", "importance", str(csv), "--json").json
    assert (given["others"], importances(web_url)[FAST]) == (6, 2.0)
    words = tmp_path / "queries.csv"
    words.write_text("query,clicks of all\nfresh news,3\n")
    assert "1 line with no count that is known" in freshness("import", "queries", str(words)).out
    words.write_text("query,count\nfresh news,3.125\n")
    asked = freshness("import", "queries", str(words), "--json").json
    found = set().union(*map(paths, (answer.json, given, asked)))
    assert asked["files"][0]["doubts"] == {"a count such as 1.234 or 1,234, read as 1234": 1}
    assert {path for path in found if not ancestors(path) & documented("import")} == set()
    assert documented("import") - set().union(*map(ancestors, found)) == set()

    assert answer.json["counts"] == {
        "by bots": 900,
        "clicks on known pages": 900,
        "clicks on other addresses": 900,
    }
    assert answer.json["files"][0]["bad"] == {"no line of an access log": 1}
    assert answer.json["pages"] == 12
    assert again.json["files"][0]["lines"] == again.json["pages"] == 0
    assert "1 line could not be used: 1 no line of an access log." in told.out
    assert "  line 2,701: no line of an access log: garbage" in told.out


def test_a_wrong_import_can_be_taken_back(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def freshness(*arguments: str) -> Answer:
        return answer_of(*arguments, url=database_url, capsys=capsys)

    fill(database_url)
    before = importances(database_url)
    clicks, given, words = tmp_path / "clicks.csv", tmp_path / "given.csv", tmp_path / "queries.csv"
    clicks.write_text(f"url,time,count\n{FAST},2026-11-16,86400\nhttp://a.example/unknown,2026-11-16,5\n")
    given.write_text(f"url,importance\n{SLOW},7\nhttp://a.example/unknown,3\nhttp://a.example/f*,4\n")
    words.write_text("rain\n")

    assert freshness("import", "clicks", str(clicks)).exit_code == 0
    assert freshness("import", "importance", str(given)).exit_code == 0
    found = importances(database_url)
    assert (found[SLOW], found[FAST]) == (7.0, 4.0)
    with Store.open(database_url) as crawl:
        crawl.lock("news")
        assert "a crawl is using database" in freshness("import", "importance", "--clear").err

    assert freshness("import", "importance", "--clear").out == "Forgot 3 importances.\n"
    assert importances(database_url)[FAST] > 0.9
    assert importances(database_url)[SLOW] < 0.5

    assert freshness("import", "clicks", "--clear").out == "Forgot the clicks on 2 pages.\n"
    assert importances(database_url) == dict.fromkeys(before, 1.0)

    assert freshness("import", "queries", str(words)).exit_code == 0
    assert freshness("import", "queries", "--clear", "--json").json == {"kind": "queries", "cleared": 2}
    with Store.open_readonly(database_url) as store:
        assert not store.has_clicks()
        assert store.load_rules() == [each for kind in KINDS for each in store.load_imports(kind)] == []
    assert freshness("import", "clicks", str(clicks), "--json").json["files"][0]["lines"] == 2


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
    for arguments in ((), (str(file), "--clear")):
        assert "import takes files, or --clear without any" in freshness("import", "clicks", *arguments).err
