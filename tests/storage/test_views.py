"""The SQL views are a public interface: their columns and meanings stay."""

from typing import Any

from samples import page, visit
from sqlalchemy import inspect, text

from scrapy_freshness.model import Batch, HostRecord, Outcome, PageStatus
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.views import VIEWS


def test_every_view_is_described_and_every_column_too(store: Store) -> None:
    with store.reading() as connection:
        names = inspect(connection).get_view_names()
        columns = {name: list(connection.execute(text(f"SELECT * FROM {name}")).keys()) for name in names}

    assert columns == {name: list(described) for name, described in VIEWS.items()}
    assert all(meaning for described in VIEWS.values() for meaning in described.values())


def test_names_and_times_can_be_read_by_people(store: Store) -> None:
    seen = page(
        1,
        status=PageStatus.GONE,
        last_visit_at=1_700_000_000.5,
        discovered_at=1e9,
        visits=3,
        changes=2,
        http_status=404,
    )
    store.save(
        "quotes",
        Batch(
            pages=[seen, page(2, status=PageStatus.NEW)],
            visits=[visit(1, 1_700_000_000.5, Outcome.NOT_MODIFIED, body_bytes=12, reason="a\0" + 300 * "b")],
            hosts=[HostRecord(host="a.example", blocked_until=2e9, failures=1)],
            fetches={(28_333_333, "page"): 7},
            host_fetches={("a.example", "page"): 5, ("a.example", "redirect"): 2},
        ),
    )

    first, second = rows(store, "SELECT * FROM v_pages ORDER BY page_id")
    assert (first["spider"], first["host"], first["url"]) == ("quotes", "a.example", "http://a.example/1")
    assert (first["status"], first["kind"], first["http_status"]) == ("gone", "page", 404)
    assert (first["last_visit_at"], first["last_visit_utc"]) == (1_700_000_000.5, "2023-11-14T22:13:20Z")
    assert (first["discovered_utc"], first["last_change_utc"]) == ("2001-09-09T01:46:40Z", None)
    assert (first["not_before"], first["not_before_utc"]) == (0.0, None)
    assert (second["status"], second["last_visit_utc"]) == ("new", None)

    (host,) = rows(store, "SELECT * FROM v_hosts")
    assert (host["pages"], host["visits"], host["changes"], host["failures"]) == (2, 3, 2, 1)
    assert host["blocked_until_utc"] == "2033-05-18T03:33:20Z"
    assert (host["fetches"], host["redirects"], host["retries"], host["wasted"]) == (7, 2, 0, 7)

    (seen_once,) = rows(store, "SELECT * FROM v_visits")
    assert (seen_once["outcome"], seen_once["at_utc"]) == ("not_modified", "2023-11-14T22:13:20Z")
    assert (seen_once["url"], seen_once["body_bytes"]) == ("http://a.example/1", 12)
    assert seen_once["reason"] == "a\ufffd" + 198 * "b"

    assert rows(store, "SELECT * FROM v_outcomes") == [
        {
            "spider": "quotes",
            "minute_at": 1_699_999_980,
            "minute_utc": "2023-11-14T22:13:00Z",
            "outcome": "not_modified",
            "visits": 1,
        }
    ]
    assert rows(store, "SELECT * FROM v_budget") == [
        {
            "spider": "quotes",
            "minute_at": 1_699_999_980,
            "minute_utc": "2023-11-14T22:13:00Z",
            "kind": "page",
            "fetches": 7,
        }
    ]


def test_every_status_and_outcome_has_its_name(store: Store) -> None:
    store.save(
        "quotes",
        Batch(
            pages=[page(1 + status, status=status) for status in PageStatus],
            visits=[visit(1, 60.0, outcome) for outcome in Outcome],
        ),
    )

    statuses = [row["status"] for row in rows(store, "SELECT status FROM v_pages ORDER BY page_id")]
    outcomes = [row["outcome"] for row in rows(store, "SELECT outcome FROM v_visits ORDER BY visit_id")]
    counted = {row["outcome"] for row in rows(store, "SELECT outcome FROM v_outcomes")}

    assert statuses == [status.name.lower() for status in PageStatus]
    assert outcomes == [outcome.name.lower() for outcome in Outcome]
    assert counted == set(outcomes) - {"ignored"}  # nothing was sent


def test_a_host_without_pages_is_listed(store: Store) -> None:
    store.save("quotes", Batch(hosts=[HostRecord(host="empty.example")]))

    (host,) = rows(store, "SELECT host, pages, visits FROM v_hosts")

    assert host == {"host": "empty.example", "pages": 0, "visits": 0}


def test_a_time_beyond_all_calendars_breaks_no_view(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1, not_before=float("inf"), discovered_at=-1e300)]))

    (row,) = rows(store, "SELECT not_before, not_before_utc, discovered_utc FROM v_pages")

    assert row == {"not_before": float("inf"), "not_before_utc": None, "discovered_utc": None}


def rows(store: Store, query: str) -> list[dict[str, Any]]:
    with store.reading() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]
