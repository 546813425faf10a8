"""What a crawl knows of searchers: when ranks are computed anew, and what a change has touched."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.content.measure import ContentOptions, measure_text
from scrapy_freshness.crawl.searchers import Searchers
from scrapy_freshness.crawl.visiting import PageVisit
from scrapy_freshness.model import Batch, ImportProgress, Outcome, PageRecord, TermMaps
from scrapy_freshness.planning.visits import Report, Visit
from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.search.scoring import SCORINGS
from scrapy_freshness.search.touched import Touched, unpack_touched
from scrapy_freshness.storage.query_rows import add_frequencies
from scrapy_freshness.storage.store import Store

PAGES = 100


class Runs:
    """Crawls of one spider, one after the other; what they would do in a thread is done at once."""

    def __init__(self, store: Store) -> None:
        self.clock = ManualClock(1000.0)
        self.stats: dict[str, float] = {}
        self.pages: dict[int, PageRecord] = {}
        self._store = store
        self.import_queries(rain=3.0, tokyo=1.0)
        self.visit(range(PAGES))

    def import_queries(self, **frequencies: float) -> None:
        now = self.clock.now()
        progress = ImportProgress(
            kind="queries", name="log", format="lines", head_bytes=3, head_digest=b"%d" % now, started_at=now
        )
        progress.updated_at = now
        self._store.save_import(progress, lambda connection: add_frequencies(connection, frequencies))

    def visit(self, pages: range) -> None:
        asked = AskedTerms.of(self._store.load_queries())
        for number in pages:
            text = "rain in tokyo" if number % 2 else f"rain {'again ' * number}"
            self.pages[number] = PageRecord(
                page_id=number + 1,
                fingerprint=number,
                url=f"http://a.example/{number}",
                host="a.example",
                last_visit_at=self.clock.now(),
                terms=asked.kept(asked.workload.terms_in(text)),
            )
        self._store.save("news", Batch(pages=[self.pages[number] for number in pages]))

    def begin(self) -> Searchers:
        """Begin a crawl; a second later it goes on."""
        self.stats.clear()
        store = self._store
        crawler: Any = SimpleNamespace(
            stats=SimpleNamespace(
                inc_value=lambda name: self.stats.update({name: self.stats.get(name, 0) + 1}),
                set_value=self.stats.__setitem__,
            ),
            spidercls=SimpleNamespace(name="news"),
        )
        journal: Any = SimpleNamespace(store=store, note_maps=self._save)
        searchers = Searchers(crawler, self.clock, journal, SCORINGS["tf-idf"], in_background=at_once)
        loaded: Any = SimpleNamespace(
            pages=store.load_pages("news"),
            queries=store.load_queries(),
            query_version=store.query_version(),
            maps=store.load_maps("news"),
        )
        searchers.load(loaded)
        searchers.open()
        self.clock.advance(1.0)
        return searchers

    @property
    def fits(self) -> float:
        """Of the last crawl."""
        return self.stats.get("freshness/queries/fits", 0)

    def _save(self, maps: TermMaps) -> None:
        self._store.save("news", Batch(maps=maps))


def at_once(work: Callable[[], Any]) -> "Deferred[Any]":
    return succeed(work())


@pytest.fixture
def runs(sqlite_url: str) -> Any:
    with Store.open(sqlite_url) as store:
        yield Runs(store)


def test_ranks_are_computed_anew_also_if_no_run_reads_enough_for_it(runs: Runs) -> None:
    fits = []
    for _ in range(5):
        runs.begin()
        fits.append(runs.fits)
        runs.visit(range(PAGES * 3 // 10))
        runs.clock.advance(60.0)

    assert fits == [1, 0, 0, 0, 0], "always the same pages, which are too few"

    fits = []
    for part in range(4):
        runs.begin()
        fits.append(runs.fits)
        runs.visit(range(30 * part % PAGES, 30 * part % PAGES + 30))
        runs.clock.advance(60.0)

    assert fits == [0, 0, 1, 0], "sixty of a hundred pages were read"


def test_ranks_are_computed_anew_for_queries_that_came_between_two_runs(runs: Runs) -> None:
    runs.begin()
    runs.clock.advance(60.0)
    runs.import_queries(again=5.0)
    runs.clock.advance(60.0)
    runs.begin()
    assert runs.fits == 1

    runs.begin()
    assert runs.fits == 0


def test_what_is_known_of_a_change_is_that_of_the_last(runs: Runs) -> None:
    searchers, record = runs.begin(), runs.pages[1]

    def noticed(text: str, outcome: Outcome) -> Touched:
        runs.clock.advance(60.0)
        visit = PageVisit(Visit(row=0, record=record, opened_at=0.0, value=0.0), slot="a.example")
        visit.terms = searchers.read(measure_text(text, options=ContentOptions()))
        report = Report(outcome=outcome, at=runs.clock.now())
        searchers.measure(visit, report)
        searchers.settle([record])
        assert report.terms is not None
        record.terms = report.terms
        touched = unpack_touched(record.touched)
        assert touched is not None
        return touched

    first = noticed("rain today", Outcome.CHANGED)
    same = noticed("rain today", Outcome.UNCHANGED)
    last = noticed("rain tomorrow", Outcome.CHANGED)

    assert (first.at, same.at, last.at) == (runs.clock.now() - 120.0, first.at, runs.clock.now())
    assert first.gain > last.gain == last.n_terms == 0
    assert runs.stats["freshness/queries/changes_noticed"] == 1
