"""What is saved comes back, on both databases the same."""

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import crawl_state, page, visit

from scrapy_freshness.errors import StorageError
from scrapy_freshness.model import (
    Batch,
    HostRecord,
    Outcome,
    PageKind,
    PageRecord,
    PageStatus,
    Subscription,
    VisitRecord,
)
from scrapy_freshness.storage.importance_rows import GIVEN, write_importances
from scrapy_freshness.storage.page_reports import find_pages, page_visits
from scrapy_freshness.storage.rows import clean
from scrapy_freshness.storage.store import Store

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)  # NUL and lone surrogates too
INT64 = st.integers(-(2**63), 2**63 - 1)
COUNT = st.integers(0, 2**31 - 1)
FLOAT = st.floats()  # infinite and NaN too

RECORD_FIELDS = {
    "page_id": st.just(1),
    "fingerprint": st.just(1),
    "url": st.just("http://a.example/"),
    "host": ANY_TEXT,
    "request": st.none() | ANY_TEXT,
    "status": st.sampled_from(PageStatus),
    "kind": st.sampled_from(PageKind),
    "priority": INT64,
    "importance": FLOAT,
    "discovered_at": st.just(5.0),
    "last_visit_at": st.none() | FLOAT,
    "last_change_at": st.none() | FLOAT,
    "not_before": FLOAT,
    "visits": COUNT,
    "changes": COUNT,
    "failures": COUNT,
    "change_rate": FLOAT,
    "change_rate_low": FLOAT,
    "change_rate_high": FLOAT,
    "etag": st.none() | ANY_TEXT,
    "last_modified": st.none() | ANY_TEXT,
    "content_hash": st.none() | INT64,
    "body_hash": st.none() | INT64,
    "http_status": st.none() | INT64,
    "run_callback": st.booleans(),
    "history": st.binary(max_size=3000),
    "signalled": st.binary(max_size=128),
    "polls": st.binary(max_size=80),
    "terms": st.binary(max_size=20),
    "touched": st.binary(max_size=20),
    "links": st.binary(max_size=20),
    "profiles": st.binary(max_size=3000),
    "beliefs": st.dictionaries(ANY_TEXT, FLOAT, max_size=3),
    "found_on": st.just(2**40),
    "in_links": st.just(3),
    "pinned_seconds": st.none(),  # not the crawl's to write
}
RECORDS = st.builds(PageRecord, **RECORD_FIELDS)

VISITS = st.builds(
    VisitRecord,
    page_id=st.just(1),
    at=st.floats(0, 1e10),
    outcome=st.sampled_from(Outcome),
    http_status=st.none() | INT64,
    divergence=st.none() | FLOAT,
    body_bytes=st.integers(0, 2**63 - 1),
    latency_seconds=st.none() | FLOAT,
    reason=st.none() | ANY_TEXT,
)

every_example_in_the_same_store = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@every_example_in_the_same_store
@given(record=RECORDS)
def test_a_record_comes_back_as_the_rules_say(store: Store, record: PageRecord) -> None:
    store.save("quotes", Batch(pages=[record]))

    (loaded,) = store.load_records([1])

    assert loaded == kept(record)
    assert {type(getattr(loaded, field.name)) for field in fields(loaded)} <= {
        *(int, float, str, bytes, bool, dict, type(None), PageStatus, PageKind)
    }


def test_the_importance_of_a_page_is_left_to_who_has_given_it(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1, importance=2.0), page(2, importance=2.0)]))
    with store.writing() as connection:
        write_importances(connection, [(1, 7.0, GIVEN)])
    store.save("quotes", Batch(pages=[page(1, importance=5.0), page(2, importance=5.0, found_on=1)]))
    found = {record.page_id: record for record in store.load_records([1, 2])}

    assert [found[number].importance for number in (1, 2)] == [7.0, 5.0]
    assert found[2].found_on is None


@every_example_in_the_same_store
@given(record=VISITS)
def test_a_visit_comes_back_as_the_rules_say(store: Store, record: VisitRecord) -> None:
    store.save("quotes", Batch(pages=[page(1)], visits=[record]))

    assert page_visits(store, 1, limit=1) == [
        replace(
            record,
            http_status=status_code(record.http_status),
            divergence=without_nan(record.divergence, None),
            latency_seconds=without_nan(record.latency_seconds, None),
            reason=clean(record.reason)[:200] if record.reason else None,
        )
    ]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(url=ANY_TEXT, number=st.integers(1, 2**40))
def test_a_page_is_found_by_whatever_url_it_was_saved_with(store: Store, url: str, number: int) -> None:
    store.forget(url=url)
    store.save("quotes", Batch(pages=[page(number, url=url, host="b.example")]))

    assert [found.page_id for found in find_pages(store, url)] == [number]
    assert store.forget(url=url) == 1


def test_no_field_of_a_record_is_left_out_of_these_tests() -> None:
    assert set(RECORD_FIELDS) == {field.name for field in fields(PageRecord)}


def test_numbers_of_numpy_are_stored_like_plain_ones(store: Store) -> None:
    record = page(
        1,
        fingerprint=np.int64(-5),
        importance=np.float32(0.5),
        last_visit_at=np.float64(7.0),
        visits=np.int32(3),
        content_hash=np.int64(9),
    )
    seen = visit(1, np.float64(7.0), divergence=np.float32(0.25), body_bytes=np.int64(10))

    store.save("quotes", Batch(pages=[record], visits=[seen]))

    (loaded,) = store.load_records([np.int64(1)])
    assert (loaded.fingerprint, loaded.importance, loaded.last_visit_at, loaded.visits) == (-5, 0.5, 7.0, 3)
    assert page_visits(store, 1) == [visit(1, 7.0, divergence=0.25, body_bytes=10)]


def test_a_number_that_no_column_holds_is_refused(store: Store) -> None:
    with pytest.raises(StorageError):
        store.save("quotes", Batch(pages=[page(1, fingerprint=2**70)]))

    assert store.page_count("quotes") == 0


def test_a_url_of_ten_kilobytes_is_kept_and_found(store: Store) -> None:
    long_url = "http://a.example/?" + "".join(chr(33 + n * 7919 % 90) for n in range(10_000))
    store.save("quotes", Batch(pages=[page(1, url=long_url), page(2, url=long_url + "2", host="h" * 5000)]))

    assert [found.page_id for found in find_pages(store, long_url)] == [1]
    assert [record.host for record in store.load_records([2])] == ["h" * 255]


def test_hosts_come_back(store: Store) -> None:
    blocked = HostRecord(host="ä.example", blocked_until=9.5, failures=2, audits=3, false_not_modified=1)
    store.save("quotes", Batch(pages=[page(1)], hosts=[HostRecord(host="ä.example"), blocked]))

    assert store.host_names() == {"a.example", "ä.example"}
    assert store.load_hosts() == [blocked]


@pytest.mark.parametrize(
    ("known", "is_special"),
    [({}, False), ({"blocked_until": 5.0}, True), ({"failures": 1}, True), ({"audits": 1}, True)],
)
def test_only_hosts_are_loaded_of_which_there_is_something_to_say(
    store: Store, known: dict[str, Any], is_special: bool
) -> None:
    record = HostRecord(host="a.example", **known)
    store.save("quotes", Batch(pages=[page(1)], hosts=[record]))

    assert store.load_hosts() == [record] * is_special
    assert store.load_pages("quotes").hosts == ["a.example"]


def test_the_state_of_the_crawl_comes_back(store: Store) -> None:
    assert store.load_state("quotes") is None

    store.save("quotes", Batch(state=crawl_state(price=0.5)))
    store.save("quotes", Batch(state=crawl_state(price=math.inf)))

    assert store.load_state("quotes") == crawl_state(price=math.inf)
    assert store.load_state("other") is None


def kept(record: PageRecord) -> PageRecord:
    """The record that the rules of storage/rows.py make of a record, in other words than there."""
    return replace(
        record,
        host=storable(record.host)[:255],
        request=storable(record.request),
        priority=int(np.clip(record.priority, -(2**31), 2**31 - 1)),
        importance=without_nan(record.importance, 1.0),
        last_visit_at=without_nan(record.last_visit_at, None),
        last_change_at=without_nan(record.last_change_at, None),
        not_before=without_nan(record.not_before, 0.0),
        change_rate=without_nan(record.change_rate, 0.0),
        change_rate_low=without_nan(record.change_rate_low, 0.0),
        change_rate_high=without_nan(record.change_rate_high, 0.0),
        etag=storable(record.etag),
        last_modified=storable(record.last_modified),
        http_status=status_code(record.http_status),
        beliefs={name: value for name, value in record.beliefs.items() if math.isfinite(value)},
    )


def storable(text: str | None) -> str | None:
    if text is None:
        return None
    return "".join("\ufffd" if char == "\0" or 0xD800 <= ord(char) <= 0xDFFF else char for char in text)


def without_nan(number: float | None, otherwise: float | None) -> float | None:
    return otherwise if number is not None and math.isnan(number) else number


def status_code(code: int | None) -> int | None:
    return None if code is None else int(np.clip(code, 0, 32767))


SUBSCRIPTIONS = st.builds(
    Subscription,
    token=st.just("t"),
    callback=ANY_TEXT,
    topic=ANY_TEXT,
    hub=ANY_TEXT,
    secret=ANY_TEXT,
    found_at=ANY_TEXT,
    lease_seconds=st.floats(0, 1e10),
    expires_at=st.floats(0, 1e10),
    next_try_at=st.floats(0, 1e10),
    failures=COUNT,
    is_asked=st.booleans(),
    is_ending=st.booleans(),
    last_push_at=st.floats(0, 1e10),
    digests=st.binary(max_size=512),
    seen=st.binary(max_size=512),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(subscription=SUBSCRIPTIONS)
def test_a_subscription_comes_back(store: Store, subscription: Subscription) -> None:
    store.save("quotes", Batch(subscriptions={"t": subscription}))

    (kept,) = store.load_subscriptions("quotes")
    texts = {"callback", "topic", "hub", "secret", "found_at"}
    for each in fields(Subscription):
        written = getattr(subscription, each.name)
        expected = clean(written) if each.name in texts else written
        assert getattr(kept, each.name) == expected
    assert store.load_subscriptions("others") == []


def test_a_subscription_that_ended_is_gone(store: Store) -> None:
    names = {"callback": "c", "topic": "t", "hub": "h", "secret": "s", "found_at": "f"}
    both = {token: Subscription(token=token, **names) for token in ("a", "b")}
    store.save("quotes", Batch(subscriptions=both))
    store.save("quotes", Batch(subscriptions={"a": None}))

    assert store.load_subscriptions("quotes") == [both["b"]]
    store.adopt("quotes", "proverbs")
    assert store.load_subscriptions("proverbs") == [both["b"]]
