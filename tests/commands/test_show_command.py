"""`scrapy freshness show URL`."""

import json
from collections.abc import Callable

import pytest
from answering import Answer
from small_web import FAILING, HOUR, NEW, NOW, OLD, SHARED, SLOW, WAITING, page

from scrapy_freshness.model import Batch
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]


def test_everything_is_told_in_words(freshness: Run) -> None:
    out = freshness("show", SLOW).out

    for expected in (
        SLOW,
        "active (HTTP 200)",
        "every 30 h (15 h–2.5 d)",
        '"abc"; Mon, 16 Nov 2026 15:00:00 GMT',
        "callback: parse_story",
        'cb_kwargs: {"section": "home"}',
        "same for 9 h, changed within 2 h",
        "not modified   304",
        "25 % in 60 min, 50 % in 2 h",
    ):
        assert expected in out


def test_everything_is_told_in_json(freshness: Run) -> None:
    (shown,) = freshness("show", SLOW, "--json").json["pages"]

    assert shown["request"] == {
        "callback": "parse_story",
        "cb_kwargs": {"section": "home"},
        "meta": {"depth": 2},
    }
    assert shown["history"] == [
        {"seconds": 9 * HOUR, "changed": False},
        {"seconds": 2 * HOUR, "changed": True},
    ]
    assert [visit["outcome"] for visit in shown["log"]] == ["not_modified", "changed"]
    assert shown["log"][1] == {
        "at": NOW - 50 * HOUR,
        "outcome": "changed",
        "http_status": 200,
        "divergence": 0.3,
        "body_bytes": 2048,
        "latency_seconds": 0.2,
        "reason": None,
    }
    (profile,) = shown["profiles"]
    assert profile["base_at"] == NOW - 60 * HOUR
    assert profile["divergence"] == [0.25, 0.5]
    assert shown["next_visit_at"] > NOW


def test_the_number_of_visits_is_chosen(freshness: Run) -> None:
    (shown,) = freshness("show", SLOW, "--json", "--visits", "1").json["pages"]

    assert [visit["outcome"] for visit in shown["log"]] == ["not_modified"]


@pytest.mark.parametrize(
    "written", ["http://a.example/old?a=1&b=2", "a.example/old?b=2&a=1#part", "HTTP://A.example/old?a=1&b=2"]
)
def test_a_url_is_known_in_every_form_that_scrapy_takes_for_the_same(freshness: Run, written: str) -> None:
    (shown,) = freshness("show", written, "--json").json["pages"]

    assert shown["url"] == OLD


def test_spiders_may_write_the_url_of_a_page_differently(freshness: Run, web_url: str) -> None:
    other = page("http://a.example/old?a=1&b=2", HOUR, HOUR, page_id=1 << 41)
    with Store.open(web_url) as store:
        store.save("shop", Batch(pages=[other]))

    for written in (OLD, other.url):
        shown = freshness("show", written, "--json").json["pages"]
        assert {(each["spider"], each["url"]) for each in shown} == {("news", OLD), ("shop", other.url)}


def test_each_spiders_page_is_shown(freshness: Run) -> None:
    assert {page["spider"] for page in freshness("show", SHARED, "--json").json["pages"]} == {"news", "shop"}


def test_a_page_that_was_never_fetched_is_shown(freshness: Run) -> None:
    out = freshness("show", NEW).out

    assert "last visit   never" in out
    assert "next visit   due" in out


def test_troubles_of_page_and_host_are_shown(freshness: Run) -> None:
    failing = freshness("show", FAILING).out
    assert "12 visits, 3 changes, 3 failed in a row" in failing
    assert "next attempt" in failing
    assert "status 500" in failing
    assert freshness("show", FAILING, "--json").json["pages"][0]["log"][0]["reason"] == "status 500"
    assert "paused.example (in back-off for another 3 min)" in freshness("show", WAITING).out
    assert "3 of 10 checked 304s were false" in freshness("show", "http://liar.example/").out


@pytest.mark.parametrize(
    ("written", "meant"),
    [("http://a.example/slo", SLOW), ("https://a.example/slow/", SLOW), ("http://a.example/falling", None)],
)
def test_an_unknown_page_is_one_line_with_close_ones(freshness: Run, written: str, meant: str | None) -> None:
    answer = freshness("show", written)

    assert answer.exit_code == 1
    assert answer.out == ""
    assert answer.err.startswith(f"scrapy freshness: no page {written} is known")
    assert len(answer.err.splitlines()) == 1
    if meant:
        assert f"did you mean {meant}" in answer.err


@pytest.mark.parametrize("written", ["", "x", "://", "http://", "mailto:me", "http://[::1", "\x1b[2J"])
def test_what_is_no_url_is_one_line(freshness: Run, written: str) -> None:
    answer = freshness("show", written)

    assert answer.exit_code == 1
    assert len(answer.err.splitlines()) == 1
    assert "\x1b" not in answer.err


def test_what_cannot_be_read_is_said(freshness: Run, web_url: str) -> None:
    broken = page(
        "http://a.example/broken", HOUR, HOUR,
        page_id=50, history=b"\0", profiles=b"\x01damaged", request="{not json",
    )  # fmt: skip
    with Store.open(web_url) as store:
        store.save("news", Batch(pages=[broken]))

    answer = freshness("show", broken.url)
    assert "history      cannot be read" in answer.out
    assert "profiles     cannot be read" in answer.out
    assert "unreadable: {not json" in answer.out
    (shown,) = freshness("show", broken.url, "--json").json["pages"]
    assert shown["history"] is None
    assert shown["profiles"] is None


def test_secrets_of_a_request_are_not_shown(freshness: Run, web_url: str) -> None:
    request = {
        "headers": {"Authorization": ["Basic bWU6c2VjcmV0"], "cookie": ["secret=1"], "Accept": ["text/html"]},
        "cookies": {"session": "secret"},
    }
    private = page("http://a.example/private", HOUR, HOUR, page_id=51, request=json.dumps(request))
    with Store.open(web_url) as store:
        store.save("news", Batch(pages=[private]))

    (shown,) = freshness("show", private.url, "--json").json["pages"]
    assert shown["request"] == {
        "headers": {"Authorization": "***", "cookie": "***", "Accept": ["text/html"]},
        "cookies": "***",
    }
    out = freshness("show", private.url).out
    assert "secret" not in out
    assert "Basic" not in out


def test_the_page_fits_a_narrow_terminal(freshness: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert max(map(len, freshness("show", SLOW).out.splitlines())) <= 80


def test_pages_are_found_on_postgresql(freshness: Run, postgres_url: str) -> None:
    with Store.open(postgres_url) as store:
        store.save("news", Batch(pages=[page(OLD, HOUR, HOUR, page_id=1)]))

    assert OLD in freshness("show", "a.example/old?a=1&b=2", url=postgres_url).out
    assert f"did you mean {OLD}" in freshness("show", OLD[:-1], url=postgres_url).err
