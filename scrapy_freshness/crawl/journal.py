"""The database's side of a crawl: one thread that writes what was learned and reads records ahead.

What is noted is written at the next flush, all of it in one transaction. Records that were read or
written lately are kept in memory, so that a crawl of some thousand pages reads each of them once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl.threads import in_thread
from scrapy_freshness.errors import StorageError
from scrapy_freshness.model import (
    Batch,
    CrawlState,
    FreshnessRecord,
    HostRecord,
    HubRecord,
    LinkSegment,
    PageColumns,
    PageRecord,
    QueryTerms,
    SignalRecord,
    SourceRecord,
    Subscription,
    TermMaps,
    VisitRecord,
    WaitingSignals,
    Wish,
    WishKind,
)
from scrapy_freshness.sources.seen import SeenLinks
from scrapy_freshness.storage import wishes
from scrapy_freshness.storage.importance_rows import ImportanceRule
from scrapy_freshness.storage.store import Store

T = TypeVar("T")
OfPage = TypeVar("OfPage", PageRecord, VisitRecord, SourceRecord, HubRecord, SignalRecord)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a crawl starts from."""

    pages: PageColumns
    hosts: list[HostRecord]
    groups: dict[str, bytes]
    sources: list[SourceRecord]
    hubs: list[HubRecord]
    waiting: WaitingSignals
    subscriptions: list[Subscription]
    queries: QueryTerms
    query_version: tuple[int, float]
    maps: TermMaps | None
    state: CrawlState | None
    next_page_id: int
    other_spiders: list[str]
    rules: list[ImportanceRule]
    revision: int
    wishes: list[Wish]


class Journal:
    """Writes behind and reads ahead, on a thread of its own."""

    def __init__(self, database_url: str, spider: str, cache_pages: int) -> None:
        self._url = database_url
        self._spider = spider
        self._cache_pages = cache_pages
        self._cache: dict[int, PageRecord] = {}  #: oldest first
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="freshness-database")
        self._store: Store | None = None
        self._unsaved = Batch()
        self._saving = False
        self._writes = 0  #: under way
        self._dropped: set[int] = set()  #: ids of pages that nothing is written about any more
        self._closing: Deferred[None] | None = None  #: fires when no write is under way any more
        self.written_at: float | None = None  #: what was noted until then is in the database
        self.failing_since: float | None = None  #: time of the first of the failed flushes in a row

    @property
    def unsaved_visits(self) -> int:
        return len(self._unsaved.visits)

    @property
    def store(self) -> Store:
        """The database, for reading from another thread; StorageError if it is not open."""
        return self._opened_store()

    def check(self) -> None:
        """See that the database can be had, and migrate it; raises StorageError. Blocks for a moment."""
        with Store.open(self._url) as store:
            store.lock(self._spider)

    def open(self, take_over: Callable[[Loaded], None], clock: Clock) -> Deferred[Loaded]:
        """Lock the database, read what is known, let *take_over* digest it; on its thread: it may be much."""
        opened: Deferred[Loaded] = in_thread(self._thread, self._open, take_over, clock.now())

        def written(loaded: Loaded) -> Loaded:
            self.written_at = clock.now()
            return loaded

        return opened.addCallback(written)

    def note(
        self, pages: Iterable[PageRecord], visits: Iterable[VisitRecord], hosts: Iterable[HostRecord]
    ) -> None:
        """Keep these for the next flush."""
        for record in pages:
            self.remember(record)
            self._unsaved.pages.append(record)
        self._unsaved.visits.extend(visits)
        self._unsaved.hosts.extend(hosts)

    def note_signals(
        self,
        sources: Iterable[SourceRecord],
        signals: Iterable[SignalRecord],
        shown: Iterable[tuple[int, float]],
    ) -> None:
        """Keep what was learned of sources of signals, and what they said, for the next flush."""
        self._unsaved.sources.extend(sources)
        self._unsaved.signals.extend(signals)
        self._unsaved.shown.extend(shown)

    def note_hubs(self, hubs: Iterable[HubRecord], links: Iterable[LinkSegment]) -> None:
        """Keep what was learned of hubs, and the links that were seen on them, for the next flush."""
        self._unsaved.hubs.extend(hubs)
        self._unsaved.seen_links.extend(links)

    def note_groups(self, groups: Mapping[str, bytes]) -> None:
        """Keep what was learned of groups of pages for the next flush."""
        self._unsaved.groups.update(groups)

    def note_maps(self, maps: TermMaps) -> None:
        """Keep maps from scores to ranks for the next flush."""
        self._unsaved.maps = maps

    def note_subscription(self, token: str, subscription: Subscription | None) -> None:
        """Keep a subscription as it is now for the next flush; None if it has ended."""
        self._unsaved.subscriptions[token] = None if subscription is None else replace(subscription)

    def note_wish(self, wish_id: int, at: float, outcome: str) -> None:
        """Keep what came of a wish for the next flush."""
        self._unsaved.wishes[wish_id] = at, outcome

    def drop(self, page_ids: Iterable[int]) -> None:
        """Write nothing about these pages any more."""
        for page_id in page_ids:
            self._dropped.add(page_id)
            self._cache.pop(page_id, None)

    def note_freshness(self, record: FreshnessRecord) -> None:
        """Keep how fresh the copies are for the next flush."""
        self._unsaved.freshness.append(record)

    def count_fetch(self, kind: str, host: str, now: float) -> None:
        """Count a fetch of any kind, for the budget's books."""
        minute, taken = (int(now // 60), kind), (host, kind)
        self._unsaved.fetches[minute] = self._unsaved.fetches.get(minute, 0) + 1
        self._unsaved.host_fetches[taken] = self._unsaved.host_fetches.get(taken, 0) + 1

    def count_link(self, page_id: int) -> None:
        """Count a further page that links to a page."""
        self._unsaved.links[page_id] = self._unsaved.links.get(page_id, 0) + 1

    def remember(self, record: PageRecord) -> None:
        """Keep a record in memory, in place of the one that was handed in longest ago."""
        self._cache.pop(record.page_id, None)
        self._cache[record.page_id] = record
        if len(self._cache) > self._cache_pages:
            del self._cache[next(iter(self._cache))]

    def cached(self, page_ids: list[int]) -> list[PageRecord]:
        """Those of these records that are in memory."""
        return [self._cache[page_id] for page_id in page_ids if page_id in self._cache]

    def read(self, page_ids: list[int]) -> Deferred[list[PageRecord]]:
        """Read records from the database, after writing what is noted: they may be among it."""
        return self._after_writing(lambda: self._opened_store().load_records(page_ids))

    def read_seen(self, page_id: int) -> Deferred[bytes]:
        """Read what a source of signals said at its last poll, after writing what is noted."""
        return self._after_writing(lambda: self._opened_store().load_seen(page_id))

    def read_links(self, host: str) -> Deferred[SeenLinks]:
        """Read the links that were seen on pages of a host, after writing what is noted; they may be many."""
        return self._after_writing(lambda: SeenLinks(self._opened_store().load_links(self._spider, host)))

    def read_wishes(self) -> Deferred[list[Wish]]:
        """Read what people ask of the crawl."""
        return self._under_way(in_thread(self._thread, self._read_wishes))

    def forget(self, wished: list[Wish], now: float) -> Deferred[None]:
        """Remove pages from the database, after writing what is noted; before, they are to be dropped."""
        return self._after_writing(lambda: self._forget(wished, now))

    def flush(self, state: CrawlState, now: float) -> Deferred[None] | None:
        """Write what is noted; None if there is nothing or a flush is under way."""
        if self._saving:
            return None
        if not self._unsaved:
            if not self._writes:
                self.written_at = now
            return None
        self._saving = True
        self._writes += 1
        batch = self._take()
        batch.state = state
        done: Deferred[None] = in_thread(self._thread, self._save, batch)
        done.addCallbacks(self._saved, self._failed, callbackArgs=(now,), errbackArgs=(batch, now))
        return done.addBoth(self._write_ended)

    def close(self, state: CrawlState | None, now: float) -> Deferred[None]:
        """Write everything and close the database, once writes under way have ended: what fails is kept."""
        self._closing = Deferred()
        closed = self._closing.addCallback(lambda _: self._write_and_close(state))
        if not self._writes:
            self._closing.callback(None)
        return closed

    def _under_way(self, done: Deferred[T]) -> Deferred[T]:
        self._writes += 1
        return done.addBoth(self._write_ended)

    def _after_writing(self, work: Callable[[], T]) -> Deferred[T]:
        self._writes += 1
        saved: Deferred[None] = succeed(None)
        if batch := self._take():
            saved = in_thread(self._thread, self._save, batch).addErrback(self._keep_batch, batch)
        found = saved.addCallback(lambda _: in_thread(self._thread, work))
        return found.addBoth(self._write_ended)

    def _write_ended(self, result: T) -> T:
        self._writes -= 1
        if self._closing is not None and not self._writes:
            self._closing.callback(None)
        return result

    def _write_and_close(self, state: CrawlState | None) -> Deferred[None]:
        batch = self._take()
        batch.state = state
        done: Deferred[None] = in_thread(self._thread, self._close, batch)

        def ended(result: object) -> object:
            self._thread.shutdown(wait=False)
            return result

        return done.addErrback(self._keep_batch, batch).addBoth(ended)

    def _take(self) -> Batch:
        batch, self._unsaved = self._unsaved, Batch()
        if self._dropped:
            batch.pages, batch.visits = (
                self._without_dropped(batch.pages),
                self._without_dropped(batch.visits),
            )
            batch.sources = self._without_dropped(batch.sources)
            batch.hubs = self._without_dropped(batch.hubs)
            batch.signals = self._without_dropped(batch.signals)
            batch.shown = [each for each in batch.shown if each[0] not in self._dropped]
        return batch

    def _without_dropped(self, records: list[OfPage]) -> list[OfPage]:
        return [record for record in records if record.page_id not in self._dropped]

    def _saved(self, _: None, now: float) -> None:
        self._saving = False
        self.written_at = now
        self.failing_since = None

    def _failed(self, failure: Failure, batch: Batch, now: float) -> Failure:
        self._saving = False
        self.failing_since = now if self.failing_since is None else self.failing_since
        return self._keep_batch(failure, batch)

    def _keep_batch(self, failure: Failure, batch: Batch) -> Failure:
        """Put a batch that was not written back in front of what has been noted since.

        A later batch may have been written in between: what is in memory is newest.
        """
        since = self._unsaved
        self._unsaved = Batch(
            pages=[self._cache.get(record.page_id, record) for record in batch.pages] + since.pages,
            hosts=batch.hosts + since.hosts,
            visits=batch.visits + since.visits,
            fetches=dict(Counter(batch.fetches) + Counter(since.fetches)),
            host_fetches=dict(Counter(batch.host_fetches) + Counter(since.host_fetches)),
            groups=batch.groups | since.groups,
            sources=batch.sources + since.sources,
            signals=batch.signals + since.signals,
            shown=batch.shown + since.shown,
            hubs=batch.hubs + since.hubs,
            seen_links=batch.seen_links + since.seen_links,
            links=dict(Counter(batch.links) + Counter(since.links)),
            freshness=batch.freshness + since.freshness,
            subscriptions=batch.subscriptions | since.subscriptions,
            wishes=batch.wishes | since.wishes,
            maps=since.maps or batch.maps,
        )
        return failure

    # What follows runs on the database's thread.

    def _open(self, take_over: Callable[[Loaded], None], now: float) -> Loaded:
        store = Store.open(self._url)
        try:
            store.lock(self._spider)
        except BaseException:
            store.close()
            raise
        self._store = store
        self._forget([wish for wish in self._read_wishes() if wish.kind is WishKind.FORGET], now)
        query_version = store.query_version()  # before they are read: what comes meanwhile is noticed later
        queries = store.load_queries()
        loaded = Loaded(
            store.load_pages(self._spider),
            store.load_hosts(),
            store.load_groups(self._spider),
            store.load_sources(self._spider),
            store.load_hubs(self._spider),
            store.load_waiting_signals(self._spider),
            store.load_subscriptions(self._spider),
            queries,
            query_version,
            store.load_maps(self._spider) if len(queries.term_id) else None,
            store.load_state(self._spider),
            store.next_page_id(self._spider),
            [name for name in store.spiders() if name != self._spider],
            store.load_rules(),
            store.revision(self._spider),
            self._read_wishes(),
        )
        take_over(loaded)
        return loaded

    def _opened_store(self) -> Store:
        if self._store is None:
            raise StorageError("the database is not open")
        return self._store

    def _read_wishes(self) -> list[Wish]:
        return wishes.waiting(self._opened_store(), self._spider)

    def _forget(self, wished: list[Wish], now: float) -> None:
        if wished:
            wishes.forget_as_wished(self._opened_store(), self._spider, wished, now)

    def _save(self, batch: Batch) -> None:
        self._opened_store().save(self._spider, batch)

    def prune(self, before: float) -> Deferred[int]:
        """Remove visits older than *before* from the log."""
        return in_thread(self._thread, self._prune, before)

    def _prune(self, before: float) -> int:
        return self._opened_store().prune_visits(before)

    def _close(self, batch: Batch) -> None:
        if self._store is None:
            return
        try:
            if batch or batch.state:
                self._save(batch)
        finally:
            self._store.close()
            self._store = None
