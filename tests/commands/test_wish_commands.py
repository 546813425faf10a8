"""`scrapy freshness visit URL...` and `pin URL... --every TIME | --off`: what is asked of a crawl."""

from collections.abc import Callable

import pytest
from answering import Answer
from small_web import FAILING, FAST, GONE, HOUR, NOW, SHARED, SLOW, fill

from scrapy_freshness.model import Batch
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.wishes import waiting

Run = Callable[..., Answer]


def test_a_visit_is_asked_of_every_spider_that_knows_the_page(freshness: Run, database_url: str) -> None:
    fill(database_url)
    with Store.open(database_url) as store:
        store.lock("news")
        answer = freshness("visit", SHARED, url=database_url)
        asked = {spider: [wish.what for wish in waiting(store, spider)] for spider in ("news", "shop")}

    assert answer.out == (
        f"{SHARED} is to be visited by news: the crawl is told.\n"
        f"{SHARED} is to be visited by shop: as soon as the spider crawls again.\n"
    )
    assert asked == {"news": [SHARED], "shop": [SHARED]}


def test_what_came_of_a_wish_is_shown(freshness: Run, web_url: str) -> None:
    freshness("visit", SLOW, FAST)
    waits = freshness("show", SLOW).out
    with Store.open(web_url) as store:
        (wish, _) = waiting(store, "news")
        store.save("news", Batch(wishes={wish.wish_id: (NOW, "not_modified")}))
    (page,) = freshness("show", SLOW, "--json").json["pages"]

    assert "visit now, waits for the crawl" in waits
    assert "visit now, not modified now" in freshness("show", SLOW).out
    assert page["wishes"] == [
        {"kind": "visit", "seconds": None, "asked_at": NOW, "done_at": NOW, "outcome": "not_modified"}
    ]


def test_a_pinned_interval_is_seen_everywhere(freshness: Run) -> None:
    answer = freshness("pin", SLOW, "--every", "3h")
    (page,) = freshness("show", SLOW, "--json").json["pages"]
    (case,) = freshness("why", SLOW, "--json").json["pages"]
    why = freshness("why", SLOW).out

    assert answer.out == f"{SLOW} is to be visited every 3h by news: as soon as the spider crawls again.\n"
    assert page["pinned_seconds"] == case["interval_seconds"] == 3 * HOUR
    assert page["next_visit_at"] == case["next_visit_at"] == NOW + HOUR  # it was visited two hours ago
    assert "Its interval is pinned to 3 h" in why
    assert "worth more" not in why
    assert "in the long run it is visited every 3 h" in " ".join(case["sentences"])
    assert "a visit every 3 h" in freshness("show", SLOW).out
    assert "in 60 min (pinned)" in freshness("pages", "--url", "slow").out


def test_a_page_is_let_loose(freshness: Run) -> None:
    before = freshness("why", SLOW).out
    freshness("pin", SLOW, "--every", "3h")
    freshness("pin", SLOW, "--off")

    assert freshness("why", SLOW).out == before
    assert freshness("pin", SLOW, "--off", "--json").json["seconds"] is None


def test_a_pin_does_not_hide_what_is_in_the_way(freshness: Run) -> None:
    freshness("pin", FAILING, GONE, "--every", "60s")

    assert "the next may begin in 10 min" in freshness("why", FAILING).out
    assert "It is gone (HTTP 404)" in freshness("why", GONE).out


@pytest.mark.parametrize(
    ("arguments", "exit_code", "told"),
    [
        (("visit", SLOW, "http://a.example/slo"), 1, "no page http://a.example/slo is known; did you mean"),
        (("pin", SLOW, "--every", "often"), 2, "--every cannot be 'often': write a duration such as"),
        (("pin", SLOW, "--every", "0s"), 2, "--every cannot be '0s'"),
        (("pin", SLOW, "--every", "5parsecs"), 2, "--every cannot be '5parsecs'"),
        (("pin", SLOW, "--every", "1e-9s"), 2, "from 1s to 3650d"),
        (("pin", SLOW, "--every", "30s", "-s", "FRESHNESS_MIN_INTERVAL=1min"), 2, "from 60s to 3650d"),
        (("pin", SLOW, "--every", "1ns", "-s", "FRESHNESS_MIN_INTERVAL=0"), 2, "--every cannot be '1ns'"),
        (("pin", SLOW, "--every", "1e300d"), 2, "from 1s to 3650d"),
    ],
)
def test_nothing_is_asked_that_makes_no_sense(
    freshness: Run, web_url: str, arguments: tuple[str, ...], exit_code: int, told: str
) -> None:
    answer = freshness(*arguments)

    assert (answer.exit_code, answer.out) == (exit_code, "")
    assert told in answer.err
    with Store.open(web_url) as store:
        assert waiting(store, "news") == []
