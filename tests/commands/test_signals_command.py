"""`scrapy freshness signals`, and the signals of `show`."""

from collections.abc import Callable
from functools import partial

import pytest
from answering import Answer
from scipy.special import gammaincinv
from small_web import FAST, HOUR, NOW, SLOW, page

from scrapy_freshness.estimation.host_signals import HostSignals
from scrapy_freshness.model import Batch, Outcome, PageKind, SourceRecord, VisitRecord
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]

SITEMAP = "http://a.example/sitemap.xml"


def with_sitemap(url: str, **beliefs: float) -> None:
    """Add a sitemap that was polled, and what the policy has learned of signals."""
    with Store.open(url) as store:
        number = 1 << 20
        record = page(SITEMAP, HOUR, 60.0, page_id=number, kind=PageKind.SITEMAP)
        record.beliefs = beliefs
        source = SourceRecord(
            page_id=number,
            url=SITEMAP,
            kind=PageKind.SITEMAP,
            found="robots",
            found_on="http://a.example/robots.txt",
            format="sitemap",
            verdict="usable",
            entries=120,
            polls=41,
            new_pages=7,
            signals=96,
            last_poll_at=NOW - 60,
            last_yield=2.125,
        )
        signals = HostSignals()
        for _ in range(100):
            signals.add(0.5, (0, 1, 0, 0), changed=True)
            signals.add(0.5, (0, 0, 0, 0), changed=False)
        learned = signals.pack()
        minute = int(NOW // 60)
        fetched = partial(VisitRecord, page_id=number, latency_seconds=0.1)
        store.save(
            "news",
            Batch(
                pages=[record],
                sources=[source],
                groups={'["signals", "a.example"]': learned},
                visits=[
                    fetched(at=NOW - 2 * 86_400, outcome=Outcome.CHANGED),
                    fetched(at=NOW - HOUR, outcome=Outcome.NOT_MODIFIED),
                    VisitRecord(page_id=number, at=NOW - 120, outcome=Outcome.IGNORED),
                    VisitRecord(page_id=number, at=NOW - 90, outcome=Outcome.CHANGED),  # pushed
                    fetched(at=NOW - 60, outcome=Outcome.CHANGED),
                ],
                fetches={(minute, "poll"): 4},
            ),
        )


def test_sources_are_listed_with_what_they_brought(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    out = freshness("signals").out

    for expected in (
        SITEMAP,
        "too early to tell",
        "60 s ago",
        "41",
        "120",
        "96",
        "2.12",
        "4 polls",
    ):
        assert expected in out


def test_signals_are_judged_by_host_and_source(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    (quality,) = freshness("signals", "--json").json["quality"]

    assert (quality["host"], quality["source"]) == ("a.example", "feed")
    assert (quality["heard"], quality["answered"], quality["confirmed"]) == (2, 1, 0)
    assert quality["confirmed_low"] == 0.0
    for name in ("precision", "recall"):
        assert 0.8 < quality[f"{name}_low"] < quality[name] < quality[f"{name}_high"] <= 1
    assert quality["deaf_seconds"] == 0
    assert 0.5 < quality["confirmed_high"] < 1


def test_the_share_of_the_budget_is_told_of_each_spider_and_source(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    answer = freshness("signals", "--json").json
    (news, shop), source = answer["budget"], answer["sources"][0]

    assert (news["polls"], news["fetches"]) == (4, 56)
    assert shop["share"] is None
    assert (source["polls_last_day"], source["share"]) == (2, 2 / 56)


def test_one_host_can_be_chosen(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    answer = freshness("signals", "--host", "b.example", "--json").json

    assert (answer["sources"], answer["quality"]) == ([], [])


@pytest.mark.parametrize("command", ["signals", "sources"])
def test_a_host_that_nobody_has_met_is_an_error(freshness: Run, web_url: str, command: str) -> None:
    answer = freshness(command, "--host", "nosuch")

    assert answer.exit_code == 2
    assert answer.err == "scrapy freshness: no host nosuch is known\n"
    assert "No sitemap or feed of b.example is known" in freshness("signals", "--host", "b.example").out


def test_a_narrow_terminal_gets_two_lines_a_source(
    freshness: Run, web_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_sitemap(web_url)
    monkeypatch.setenv("COLUMNS", "80")
    lines = freshness("signals").out.splitlines()

    assert lines[:3] == [
        "kind · last poll · polls · share · entries · new · signals · worth · dates",
        SITEMAP,
        "  sitemap · 60 s ago · 41 · 3.6 % · 120 · 7 · 96 · 2.12 · too early to tell",
    ]
    assert max(map(len, lines)) <= 80


def test_an_empty_database_says_so(freshness: Run, sqlite_url: str) -> None:
    Store.open(sqlite_url).close()

    assert "No sitemap or feed is known" in freshness("signals", url=sqlite_url).out


def test_show_lists_the_signals_of_a_page_and_what_came_of_them(freshness: Run) -> None:
    (shown,) = freshness("show", SLOW, "--json").json["pages"]
    later, earlier = shown["signals"]

    assert (later["answered_at"], later["changed"]) == (None, None)
    assert (earlier["source"], earlier["told_by"]) == ("feed", FAST)
    assert (earlier["answered_at"], earlier["changed"]) == (NOW - 2 * HOUR, False)
    out = freshness("show", SLOW).out
    assert "not yet" in out
    assert "unchanged" in out


def test_the_next_poll_is_when_it_is_worth_a_visit(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url, yield_rate=0.5, patience_seconds=86_400.0)
    (shown,) = freshness("show", SITEMAP, "--json").json["pages"]
    listed = {page["url"]: page for page in freshness("pages", "--json", "--limit", "50").json["pages"]}
    with Store.open(web_url) as store:
        n_pages, state = len(store.load_pages("news").page_id), store.load_state("news")
    assert state is not None
    wait = n_pages / state.budget_per_second
    # A poll is worth a visit when the share of the bound that it has reached makes up for the price.
    seconds = wait * gammaincinv(2, 1 / (0.5 * wait))

    assert shown["kind"] == "sitemap"
    assert shown["next_visit_at"] == pytest.approx(shown["last_visit_at"] + max(seconds, 1.0))
    assert listed[SITEMAP]["next_visit_at"] == shown["next_visit_at"]


def test_a_source_that_yields_nothing_is_polled_when_patience_ends(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url, yield_rate=0.0, patience_seconds=86_400.0)
    (shown,) = freshness("show", SITEMAP, "--json").json["pages"]

    assert shown["next_visit_at"] == shown["last_visit_at"] + 86_400


def test_why_refers_to_signals_for_what_is_polled(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    answer = freshness("why", SITEMAP)

    assert answer.exit_code == 2
    assert "scrapy freshness signals" in answer.err
