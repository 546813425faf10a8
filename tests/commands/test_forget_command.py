"""`scrapy freshness forget URL|HOST`."""

import io
from collections.abc import Callable

import pytest
from answering import Answer
from small_web import NEW, OLD, SHARED, SLOW, fill

from scrapy_freshness.model import WishKind
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.wishes import waiting

Run = Callable[..., Answer]


class Terminal(io.StringIO):
    """Somebody who types an answer."""

    def isatty(self) -> bool:
        return True


def known(freshness: Run, **options: str) -> set[str]:
    return {page["url"] for page in freshness("pages", "--json", "--limit", "99", **options).json["pages"]}


def test_a_page_is_forgotten_with_its_visits(freshness: Run, database_url: str) -> None:
    fill(database_url)
    answer = freshness("forget", SLOW, "--yes", url=database_url)

    assert answer.out == f"Forgot 1 page of {SLOW}.\n"
    assert SLOW not in known(freshness, url=database_url)
    assert freshness("db", "check", url=database_url).exit_code == 0


def test_a_page_of_several_spiders_is_forgotten_by_all(freshness: Run) -> None:
    answer = freshness("forget", SHARED, "--yes", "--json").json

    assert answer == {"urls": [SHARED], "host": None, "pages": 2, "done": True}


def test_a_page_is_forgotten_by_any_form_of_its_url(freshness: Run) -> None:
    assert freshness("forget", "http://a.example/old?a=1&b=2", "--yes", "--json").json["urls"] == [OLD]
    assert OLD not in known(freshness)


def test_a_host_is_forgotten(freshness: Run) -> None:
    answer = freshness("forget", "a.example", "--yes")

    assert answer.out == "Forgot 6 pages of host a.example.\n"
    assert not {SLOW, NEW, OLD} & known(freshness)


@pytest.mark.parametrize(
    ("typed", "is_removed"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_the_user_is_asked(
    freshness: Run, monkeypatch: pytest.MonkeyPatch, typed: str, is_removed: bool
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    answer = freshness("forget", "a.example")

    assert answer.err == "Forget 6 pages of host a.example with all visits? [y/N] "
    assert answer.exit_code == (0 if is_removed else 1)
    assert (SLOW in known(freshness)) is not is_removed


def test_nothing_is_removed_without_an_answer(freshness: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    answer = freshness("forget", SLOW)

    assert answer.exit_code == 1
    assert "add --yes" in answer.err
    assert SLOW in known(freshness)


def test_a_crawl_that_runs_is_told_to_forget(freshness: Run, database_url: str) -> None:
    fill(database_url)
    with Store.open(database_url) as store:
        store.lock("news")
        page = freshness("forget", SLOW, "--yes", url=database_url)
        host = freshness("forget", "b.example", "--yes", "--json", url=database_url)
        asked = [(wish.kind, wish.what) for wish in waiting(store, "news")]

    assert page.out == f"The crawl is told to forget 1 page of {SLOW}.\n"
    assert host.json == {"urls": [], "host": "b.example", "pages": 4, "done": False}
    assert asked == [(WishKind.FORGET, SLOW), (WishKind.FORGET, "b.example")]
    assert SLOW in known(freshness, url=database_url)


@pytest.mark.parametrize("what", ["http://a.example/slo", "nowhere.example", "a.exampl", ""])
def test_what_is_not_known_cannot_be_forgotten(freshness: Run, what: str) -> None:
    answer = freshness("forget", what, "--yes")

    assert answer.exit_code == (1 if "://" in what else 2)
    assert len(answer.err.splitlines()) == 1
    assert len(known(freshness)) == 12
