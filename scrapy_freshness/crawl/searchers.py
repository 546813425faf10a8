"""What would searchers see?  Reads pages for what they ask for, and measures what visits are worth to them.

Without imported queries nothing is read, measured or kept.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scrapy.crawler import Crawler
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock
from scrapy_freshness.content.measure import Measurement
from scrapy_freshness.crawl.fitting import Fit, fit
from scrapy_freshness.crawl.journal import Journal, Loaded
from scrapy_freshness.crawl.visiting import PageVisit
from scrapy_freshness.model import Outcome, PageRecord, QueryTerms, TermMaps
from scrapy_freshness.planning.after_visit import note_gain
from scrapy_freshness.planning.visits import Report
from scrapy_freshness.search.asked import AskedTerms, ReadTerms, TermIds, is_read
from scrapy_freshness.search.links import InLinks, pack_links
from scrapy_freshness.search.meter import Meter
from scrapy_freshness.search.scoring import Scoring
from scrapy_freshness.search.touched import pack_touched
from scrapy_freshness.search.workload import PageTerms

logger = logging.getLogger(__name__)

#: Pages that are read for terms before maps are fitted again: so many, and this share of all of them.
_REFIT_PAGES = 32
_REFIT_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Index:
    """The queries of one moment, and what measures gains by them; None before anything was fitted."""

    asked: AskedTerms
    meter: Meter | None = None
    links: InLinks | None = None
    pages: int = 0  #: to which maps were fitted

    def links_to(self, pages: Sequence[PageRecord]) -> NDArray[np.float64]:
        """How many pages link to each of these."""
        if self.links is None:
            return np.zeros(len(pages))
        return self.links.of(np.array([page.fingerprint for page in pages], np.int64))


class _Unmeasured(NamedTuple):
    """What is needed to measure what a visit gained."""

    by: Index
    before: bytes  #: what was kept of the page; empty if it was not read
    after: TermIds
    terms: PageTerms | None  #: if the quality of the page is wanted
    at: float
    is_change: bool


class Searchers:
    """The index of what searchers ask for, as far as a crawl needs it: terms, maps and weights.

    Parameters
    ----------
    scoring : how results are ranked
    in_background : runs what would take long in a thread
    """

    def __init__(
        self,
        crawler: Crawler,
        clock: Clock,
        journal: Journal,
        scoring: Scoring,
        *,
        in_background: Callable[[Callable[[], Any]], "Deferred[Any]"],
    ) -> None:
        self._crawler = crawler
        self._clock = clock
        self._journal = journal
        self._scoring = scoring
        self._in_background = in_background
        self._index: Index | None = None
        self._version = (0, 0.0)  #: of the imported queries
        self._read_since_fit = 0
        self._unmeasured: dict[int, _Unmeasured] = {}  #: by page id, until the planner learns from the visits
        self._is_looking = self._is_fitting = False
        self._is_closed = False

    @property
    def is_on(self) -> bool:
        """Whether there are queries."""
        return self._index is not None

    @property
    def counts_links(self) -> bool:
        """Whether scores depend on the links between pages."""
        return self.is_on and self._scoring.uses_links

    def load(self, loaded: Loaded) -> None:
        """Take over queries and maps from the database; on its thread, before the crawl begins."""
        self._version = loaded.query_version
        if len(loaded.queries.term_id):
            self._index = self._loaded_index(loaded.queries, loaded.maps)
        if loaded.maps is not None:
            # Each run may read too little for a fit: what all have visited since the last counts.
            self._read_since_fit = int(np.count_nonzero(loaded.pages.last_visit_at > loaded.maps.fitted_at))

    def open(self) -> None:
        """The crawl begins."""
        self._tell()
        if self._index is not None and self._index.meter is None:
            self._refit(self._index.asked)
        self._refit_if_due()

    def close(self) -> None:
        """The crawl ends: what is being fitted is not waited for."""
        self._is_closed = True

    def is_behind(self, record: PageRecord) -> bool:
        """Whether a page has to be read although it may be the same: not all queries were known last time."""
        return self._index is not None and self._index.asked.is_behind(record.terms)

    def read(self, measurement: Measurement) -> ReadTerms | None:
        """Count the terms of some content; takes as long as it is, and may run in a thread."""
        if self._index is None:
            return None
        prose = [passage.text for passage in measurement.passages if passage.is_prose]
        asked = self._index.asked
        return ReadTerms(asked, asked.workload.terms_in(prose[0] if len(prose) == 1 else "\n".join(prose)))

    def measure(self, page: PageVisit, report: Report) -> None:
        """Add to a report what is kept of the page for searchers; what they gain is measured by `settle`."""
        index, record = self._index, page.visit.record
        if index is None or record.kind.is_polled:
            return
        if self.counts_links and page.output_ended and not report.callback_failed:
            report.links = pack_links(page.linked, record.fingerprint)
        if page.terms is None:
            if report.outcome in (Outcome.UNCHANGED, Outcome.NOT_MODIFIED) and record.terms:
                report.quality_gain = 0.0 if index.meter is not None else None
            return
        if page.terms.asked is not index.asked:  # queries were imported while the page was on its way
            index = Index(page.terms.asked)
        terms = page.terms.terms
        by_ids = index.asked.by_ids(terms)
        report.terms = by_ids.packed(index.asked.generation)
        self._read_since_fit += 1
        self._crawler.stats.inc_value("freshness/queries/pages_read")
        if index.meter is not None and report.outcome.saw_content:
            self._unmeasured[record.page_id] = _Unmeasured(
                by=index,
                before=record.terms if is_read(record.terms) else b"",
                after=by_ids,
                # At the first visit, the second, the fourth, ...: needed only while little else is known.
                terms=terms if record.visits & (record.visits + 1) == 0 else None,
                at=report.at,
                is_change=report.outcome is Outcome.CHANGED,
            )
        self._refit_if_due()

    def settle(self, records: Sequence[PageRecord]) -> None:
        """Measure what the last visits of pages gained: many together take a quarter of the time."""
        waiting: dict[int, list[tuple[PageRecord, _Unmeasured]]] = {}
        for record in records if self._unmeasured else ():
            read = self._unmeasured.pop(record.page_id, None)
            if read is not None:
                waiting.setdefault(id(read.by), []).append((record, read))
        for same_index in waiting.values():
            self._measure_gains([(record, read) for record, read in same_index if read.before])
            self._measure_qualities([(record, read) for record, read in same_index if read.terms is not None])

    def _measure_gains(self, pages: list[tuple[PageRecord, "_Unmeasured"]]) -> None:
        if not pages:
            return
        index = pages[0][1].by
        assert index.meter is not None
        moves = index.asked.moves([read.before for _, read in pages], [read.after for _, read in pages])
        parts = index.meter.gains_of(moves, index.links_to([record for record, _ in pages]))
        gains = np.bincount(parts.change, parts.gain, len(pages)).tolist()
        ids = index.asked.term_id.take(parts.term)
        touched = pack_touched([read.at for _, read in pages], parts.change, ids, parts.gain)
        for (record, read), gain, noticed in zip(pages, gains, touched, strict=True):
            note_gain(record, gain)
            if gain > 0 or read.is_change:
                record.touched = noticed
            if gain > 0:
                self._crawler.stats.inc_value("freshness/queries/changes_noticed")

    def _measure_qualities(self, pages: list[tuple[PageRecord, "_Unmeasured"]]) -> None:
        if not pages:
            return
        index = pages[0][1].by
        assert index.meter is not None
        terms = [read.terms for _, read in pages if read.terms is not None]
        qualities = index.meter.page_qualities(terms, index.links_to([record for record, _ in pages]))
        for (record, _), quality in zip(pages, qualities.tolist(), strict=True):
            record.beliefs["page_quality"] = quality

    def look_for_queries(self) -> None:
        """See whether queries have been imported since; if so, take them over, and begin to read for them."""
        if not self._is_looking and not self._is_closed:
            self._is_looking = True
            found = self._in_background(self._new_queries)
            found.addCallbacks(self._take_over, self._failed).addBoth(self._looked)

    def _new_queries(self) -> tuple[tuple[int, float], AskedTerms | None] | None:
        store = self._journal.store
        version = store.query_version()
        if version == self._version:
            return None
        kept = store.load_queries()
        return version, AskedTerms.of(kept) if len(kept.term_id) else None

    def _take_over(self, found: tuple[tuple[int, float], AskedTerms | None] | None) -> None:
        if found is None or self._is_closed:
            return
        self._version, asked = found
        self._index = None if asked is None else Index(asked)
        self._tell()
        if asked is not None:
            self._refit(asked)

    def _refit_if_due(self) -> None:
        index = self._index
        if index is not None and self._read_since_fit >= max(_REFIT_PAGES, _REFIT_SHARE * index.pages):
            self._refit(index.asked)

    def _refit(self, asked: AskedTerms) -> None:
        if self._is_fitting or self._is_closed:
            return
        self._is_fitting = True
        self._read_since_fit = 0
        spider = self._crawler.spidercls.name

        def work() -> tuple[Fit, Meter] | None:
            store = self._journal.store
            done = fit(store, spider, asked, self._scoring, is_stopped=lambda: self._is_closed)
            return None if done is None else (done, done.meter(asked, self._scoring))

        fitted = self._in_background(work)
        fitted.addCallbacks(self._fitted, self._failed, callbackArgs=(asked,)).addBoth(self._ended)

    def _fitted(self, done: tuple[Fit, Meter] | None, asked: AskedTerms) -> None:
        if done is None:
            return
        found, meter = done
        if self._is_closed or self._index is None or self._index.asked is not asked or not found.pages:
            return
        self._index = replace(self._index, meter=meter, links=found.links, pages=found.pages)
        self._crawler.stats.inc_value("freshness/queries/fits")
        maps = asked.kept_maps(
            found.maps, scoring=self._scoring.name, pages=found.pages, fitted_at=self._clock.now()
        )
        self._journal.note_maps(maps)

    def _failed(self, failure: Failure) -> None:
        if not self._is_closed:
            self._crawler.stats.inc_value("freshness/queries/failed")
            logger.error("What searchers see could not be computed: %s", failure.getErrorMessage())

    def _ended(self, _: object) -> None:
        self._is_fitting = False
        if self._index is not None and self._index.meter is None and self._read_since_fit:
            self._refit(self._index.asked)  # queries have changed meanwhile, or there was nothing to fit to

    def _looked(self, _: object) -> None:
        self._is_looking = False

    def _loaded_index(self, queries: QueryTerms, kept: TermMaps | None) -> Index:
        asked = AskedTerms.of(queries)
        if kept is None or kept.scoring != self._scoring.name or kept.fitted_at < self._version[1]:
            return Index(asked)
        if self._scoring.uses_links:
            return Index(asked)  # in-links are not kept but counted
        maps = asked.maps_from(kept)
        results = maps.results.astype(int)
        meter = Meter(asked.workload.frequency, self._scoring, maps, results, kept.pages)
        return Index(asked, meter, pages=kept.pages)

    def _tell(self) -> None:
        n_terms = 0 if self._index is None else len(self._index.asked)
        if n_terms:
            self._crawler.stats.set_value("freshness/queries/terms", n_terms)
            logger.info("Reading pages for %d terms that searchers ask for", n_terms)
