"""What people ask of a crawl waits in the database until it is granted, once."""

import pytest
from samples import page, visit
from sqlalchemy import text

from scrapy_freshness.model import Batch, HostRecord, LinkSegment, Outcome, WishKind
from scrapy_freshness.storage import wishes
from scrapy_freshness.storage.page_reports import find_pages
from scrapy_freshness.storage.reports import taken_by_hosts
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.wishes import PageWish


@pytest.fixture
def web(store: Store) -> Store:
    store.save("quotes", Batch(pages=[page(1), page(2), page(3, host="b.example")]))
    store.save("news", Batch(pages=[page(store.next_page_id("news"), url="http://a.example/1")]))
    return store


def test_a_wish_waits_until_it_is_granted(web: Store) -> None:
    assert wishes.ask_for_visits(web, [1, 2, 77], now=50.0) == 2
    first, second = wishes.waiting(web, "quotes")
    assert (first.kind, first.page_id, first.what) == (WishKind.VISIT, 1, "http://a.example/1")
    assert (first.fingerprint, first.asked_at) == (7919, 50.0)
    assert wishes.waiting(web, "news") == []

    web.save("quotes", Batch(visits=[visit(1, 60.0)], wishes={first.wish_id: (60.0, "changed")}))
    web.save("quotes", Batch(wishes={first.wish_id: (90.0, "failed")}))  # once only

    assert [wish.wish_id for wish in wishes.waiting(web, "quotes")] == [second.wish_id]
    assert wishes.page_wishes(web, 1) == [
        PageWish(kind=WishKind.VISIT, seconds=None, asked_at=50.0, done_at=60.0, outcome="changed")
    ]


def test_asking_twice_is_asking_once(web: Store) -> None:
    for now in (50.0, 51.0):
        wishes.ask_for_visits(web, [1], now)
        wishes.pin(web, [1], now, now)

    assert [(wish.kind, wish.seconds) for wish in wishes.waiting(web, "quotes")] == [
        (WishKind.VISIT, None),
        (WishKind.PIN, 51.0),
    ]


def test_a_pin_is_in_force_at_once_and_no_visit_takes_it_back(web: Store) -> None:
    (before,) = web.load_records([1])
    wishes.pin(web, [1], 3600.0, now=50.0)
    before.visits += 1
    web.save("quotes", Batch(pages=[before], visits=[visit(1, 60.0, Outcome.CHANGED)]))

    (record,) = web.load_records([1])
    pages = find_pages(web, "http://a.example/1")
    columns = web.load_pages("quotes")
    assert (record.pinned_seconds, record.visits) == (3600.0, 1)
    assert [each.pinned_seconds for each in pages] == [3600.0, None]
    assert columns.pinned_seconds is not None
    assert dict(zip(columns.page_id, columns.pinned_seconds, strict=True))[1] == 3600.0
    assert web.load_pages("news").pinned_seconds is None

    wishes.pin(web, [1], None, now=70.0)
    assert web.load_records([1])[0].pinned_seconds is None
    with pytest.raises(ValueError):
        wishes.pin(web, [1], 0.0, now=80.0)


def test_a_page_is_forgotten_with_what_was_asked_about_it(web: Store) -> None:
    wishes.ask_for_visits(web, [1], now=50.0)
    wishes.ask_to_forget(web, [1], now=51.0)
    forget = [wish for wish in wishes.waiting(web, "quotes") if wish.kind is WishKind.FORGET]
    wishes.forget_as_wished(web, "quotes", forget, now=52.0)

    assert web.load_records([1]) == []
    assert wishes.waiting(web, "quotes") == []
    with web.reading() as connection:
        seen = connection.execute(text("SELECT kind, what, done_utc, outcome FROM v_wishes ORDER BY wish_id"))
        assert [tuple(row) for row in seen] == [
            ("visit", "http://a.example/1", "1970-01-01T00:00:52Z", "forgotten"),
            ("forget", "http://a.example/1", "1970-01-01T00:00:52Z", "forgotten"),
        ]


def test_every_crawl_forgets_its_own_pages_of_a_host(web: Store) -> None:
    web.save("quotes", Batch(hosts=[HostRecord(host="a.example", blocked_until=9e9, failures=3)]))
    assert wishes.ask_to_forget_host(web, "a.example", now=50.0) == 2
    wishes.forget_as_wished(web, "quotes", wishes.waiting(web, "quotes"), now=52.0)

    assert [web.page_count(name) for name in ("quotes", "news")] == [1, 1]
    assert len(wishes.waiting(web, "news")) == 1
    assert web.load_hosts() == [], "its back-off is forgotten"
    web.save("quotes", Batch(pages=[page(9)]))
    assert find_pages(web, "http://a.example/9")[0].host == "a.example"


@pytest.mark.parametrize("is_running", [False, True])
def test_a_host_is_forgotten_with_all_that_was_learned_of_it(web: Store, is_running: bool) -> None:
    """By a crawl that runs as without one."""
    others = ['["rates"]', '["rates", "b.example"]', '["rates", "a.example.org"]', "rates of old"]
    groups = [
        '["rates", "a.example"]',
        '["rates", "a.example", "a.example/news/*"]',
        '["signals", "a.example"]',
    ]
    hosts = ["a.example", "a.example:8000", "a.example.org", "b.example"]
    web.save(
        "quotes",
        Batch(
            groups=dict.fromkeys([*groups, *others], b"x"),
            seen_links=[LinkSegment(host=host, number=0, packed=b"12345678") for host in hosts],
            host_fetches={("a.example", "page"): 2, ("b.example", "page"): 3},
        ),
    )
    if is_running:
        wishes.ask_to_forget_host(web, "a.example", now=50.0)
        wishes.forget_as_wished(web, "quotes", wishes.waiting(web, "quotes"), now=52.0)
    else:
        web.forget(host="a.example")

    assert set(web.load_groups("quotes")) == set(others)
    assert [bool(web.load_links("quotes", host)) for host in hosts] == [False, False, True, True]
    assert web.page_count("quotes") == 1
    assert {host: taken.fetches for host, taken in taken_by_hosts(web, "quotes").items()} == {"b.example": 3}


def test_wishes_follow_a_spider_that_is_renamed_and_are_pruned_once_granted(web: Store) -> None:
    wishes.ask_for_visits(web, [1, 2], now=50.0)
    web.adopt("quotes", "sayings")
    first, second = wishes.waiting(web, "sayings")
    web.save("sayings", Batch(wishes={first.wish_id: (60.0, "changed")}))
    web.prune_visits(before=100.0)

    assert wishes.page_wishes(web, 1) == []
    assert wishes.waiting(web, "sayings") == [second]
