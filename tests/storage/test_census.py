"""A census that is kept up to date is the one that would be taken anew."""

import numpy as np
from samples import page, visit

from scrapy_freshness.model import Batch, Outcome
from scrapy_freshness.storage.census import Census, brought_up_to_date, row_of, take_census
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.writing import BatchWriter


def assert_same(one: Census, other: Census) -> None:
    assert one.hosts == other.hosts
    assert one.urls == other.urls
    assert one.url_starts.tolist() == other.url_starts.tolist()
    assert one.last_visit_id == other.last_visit_id
    for name, column in other.columns.items():
        np.testing.assert_array_equal(one.columns[name], column, err_msg=name)
    for name, believed in other.beliefs.items():
        np.testing.assert_array_equal(one.beliefs[name], believed, err_msg=name)


def test_a_census_follows_visits_and_finds(store: Store) -> None:
    store.save("other", Batch(pages=[page(1 << 41)]))
    store.save("quotes", Batch(pages=[page(1), page(2, url="http://a.example/\nx"), page(3)]))
    first = take_census(store, "quotes")
    assert (len(first), first.url(1)) == (3, b"http://a.example/%0Ax")

    store.save(
        "quotes",
        Batch(
            pages=[
                page(2, visits=7, change_rate=0.5, beliefs={"doubt": 2.0}),
                page(4, host="0.example"),
                page(5),
            ],
            visits=[visit(2, 50.0, Outcome.CHANGED)],
        ),
    )
    second = brought_up_to_date(store, first)

    assert_same(second, take_census(store, "quotes"))
    assert second.columns["visits"].tolist()[1] == 7
    assert row_of(second, 4) == 3
    assert row_of(second, 99) is None
    assert brought_up_to_date(store, second) is second


def test_visits_are_not_missed_that_are_written_after_later_ones_of_another_spider(postgres_url: str) -> None:
    with Store.open(postgres_url) as store, Store.open(postgres_url) as other:
        store.save("quotes", Batch(pages=[page(1)]))
        news = other.next_page_id("news")
        other.save("news", Batch(pages=[page(news)]))
        census = take_census(store, "quotes")
        with store.writing() as connection:
            BatchWriter().write(connection, 1, Batch(pages=[page(1, visits=7)], visits=[visit(1, 50.0)]))
            other.save("news", Batch(visits=[visit(news, 51.0)]))
            census = brought_up_to_date(other, census)
        assert census.columns["visits"].tolist() == [0]

        census = brought_up_to_date(other, census)

        assert census.columns["visits"].tolist() == [7]
        assert_same(census, take_census(store, "quotes"))


def test_a_spider_without_pages_has_an_empty_census(store: Store) -> None:
    store.save("quotes", Batch(fetches={(1, "page"): 1}))
    empty = take_census(store, "quotes")
    assert len(empty) == 0

    store.save("quotes", Batch(pages=[page(1)]))
    assert_same(brought_up_to_date(store, empty), take_census(store, "quotes"))
