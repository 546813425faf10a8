"""Maps from score to rank for all pages of a spider, from what is kept of them, with bounded memory.

Pages are read once, some at a time. If all their postings do not fit into memory together, they are spread
over files that are gone afterwards, each with all postings of some terms.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.search.links import InLinks
from scrapy_freshness.search.meter import Meter
from scrapy_freshness.search.packed import Pages, unpack_many
from scrapy_freshness.search.rank_maps import PIECES, RankMaps, fitted_keys, sort_keys
from scrapy_freshness.search.scoring import Scoring
from scrapy_freshness.storage.query_rows import StoredTerms
from scrapy_freshness.storage.store import Store

Keys = NDArray[np.uint64]

#: Postings that are put in order at once, eight bytes each.
AT_ONCE = 8_000_000
#: Bytes that a posting takes as it is kept, at the least.
_LEAST_BYTES = 2


@dataclass(frozen=True, slots=True)
class Fit:
    """What an index of all pages says at one moment."""

    maps: RankMaps
    pages: int  #: that were read for terms
    unreadable: int  #: pages that are kept in a way that cannot be read
    behind: int  #: pages that were read before all terms were asked for
    links: InLinks | None  #: if scores depend on them

    def meter(self, asked: AskedTerms, scoring: Scoring) -> Meter:
        """What measures gains with these maps."""
        results = self.maps.results.astype(np.int64)
        return Meter(asked.workload.frequency, scoring, self.maps, results, self.pages)


def fit(
    store: Store,
    spider: str,
    asked: AskedTerms,
    scoring: Scoring,
    *,
    at_once: int = AT_ONCE,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Fit | None:
    """Fit the maps of all terms to the scores of the pages of a spider.

    None if *is_stopped*, which is asked now and then, says that nobody needs the result any more.
    """
    links = count_links(store, spider) if scoring.uses_links else None
    n_parts = 1 + store.stored_terms_bytes(spider) // _LEAST_BYTES // at_once
    pages = unreadable = behind = 0
    with ExitStack() as stack, store.stored_terms(spider) as chunks:
        parts = [_Part(stack.enter_context(TemporaryFile()) if n_parts > 1 else None) for _ in range(n_parts)]
        for chunk in chunks:
            if is_stopped():
                return None
            kept = unpack_many([page.terms for page in chunk])
            pages += int(np.count_nonzero(kept.is_readable))
            unreadable += int(np.count_nonzero(~kept.is_readable))
            behind += int(np.count_nonzero(kept.is_readable & (kept.generation < asked.generation)))
            terms, scores = _scores(chunk, kept, asked, scoring, links)
            keys = sort_keys(terms, scores)
            for number, part in enumerate(parts):
                part.add(keys if n_parts == 1 else keys[terms % n_parts == number])
        maps = _joined((part.keys() for part in parts), len(asked))
    return Fit(maps, pages, unreadable, behind, links)


def count_links(store: Store, spider: str | None) -> InLinks:
    """In-links of the pages of a spider, None: of all spiders."""
    found = [np.empty(0, np.int64)]
    with store.stored_terms(spider) as chunks:
        found += [np.array([page.fingerprint for page in chunk], np.int64) for chunk in chunks]
    links = InLinks(np.unique(np.concatenate(found)))
    with store.stored_terms(spider) as chunks:
        for chunk in chunks:
            links.add(page.links for page in chunk)
    return links


def _scores(
    chunk: list[StoredTerms], kept: Pages, asked: AskedTerms, scoring: Scoring, links: InLinks | None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Terms and base scores of all postings of some pages, of those that are asked for."""
    terms, is_asked = asked.numbers_of(kept.term_id)
    fingerprints = np.array([page.fingerprint for page in chunk], np.int64)
    linked = np.zeros(len(chunk)) if links is None else links.of(fingerprints)
    page = kept.page[is_asked]
    length = kept.length[page].astype(np.float64)
    return terms[is_asked], scoring.base(kept.tf[is_asked].astype(np.float64), length, linked[page])


class _Part:
    """The keys of some of the terms, in memory or in a file."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file = file
        self._chunks: list[Keys] = []

    def add(self, keys: Keys) -> None:
        if self._file is None:
            self._chunks.append(keys)
        else:
            self._file.write(keys.tobytes())

    def keys(self) -> Keys:
        """All of them, which are then gone."""
        if self._file is not None:
            self._file.seek(0)
            found = np.frombuffer(bytearray(self._file.read()), np.uint64)
        else:
            found = np.concatenate(self._chunks) if self._chunks else np.empty(0, np.uint64)
        self._chunks = []
        return found


def _joined(parts: Iterable[Keys], n_terms: int) -> RankMaps:
    results = np.zeros(n_terms, np.int32)
    knots = np.full((n_terms, PIECES + 1), -np.inf, np.float32)
    for maps in _fitted(parts, n_terms):
        (found,) = maps.results.nonzero()
        results[found], knots[found] = maps.results[found], maps.knots[found]
    return RankMaps(results, knots)


def _fitted(parts: Iterable[Keys], n_terms: int) -> Iterator[RankMaps]:
    for keys in parts:
        yield fitted_keys(keys, n_terms)
