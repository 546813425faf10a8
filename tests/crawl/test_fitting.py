"""Maps of all pages, from what is kept of them: as those of an index in memory, in one part or in many."""

import numpy as np
import pytest
from numpy.typing import NDArray

from scrapy_freshness.commands.answers import search
from scrapy_freshness.config import Config
from scrapy_freshness.crawl.configured import scoring_of
from scrapy_freshness.crawl.fitting import Fit, fit
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.model import Batch, PageRecord
from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.search.index import SearchIndex
from scrapy_freshness.search.links import pack_links
from scrapy_freshness.search.scoring import SCORINGS, FloatArray, Scoring, TfIdf
from scrapy_freshness.storage.query_rows import add_frequencies
from scrapy_freshness.storage.store import Store

WORDS = [f"word{number}" for number in range(30)]


class ShortFirst:
    """A scoring of the user's: the shortest page that has the words, however often."""

    name = "short-first"
    uses_links = False

    def base(self, tf: FloatArray, length: FloatArray, links: FloatArray) -> FloatArray:
        return np.where(tf > 0, 1.0 / (1.0 + length), 0.0)

    def weight(self, df: NDArray[np.int64], pages: int) -> FloatArray:
        return np.full(len(df), 2.0)

    def query_score(self, base: FloatArray, weight: FloatArray) -> FloatArray:
        return (base * weight).min(axis=-1)


def filled(store: Store) -> tuple[AskedTerms, list[str]]:
    rng = np.random.default_rng(3)
    with store.writing() as connection:
        add_frequencies(connection, {word: 1.0 + len(word) for word in WORDS})
    asked = AskedTerms.of(store.load_queries())
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 40))) for _ in range(150)]
    pages = [
        PageRecord(
            page_id=number + 1,
            fingerprint=number * 1000 - 50_000,
            url=f"http://a.example/{number}",
            host="a.example",
            terms=asked.kept(asked.workload.terms_in(text)),
            links=pack_links((rng.integers(0, 150, 5) * 1000 - 50_000).tolist(), own=number * 1000 - 50_000),
        )
        for number, text in enumerate(texts)
    ]
    unread = PageRecord(page_id=900, fingerprint=7, url="http://a.example/x", host="a.example")
    damaged = PageRecord(page_id=901, fingerprint=8, url="http://a.example/y", host="a.example", terms=b"?")
    store.save("quotes", Batch(pages=[*pages, unread, damaged]))
    return asked, texts


@pytest.mark.parametrize("name", SCORINGS)
def test_maps_are_those_of_an_index_in_memory(store: Store, name: str) -> None:
    asked, texts = filled(store)
    scoring = SCORINGS[name]
    whole = fit(store, "quotes", asked, scoring)
    parts = fit(store, "quotes", asked, scoring, at_once=300)
    index = SearchIndex(asked.workload.frequency, scoring)
    assert isinstance(whole, Fit)
    assert isinstance(parts, Fit)
    if whole.links is not None:
        index.set_links(whole.links.of(np.arange(150) * 1000 - 50_000))
    for number, text in enumerate(texts):
        index.refresh(number, asked.workload.terms_in(text))
    index.refit()

    assert (whole.pages, whole.unreadable, whole.behind) == (150, 1, 0)
    for found in (whole, parts):
        assert np.array_equal(found.maps.results, index.maps.results)
        assert np.array_equal(found.maps.knots, index.maps.knots)
    store.save("quotes", Batch(maps=asked.kept_maps(whole.maps, scoring=name, pages=150, fitted_at=5.0)))
    kept = store.load_maps("quotes")
    assert kept is not None
    assert (kept.scoring, kept.pages, kept.fitted_at) == (name, 150, 5.0)
    assert np.array_equal(asked.maps_from(kept).knots, index.maps.knots)
    assert store.load_maps("others") is None
    assert fit(store, "quotes", asked, scoring, is_stopped=lambda: True) is None


def test_maps_are_replaced_by_new_ones(store: Store) -> None:
    asked, _ = filled(store)
    found = fit(store, "quotes", asked, TfIdf())
    assert isinstance(found, Fit)
    maps = asked.kept_maps(found.maps, scoring="tf-idf", pages=150, fitted_at=5.0)
    store.save("quotes", Batch(maps=maps))
    found.maps.results[asked.workload.number("word3")] = 0
    store.save("quotes", Batch(maps=asked.kept_maps(found.maps, scoring="tf-idf", pages=9, fitted_at=6.0)))
    kept = store.load_maps("quotes")

    assert kept is not None
    assert (len(kept.term_id), kept.pages) == (29, 9)
    assert store.clear_queries() == 30
    assert store.load_maps("quotes") is None
    assert not any(record.terms or record.links for record in store.load_records(range(1, 200)))


def test_a_scoring_may_be_the_users_own(sqlite_url: str) -> None:
    scoring = scoring_of(Config(query_scoring=f"{__name__}.ShortFirst"))
    with Store.open(sqlite_url) as store:
        asked, texts = filled(store)
        numbers = [asked.workload.number("word3"), asked.workload.number("word7")]
        fits = {each.name: fit(store, "quotes", asked, each) for each in (scoring, TfIdf())}
        found = search(store, "quotes", asked.term_id[numbers], scoring, limit=5, advance=lambda pages: None)
    pages = [asked.workload.terms_in(text) for text in texts]

    def gain(before: str, after: str, scoring: Scoring) -> float:
        old, new = (asked.by_ids(asked.workload.terms_in(text)) for text in (before, after))
        moves = asked.moves([old.packed(asked.generation)], [new])
        meter = fits[scoring.name].meter(asked, scoring)
        return float(meter.gains_of(moves, np.zeros(1)).gain.sum())

    having = [[page.length for page in pages if number in page.terms] for number in numbers]
    best = fits["short-first"].maps.score(np.array(numbers), np.ones(2))
    assert best == pytest.approx([1 / (1 + min(lengths)) for lengths in having])
    once, twice = "word3 " + "other " * 20, "word3 word3 " + "other " * 19
    assert gain(once, twice, scoring) == 0 < gain(once, twice, TfIdf())
    assert gain(once, "word3", scoring) > gain(once, "word3 and two more", scoring) > 0
    both = [page.length for page in pages if set(numbers) <= set(page.terms.tolist())]
    assert [each.score for each in found.results] == [2 / (1 + length) for length in sorted(both)[:5]]


def test_a_scoring_that_does_not_exist_is_refused() -> None:
    assert scoring_of(Config()).name == "tf-idf"
    for name in ("bm25", "no.such.module.Scoring", "builtins.dict", f"{__name__}.WORDS"):
        with pytest.raises(ConfigError, match="FRESHNESS_QUERY_SCORING"):
            scoring_of(Config(query_scoring=name))
