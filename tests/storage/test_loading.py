"""At the start of a crawl all pages are read as columns."""

import tracemalloc

import numpy as np
import pytest
from samples import page

from scrapy_freshness.model import Batch, HostRecord, PageKind, PageStatus
from scrapy_freshness.storage import reading
from scrapy_freshness.storage.store import Store


def test_columns_hold_the_numbers_of_every_page(store: Store) -> None:
    seen = page(1, host="b.example", priority=-3, importance=0.25, last_visit_at=7.5, change_rate=1e-6)
    fresh = page(2, host="a.example", fingerprint=-(2**63), status=PageStatus.NEW, not_before=9.0)
    third = page(3, host="b.example", discovered_at=1.5, failures=7)
    store.save("quotes", Batch(pages=[seen, fresh, third]))
    store.save("authors", Batch(pages=[page(store.next_page_id("authors"), host="c.example")]))

    columns = store.load_pages("quotes")

    assert columns.page_id.tolist() == [1, 2, 3]
    assert columns.fingerprint.tolist() == [seen.fingerprint, -(2**63), third.fingerprint]
    assert [columns.hosts[number] for number in columns.host] == ["b.example", "a.example", "b.example"]
    assert columns.status.tolist() == [PageStatus.ACTIVE, PageStatus.NEW, PageStatus.ACTIVE]
    assert columns.kind.tolist() == [PageKind.PAGE] * 3
    assert columns.priority.tolist() == [-3, 0, 0]
    assert columns.importance.tolist() == [0.25, 1.0, 1.0]
    assert columns.discovered_at.tolist() == [1000.0, 1000.0, 1.5]
    np.testing.assert_array_equal(columns.last_visit_at, [7.5, np.nan, np.nan])
    assert columns.not_before.tolist() == [0.0, 9.0, 0.0]
    assert columns.failures.tolist() == [0, 0, 7]
    assert columns.change_rate.tolist() == [np.float32(1e-6), 0.0, 0.0]


def test_columns_have_the_types_that_planning_counts_on(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1)]))

    for columns in (store.load_pages("quotes"), store.load_pages("a spider without pages")):
        numbers = set(columns.__slots__) - {"hosts", "beliefs", "pinned_seconds"}
        types = {name: getattr(columns, name).dtype for name in numbers}
        assert types == {
            "page_id": np.int64,
            "fingerprint": np.int64,
            "host": np.int32,
            "status": np.uint8,
            "kind": np.uint8,
            "priority": np.int32,
            "importance": np.float32,
            "discovered_at": np.float64,
            "last_visit_at": np.float64,
            "not_before": np.float64,
            "failures": np.int32,
            "change_rate": np.float32,
        }


def test_a_spider_without_pages_has_empty_columns(store: Store) -> None:
    columns = store.load_pages("quotes")

    assert len(columns.page_id) == len(columns.host) == len(columns.hosts) == 0


def test_a_weight_beyond_single_precision_is_infinite(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1, importance=1e300)]))

    assert store.load_pages("quotes").importance.tolist() == [np.inf]


def test_pages_are_read_in_chunks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 7)
    store.save("quotes", Batch(pages=[page(number, host=f"{number % 3}") for number in range(1, 101)]))

    columns = store.load_pages("quotes")

    assert sorted(columns.page_id.tolist()) == list(range(1, 101))
    assert {
        number: columns.hosts[host] for number, host in zip(columns.page_id, columns.host, strict=True)
    } == {number: f"{number % 3}" for number in range(1, 101)}


def test_reading_takes_little_more_memory_than_the_columns(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHUNK", 500)
    store.save("quotes", Batch(pages=[page(number) for number in range(1, 20_001)]))
    store.load_pages("quotes")

    tracemalloc.start()
    columns = store.load_pages("quotes")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    numbers = set(columns.__slots__) - {"hosts", "beliefs", "pinned_seconds"}
    kept = sum(getattr(columns, name).nbytes for name in numbers)
    assert peak < 2.5 * kept + 1_000_000  # as Python objects the pages would take twenty times as much


def test_groups_come_back_as_last_saved_and_belong_to_one_spider(store: Store) -> None:
    store.save("quotes", Batch(groups={"a.example/": b"\0\xff", "lone \ud800": b"1"}))
    store.save("quotes", Batch(groups={"a.example/": b"\x01" * 1000}))
    store.save("other", Batch(groups={"a.example/": b"its own"}))

    assert store.load_groups("quotes") == {"a.example/": b"\x01" * 1000, "lone \ufffd": b"1"}
    assert store.load_groups("nobody") == {}
    assert store.load_groups("quotes", "lone") == {"lone \ufffd": b"1"}
    assert store.load_groups("quotes", "%") == {}


def test_records_that_do_not_exist_are_left_out(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1), page(5)]))

    assert sorted(record.page_id for record in store.load_records([5, 2, 1])) == [1, 5]
    assert store.load_records([]) == []


def test_a_host_is_known_by_its_name(store: Store) -> None:
    store.save("quotes", Batch(hosts=[HostRecord(host="a.example")]))

    assert store.has_host("a.example")
    assert not store.has_host("example")
