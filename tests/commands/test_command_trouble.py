"""What every subcommand does when the database is missing, empty, in use, newer, or full of hostile text."""

import errno
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from answering import Answer
from small_web import HOSTILE, SLOW, page

from scrapy_freshness.commands import module_of
from scrapy_freshness.insight.human import safe
from scrapy_freshness.model import Batch
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]

READING = [("status",), ("pages",), ("show", SLOW), ("why", SLOW), ("db", "check"), ("export",)]
WRITING = [("forget", SLOW, "--yes"), ("db", "adopt", "news", "journal")]

readers = pytest.mark.parametrize("command", READING, ids=" ".join)
everyone = pytest.mark.parametrize("command", READING + WRITING, ids=" ".join)


def is_one_line(answer: Answer) -> bool:
    return (
        answer.out == "" and len(answer.err.splitlines()) == 1 and answer.err.startswith("scrapy freshness: ")
    )


@everyone
def test_a_missing_database_is_one_line_that_tells_what_to_do(
    freshness: Run, sqlite_url: str, command: tuple[str, ...]
) -> None:
    answer = freshness(*command, url=sqlite_url)

    assert answer.exit_code == 1
    assert is_one_line(answer)
    assert "there is no database" in answer.err
    assert "crawl first" in answer.err
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()


@everyone
def test_a_database_of_somebody_else_is_left_alone(
    freshness: Run, sqlite_url: str, command: tuple[str, ...]
) -> None:
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    with connection:
        connection.execute("CREATE TABLE page (title TEXT)")
    connection.close()
    answer = freshness(*command, url=sqlite_url)

    assert answer.exit_code == 1
    assert is_one_line(answer)


@everyone
def test_a_file_that_is_no_database_is_one_line(
    freshness: Run, sqlite_url: str, command: tuple[str, ...]
) -> None:
    Path(sqlite_url.removeprefix("sqlite:///")).write_text("Dear diary, " * 100)
    answer = freshness(*command, url=sqlite_url)

    assert answer.exit_code == 1
    assert is_one_line(answer)
    assert "is not a SQLite database" in answer.err


@everyone
def test_a_newer_schema_is_refused(freshness: Run, database_url: str, command: tuple[str, ...]) -> None:
    with Store.open(database_url) as store, store.writing() as connection:
        connection.exec_driver_sql("UPDATE freshness_version SET version_num = '9999'")
    answer = freshness(*command, url=database_url)

    assert answer.exit_code == 1
    assert is_one_line(answer)
    assert "made by a newer scrapy-freshness" in answer.err


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://me@host/name", "postgresql://nobody@127.0.0.1:1/none"]
)
def test_a_url_that_leads_nowhere_is_one_line(freshness: Run, url: str) -> None:
    answer = freshness("status", "--database", url)

    assert answer.exit_code == 1
    assert is_one_line(answer)


@pytest.mark.parametrize(
    "command",
    [
        ("import", "queries", "{name}"),
        ("import", "clicks", "/tmp/{name}/log"),
        ("export", "--output", "{name}"),
        ("export", "--trace", "--output", "{name}"),
        ("simulate", "poisson", "--plot", "{name}/plot.png"),
        ("replay", "{name}", "--policy", "fixed", "--budget", "9/day"),
        ("replay", "x", "--policy", "fixed", "--budget", "9/day", "--plot", "{name}/plot.png"),
        ("status", "--database", "sqlite:///{name}"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_name_that_no_file_can_have_is_one_line(freshness: Run, command: tuple[str, ...]) -> None:
    name = "x" * 5000
    answer = freshness(*(each.format(name=name) for each in command))

    assert answer.exit_code == 2
    assert is_one_line(answer)
    assert "File name too long" in answer.err


def test_a_full_disk_is_an_error_not_bad_input(freshness: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module_of("settings"), "run", run)
    answer = freshness("settings")

    assert (answer.exit_code, answer.err) == (1, "scrapy freshness: No space left on device\n")


@pytest.mark.parametrize(
    "command",
    ["status", "top", "pages", "queries", "queries --rebuild", "search rain", "sources", "db adopt x"],
)
def test_a_spider_that_nobody_knows_is_the_same_line_everywhere(freshness: Run, command: str) -> None:
    given = command.split() if "adopt" not in command else ["db", "adopt", "nosuch", "x"]
    option = [] if "adopt" in command else ["--spider", "nosuch"]
    answer = freshness(*given, *option)

    assert (answer.exit_code, answer.out) == (2, "")
    assert answer.err == "scrapy freshness: no spider nosuch is known, only news, shop\n"


@pytest.mark.parametrize("command", ["pages --host", "signals --host", "sources --host", "forget --yes"])
def test_a_host_that_nobody_knows_is_the_same_line_everywhere(freshness: Run, command: str) -> None:
    answer = freshness(*command.split(), "nosuch")

    assert (answer.exit_code, answer.out) == (2, "")
    assert answer.err == "scrapy freshness: no host nosuch is known\n"


@pytest.mark.parametrize("command", [("pages", "--limit"), ("pages", "--offset"), ("show", SLOW, "--visits")])
def test_nobody_asks_for_so_many_rows(
    freshness: Run, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        freshness(*command, "9" * 23)

    assert ended.value.code == 2
    assert "write a whole number from 0 to 1000000000" in capsys.readouterr().err
    assert freshness(*command, "1000000000").exit_code == 0


@readers
def test_a_database_in_use_can_be_read(freshness: Run, web_url: str, command: tuple[str, ...]) -> None:
    with Store.open(web_url) as store:
        store.lock("news")

        assert freshness(*command).exit_code == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("status",), "No spider has crawled with this database yet."),
        (("pages",), "No such pages."),
        (("pages", "--sort", "value"), "No such pages."),
        (("db", "check"), "All is well."),
    ],
)
def test_an_empty_database_is_no_error(
    freshness: Run, database_url: str, command: tuple[str, ...], said: str
) -> None:
    Store.open(database_url).close()
    answer = freshness(*command, url=database_url)

    assert answer.exit_code == 0
    assert said in answer.out


def test_an_empty_database_knows_no_page(freshness: Run, database_url: str) -> None:
    Store.open(database_url).close()
    answer = freshness("why", SLOW, url=database_url)

    assert answer.exit_code == 1
    assert answer.err == f"scrapy freshness: no page {SLOW} is known\n"


@pytest.mark.parametrize("columns", ["40", "80", "160"])
@pytest.mark.parametrize(
    "command",
    [("status",), ("pages",), ("pages", "--sort", "value"), ("show", HOSTILE), ("why", HOSTILE)],
    ids=lambda command: command[0],
)
def test_hostile_text_is_spelt_out(
    freshness: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    answer = freshness(*command)

    assert answer.exit_code == 0
    assert all(line.isprintable() for line in answer.out.splitlines())
    assert "\r" not in answer.out


def test_hostile_text_is_shown_as_it_is_written(freshness: Run) -> None:
    out = freshness("show", HOSTILE).out.replace("\n", "")

    assert safe(HOSTILE) in out
    assert "[bold red]x[/]" in out
    assert ":smile:" in out


def test_hostile_text_in_json_is_ascii(freshness: Run) -> None:
    for command in (("pages", "--limit", "99"), ("show", HOSTILE), ("why", HOSTILE), ("status",)):
        answer = freshness(*command, "--json")
        assert answer.out.isascii()
        assert answer.json


def test_hostile_text_in_an_error_is_spelt_out(freshness: Run) -> None:
    answer = freshness("show", HOSTILE + "\x1b[2J")

    assert is_one_line(answer)
    assert answer.err.rstrip("\n").isprintable()


def test_a_very_long_url_breaks_nothing(
    freshness: Run, web_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "http://a.example/" + "x" * 10_000
    with Store.open(web_url) as store:
        store.save("news", Batch(pages=[page(long, 3600.0, 60.0, page_id=77)]))

    for columns in ("80", "160"):
        monkeypatch.setenv("COLUMNS", columns)
        assert max(map(len, freshness("pages", "--limit", "99").out.splitlines())) <= int(columns)
    assert freshness("show", long, "--json").json["pages"][0]["url"] == long
    assert len(freshness("show", long + "y").err) < 1000


def test_numbers_out_of_all_proportion_are_shown(freshness: Run, web_url: str) -> None:
    odd = [
        page("http://a.example/1", 1e-9, 1e12, page_id=71, importance=1e300, visits=10**9, not_before=1e18),
        page("http://a.example/2", 1e300, -1e12, page_id=72, importance=0.0, discovered_at=-1e12),
        page("http://a.example/3", 1e5, None, page_id=73, priority=-(10**9)),
    ]
    with Store.open(web_url) as store:
        store.save("news", Batch(pages=odd))

    for command in ("status", "pages"):
        assert freshness(command).exit_code == 0
        assert freshness(command, "--json").json
    assert freshness("pages", "--sort", "next_visit").exit_code == 0
    for each in odd:
        assert freshness("show", each.url).exit_code == 0
        assert freshness("why", each.url).exit_code == 0
        assert freshness("why", each.url, "--json").json
