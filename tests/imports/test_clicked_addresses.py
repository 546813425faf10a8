"""Addresses of logs stand for pages, at a cost that nobody who writes the log can raise."""

import time
import tracemalloc

import pytest
from clicked_web import fill, number_of

from scrapy_freshness.imports import clicked
from scrapy_freshness.imports.clicked import NOBODY, ClickedAddresses, without_tracking
from scrapy_freshness.storage.store import Store

SITE = "https://a.example"


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("type_ga=5&c=1", "type_ga=5&c=1"),
        ("my_utm_id=5", "my_utm_id=5"),
        ("utm_a=1&utm_b=2&c=3&_ga=4", "c=3"),
        ("c=3&UTM_Campaign1=", "c=3"),
        ("ttclid=1&mkt_tok=2", ""),
        ("utm_source", "utm_source"),
    ],
)
def test_only_whole_parameters_are_left_out(query: str, left: str) -> None:
    assert without_tracking(f"{SITE}/b?{query}") == (f"{SITE}/b?{left}" if left else f"{SITE}/b")


def test_a_long_query_costs_no_more_than_its_length() -> None:
    begun = time.thread_time()
    without_tracking(f"{SITE}/?{'utm_' * 12_000}")

    assert time.thread_time() - begun < 1


def test_addresses_that_are_longer_than_those_of_pages_are_nobodys_and_not_remembered(
    sqlite_store: Store,
) -> None:
    fill(sqlite_store)
    addresses = ClickedAddresses(sqlite_store, number_of)
    tracemalloc.start()
    try:
        for number in range(100):
            assert addresses.numbers([f"{SITE}/old?utm_source={number}{'x' * 10_000}"]).tolist() == [NOBODY]
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


def test_what_is_remembered_is_bounded_by_its_bytes(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clicked, "_MOST_BYTES", 10_000)
    addresses = ClickedAddresses(sqlite_store, number_of)
    addresses.numbers([f"{SITE}/{number}" for number in range(10)])

    assert not addresses.is_full

    addresses.numbers([f"{SITE}/{number}{'x' * 1000}" for number in range(10)])

    assert addresses.is_full

    addresses.forget()

    assert not addresses.is_full
