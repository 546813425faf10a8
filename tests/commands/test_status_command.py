"""`scrapy freshness status`."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from answering import Answer
from small_web import HOUR, NOW, news_pages

from scrapy_freshness.model import Batch, HostRecord, PageStatus
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]


def test_the_freshness_is_the_weighted_mean_over_pages_with_a_copy(freshness: Run) -> None:
    active = [page for page in news_pages() if page.status is PageStatus.ACTIVE]
    fresh = [math.exp(-page.change_rate * (NOW - (page.last_visit_at or 0))) for page in active]
    weights = [page.importance for page in active]
    mean = sum(f * w for f, w in zip(fresh, weights, strict=True)) / sum(weights)

    news = freshness("status", "--json").json["spiders"][0]

    assert news["freshness"] == pytest.approx(mean, rel=1e-5)
    ages = [NOW - (page.last_visit_at or 0) for page in active]
    assert news["mean_age_seconds"] == pytest.approx(sum(ages) / len(ages))
    assert news["never_fetched_share"] == pytest.approx(1 / 12)


def test_pages_are_counted_by_status(freshness: Run) -> None:
    news = freshness("status", "--json").json["spiders"][0]

    assert news["pages"] == {"new": 1, "active": 8, "gone": 1, "suspended": 1, "moved": 1}


def test_the_last_minute_is_put_together_from_two_minutes_of_the_clock(freshness: Run) -> None:
    """The minute has 10 fetches so far and is half over; half of the 40 of the minute before count."""
    news = freshness("status", "--json").json["spiders"][0]

    assert news["fetches"]["minute"] == {"page": 30}
    assert news["fetches"]["hour"] == {"page": 50, "robots": 2}
    assert news["budget_used"]["minute"] == pytest.approx(30 / 60)
    assert news["budget_used"]["hour"] == pytest.approx(52 / 3570)


def test_of_the_budget_is_since_the_start_of_the_crawl_as_in_the_dashboard(
    freshness: Run, web_url: str
) -> None:
    with Store.open(web_url) as store:
        state = store.load_state("news")
        assert state is not None
        store.save("news", Batch(state=replace(state, started_at=NOW - 45)))

    news = freshness("status", "--json", "--spider", "news").json["spiders"][0]

    # The two minutes of the clock in which the crawl has run have 50 fetches.
    assert news["budget_used"]["hour"] == news["budget_used"]["day"] == pytest.approx(50 / 45)
    assert "Of the budget: since the crawl started 45 s ago." in freshness("status").out


def test_visits_are_counted_by_outcome(freshness: Run) -> None:
    visits = freshness("status", "--json").json["spiders"][0]["visits"]

    assert visits["hour"]["failed"] == 1
    assert visits["day"]["not_modified"] == 1
    assert visits["day"]["changed"] == 0  # two days ago


def test_a_crawl_is_running_while_it_holds_the_lock(freshness: Run, web_url: str) -> None:
    assert "news: not running" in freshness("status").out
    with Store.open(web_url) as store:
        store.lock("news")
        answer = freshness("status")
        spiders = freshness("status", "--json").json["spiders"]

    assert "news: running for 60 min, wrote 5 s ago" in answer.out
    assert {spider["spider"]: spider["running"] for spider in spiders} == {"news": True, "shop": False}


def test_hosts_in_back_off_are_named(freshness: Run) -> None:
    assert "1 host in back-off: paused.example (in 3 min)" in freshness("status").out
    (host,) = freshness("status", "--json").json["hosts_in_backoff"]
    assert host == {"host": "paused.example", "until": NOW + 180, "failures": 4}


def test_many_hosts_in_back_off_are_counted(freshness: Run, web_url: str) -> None:
    with Store.open(web_url) as store:
        hosts = [HostRecord(host=f"{n}.example", blocked_until=NOW + 600) for n in range(9)]
        store.save("news", Batch(hosts=hosts))

    assert "10 hosts in back-off: paused.example (in 3 min), 0.example" in freshness("status").out
    assert "and 5 more" in freshness("status").out


def test_one_spider_can_be_chosen(freshness: Run) -> None:
    assert [each["spider"] for each in freshness("status", "--json", "--spider", "shop").json["spiders"]] == [
        "shop"
    ]
    unknown = freshness("status", "--spider", "shops")
    assert unknown.exit_code == 2
    assert "no spider shops is known, only news, shop" in unknown.err


def test_a_stopped_crawl_has_no_fetches_of_late(freshness: Run) -> None:
    later = freshness("status", "--json", now=NOW + 2 * HOUR).json["spiders"][0]

    assert later["fetches"]["minute"] == {}
    assert later["budget_used"]["hour"] == 0


@pytest.mark.parametrize("columns", ["80", "160"])
def test_the_table_fits_the_terminal(freshness: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    answer = freshness("status")

    lines = answer.out.splitlines()[:-1]  # the last one names a file, as long as it is
    assert max(map(len, lines)) <= int(columns)
    assert "expected of the copies" in answer.out


def test_several_spiders_run_on_postgresql_at_once(freshness: Run, postgres_url: str) -> None:
    with Store.open(postgres_url) as one, Store.open(postgres_url) as other:
        one.lock("one")
        other.lock("other")
        one.save("third", Batch())
        spiders = freshness("status", "--json", url=postgres_url).json["spiders"]
        text = freshness("status", url=postgres_url).out

    assert {each["spider"]: each["running"] for each in spiders} == {
        "one": True,
        "other": True,
        "third": False,
    }
    assert "one: running, wrote never" in text
