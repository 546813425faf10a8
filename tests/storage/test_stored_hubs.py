"""Hubs and the links that were seen on them, on both databases."""

from dataclasses import replace

from samples import page
from sqlalchemy import text

from scrapy_freshness.model import Batch, HubRecord, HubState, LinkSegment, PageKind
from scrapy_freshness.storage.hub_reports import hubs
from scrapy_freshness.storage.inspection import strays
from scrapy_freshness.storage.store import Store

HUB = HubRecord(
    page_id=9,
    url="http://a.example/9",
    found="link",
    found_on="http://a.example/",
    evidence="last-modified",
    state=HubState.RETIRED,
    is_unseen=True,
    polls=30,
    shown=120,
    new_links=1 << 33,
    barren=12,
    since=5.0,
    last_poll_at=123.5,
    rests=2,
    next_look_at=1e9,
    candidates=b"\0" * 24,
)


def segment(number: int, packed: bytes, host: str = "a.example:8000") -> LinkSegment:
    return LinkSegment(host=host, number=number, packed=packed)


def test_a_hub_comes_back_as_it_was(store: Store) -> None:
    source = page(9, kind=PageKind.SOURCE, beliefs={"link_rate": 0.5, "profit": 2.0})
    store.save("news", Batch(pages=[source], hubs=[replace(HUB, polls=1), HUB]))

    assert store.load_hubs("news") == [HUB]
    assert store.load_hubs("other") == []
    (report,) = hubs(store)
    assert (report.spider, report.host, report.state, report.shown) == ("news", "a.example", HUB.state, 120)
    with store.reading() as connection:
        (row,) = connection.execute(text("SELECT * FROM v_hubs")).mappings()
    assert (row["state"], row["link_rate"], row["profit"], row["decay"]) == ("retired", 0.5, 2.0, None)
    assert (row["is_unseen"], row["new_links"], row["next_look_utc"]) == (1, 1 << 33, "2001-09-09T01:46:40Z")


def test_pages_that_no_callback_takes_have_a_kind(store: Store) -> None:
    store.save("news", Batch(pages=[page(1, kind=PageKind.UNASKED)]))

    with store.reading() as connection:
        assert connection.scalar(text("SELECT kind FROM v_pages")) == "unasked"


def test_segments_of_links_grow_and_are_replaced(store: Store) -> None:
    store.save("news", Batch(seen_links=[segment(0, b"1" * 8), segment(0, b"1" * 8 + b"2" * 8)]))
    store.save("news", Batch(seen_links=[segment(1, b"3" * 8), segment(0, b"x", host="b.example")]))

    assert sorted(store.load_links("news", "a.example:8000")) == [(0, b"1" * 8 + b"2" * 8), (1, b"3" * 8)]
    assert store.load_links("other", "a.example:8000") == []


def test_what_is_forgotten_and_adopted_takes_its_hubs_along(store: Store) -> None:
    links = [segment(0, b"1" * 8), segment(0, b"2" * 8, host="b.example")]
    store.save("old", Batch(pages=[page(9), page(8, host="b.example")], hubs=[HUB], seen_links=links))
    store.save("new", Batch(seen_links=[segment(0, b"3" * 8, host="b.example")]))

    store.adopt("old", "new")
    assert [hub.page_id for hub in store.load_hubs("new")] == [9]
    assert store.load_links("new", "a.example:8000") == [(0, b"1" * 8)]
    assert store.load_links("new", "b.example") == [(0, b"3" * 8)]

    store.forget(host="a.example")
    assert store.load_hubs("new") == store.load_links("new", "a.example:8000") == []
    assert not any(strays(store).values())
