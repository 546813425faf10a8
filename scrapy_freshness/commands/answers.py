"""What the index of queries says about the pages of one spider: for `queries`, `search` and `show`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.crawl.fitting import Fit, count_links, fit
from scrapy_freshness.estimation.query_impact import GainPool
from scrapy_freshness.planning.gain_learner import POOL, noticed_by
from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.search.links import InLinks
from scrapy_freshness.search.meter import Meter
from scrapy_freshness.search.packed import unpack_many
from scrapy_freshness.search.scoring import Scoring
from scrapy_freshness.storage.query_rows import StoredTerms
from scrapy_freshness.storage.store import Store

FloatArray = NDArray[np.float64]
Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Answers:
    """The pages of one spider as searchers see them."""

    store: Store
    spider: str
    asked: AskedTerms
    scoring: Scoring
    meter: Meter
    pages: int
    fitted_at: float | None  #: None: just now

    @classmethod
    def of(cls, store: Store, spider: str, asked: AskedTerms, scoring: Scoring) -> Self | None:
        """With the maps that are kept, if they are for this scoring, or new ones; None without pages."""
        kept = store.load_maps(spider)
        if kept is not None and kept.scoring == scoring.name:
            maps, pages, fitted_at = asked.maps_from(kept), kept.pages, kept.fitted_at
        else:
            found = fit(store, spider, asked, scoring)
            assert isinstance(found, Fit)
            if not found.pages:
                return None
            maps, pages, fitted_at = found.maps, found.pages, None
        meter = Meter(asked.workload.frequency, scoring, maps, maps.results.astype(np.int64), pages)
        return cls(store, spider, asked, scoring, meter, pages, fitted_at)

    def by_terms(self, now: float, advance: Advance) -> "ByTerms":
        """What searchers find by each term, and what of it is expected to be lost by now.

        What a page is expected to have lost counts for its terms by what searchers find by them.
        """
        page_ids, lost = self._expected_losses(now)
        links = count_links(self.store, self.spider) if self.scoring.uses_links else None
        quality, at_risk = np.zeros(len(self.asked)), np.zeros(len(self.asked))
        results = np.zeros(len(self.asked), np.int64)
        with self.store.stored_terms(self.spider) as chunks:
            for chunk in chunks:
                kept = unpack_many([page.terms for page in chunk])
                terms, is_asked = self.asked.numbers_of(kept.term_id)
                terms, page = terms[is_asked], kept.page[is_asked]
                length = kept.length[page].astype(np.float64)
                found = self.meter.found(terms, kept.tf[is_asked], length, _links(chunk, links)[page])
                on_page = np.bincount(page, found, len(chunk))
                places = page_ids.searchsorted([each.page_id for each in chunk])
                # What visits gained once may be more than searchers find of the page now.
                share = np.minimum(lost.take(places, mode="clip") / np.where(on_page > 0, on_page, 1.0), 1.0)
                results += np.bincount(terms, minlength=len(self.asked))
                quality += np.bincount(terms, found, len(self.asked))
                at_risk += np.bincount(terms, found * share[page], len(self.asked))
                advance(len(chunk))
        return ByTerms(results, quality, at_risk)

    def _expected_losses(self, now: float) -> tuple[NDArray[np.int64], FloatArray]:
        """Ids of all pages, ascending, and the quality that each is expected to have lost since its visit."""
        columns = self.store.load_pages(self.spider)
        pool = GainPool()
        pool.restore(self.store.load_groups(self.spider).get(POOL, b""))
        beliefs = {name: column.astype(np.float64) for name, column in columns.beliefs.items()}
        rate = np.maximum(columns.change_rate.astype(np.float64), 1e-12)
        noticed = noticed_by(beliefs, rate, pool)
        elapsed = np.maximum(np.nan_to_num(now - columns.last_visit_at), 0.0)
        lost = -np.expm1(-noticed.rate * elapsed) * noticed.size
        order = columns.page_id.argsort()
        return columns.page_id[order], lost[order]


class ByTerms(NamedTuple):
    """One element a term."""

    results: NDArray[np.int64]  #: pages that have it
    quality: FloatArray  #: what searchers find by it
    at_risk: FloatArray  #: what of that is expected to be lost by now


class Result(NamedTuple):
    """A page that answers a query."""

    page_id: int
    score: float


class Found(NamedTuple):
    """What a search found."""

    results: list[Result]  #: the best, best first
    total: int  #: how many there are
    pages: int  #: that were searched


def search(
    store: Store,
    spider: str | None,
    term_ids: NDArray[np.int64],
    scoring: Scoring,
    *,
    limit: int,
    advance: Advance,
) -> Found:
    """The pages that have all of some terms, by their scores; a pass over what is kept of all pages."""
    links = count_links(store, spider) if scoring.uses_links else None
    order = term_ids.argsort()
    df, pages = np.zeros(len(term_ids), np.int64), 0
    ids, bases = [np.empty(0, np.int64)], [np.empty((0, len(term_ids)))]
    with store.stored_terms(spider) as chunks:
        for chunk in chunks:
            kept = unpack_many([page.terms for page in chunk])
            pages += int(np.count_nonzero(kept.is_readable))
            places = term_ids[order].searchsorted(kept.term_id)
            (wanted,) = np.equal(term_ids[order].take(places, mode="clip"), kept.term_id).nonzero()
            tf = np.zeros((len(chunk), len(term_ids)))
            tf[kept.page[wanted], order[places[wanted]]] = kept.tf[wanted]
            df += np.count_nonzero(tf, axis=0)
            full = np.flatnonzero(tf.all(axis=1))
            length, linked = kept.length[full].astype(np.float64), _links(chunk, links)[full]
            ids.append(np.array([chunk[place].page_id for place in full.tolist()], np.int64))
            bases.append(scoring.base(tf[full], length[:, None], linked[:, None]))
            advance(len(chunk))
    page_id, base = np.concatenate(ids), np.concatenate(bases)
    scores = scoring.query_score(base, scoring.weight(df, pages)[None, :])
    best = np.lexsort((page_id, -scores))[:limit]
    results = [Result(int(page_id[place]), float(scores[place])) for place in best.tolist()]
    return Found(results, len(page_id), pages)


def _links(chunk: list[StoredTerms], links: InLinks | None) -> FloatArray:
    if links is None:
        return np.zeros(len(chunk))
    return links.of(np.array([page.fingerprint for page in chunk], np.int64))
