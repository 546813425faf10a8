"""Terms with the ids under which they are kept: pages and maps come back, also after more was asked for."""

import numpy as np
import pytest

from scrapy_freshness.model import QueryTerms
from scrapy_freshness.search.asked import AskedTerms, is_read
from scrapy_freshness.search.links import MOST_LINKS, InLinks, pack_links
from scrapy_freshness.search.meter import Meter
from scrapy_freshness.search.postings import change_of
from scrapy_freshness.search.rank_maps import fitted
from scrapy_freshness.search.scoring import TfIdf
from scrapy_freshness.search.touched import MOST_TERMS, pack_touched, unpack_touched
from scrapy_freshness.search.workload import PageTerms


def asked(**ids: int) -> AskedTerms:
    terms = [term for term, _ in sorted(ids.items(), key=lambda each: each[1])]
    frequency = np.arange(1.0, len(terms) + 1)
    return AskedTerms.of(QueryTerms(term_id=np.array(sorted(ids.values())), terms=terms, frequency=frequency))


def test_a_page_comes_back_and_frequencies_are_shares() -> None:
    few = asked(rain=3, tokyo=8)
    page = few.workload.terms_in("Rain, rain in Tokyo")
    again = few.read(few.kept(page))

    assert few.workload.frequency.sum() == pytest.approx(1.0)
    assert (again.terms.tolist(), again.tf.tolist(), again.length) == (
        page.terms.tolist(),
        page.tf.tolist(),
        4,
    )
    assert few.read(b"").length == few.read(b"damaged").length == 0


def test_what_is_asked_for_later_is_no_change_of_the_page() -> None:
    before, after = asked(rain=3), asked(rain=3, tokyo=8)
    kept = before.kept(before.workload.terms_in("rain in tokyo"))
    seen = [after.by_ids(after.workload.terms_in(text)) for text in ("rain in tokyo", "snow in tokyo")]
    moves = after.moves([kept, kept], seen)

    assert before.is_behind(kept) is False
    assert after.is_behind(kept) is after.is_behind(b"") is True
    assert is_read(kept)
    assert not is_read(b"")
    assert [after.workload.terms[number] for number in moves.terms] == ["rain"]
    assert (moves.change.tolist(), moves.tf.tolist()) == ([1], [[1], [0]])


def test_what_becomes_of_many_pages_is_what_becomes_of_each() -> None:
    rng = np.random.default_rng(4)
    words = [f"word{number}" for number in range(40)]
    few = asked(**dict(zip(words, range(1, 120, 3), strict=True)))

    def drawn() -> PageTerms:
        return few.workload.terms_in(" ".join(rng.choice([*words, "other"], rng.integers(0, 60))))

    pages = [(drawn(), drawn()) for _ in range(50)]
    pages += [(old, PageTerms(old.terms, old.tf, old.length + 1)) for old, _ in pages[:10]]
    maps = fitted(rng.integers(0, 40, 900), rng.random(900), 40)
    meter = Meter(np.ones(40), TfIdf(), maps, maps.results.astype(np.int64), 500)
    moves = few.moves([few.kept(old) for old, _ in pages], [few.by_ids(new) for _, new in pages])
    gains = meter.gains_of(moves, np.zeros(60))
    each = [meter.gain(change_of(0, old, new), 0.0) for old, new in pages]

    assert np.bincount(gains.change, gains.gain, 60) == pytest.approx(each)
    assert sum(each) > 0


def test_a_term_that_nobody_asks_for_any_more_is_left_out() -> None:
    before, after = asked(rain=3, tokyo=8), asked(tokyo=8)
    page = after.read(before.kept(before.workload.terms_in("rain in tokyo")))

    assert [after.workload.terms[number] for number in page.terms] == ["tokyo"]
    nobody = AskedTerms.of(QueryTerms(term_id=np.empty(0, np.int64), terms=[], frequency=np.empty(0)))
    assert len(nobody.read(before.kept(before.workload.terms_in("rain"))).terms) == 0


def test_maps_come_back_by_the_ids_of_their_terms() -> None:
    terms = asked(rain=3, tokyo=8, snow=9)
    rain, tokyo = (terms.workload.number(term) for term in ("rain", "tokyo"))
    numbers = np.array([rain] * 5 + [tokyo] * 2)
    maps = fitted(numbers, np.array([5.0, 4.0, 3.0, 2.0, 1.0, 8.0, 2.0]), 3)
    kept = terms.kept_maps(maps, scoring="tf-idf", pages=6, fitted_at=1.0)
    again = asked(tokyo=8, rain=3, wind=12).maps_from(kept)

    assert kept.term_id.tolist() == [3, 8]
    assert sorted(again.results.tolist()) == [0, 2, 5]
    assert terms.maps_from(kept).knots.tolist() == maps.knots.tolist()


def test_what_all_searchers_find_is_the_sum_over_the_pages() -> None:
    rng = np.random.default_rng(5)
    terms = rng.integers(0, 3, 4000)
    tf, length = rng.poisson(3.0, 4000).astype(np.uint16) + np.uint16(1), rng.integers(20, 400, 4000) * 1.0
    maps = fitted(terms, TfIdf().base(tf * 1.0, length, np.zeros(1)), 3)
    meter = Meter(np.array([0.5, 0.3, 0.2]), TfIdf(), maps, maps.results.astype(np.int64), 4000)
    found = np.bincount(terms, meter.found(terms.astype(np.int32), tf, length, np.zeros(4000)))

    assert meter.qualities() == pytest.approx(found, rel=0.15)


def test_the_terms_with_the_largest_gains_are_kept() -> None:
    gains = np.arange(100.0)
    kept = unpack_touched(pack_touched([7.0], np.zeros(100, int), np.arange(100), gains)[0])

    assert kept is not None
    assert (kept.n_terms, kept.gain, len(kept.gains)) == (100, gains.sum(), MOST_TERMS)
    assert kept.term_id[0] == 99
    assert unpack_touched(b"") is unpack_touched(b"\1 damaged") is unpack_touched(bytes(40)) is None


def test_in_links_are_pages_not_links() -> None:
    counts = InLinks(np.array([1, 2, 3]))
    counts.add([pack_links([2, 2, 3, 99], own=1), pack_links([3, 2], own=2), b"damaged"])

    assert counts.of(np.array([1, 2, 3, 99])).tolist() == [0, 1, 2, 0]
    assert len(pack_links(range(10**4), own=-1)) == 8 * MOST_LINKS
    nothing = InLinks(np.empty(0, np.int64))
    nothing.add([pack_links([5], own=1)])
    assert nothing.of(np.array([5])) == 0
