"""The index as a whole: terms in, gains out."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from scrapy_freshness.content.terms import term_frequencies
from scrapy_freshness.search.index import SearchIndex
from scrapy_freshness.search.quality import exact_gain
from scrapy_freshness.search.scoring import SCORINGS, Scoring, TfIdf
from scrapy_freshness.search.workload import NO_TERMS, PageTerms, Workload

N_PAGES, N_TERMS = 120, 25
each_scoring = pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)


def drawn_page(rng: np.random.Generator) -> PageTerms:
    tf = rng.poisson(rng.lognormal(-0.5, 1.0, N_TERMS))
    terms = np.flatnonzero(tf)
    return PageTerms(
        terms.astype(np.int32), tf[terms].astype(np.uint16), int(tf.sum() + rng.integers(20, 200))
    )


def copied(page: PageTerms) -> PageTerms:
    return PageTerms(page.terms.copy(), page.tf.copy(), page.length)


def filled(scoring: Scoring, rng: np.random.Generator) -> SearchIndex:
    index = SearchIndex(np.arange(N_TERMS, 0, -1.0), scoring)
    index.set_links(np.floor(rng.pareto(1.0, N_PAGES)))
    for page in range(N_PAGES):
        index.refresh(page, drawn_page(rng))
    index.refit()
    return index


@each_scoring
def test_gains_of_many_refreshes_at_once_are_those_of_each_alone(scoring: Scoring) -> None:
    rng = np.random.default_rng(5)
    index = filled(scoring, rng)
    changes = [index.refresh(int(page), drawn_page(rng)) for page in rng.integers(0, N_PAGES, 40)]
    changes.append(index.refresh(3, NO_TERMS))

    assert index.gains(changes) == pytest.approx([index.gain(change) for change in changes])
    owner, terms, parts = index.term_gains(changes)
    assert np.bincount(owner, parts, len(changes)) == pytest.approx(index.gains(changes))
    assert all(terms[place] in changes[owner[place]].terms for place in range(len(terms)))


@each_scoring
def test_measured_gains_are_in_the_order_of_the_exact_ones(scoring: Scoring) -> None:
    """With all other copies fresh and maps of the present state nothing but the maps is approximate."""
    rng = np.random.default_rng(6)
    index = filled(scoring, rng)
    links = np.floor(np.random.default_rng(6).pareto(1.0, N_PAGES))
    weight = scoring.weight(index.postings.df, N_PAGES)

    def scores(pages: dict[int, PageTerms]) -> np.ndarray:
        table = np.zeros((N_TERMS, N_PAGES))
        lengths = np.zeros(N_PAGES)
        for page, (terms, tf, length) in pages.items():
            table[terms, page], lengths[page] = tf, length
        return weight[:, None] * scoring.base(table, lengths, links)

    pages = {page: copied(index.postings.of(page)) for page in range(N_PAGES)}
    before = scores(pages)
    measured, exact = [], []
    for page in range(N_PAGES):
        old = pages[page]
        new = drawn_page(rng)
        measured.append(index.gain(index.refresh(page, new)))
        exact.append(exact_gain(before, scores(pages | {page: new}), np.arange(N_TERMS, 0, -1.0), page))
        index.refresh(page, old)

    assert spearmanr(measured, exact).statistic > 0.9
    assert sum(measured) == pytest.approx(sum(exact), rel=0.15)


def test_maps_are_renewed_by_a_refit_only() -> None:
    rng = np.random.default_rng(7)
    index = filled(TfIdf(), rng)
    before = index.maps.knots.copy()
    for page in range(N_PAGES):
        index.refresh(page, drawn_page(rng))

    assert np.array_equal(index.maps.knots, before)
    index.refit()
    scratch = SearchIndex(np.arange(N_TERMS, 0, -1.0), TfIdf())
    for page in range(N_PAGES):
        scratch.refresh(page, index.postings.of(page))
    scratch.refit()
    assert np.array_equal(index.maps.knots, scratch.maps.knots)
    assert index.page_quality(5) == pytest.approx(scratch.page_quality(5))


def test_what_searchers_ask_for_makes_the_difference() -> None:
    """Example 1 of the paper: however much of a page changes, it does not matter if nobody asks for it."""
    workload = Workload.of(term_frequencies([("cancer therapy", 90), ("traffic laws", 10)]))
    index = SearchIndex(workload.frequency, TfIdf())

    def refresh(page: int, text: str) -> float:
        return index.gain(index.refresh(page, workload.terms_in(text)))

    for page in range(20):
        refresh(page, "seminar on cancer and therapy " + "filler " * page)
    refresh(20, "a seminar in this place, every week, for everybody who likes to come")
    index.refit()
    advert = refresh(20, "buy now: cheap lamps for the whole family, only today, at the market hall")
    seminar = refresh(20, "cancer therapy: a seminar on therapy of cancer, and cancer")

    assert advert == 0
    assert seminar > 0
    assert index.page_quality(20) > 0


def test_an_index_without_a_workload_or_pages_gains_nothing() -> None:
    index = SearchIndex(np.empty(0), TfIdf())

    assert index.gain(index.refresh(0, PageTerms(NO_TERMS.terms, NO_TERMS.tf, 50))) == 0
    assert index.page_quality(0) == 0
    assert index.page_quality(10**6) == 0
