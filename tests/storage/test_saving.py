"""One batch is one transaction, and says the last word about its pages."""

import os
from dataclasses import replace

import pytest
from samples import crawl_state, page, visit
from sqlalchemy import text

from scrapy_freshness.errors import StorageError
from scrapy_freshness.model import Batch, HostRecord, Outcome, PageStatus
from scrapy_freshness.storage.live_reports import outcome_history, visits_of_host
from scrapy_freshness.storage.page_reports import PageFilter, count_pages, last_visits, page_visits
from scrapy_freshness.storage.query_rows import add_frequencies
from scrapy_freshness.storage.reports import HostTaken, spiders, taken_by_hosts
from scrapy_freshness.storage.store import Store


def test_saving_a_page_again_replaces_all_that_may_change(store: Store) -> None:
    before = page(1, history=b"one", etag='"1"', visits=1)
    after = replace(before, history=b"two", etag=None, visits=2, status=PageStatus.GONE, last_visit_at=5.0)

    store.save("quotes", Batch(pages=[before]))
    store.save("quotes", Batch(pages=[after]))

    assert store.load_records([1]) == [after]
    assert store.page_count("quotes") == 1


def test_of_a_page_that_occurs_twice_in_a_batch_the_last_counts(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1, visits=1), page(2), page(1, visits=2)]))

    assert {record.page_id: record.visits for record in store.load_records([1, 2])} == {1: 2, 2: 0}


def test_a_page_may_move_to_another_host(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1, host="a.example"), page(2, host="a.example")]))
    store.save("quotes", Batch(pages=[page(1, host="slow"), page(2, host="a.example")]))

    assert {record.page_id: record.host for record in store.load_records([1, 2])} == {
        1: "slow",
        2: "a.example",
    }
    assert [count_pages(store, PageFilter(host=name)) for name in ("a.example", "slow")] == [1, 1]


def test_saving_a_page_keeps_what_is_known_about_its_host(store: Store) -> None:
    store.save("quotes", Batch(hosts=[HostRecord(host="a.example", failures=3)]))
    store.save("quotes", Batch(pages=[page(1, host="a.example")]))

    assert store.load_hosts() == [HostRecord(host="a.example", failures=3)]


def test_crawls_that_share_a_host_do_not_take_back_what_others_found_out(store: Store) -> None:
    """How many of its 304 answers were checked, and found to be false."""
    store.save("quotes", Batch(hosts=[HostRecord(host="a.example", audits=10, false_not_modified=2)]))
    store.save("news", Batch(hosts=[HostRecord(host="a.example", audits=1, failures=2)]))

    assert store.load_hosts() == [HostRecord(host="a.example", failures=2, audits=10, false_not_modified=2)]

    store.save("quotes", Batch(hosts=[HostRecord(host="a.example", audits=11, false_not_modified=3)]))

    assert store.load_hosts() == [HostRecord(host="a.example", audits=11, false_not_modified=3)]


def test_ids_are_taken_for_new_rows_only(postgres_url: str) -> None:
    """They are small numbers: a crawl that took one at every flush would come to their end."""
    with Store.open(postgres_url) as store:
        for failures in range(5):
            for spider in ("quotes", "news"):
                store.save(spider, Batch(hosts=[HostRecord(host="a.example", failures=failures)]))
            with store.writing() as connection:
                add_frequencies(connection, {"fresh": 2.0, "crawl": 1.0})
        store.save("quotes", Batch(hosts=[HostRecord(host="b.example", failures=failures)]))
        with store.writing() as connection:
            add_frequencies(connection, {"fresh": 1.0, "news": 1.0})
        with store.reading() as connection:
            terms = connection.execute(text("SELECT id, term, frequency FROM query_term ORDER BY id")).all()
            hosts = connection.execute(text("SELECT id, name, failures FROM host ORDER BY id")).all()

    assert list(map(tuple, hosts)) == [(1, "a.example", 4), (2, "b.example", 4)]
    assert list(map(tuple, terms)) == [(1, "crawl", 5.0), (2, "fresh", 11.0), (3, "news", 1.0)]


def test_visits_of_a_page_are_listed_from_the_last_to_the_first(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1)], visits=[visit(1, 10.0, Outcome.FIRST)]))
    store.save(
        "quotes", Batch(pages=[page(2), page(1)], visits=[visit(1, 20.0), visit(2, 21.0), visit(1, 22.0)])
    )
    store.save("quotes", Batch(pages=[page(1, visits=9)]))
    store.save("quotes", Batch(visits=[visit(1, 30.0, Outcome.CHANGED, divergence=0.5)]))

    assert [record.at for record in page_visits(store, 1)] == [30.0, 22.0, 20.0, 10.0]
    assert [record.at for record in page_visits(store, 1, limit=2)] == [30.0, 22.0]
    assert [record.at for record in page_visits(store, 2)] == [21.0]
    assert page_visits(store, 3) == []
    assert {key: record.at for key, record in last_visits(store, [1, 2, 3]).items()} == {1: 30.0, 2: 21.0}


def test_requests_that_were_never_sent_are_in_the_log_and_count_as_no_visits(store: Store) -> None:
    stopped = visit(1, 60.0, Outcome.IGNORED, reason="Forbidden by robots.txt")
    store.save("quotes", Batch(pages=[page(1)], visits=[stopped, visit(1, 61.0)]))

    assert page_visits(store, 1) == [visit(1, 61.0), stopped]
    assert visits_of_host(store, "quotes", "a.example", 0.0) == 1
    assert outcome_history(store, "quotes", 0.0, 1) == {60.0: {visit(1, 61.0).outcome: 1}}


def test_counts_per_minute_add_up_over_batches(store: Store) -> None:
    for _ in range(3):
        store.save(
            "quotes",
            Batch(
                pages=[page(1)],
                visits=[visit(1, 6001.0, Outcome.CHANGED), visit(1, 6002.0), visit(1, 6003.0)],
                fetches={(100, "page"): 3, (100, "robots"): 1},
            ),
        )

    (report,) = spiders(store, now=6100.0)

    assert report.last_hour.visits == {Outcome.CHANGED: 3, Outcome.UNCHANGED: 6}
    assert report.last_hour.fetches == {"page": 9, "robots": 3}


def test_what_hosts_take_and_bring_adds_up_over_batches(store: Store) -> None:
    known = [page(1, host="a.example"), page(2, host="b.example")]
    store.save("quotes", Batch(pages=known, visits=[visit(1, 1.0, Outcome.FIRST), visit(2, 1.0)]))
    for _ in range(2):
        store.save(
            "quotes",
            Batch(
                visits=[
                    visit(1, 2.0, Outcome.CHANGED),
                    visit(1, 3.0, Outcome.FAILED),
                    visit(2, 3.0, Outcome.CHANGED, is_barren=True),
                    visit(2, 4.0, Outcome.CHANGED, was_pushed=True),
                ],
                host_fetches={
                    ("a.example", "page"): 2,
                    ("a.example", "redirect"): 20,
                    ("a.example", "retry"): 3,
                    ("b.example", "poll"): 1,
                    ("c.example", "robots"): 1,
                },
            ),
        )

    assert taken_by_hosts(store, "quotes") == {
        "a.example": HostTaken(fetches=50, redirects=40, retries=6, fruitful=3),
        "b.example": HostTaken(fetches=2, redirects=0, retries=0, fruitful=0),
        "c.example": HostTaken(fetches=2, redirects=0, retries=0, fruitful=0),
    }
    assert taken_by_hosts(store, "others") == {}


def test_an_empty_batch_changes_nothing(store: Store) -> None:
    store.save("quotes", Batch())

    assert store.page_count("quotes") == 0


def test_a_batch_may_be_large(store: Store) -> None:
    records = [page(number, host=f"{number % 700}.example") for number in range(1, 5001)]

    store.save("quotes", Batch(pages=records, visits=[visit(record.page_id, 1.0) for record in records]))

    assert store.page_count("quotes") == 5000
    assert len(store.load_records(range(1, 6000))) == 5000


def test_nothing_of_a_batch_is_kept_if_a_part_of_it_fails(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1, visits=1)], fetches={(100, "page"): 1}))
    same_fingerprint = page(3, fingerprint=page(1).fingerprint)

    with pytest.raises(StorageError):
        store.save(
            "quotes",
            Batch(
                pages=[page(1, visits=2), page(2, host="new.example"), same_fingerprint],
                visits=[visit(1, 10.0)],
                hosts=[HostRecord(host="b.example")],
                fetches={(100, "page"): 5},
                state=crawl_state(),
            ),
        )

    assert [record.visits for record in store.load_records([1, 2, 3])] == [1]
    assert page_visits(store, 1) == []
    assert store.host_names() == {"a.example"}
    assert store.load_state("quotes") is None
    (report,) = spiders(store, now=6100.0)
    assert report.last_hour.fetches == {"page": 1}


def test_a_batch_can_be_saved_after_one_that_failed(store: Store) -> None:
    with pytest.raises(StorageError):
        store.save("quotes", Batch(pages=[page(1, host="new.example"), page(2, fingerprint=2**70)]))

    store.save("quotes", Batch(pages=[page(1, host="new.example")]))

    assert [record.host for record in store.load_records([1])] == ["new.example"]


def test_two_spiders_may_know_the_same_page(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1, fingerprint=5)]))
    store.save("authors", Batch(pages=[page(store.next_page_id("authors"), fingerprint=5)]))

    assert store.spiders() == ["authors", "quotes"]
    assert [store.page_count(name) for name in ("quotes", "authors", "nobody")] == [1, 1, 0]


def test_page_ids_of_two_spiders_never_meet(store: Store) -> None:
    quotes, authors = store.next_page_id("quotes"), store.next_page_id("authors")
    store.save("quotes", Batch(pages=[page(quotes), page(quotes + 1)]))

    assert quotes == 1
    assert store.next_page_id("quotes") == 3
    assert store.next_page_id("authors") == authors > 10**12


def test_blobs_are_not_looked_into(store: Store) -> None:
    garbage = os.urandom(100_000)
    store.save("quotes", Batch(pages=[page(1, history=garbage, profiles=b"\0\xff{")]))

    (loaded,) = store.load_records([1])

    assert (loaded.history, loaded.profiles) == (garbage, b"\0\xff{")
