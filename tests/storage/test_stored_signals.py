"""Sources of signals and the log of signals, on both databases."""

import numpy as np
from samples import page, visit
from sqlalchemy import text

from scrapy_freshness.model import (
    Batch,
    Outcome,
    PageKind,
    PageRecord,
    SignalRecord,
    SignalSource,
    SourceRecord,
)
from scrapy_freshness.storage.inspection import strays
from scrapy_freshness.storage.signal_reports import page_signals, signal_counts, sources
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.views import VIEWS


def source(page_id: int, **fields: object) -> SourceRecord:
    given = {
        "url": f"http://a.example/{page_id}",
        "kind": PageKind.SITEMAP,
        "found": "robots",
        "hosts": ("b.example",),
        "oddities": {"bad_url": 3},
    }
    return SourceRecord(page_id=page_id, **{**given, **fields})  # type: ignore[arg-type]


def signal(page_id: int, heard_at: float, **fields: object) -> SignalRecord:
    given = {"source": SignalSource.SITEMAP, "told_by": 9, "claimed_at": heard_at - 5}
    return SignalRecord(page_id=page_id, heard_at=heard_at, **{**given, **fields})  # type: ignore[arg-type]


def sitemap_page(page_id: int) -> PageRecord:
    return page(page_id, kind=PageKind.SITEMAP)


def rows(store: Store, view: str) -> list[dict[str, object]]:
    with store.reading() as connection:
        return [dict(row) for row in connection.execute(text(f"SELECT * FROM {view} ORDER BY 1")).mappings()]


def test_a_source_comes_back_as_it_was(store: Store) -> None:
    record = source(
        9,
        found_on="http://a.example/robots.txt",
        is_pinned=True,
        depth=2,
        format="sitemap",
        verdict="usable",
        entries=5,
        polls=7,
        new_pages=1 << 33,
        signals=3,
        barren=1,
        last_poll_at=123.5,
        last_yield=1.25,
        hub="http://hub.example/",
        topic="http://a.example/9",
    )
    store.save("quotes", Batch(pages=[sitemap_page(9)], sources=[record]))

    assert store.load_sources("quotes") == [record]
    assert store.load_sources("others") == []


def test_what_a_source_said_stays_until_it_says_something_else(store: Store) -> None:
    store.save("quotes", Batch(pages=[sitemap_page(9)], sources=[source(9, seen=b"one")]))
    assert store.load_seen(9) == b"one"

    store.save("quotes", Batch(sources=[source(9, polls=1)]))
    assert store.load_seen(9) == b"one"

    store.save("quotes", Batch(sources=[source(9, seen=b"two"), source(9, polls=2)]))
    assert store.load_seen(9) == b"two"
    assert store.load_sources("quotes")[0].polls == 2
    assert store.load_seen(10) == b""


def test_a_visit_answers_all_signals_that_wait(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1), page(2), sitemap_page(9)]))
    store.save(
        "quotes", Batch(signals=[signal(1, 100.0), signal(1, 110.0, claimed_at=None), signal(2, 105.0)])
    )
    assert sorted(store.load_waiting_signals("quotes").page_id.tolist()) == [1, 1, 2]

    answer = visit(1, 120.0, Outcome.CHANGED, answers_signals=True)
    store.save("quotes", Batch(visits=[answer], signals=[signal(1, 130.0)]))

    assert [(each.heard_at, each.answered_at, each.changed) for each in page_signals(store, 1)] == [
        (130.0, None, None),
        (110.0, 120.0, True),
        (100.0, 120.0, True),
    ]
    waiting = store.load_waiting_signals("quotes")
    assert sorted(zip(waiting.page_id.tolist(), waiting.source.tolist(), strict=True)) == [(1, 0), (2, 0)]


def test_signals_are_counted_by_host_and_source(store: Store) -> None:
    store.save("quotes", Batch(pages=[page(1), page(2, host="b.example")]))
    heard = [signal(1, 100.0), signal(1, 101.0, source=SignalSource.FEED), signal(2, 102.0, told_by=None)]
    store.save("quotes", Batch(signals=heard))
    store.save("quotes", Batch(visits=[visit(1, 200.0, Outcome.UNCHANGED, answers_signals=True)]))

    counts = [
        (each.host, each.source, each.heard, each.answered, each.confirmed) for each in signal_counts(store)
    ]
    assert counts == [
        ("a.example", SignalSource.SITEMAP, 1, 1, 0),
        ("a.example", SignalSource.FEED, 1, 1, 0),
        ("b.example", SignalSource.SITEMAP, 1, 0, 0),
    ]


def test_the_views_tell_the_same(store: Store) -> None:
    store.save(
        "quotes", Batch(pages=[page(1), sitemap_page(9)], sources=[source(9)], signals=[signal(1, 100.0)])
    )

    (told,) = rows(store, "v_signals")
    (listed,) = rows(store, "v_sources")
    assert list(told) == list(VIEWS["v_signals"])
    assert list(listed) == list(VIEWS["v_sources"])
    assert (told["source"], told["told_by"], told["heard_utc"]) == (
        "sitemap",
        "http://a.example/9",
        "1970-01-01T00:01:40Z",
    )
    assert (listed["kind"], listed["is_pinned"], listed["oddities"]) == ("sitemap", 0, '{"bad_url": 3}')
    assert {row["page_id"]: row["kind"] for row in rows(store, "v_pages")} == {1: "page", 9: "sitemap"}
    (report,) = sources(store)
    assert (report.kind, report.oddities, report.is_pinned) == (PageKind.SITEMAP, {"bad_url": 3}, False)


def test_signals_are_pruned_and_forgotten_with_visits_and_pages(store: Store) -> None:
    pages = [page(1), page(2), sitemap_page(9)]
    store.save(
        "quotes", Batch(pages=pages, sources=[source(9)], signals=[signal(1, 100.0), signal(2, 500.0)])
    )

    store.prune_visits(200.0)
    assert [len(page_signals(store, number)) for number in (1, 2)] == [0, 1]

    store.forget(host="a.example")
    assert rows(store, "v_signals") == []
    assert store.load_sources("quotes") == []
    assert set(strays(store).values()) == {0}


def test_what_is_counted_as_it_is_written_is_what_the_log_has(store: Store) -> None:
    rng = np.random.default_rng(5)
    store.save("quotes", Batch(pages=[page(number, host=f"{number % 3}.example") for number in range(1, 10)]))
    for hour in range(12):
        heard = rng.integers(1, 10, 6).tolist()
        seen = set(rng.integers(1, 10, 4).tolist())
        store.save(
            "quotes",
            Batch(
                signals=[
                    SignalRecord(
                        page_id=number,
                        source=SignalSource(int(rng.integers(0, 3))),
                        told_by=None,
                        heard_at=hour + float(rng.random()),
                        claimed_at=None,
                    )
                    for number in heard
                ],
                visits=[
                    visit(number, hour + 0.5, Outcome(int(rng.integers(0, 4))), answers_signals=True)
                    for number in seen
                ],
            ),
        )
    log = text("""
        SELECT host, source, count(*), count(answered_at), coalesce(sum(changed), 0) FROM v_signals
        GROUP BY host, source ORDER BY host, source
    """)
    with store.reading() as connection:
        logged = [tuple(row) for row in connection.execute(log)]
    counted = [
        (each.host, each.source.name.lower(), each.heard, each.answered, each.confirmed)
        for each in signal_counts(store)
    ]

    assert sorted(counted) == logged
    store.adopt("quotes", "sayings")
    assert [each.spider for each in signal_counts(store)] == ["sayings"] * len(counted)
    store.forget(host="0.example")
    assert {each.host for each in signal_counts(store)} == {"1.example", "2.example"}
