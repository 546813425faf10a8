"""What people ask about a crawl is answered, sorted and filtered by the database."""

from itertools import pairwise, product

import pytest
from samples import crawl_state, page, visit
from sqlalchemy import select, text

from scrapy_freshness.model import Batch, HostRecord, Outcome, PageStatus
from scrapy_freshness.storage.live_reports import first_visit_at
from scrapy_freshness.storage.page_reports import (
    PAGE_ORDERS,
    PageFilter,
    count_pages,
    find_pages,
    page_visits,
    pages,
)
from scrapy_freshness.storage.reading import has_url
from scrapy_freshness.storage.reports import Activity, SpiderReport, spiders
from scrapy_freshness.storage.schema import page as page_table
from scrapy_freshness.storage.store import Store

DAY = 86400.0


@pytest.fixture
def crawled(store: Store) -> Store:
    """Six pages on three hosts."""
    store.save(
        "quotes",
        Batch(
            pages=[
                page(1, url="http://b.example/z", host="b.example", change_rate=3.0, visits=5, changes=1),
                page(2, url="http://b.example/A", host="b.example", change_rate=1.0, last_visit_at=50.0),
                page(3, url="http://a.example/100%", host="a.example", change_rate=2.0, last_visit_at=40.0),
                page(
                    4, url="http://a.example/100x", host="a.example", status=PageStatus.GONE, http_status=404
                ),
                page(5, url="http://c.example/", host="c.example", importance=9.0, changes=4, visits=4),
            ],
            hosts=[
                HostRecord(host="c.example", blocked_until=99.0, failures=2, audits=5, false_not_modified=1)
            ],
        ),
    )
    other = page(store.next_page_id("authors"), url="http://a.example/100x", fingerprint=4, host="a.example")
    store.save("authors", Batch(pages=[other]))
    return store


def test_a_spider_without_activity(store: Store) -> None:
    store.save("quotes", Batch())
    nothing = Activity(visits={}, fetches={})

    assert spiders(store, now=0.0) == [
        SpiderReport(spider="quotes", pages={}, last_hour=nothing, last_day=nothing, state=None)
    ]


def test_the_first_visit_is_that_of_the_spider(store: Store) -> None:
    store.save("authors", Batch(visits=[visit(1, 60.0)]))
    store.save("quotes", Batch(visits=[visit(2, 7_230.0), visit(2, 9_000.0)]))
    store.save("idle", Batch())

    assert first_visit_at(store, "quotes") == 7_200.0
    assert first_visit_at(store, "idle") is None


def test_the_summary_tells_spiders_hours_and_days_apart(crawled: Store) -> None:
    now = 10 * DAY
    crawled.save(
        "quotes",
        Batch(
            visits=[
                visit(1, now - 30, Outcome.CHANGED),
                visit(1, now - 7200, Outcome.FIRST),
                visit(1, now - 2 * DAY, Outcome.FAILED),
            ],
            fetches={(int(now // 60), "page"): 3, (int(now // 60) - 120, "robots"): 2, (5, "page"): 100},
            state=crawl_state(),
        ),
    )

    authors, quotes = spiders(crawled, now)

    assert (authors.spider, authors.pages, authors.state) == ("authors", {PageStatus.ACTIVE: 1}, None)
    assert authors.last_day == Activity(visits={}, fetches={})
    assert quotes.pages == {PageStatus.ACTIVE: 4, PageStatus.GONE: 1}
    assert quotes.last_hour == Activity(visits={Outcome.CHANGED: 1}, fetches={"page": 3})
    assert quotes.last_day == Activity(
        visits={Outcome.CHANGED: 1, Outcome.FIRST: 1}, fetches={"page": 3, "robots": 2}
    )
    assert quotes.state == crawl_state()


FILTERS: list[tuple[PageFilter, set[object]]] = [
    (PageFilter(host="a.example"), {3, 4, "other"}),
    (PageFilter(host="nobody.example"), set()),
    (PageFilter(spider="authors"), {"other"}),
    (PageFilter(status=PageStatus.GONE), {4}),
    (PageFilter(url_contains="100"), {3, 4, "other"}),
    (PageFilter(url_contains="100%"), {3}),
    (PageFilter(url_contains="B.EXAMPLE/a"), {2}),
    (PageFilter(url_contains="_.example"), set()),
    (PageFilter(host="a.example", spider="quotes", status=PageStatus.ACTIVE, url_contains="100"), {3}),
    (PageFilter(url_contains="'; DROP TABLE page; --"), set()),
]


def test_pages_are_filtered(crawled: Store) -> None:
    for which, expected in FILTERS:
        found = {row.page_id if row.spider == "quotes" else "other" for row in pages(crawled, which)}

        assert found == expected, which
        assert count_pages(crawled, which) == len(expected)


@pytest.mark.parametrize("which", [PageFilter(), PageFilter(spider="quotes")])
def test_pages_are_sorted_with_missing_values_last(crawled: Store, which: PageFilter) -> None:
    for order, descending in product(PAGE_ORDERS, (False, True)):
        values = [getattr(row, order) for row in pages(crawled, which, order=order, descending=descending)]

        present = [value for value in values if value is not None]
        assert values == present + [None] * (len(values) - len(present))
        assert len(values) == count_pages(crawled, which)
        assert all(a >= b if descending else a <= b for a, b in pairwise(present))


def test_pages_come_in_portions_that_join_seamlessly(crawled: Store) -> None:
    for order in PAGE_ORDERS:
        whole = [row.page_id for row in pages(crawled, order=order)]
        portions = [pages(crawled, order=order, limit=2, offset=offset) for offset in (0, 2, 4, 6)]

        assert [row.page_id for portion in portions for row in portion] == whole


@pytest.mark.parametrize("order", ["page_id; DROP TABLE page", "fingerprint", ""])
def test_pages_are_sorted_by_known_columns_only(store: Store, order: str) -> None:
    with pytest.raises(ValueError, match="pages can be sorted by url, host, status"):
        pages(store, order=order)


def test_a_page_is_found_by_its_exact_url_only(crawled: Store) -> None:
    same_start = "http://a.example/" + "x" * 300
    crawled.save("quotes", Batch(pages=[page(6, url=same_start + "1"), page(7, url=same_start + "2")]))

    assert [row.spider for row in find_pages(crawled, "http://a.example/100x")] == ["quotes", "authors"]
    assert [row.page_id for row in find_pages(crawled, same_start + "2")] == [7]
    assert find_pages(crawled, "http://a.example/100X") == []


def test_finding_a_url_uses_the_index(store: Store) -> None:
    explain = "EXPLAIN QUERY PLAN" if store.database.is_sqlite else "EXPLAIN"
    with store.reading() as connection:
        if not store.database.is_sqlite:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")  # few pages are scanned faster
        query = select(page_table.c.page_id).where(has_url("http://a.example/"))
        sql = query.compile(connection, compile_kwargs={"literal_binds": True})
        plan = " ".join(str(row) for row in connection.execute(text(f"{explain} {sql}")))

    assert "ix_page_url" in plan


def test_visits_end_where_the_log_was_pruned(crawled: Store) -> None:
    for at in (10.0, 20.0, 30.0):
        crawled.save("quotes", Batch(visits=[visit(1, at), visit(2, at + 1)]))
    crawled.prune_visits(before=20.5)

    assert [record.at for record in page_visits(crawled, 1)] == [30.0]
    assert [record.at for record in page_visits(crawled, 2)] == [31.0, 21.0]

    crawled.prune_visits(before=1000.0)
    assert page_visits(crawled, 1) == []
    crawled.save(
        "quotes", Batch(visits=[visit(2, 1001.0), visit(2, 1002.0), visit(2, 1003.0), visit(2, 1004.0)])
    )
    crawled.save("quotes", Batch(visits=[visit(1, 1005.0), visit(1, 1006.0)]))
    assert [record.at for record in page_visits(crawled, 1)] == [1006.0, 1005.0]
    assert [record.at for record in page_visits(crawled, 2)] == [1004.0, 1003.0, 1002.0, 1001.0]
