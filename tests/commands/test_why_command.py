"""`scrapy freshness why URL`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
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
    PRICE,
    SHARED,
    SLOW,
    SUSPENDED,
    WAITING,
    news_pages,
)

from scrapy_freshness.estimation.sibling_pace import SiblingPaces
from scrapy_freshness.model import Batch, Outcome, VisitRecord
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]


@pytest.fixture
def why(freshness: Run) -> Callable[..., dict[str, Any]]:
    """The numbers of a page of spider news."""

    def ask(url: str, **options: Any) -> dict[str, Any]:
        pages = freshness("why", url, "--json", **options).json["pages"]
        return next(page for page in pages if page["spider"] == "news")

    return ask


def words(page: dict[str, Any]) -> str:
    return " ".join(page["sentences"])


def test_the_change_rate_is_told_with_what_it_is_based_on(why: Run) -> None:
    assert (
        "It changes about every 30 h (90 % interval: 15 h–2.5 d), judging by 3 changes found in 12 visits."
        in words(why(SLOW))
    )


def test_a_page_that_was_never_compared_has_no_rate_of_its_own(why: Run) -> None:
    assert "How often it changes is not known before its second visit" in words(why(LIED_TO))


def test_a_page_below_the_price_waits_until_it_reaches_it(why: Run) -> None:
    page = why(SLOW)

    assert page["value"] < page["price"] == PRICE
    assert "A visit now is worth 230, and the price of a visit is 2,000: not enough yet." in page["sentences"]
    assert "The next visit is expected in 4.2 h" in words(page)
    assert page["next_visit_at"] - NOW + 2 * 3600 == pytest.approx(page["interval_seconds"])


def test_a_page_above_the_price_is_due(why: Run, web_url: str) -> None:
    assert "It is due; in the long run it is visited every" in words(why(OLD))
    assert "the spider news is not running" in words(why(OLD))
    with Store.open(web_url) as store:
        store.lock("news")
        page = why(OLD)

    assert "It is due, and visited as soon as its host has room" in words(page)
    assert "not running" not in words(page)


def test_a_page_that_changes_too_often_is_never_visited(why: Run) -> None:
    page = why(FAST)

    assert page["next_visit_at"] is None
    assert page["interval_seconds"] is None
    assert page["highest_value"] == pytest.approx(1000)
    assert (
        "At this price it is never visited: it changes so often that a visit is worth at most 1,000, "
        "however old the copy." in words(page)
    )
    assert "It would be visited every 24 h at a budget of about" in words(page)
    assert page["more_often"]["budget_per_second"] > page["budget_per_second"]


def test_the_rank_counts_the_pages_that_are_worth_more(why: Run, freshness: Run) -> None:
    pages = freshness("pages", "--json", "--limit", "50", "--spider", "news").json["pages"]
    ranked = [page for page in pages if page["status"] in ("new", "active")]
    for page in ranked:
        told = why(page["url"])
        assert told["rank"] == 1 + sum(other["value"] > page["value"] for other in ranked)
        assert told["ranked_pages"] == len(ranked)
        assert told["value"] == pytest.approx(page["value"])
        assert told["next_visit_at"] == page["next_visit_at"]


def test_a_bigger_budget_brings_the_page_as_often_as_said(why: Run, web_url: str) -> None:
    page = why(SLOW)
    more = page["more_often"]

    assert more["interval_seconds"] == pytest.approx(page["interval_seconds"] / 2)
    assert more["budget_per_second"] > page["budget_per_second"]


def test_a_page_that_is_visited_as_often_as_allowed_needs_no_budget(why: Run) -> None:
    page = why(SHARED, settings={"FRESHNESS_MIN_INTERVAL": "20h"})

    assert page["more_often"] is None
    assert "FRESHNESS_MIN_INTERVAL allows at most one visit every 20 h." in page["sentences"]


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (NEW, "It has never been fetched."),
        (NEW, "No page is worth more."),
        (GONE, "It is gone (HTTP 404): it is looked at again after a while"),
        (GONE, "The next visit is expected in 24 h"),
        (SUSPENDED, "Its callback is no method of the spider any more"),
        (MOVED, "It redirects for good (HTTP 301) to a page of its own"),
        (MOVED, "The next visit is expected in 12 h"),
        (FAILING, "The last 3 attempts failed: status 500; the next may begin in 10 min"),
        (WAITING, "Its host paused.example is in back-off after 4 refusals in a row, which ends in 3 min"),
        (LIED_TO, "are not believed: 3 of 10 that were checked were false"),
    ],
)
def test_reasons_are_sentences(why: Run, freshness: Run, url: str, sentence: str) -> None:
    assert sentence in words(why(url))
    assert sentence.split(":")[0][:60] in " ".join(freshness("why", url).out.split())


def test_numbers_follow_the_sentences(freshness: Run) -> None:
    out = freshness("why", SLOW).out

    assert "rank         7 of 9" in out
    assert "price        2,000 (greedy at 1/s)" in out


def test_each_spiders_page_is_explained(freshness: Run) -> None:
    pages = freshness("why", SHARED, "--json").json["pages"]

    assert [page["spider"] for page in pages] == ["news", "shop"]
    assert pages[1]["policy"] == "holistic"


def test_the_policy_in_force_decides(freshness: Run) -> None:
    pages = freshness("why", SHARED, "--json", settings={"FRESHNESS_POLICY": "uniform"}).json["pages"]

    assert [page["policy"] for page in pages] == ["greedy", "uniform"]
    assert pages[1]["value"] == pytest.approx(60.0)


def test_on_a_crawl_that_its_hosts_hold_up_pages_compete_on_their_host(why: Run, web_url: str) -> None:
    """The budget is not spent: what the host takes decides, not the price that all pages would have."""
    with Store.open(web_url) as store:
        state = store.load_state("news")
        assert state is not None
        store.save("news", Batch(state=replace(state, delay_seconds=1.0)))
        assert "At this price it is never visited" in words(why(FAST))
        store.lock("news")
        (fast,) = [page for page in news_pages() if page.url == FAST]
        visits = [
            VisitRecord(page_id=fast.page_id, at=NOW - second, outcome=Outcome.UNCHANGED)
            for second in range(1, 100)
        ]
        store.save("news", Batch(visits=visits))
        page = why(FAST)

    assert page["is_held_up"]
    assert page["delay_seconds"] == 1.0
    assert page["interval_seconds"] < 3600
    assert "the price of a visit on its host is" in words(page)
    assert "Its host takes fewer visits than the budget allows" in words(page)
    assert page["more_often"] is None


def test_pages_that_are_visited_as_often_as_they_may_be_do_not_wait_for_their_hosts(
    freshness: Run, web_url: str
) -> None:
    with Store.open(web_url) as store:
        store.lock("news")
        (page,) = freshness("why", FAST, "--json", settings={"FRESHNESS_MIN_INTERVAL": "100d"}).json["pages"]

    assert page["is_running"]
    assert not page["is_held_up"]


def hold_up(store: Store, url: str, visited_at: list[float], **fields: Any) -> None:
    """Let the crawl of spider news run, with visits of one page as its host takes them."""
    state = store.load_state("news")
    assert state is not None
    (page,) = [page for page in news_pages() if page.url == url]
    visits = [VisitRecord(page_id=page.page_id, at=at, outcome=Outcome.UNCHANGED) for at in visited_at]
    store.save("news", Batch(state=replace(state, **fields), visits=visits))
    store.lock("news")


def test_the_price_on_a_host_that_is_asked_rarely_comes_from_enough_visits(why: Run, web_url: str) -> None:
    """In the last two minutes there was none, in those of twenty requests there were sixteen."""
    with Store.open(web_url) as store:
        hold_up(store, FAST, [NOW - 200 - 60 * number for number in range(16)], delay_seconds=60.0)
        page = why(FAST)

    assert page["is_held_up"]
    assert page["price"] < PRICE / 10


def test_the_price_on_a_host_comes_from_the_visits_of_this_run(why: Run, web_url: str) -> None:
    with Store.open(web_url) as store:
        visited_at = [NOW - 5, NOW - 105, NOW - 205, NOW - 305]
        hold_up(store, FAST, visited_at, delay_seconds=20.0, started_at=NOW - 400)
        often = why(FAST)
        store.unlock()
        hold_up(store, FAST, [], delay_seconds=300.0, started_at=NOW - 400)

        assert why(FAST)["price"] == often["price"] < PRICE


def test_values_are_the_same_whatever_a_host_takes(why: Run, freshness: Run, web_url: str) -> None:
    """A page that is gone and due is worth what all pages cost, as those that it is compared with."""
    (gone,) = [page for page in news_pages() if page.url == GONE]
    with Store.open(web_url) as store:
        store.save("news", Batch(pages=[replace(gone, not_before=0.0, importance=1e-3)]))
        hold_up(store, FAILING, [NOW - second for second in range(1, 100)])
        pages = freshness("pages", "--json", "--limit", "50", "--spider", "news").json["pages"]
        told = {page["url"]: why(page["url"]) for page in pages}

    assert told[GONE]["is_held_up"]
    assert told[GONE]["price"] < told[GONE]["value"] == PRICE
    assert told[GONE]["host_rivals"] == 0
    assert [told[page["url"]]["value"] for page in pages] == [page["value"] for page in pages]


def test_siblings_that_have_changed_make_a_page_older(freshness: Run, web_url: str) -> None:
    paces, n = SiblingPaces(), 40
    pages = np.arange(n)
    begin, end = np.full(n, NOW - 50), np.full(n, NOW - 10)
    paces.observe(np.zeros(n, np.intp), pages, begin, end, pages >= 0, np.full(n, 0.1))
    state = paces.pack(0)
    assert state is not None
    with Store.open(web_url) as store:
        store.save("shop", Batch(groups={'["siblings", "a.example"]': state}))
    news, shop = freshness("why", SHARED, "--json").json["pages"]

    assert news["pace"] == 1, "that policy does not watch siblings"
    assert shop["pace"] == pytest.approx(np.sqrt(40 / 4.9), rel=0.01)
    assert (
        "Other pages of its host have changed more than expected since: its copy counts as 2.9 min old."
        in shop["sentences"]
    )
