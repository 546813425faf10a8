"""`scrapy freshness signals`, and the signals of `show`."""

from collections.abc import Callable

from answering import Answer
from small_web import FAST, HOUR, NOW, SLOW, page

from scrapy_freshness.estimation.host_signals import HostSignals
from scrapy_freshness.model import Batch, PageKind, SourceRecord
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]

SITEMAP = "http://a.example/sitemap.xml"


def with_sitemap(url: str) -> None:
    """Add a sitemap that was polled, and what the policy has learned of signals."""
    with Store.open(url) as store:
        number = 1 << 20
        record = page(SITEMAP, HOUR, 60.0, page_id=number, kind=PageKind.SITEMAP)
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
        store.save(
            "news",
            Batch(
                pages=[record],
                sources=[source],
                groups={'["signals", "a.example"]': learned},
                fetches={(minute, "poll"): 4},
            ),
        )


def test_sources_are_listed_with_what_they_brought(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    out = freshness("signals").out

    for expected in (SITEMAP, "robots", "usable", "60 s ago", "41", "120", "96", "2.12", "4 polls"):
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


def test_the_share_of_the_budget_is_told(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    (news, shop) = freshness("signals", "--json").json["budget"]

    assert (news["polls"], news["fetches"]) == (4, 56)
    assert shop["share"] is None


def test_one_host_can_be_chosen(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    answer = freshness("signals", "--host", "b.example", "--json").json

    assert (answer["sources"], answer["quality"]) == ([], [])


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


def test_pages_that_are_polled_have_no_next_visit_of_their_own(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    (shown,) = freshness("show", SITEMAP, "--json").json["pages"]

    assert shown["kind"] == "sitemap"
    assert shown["next_visit_at"] is None
    assert "next visit   –" in freshness("show", SITEMAP).out


def test_why_refers_to_signals_for_what_is_polled(freshness: Run, web_url: str) -> None:
    with_sitemap(web_url)
    answer = freshness("why", SITEMAP)

    assert answer.exit_code == 2
    assert "scrapy freshness signals" in answer.err
