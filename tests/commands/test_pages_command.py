"""`scrapy freshness pages`."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from answering import Answer
from small_web import (
    FAILING,
    FAST,
    GONE,
    LIED_TO,
    MOVED,
    NEW,
    NOW,
    OLD,
    SHARED,
    SLOW,
    SUSPENDED,
    WAITING,
    news_pages,
)

from scrapy_freshness.commands.pages import ORDERS
from scrapy_freshness.model import Batch, CrawlState
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]


def urls(answer: Answer) -> list[str]:
    return [page["url"] for page in answer.json["pages"]]


def test_pages_are_filtered(freshness: Run) -> None:
    assert urls(freshness("pages", "--json", "--status", "gone")) == [GONE]
    assert urls(freshness("pages", "--json", "--host", "liar.example")) == [LIED_TO]
    assert urls(freshness("pages", "--json", "--url", "A.EXAMPLE/S")) == [SHARED, SHARED, SLOW]
    assert urls(freshness("pages", "--json", "--spider", "shop")) == [SHARED]
    assert urls(freshness("pages", "--json", "--url", "%")) == []


def test_total_counts_what_passes_the_filter(freshness: Run) -> None:
    answer = freshness("pages", "--json", "--host", "a.example", "--limit", "2", "--offset", "1")

    assert answer.json["total"] == 6
    assert len(urls(answer)) == 2


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_has_all_pages_and_can_be_turned_around(freshness: Run, order: str) -> None:
    one = freshness("pages", "--json", "--limit", "50", "--sort", order)
    other = freshness("pages", "--json", "--limit", "50", "--sort", order, "--reverse")

    assert len(urls(one)) == 13
    assert sorted(urls(one)) == sorted(urls(other))
    assert urls(one) != urls(other)


def test_the_most_valuable_page_comes_first(freshness: Run) -> None:
    pages = freshness("pages", "--json", "--limit", "50", "--sort", "value").json["pages"]
    values = [page["value"] for page in pages if page["value"] is not None]

    assert values == sorted(values, reverse=True)
    assert pages[0]["url"] == NEW
    assert {page["url"] for page in pages if page["value"] is None} == {GONE, SUSPENDED, MOVED}
    assert all(page["value"] is None for page in pages[len(values) :])


def test_the_next_visit_comes_first_and_what_is_due_goes_by_value(freshness: Run) -> None:
    pages = freshness("pages", "--json", "--limit", "50", "--sort", "next_visit").json["pages"]
    due = [page for page in pages if page["next_visit_at"] is not None and page["next_visit_at"] <= NOW]
    ahead = [page["next_visit_at"] for page in pages[len(due) :] if page["next_visit_at"] is not None]

    assert [page["value"] for page in due] == sorted((page["value"] for page in due), reverse=True)
    assert ahead == sorted(ahead)
    assert pages[-1]["next_visit_at"] is None


def test_a_computed_order_respects_the_filter_and_the_window(freshness: Run) -> None:
    all_of_them = urls(freshness("pages", "--json", "--host", "a.example", "--sort", "value"))
    window = freshness(
        "pages", "--json", "--host", "a.example", "--sort", "value", "--limit", "2", "--offset", "2"
    )

    assert urls(window) == all_of_them[2:4]
    assert window.json["total"] == 6


def test_the_next_visit_takes_host_failures_and_status_into_account(freshness: Run) -> None:
    pages = {page["url"]: page for page in freshness("pages", "--json", "--limit", "50").json["pages"]}

    assert pages[WAITING]["next_visit_at"] == NOW + 180
    assert pages[FAILING]["next_visit_at"] == NOW + 600
    assert pages[GONE]["next_visit_at"] == NOW + 86400
    assert pages[SUSPENDED]["next_visit_at"] is None
    assert pages[FAST]["next_visit_at"] is None  # its value stays below the price
    assert pages[OLD]["next_visit_at"] < NOW
    assert pages[SLOW]["next_visit_at"] > NOW


def test_the_table_speaks_human(freshness: Run) -> None:
    out = freshness("pages", "--host", "a.example").out

    assert "every 30 h (15 h–2.5 d)" in out
    assert "2 h ago" in out
    assert "12/3" in out
    assert "due" in out
    assert "spider" in out  # two spiders know pages of this host


def test_a_narrow_terminal_gets_two_lines_a_page(freshness: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = freshness("pages", "--url", "slow").out.splitlines()

    assert lines == [
        "status · kind · last visit · changes · visits/changes · value · next visit",
        SLOW,
        "  active · page · 2 h ago · every 30 h (15 h–2.5 d) · 12/3 · 230 · in 4.2 h",
    ]


def test_a_rate_that_nothing_was_compared_for_is_called_assumed(freshness: Run, web_url: str) -> None:
    with Store.open(web_url) as store:
        (record,) = [each for each in news_pages() if each.url == SLOW]
        first = replace(record, visits=1, changes=0, last_change_at=record.last_visit_at)
        store.save("news", Batch(pages=[first]))

    assert "every 30 h, assumed" in freshness("pages", "--url", "slow").out


def test_the_window_is_told(freshness: Run) -> None:
    assert "1–3 of 13 pages" in freshness("pages", "--limit", "3").out
    assert "There are only 13 pages." in freshness("pages", "--offset", "50").out
    assert "No such pages." in freshness("pages", "--url", "nowhere").out


def test_a_limit_of_none_shows_none(freshness: Run) -> None:
    assert freshness("pages", "--json", "--limit", "0").json == {"total": 13, "pages": []}


@pytest.mark.parametrize(
    "arguments", [("--limit", "-1"), ("--limit", "x"), ("--sort", "beauty"), ("--status", "odd")]
)
def test_options_that_make_no_sense_are_usage_errors(freshness: Run, arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as stopped:
        freshness("pages", *arguments)

    assert stopped.value.code == 2


def test_fifty_thousand_pages_are_read_and_sorted(freshness: Run, sqlite_url: str) -> None:
    template = news_pages()[0]
    pages = []
    for number in range(50_000):
        url = f"http://{number % 100}.example/{number}"
        fields = {name: getattr(template, name) for name in ("status", "last_visit_at", "visits", "history")}
        rate = 1e-6 * (1 + number % 977)
        pages.append(
            type(template)(
                page_id=number + 1,
                fingerprint=number,
                url=url,
                host=f"{number % 100}.example",
                change_rate=rate,
                change_rate_low=rate / 2,
                change_rate_high=rate * 2,
                **fields,
            )
        )
    with Store.open(sqlite_url) as store:
        state = CrawlState(
            spider="big", policy="greedy", budget_per_second=1, started_at=NOW, updated_at=NOW, price=10.0
        )
        store.save("big", Batch(pages=pages, state=state))

    best = freshness("pages", "--json", "--sort", "value", "--limit", "3", url=sqlite_url)
    assert best.json["total"] == 50_000
    assert len(best.json["pages"]) == 3
    assert "50,000 known: 50,000 active" in freshness("status", url=sqlite_url).out
    assert (
        freshness("why", "http://7.example/7", "--json", url=sqlite_url).json["pages"][0]["ranked_pages"]
        == 50_000
    )
    assert len(freshness("export", url=sqlite_url).out.splitlines()) == 50_000
