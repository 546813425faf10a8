"""What is told of pages whose visits fail, of pages that are gone, and of those visited just now."""

import csv
import re
from dataclasses import replace
from html import unescape
from urllib.parse import urlencode

import pytest
from lively_web import NOW, RETIRED, SPIDER
from serving import served
from test_doors import ask

from scrapy_freshness.dashboard import sources
from scrapy_freshness.insight.human import number
from scrapy_freshness.model import Batch, Outcome, PageRecord, PageStatus, VisitRecord
from scrapy_freshness.storage.page_reports import find_pages
from scrapy_freshness.storage.store import Store

URL = "https://shop.example/items/4"
COPY = {"last_visit_at": NOW - 3600, "last_change_at": NOW - 3600, "visits": 9}


def save(database_url: str, outcome: Outcome, at: float, reason: str | None = None, **fields: object) -> int:
    """Put one page into another state, with the visit that told of it; returns the page's id."""
    with Store.open(database_url) as store:
        (known,) = find_pages(store, URL)
        (record,) = store.load_records([known.page_id])
        for name, value in fields.items():
            setattr(record, name, value)
        store.save(SPIDER, Batch(pages=[record], visits=[_visit(record, outcome, at, reason)]))
    return known.page_id


def _visit(record: PageRecord, outcome: Outcome, at: float, reason: str | None) -> VisitRecord:
    return VisitRecord(
        page_id=record.page_id, at=at, outcome=outcome, http_status=record.http_status, reason=reason
    )


def words(text: str) -> str:
    """A part of a page as it is read."""
    told = " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())
    return re.sub(r" ([,:])", r"\1", told)


def listed(address: str, **query: str) -> str:
    """The list, of this page alone."""
    return ask(address, "/pages?" + urlencode({"q": f"^{URL}$", "regex": 1, **query}))[2]


def row(address: str, **query: str) -> str:
    """The line of the page in the list."""
    text = listed(address, **query)
    return words(next(iter(re.findall(r"<tr>\s*<td class=\"url\">.*?</tr>", text, re.DOTALL)), ""))


def test_the_reason_of_failures_is_told_and_never_obeyed(lively_url: str) -> None:
    hostile = "<script>window.hacked=1</script>{{7*7}}\x1b[2J"
    page_id = save(
        lively_url,
        Outcome.FAILED,
        NOW - 60,
        hostile,
        failures=5,
        not_before=NOW + 7200,
        http_status=None,
        **COPY,
    )
    with served(lively_url) as (address, _):
        detail = ask(address, f"/pages/{page_id}")[2]
        line = row(address)

    assert "The last 5 attempts failed: <script>window.hacked=1</script>{{7*7}}\\x1b[2J" in words(detail)
    assert "Last attempt failed 60 s ago: <script>" in words(detail)
    assert "Next attempt in 2 h" in words(detail)
    assert "<script>window" not in detail
    assert "\x1b" not in detail
    assert "active after 5 failures" in line
    assert "60 min ago failed 60 s ago" in line
    assert "in 2 h another attempt" in line


def test_a_page_whose_requests_are_stopped_says_by_whom(lively_url: str) -> None:
    never = {"status": PageStatus.NEW, "visits": 0, "last_visit_at": None, "http_status": None}
    page_id = save(lively_url, Outcome.IGNORED, NOW - 60, "Forbidden by robots.txt", failures=6, **never)
    with Store.open(lively_url) as crawl, served(lively_url) as (address, _):
        crawl.lock(SPIDER)
        detail = words(ask(address, f"/pages/{page_id}")[2])
        line = row(address)

    assert "every request for it was stopped before it was sent: Forbidden by robots.txt." in detail
    assert "Every request was stopped before it was sent: Forbidden by robots.txt." in detail
    assert "The next visit is" not in detail
    assert "new stopped never stopped 60 s ago" in line
    assert "ignored" not in detail
    assert "another attempt" in line


def test_a_page_that_is_gone_has_neither_freshness_nor_value(lively_url: str) -> None:
    page_id = save(
        lively_url, Outcome.GONE, NOW - 192, status=PageStatus.GONE, http_status=410, failures=1, **COPY
    )
    with served(lively_url) as (address, _):
        detail = words(ask(address, f"/pages/{page_id}")[2])
        line = row(address)

    assert "Last visit 60 min ago Last attempt gone 3.2 min ago, HTTP 410" in detail
    assert "Fresh – Value of a visit –" in detail
    assert "gone 60 min ago gone 3.2 min ago, HTTP 410" in line
    assert line.endswith("–")


def test_the_list_agrees_with_the_page_whatever_happened_since_it_was_ordered(lively_url: str) -> None:
    with served(lively_url) as (address, clock):
        before = row(address)
        page_id = save(lively_url, Outcome.UNCHANGED, NOW, http_status=200, **{**COPY, "last_visit_at": NOW})
        clock.advance(1)
        after = row(address)
        detail = words(ask(address, f"/pages/{page_id}")[2])

    value = re.search(r"Value of a visit (\S+) now", detail)
    assert value is not None
    assert f" {value[1]} " in after
    assert f" {value[1]} " not in before
    assert " 1 s ago" in after


def test_no_page_ranks_after_the_last_one(lively_url: str) -> None:
    with served(lively_url) as (address, _):
        row(address)
        page_id = save(lively_url, Outcome.UNCHANGED, NOW, **{**COPY, "last_visit_at": NOW})
        detail = words(ask(address, f"/pages/{page_id}")[2])

    rank = re.search(r"Rank ([\d,]+) of ([\d,]+) pages", detail)
    assert rank is not None
    assert int(rank[1]) <= int(rank[2])


def test_overview_hosts_and_list_count_the_same_pages(lively_url: str) -> None:
    with served(lively_url) as (address, _):
        overview, pages = (words(ask(address, path)[2]) for path in ("/", "/pages"))
        new = words(ask(address, "/pages?status=new")[2])
        hosts = ask(address, "/hosts")[2]

    def counted(text: str, what: str) -> int:
        found = re.search(what, text)
        assert found is not None, text
        return int(found[1].replace(",", ""))

    known, never = counted(overview, r"Known pages (\d+)"), counted(overview, r"(\d+) never fetched")
    assert known == counted(pages, r"of (\d+) pages") - counted(pages, r"(\d+) of them sitemaps")
    assert never == counted(new, r"of (\d+) pages") - counted(new, r"(\d+) of them sitemaps")
    cells = [re.findall(r"<td.*?</td>", each, re.DOTALL) for each in hosts.split("<tr>")[2:]]
    assert known == sum(int(words(each[3]).split()[0].replace(",", "")) for each in cells)


def test_a_download_has_the_numbers_of_the_table(lively_url: str) -> None:
    with served(lively_url) as (address, clock):
        row(address)
        save(lively_url, Outcome.UNCHANGED, NOW, http_status=200, **{**COPY, "last_visit_at": NOW})
        clock.advance(1)
        query = urlencode({"q": f"^{URL}$", "regex": 1})
        (page,) = csv.DictReader(ask(address, f"/pages.csv?{query}")[2].splitlines())
        line = row(address)

    assert f" {number(float(page['value']))} " in line
    assert float(page["last_visit_at"]) == NOW


def test_a_page_that_no_longer_passes_the_filters_is_left_out(lively_url: str) -> None:
    with served(lively_url) as (address, _):
        assert row(address, status="active") != ""
        save(lively_url, Outcome.GONE, NOW, status=PageStatus.GONE, http_status=404)
        text = words(listed(address, status="active"))

        assert row(address, status="active") == ""
        assert "1 page left out" in text
        query = urlencode({"q": f"^{URL}$", "regex": 1, "status": "active"})
        assert len(ask(address, f"/pages.csv?{query}")[2].splitlines()) == 1


def test_the_list_tells_how_old_its_order_is(lively_url: str) -> None:
    with served(lively_url) as (address, clock):
        first = words(ask(address, "/pages")[2])
        clock.advance(6)
        later = words(ask(address, "/live/pages?sort=url")[2])

    assert "as of" in first
    assert "in the order of" not in first
    assert "in the order of 6 s before" in later


def test_sources_tell_how_many_are_left_out(lively_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_MOST_RETIRED", 0)
    with served(lively_url) as (address, _):
        text = words(ask(address, "/sources")[2])

    assert "1 source with fewer links left out" in text
    assert RETIRED not in text


def test_polled_sources_are_not_said_to_wait_for_a_comparison(lively_url: str) -> None:
    with served(lively_url) as (address, _):
        with Store.open_readonly(lively_url) as store:
            (sitemap,) = find_pages(store, "https://shop.example/sitemap.xml")
        text = words(ask(address, f"/pages/{sitemap.page_id}")[2])

    assert "it is not compared with copies" in text
    assert "have to be" not in text


def test_what_became_of_a_page_is_in_the_legend(lively_url: str) -> None:
    page_id = save(lively_url, Outcome.IGNORED, NOW, "Forbidden by robots.txt")
    with served(lively_url) as (address, _):
        text = words(ask(address, f"/pages/{page_id}")[2])

    assert "gone or moved" in text
    assert "failed, or a false signal stopped" in text


def assumed(address: str) -> int:
    """How many pages are left out of the chart of change rates."""
    found = re.search(r"Without ([\d,]+) pages? of which no two", words(ask(address, "/live/charts")[2]))
    return int(found[1]) if found else 0


def test_rates_that_are_only_assumed_are_not_among_those_of_all_pages(lively_url: str) -> None:
    with served(lively_url) as (address, _):
        before = assumed(address)
    save(
        lively_url, Outcome.FIRST, NOW, **{**COPY, "last_change_at": NOW, "last_visit_at": NOW, "changes": 0}
    )
    with served(lively_url) as (address, _):
        assert assumed(address) == before + 1


def test_pages_that_are_due_wait_for_their_hosts_if_these_hold_the_crawl_up(lively_url: str) -> None:
    with Store.open(lively_url) as crawl:
        state = crawl.load_state(SPIDER)
        assert state is not None
        crawl.save(SPIDER, Batch(state=replace(state, budget_per_second=50.0)))
        crawl.lock(SPIDER)
        with served(lively_url) as (address, _):
            text = words(ask(address, "/pages?status=active")[2])

    assert "waits for its host" in text
    assert "and its host has room" in text


def test_a_download_asks_for_no_prices_on_hosts(lively_url: str) -> None:
    with Store.open(lively_url) as crawl:
        state = crawl.load_state(SPIDER)
        assert state is not None
        crawl.save(SPIDER, Batch(state=replace(state, budget_per_second=50.0, price=0.001)))
        crawl.lock(SPIDER)
        query = urlencode({"host": "news.example", "status": "active", "kind": "page"})
        with served(lively_url) as (address, _):
            pages = list(csv.DictReader(ask(address, f"/pages.csv?{query}")[2].splitlines()))

    rested = [page for page in pages if float(page["last_visit_at"]) < NOW - 900 and page["failures"] == "0"]
    assert rested
    assert all(float(page["next_visit_at"]) <= NOW for page in rested)


def test_the_list_tells_next_visits_by_the_prices_on_hosts_as_pages_do(lively_url: str) -> None:
    with Store.open(lively_url) as crawl:
        state = crawl.load_state(SPIDER)
        assert state is not None
        crawl.save(SPIDER, Batch(state=replace(state, budget_per_second=50.0, price=0.001)))
        crawl.lock(SPIDER)
        (known,) = find_pages(crawl, busy := "https://news.example/items/24")
        with served(lively_url) as (address, _):
            detail = words(ask(address, f"/pages/{known.page_id}")[2])
            told = re.search(r"Next visit (due|in \S+ \S+)", detail)
            assert told is not None
            assert "the price of a visit on its host is 0.001:" not in detail
            lines = (
                row(address, q=f"^{busy}$") for _ in range(100)
            )  # a price that is not known soon is known later

            assert any(f" {told[1]} " in line and told[1] != "due" for line in lines)
