"""Forgetting, pruning and handing over."""

import pytest
from samples import crawl_state, page, visit
from sqlalchemy import event, func, select

from scrapy_freshness.errors import StorageError
from scrapy_freshness.model import Batch, HostRecord, Outcome
from scrapy_freshness.storage import maintenance, wishes
from scrapy_freshness.storage.click_rows import Clicks, load_spans, write_clicks
from scrapy_freshness.storage.inspection import strays
from scrapy_freshness.storage.page_reports import page_visits
from scrapy_freshness.storage.reports import spiders, taken_by_hosts
from scrapy_freshness.storage.schema import metadata, waiting_click
from scrapy_freshness.storage.store import Store


def sizes(store: Store) -> dict[str, int]:
    """How many rows each table has."""
    with store.reading() as connection:
        return {
            name: connection.scalar(select(func.count()).select_from(table)) or 0
            for name, table in metadata.tables.items()
        }


def test_forgetting_a_url_removes_all_its_pages_and_visits(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1), page(2)], visits=[visit(1, 5.0), visit(2, 6.0)]))
    same = page(store.next_page_id("authors"), url=page(1).url)
    store.save("authors", Batch(pages=[same], visits=[visit(same.page_id, 7.0)]))

    assert store.forget(url=page(1).url) == 2
    assert store.forget(url=page(1).url) == 0

    assert (store.page_count("quotes"), store.page_count("authors")) == (1, 0)
    assert [record.at for record in page_visits(store, 2)] == [6.0]
    assert {name: sizes(store)[name] for name in ("page", "page_detail", "visit")} == {
        "page": 1,
        "page_detail": 1,
        "visit": 1,
    }


def test_to_forget_a_page_its_visits_are_looked_up(sqlite_url: str) -> None:
    """In a log of millions, to look for them would keep the crawl from writing."""
    deletes = []

    def note(_0: object, _1: object, statement: str, parameters: object, *_2: object) -> None:
        if "DELETE FROM visit" in statement:
            deletes.append((statement, parameters))

    with Store.open(sqlite_url) as store:
        store.save("quotes", Batch(pages=[page(1)], visits=[visit(1, 5.0), visit(1, 6.0)]))
        with store.writing() as connection:
            event.listen(connection, "before_cursor_execute", note)
            maintenance.forget_url(connection, page(1).url)
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {deletes[0][0]}", deletes[0][1]).all()

        assert sizes(store)["visit"] == 0
    assert not any("SCAN visit" in step.detail for step in plan)


def test_pages_are_forgotten_whose_visits_were_pruned(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1), page(2)], visits=[visit(1, 5.0), visit(2, 6.0)]))
    store.save("quotes", Batch(visits=[visit(1, 7.0), visit(2, 8.0)]))
    store.prune_visits(before=6.5)
    store.forget(url=page(2).url)
    store.prune_visits(before=7.5)
    store.save("quotes", Batch(pages=[page(3)], visits=[visit(3, 9.0)]))

    assert store.forget(url=page(1).url) == 1

    assert [record.at for record in page_visits(store, 3)] == [9.0]
    assert not any(strays(store).values())


def test_forgetting_a_host_removes_it_with_its_pages(store: Store) -> None:
    store.save(
        "quotes",
        Batch(
            pages=[page(1), page(2, host="b.example"), page(3, host="b.example")],
            visits=[visit(2, 5.0)],
            hosts=[HostRecord(host="b.example", failures=3)],
        ),
    )

    assert store.forget(host="b.example") == 2

    assert store.host_names() == {"a.example"}
    assert store.load_pages("quotes").page_id.tolist() == [1]
    assert sizes(store)["visit"] == 0


@pytest.mark.parametrize("is_wished", [False, True])
def test_clicks_on_a_host_are_forgotten_with_it(store: Store, is_wished: bool) -> None:
    """Else SQLite would give them to the next new host, which has the same number."""
    store.save("quotes", Batch(pages=[page(1), page(2, host="b.example")], shown={(2, 5.0)}))
    waiting = [
        "http://b.example/3",
        "https://b.example:8443/",
        "http://b.example.org/",
        "http://a.example/b_example",
    ]
    with store.writing() as connection:
        clicks = Clicks(
            pages=[(1, 5, 1.0), (2, 5, 1.0)],
            waiting=[(number, 5, 1.0, url) for number, url in enumerate(waiting)],
            spans={1: (0.0, 9.0), 2: (0.0, 9.0)},
        )
        write_clicks(connection, clicks)

    if is_wished:
        wishes.ask_to_forget_host(store, "b.example", 10.0)
        wishes.forget_as_wished(store, "quotes", wishes.waiting(store, "quotes"), 20.0)
    else:
        store.forget(host="b.example")

    with store.reading() as connection:
        assert load_spans(connection) == {1: [(0.0, 9.0)]}
        assert set(connection.scalars(select(waiting_click.c.url))) == set(waiting[2:])
    assert not any(strays(store).values())


def test_a_page_that_was_forgotten_may_come_again(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1, host="b.example", visits=5)], visits=[visit(1, 5.0)]))
    with Store.open(str(store.database.url.render_as_string(hide_password=False))) as command:
        command.forget(host="b.example")

    fresh = Store.open(str(store.database.url.render_as_string(hide_password=False)))
    fresh.save("quotes", Batch(pages=[page(fresh.next_page_id("quotes"), host="b.example")]))

    assert [record.visits for record in fresh.load_records([1])] == [0]
    assert page_visits(fresh, 1) == []
    fresh.close()


@pytest.mark.parametrize("arguments", [{}, {"url": "http://a.example/", "host": "a.example"}])
def test_forget_wants_one_thing(store: Store, arguments: dict[str, str]) -> None:
    with pytest.raises(TypeError):
        store.forget(**arguments)


def test_pruning_removes_what_is_older_some_at_each_call(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "PRUNED_AT_ONCE", 3)
    store.save(
        "quotes",
        Batch(
            pages=[page(1, visits=20)],
            visits=[visit(1, 60.0 * minute) for minute in range(20)],
            fetches={(minute, "page"): 1 for minute in range(20)},
        ),
    )

    assert [store.prune_visits(before=600.0) for _ in range(3)] == [9, 1, 0]

    assert [record.at for record in page_visits(store, 1)] == [60.0 * minute for minute in range(19, 9, -1)]
    (report,) = spiders(store, now=20 * 60.0)
    assert (sum(report.last_day.visits.values()), report.last_day.fetches) == (10, {"page": 10})
    assert [record.visits for record in store.load_records([1])] == [20]


def test_a_renamed_spider_takes_over_everything(store: Store) -> None:
    store.save(
        "old",
        Batch(
            pages=[page(1), page(2)],
            visits=[visit(1, 60.0, Outcome.CHANGED)],
            fetches={(1, "page"): 2},
            host_fetches={("a.example", "page"): 2},
            state=crawl_state("old", price=3.0),
        ),
    )

    assert store.adopt("old", "new") == 2

    assert store.spiders() == ["new"]
    assert store.page_count("new") == 2
    assert store.load_state("new") == crawl_state("new", price=3.0)
    assert [record.at for record in page_visits(store, 1)] == [60.0]
    (report,) = spiders(store, now=100.0)
    assert (report.last_hour.visits, report.last_hour.fetches) == ({Outcome.CHANGED: 1}, {"page": 2})
    assert taken_by_hosts(store, "new")["a.example"].fetches == 2
    store.forget(host="a.example")
    assert taken_by_hosts(store, "new") == {}


def test_where_both_spiders_know_a_page_the_older_history_is_kept(store: Store) -> None:
    store.save("old", Batch(pages=[page(1, fingerprint=5, visits=30)], fetches={(1, "page"): 2}))
    first = store.next_page_id("new")
    store.save(
        "new",
        Batch(
            pages=[page(first, fingerprint=5, visits=1), page(first + 1, fingerprint=6)],
            visits=[visit(first, 60.0)],
            fetches={(1, "page"): 3},
            state=crawl_state("new"),
        ),
    )

    assert store.adopt("old", "new") == 1

    assert sorted(store.load_pages("new").page_id.tolist()) == [1, first + 1]
    assert store.load_state("new") == crawl_state("new")
    (report,) = spiders(store, now=100.0)
    assert report.last_hour.fetches == {"page": 5}
    assert sizes(store)["page_detail"] == 2


def test_what_was_learned_of_groups_is_handed_over_where_the_heir_knows_nothing(store: Store) -> None:
    store.save("old", Batch(pages=[page(1)], groups={"a": b"old", "b": b"old"}))
    store.save("new", Batch(groups={"b": b"new"}))

    store.adopt("old", "new")

    assert store.load_groups("new") == {"a": b"old", "b": b"new"}
    assert store.load_groups("old") == {}


def test_a_spider_named_like_one_that_was_renamed_starts_with_other_page_ids(store: Store) -> None:
    store.save("old", Batch(pages=[page(store.next_page_id("old"))]))
    store.adopt("old", "new")

    store.save("old", Batch(pages=[page(store.next_page_id("old"), url="http://other.example/")]))

    assert (store.page_count("old"), store.page_count("new")) == (1, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"), [("typo", "new", "it has quotes$"), ("quotes", "quotes", "already")]
)
def test_what_cannot_be_handed_over(store: Store, old: str, new: str, message: str) -> None:
    store.save("quotes", Batch(pages=[page(1)]))

    with pytest.raises(StorageError, match=message):
        store.adopt(old, new)

    assert store.spiders() == ["quotes"]
