"""`scrapy freshness db upgrade|check|adopt`."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from answering import Answer
from scrapy.exceptions import UsageError
from small_web import SHARED, fill

from scrapy_freshness.storage import inspection
from scrapy_freshness.storage.migrations import head_revision
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def execute(url: str, statement: str) -> None:
    connection = sqlite3.connect(file_of(url))
    with connection:
        connection.execute(statement)
    connection.close()


def test_upgrade_creates_a_database_once(freshness: Run, database_url: str) -> None:
    created = freshness("db", "upgrade", url=database_url)
    again = freshness("db", "upgrade", "--json", url=database_url)

    assert created.out.startswith("Created database")
    assert again.json["from"] == again.json["to"] == head_revision()


def test_upgrade_says_if_there_is_nothing_to_do(freshness: Run) -> None:
    assert f"has schema {head_revision()} already." in freshness("db", "upgrade").out


def test_upgrade_tells_from_where_to_where(freshness: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    revisions = iter(("0000", "0001"))
    monkeypatch.setattr(inspection, "revision", lambda url: next(revisions))

    assert freshness("db", "upgrade").out.endswith("from schema 0000 to 0001.\n")


def test_check_is_content_with_a_sound_database(freshness: Run, database_url: str) -> None:
    fill(database_url)
    answer = freshness("db", "check", url=database_url)
    found = freshness("db", "check", "--json", url=database_url)

    assert (answer.exit_code, found.exit_code) == (0, 0)
    assert "All is well." in answer.out
    assert "12 of news, 1 of shop" in answer.out
    assert found.json["pages"] == {"news": 12, "shop": 1}
    assert found.json["is_fine"] is True


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM page_detail WHERE page_id = 1", "1 pages without details"),
        ("DELETE FROM page WHERE page_id = 1", "1 details without a page"),
        ("DELETE FROM host WHERE name = 'a.example'", "pages of an unknown host"),
        ("INSERT INTO click_span VALUES (99, 0, 1)", "1 times of clicks on an unknown host"),
        (
            "UPDATE page_detail SET history = x'00' WHERE page_id = 2",
            "history or profiles of 1 page cannot be read",
        ),
        ("UPDATE page_detail SET profiles = x'07' WHERE page_id = 2", "http://a.example/fast"),
    ],
)
def test_check_finds_damage(freshness: Run, web_url: str, damage: str, told: str) -> None:
    execute(web_url, damage)
    answer = freshness("db", "check")

    assert answer.exit_code == 1
    assert told in answer.out
    assert freshness("db", "check", "--json").json["is_fine"] is False


def test_check_finds_a_broken_file(freshness: Run, web_url: str) -> None:
    data = bytearray(file_of(web_url).read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    file_of(web_url).write_bytes(data)
    answer = freshness("db", "check")

    assert answer.exit_code == 1
    assert "damaged" in answer.err or "Tree" in answer.out


def test_check_works_while_a_crawl_runs(freshness: Run, web_url: str) -> None:
    with Store.open(web_url) as store:
        store.lock("news")

        assert freshness("db", "check").exit_code == 0


def test_a_renamed_spider_adopts_its_pages(freshness: Run, database_url: str) -> None:
    fill(database_url)
    answer = freshness("db", "adopt", "news", "journal", url=database_url)

    assert answer.out == "Spider journal has the 12 pages of news.\n"
    status = freshness("status", "--json", url=database_url).json
    assert [spider["spider"] for spider in status["spiders"]] == ["journal", "shop"]


def test_an_heir_that_knows_the_page_gets_the_one_with_the_history(freshness: Run) -> None:
    freshness("db", "adopt", "news", "shop", "--json")
    (page,) = freshness("show", SHARED, "--json").json["pages"]

    assert page["spider"] == "shop"
    assert page["page_id"] < 100


def test_a_spider_that_does_not_exist_cannot_be_adopted(freshness: Run) -> None:
    answer = freshness("db", "adopt", "nwes", "journal")

    assert answer.exit_code == 2
    assert "no spider nwes is known, only news, shop" in answer.err


def test_adoption_waits_for_no_crawl(freshness: Run, web_url: str) -> None:
    with Store.open(web_url) as store:
        store.lock("news")
        answer = freshness("db", "adopt", "news", "journal")

    assert answer.exit_code == 1
    assert "a crawl is using database" in answer.err
    assert [each["spider"] for each in freshness("status", "--json").json["spiders"]] == ["news", "shop"]


def test_an_action_must_be_named(freshness: Run) -> None:
    answer = freshness("db")

    assert answer.exit_code == 2
    assert answer.err == "scrapy freshness: usage: scrapy freshness db {upgrade,check,adopt OLD NEW}\n"
    with pytest.raises(SystemExit) as stopped:
        freshness("db", "repair")
    assert stopped.value.code == 2


@pytest.mark.parametrize("arguments", [("adopt", "one"), ("adopt", "1", "2", "3"), ("check", "one")])
def test_only_adoption_takes_names(freshness: Run, arguments: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        freshness("db", *arguments)
