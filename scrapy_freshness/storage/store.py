"""The door to the database for the crawl and the commands; records in, records out."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine

from scrapy_freshness.errors import SchemaError, StorageError
from scrapy_freshness.model import (
    Batch,
    CrawlState,
    HostRecord,
    HubRecord,
    ImportProgress,
    PageColumns,
    PageRecord,
    QueryTerms,
    SourceRecord,
    Subscription,
    TermMaps,
    WaitingSignals,
)
from scrapy_freshness.storage import (
    click_rows,
    estimate_rows,
    hub_rows,
    import_rows,
    importance_rows,
    locks,
    maintenance,
    migrations,
    query_rows,
    reading,
    signal_rows,
)
from scrapy_freshness.storage.database import Database
from scrapy_freshness.storage.failures import our_errors
from scrapy_freshness.storage.query_rows import StoredTerms
from scrapy_freshness.storage.rows import clean
from scrapy_freshness.storage.schema import spider
from scrapy_freshness.storage.writing import BatchWriter, numbers_of

T = TypeVar("T")

#: Portions of the log that are removed at one call, a twentieth of a second each. Called every minute, it
#: keeps up with a thousand visits per second.
_PORTIONS_AT_ONCE = 3


class Store:
    """All that is known, in one database.

    Writing (`lock`, `save`) is for one thread; reading is safe from any number of them. Every method raises
    `StorageError`, and no other error, if the database is the trouble.
    """

    def __init__(self, database: Database, engine: Engine) -> None:
        self.database = database
        self._engine = engine
        self._reading_engine = database.with_snapshots(engine)
        self._writing_engine = engine.execution_options(writes=True)
        self._writer = BatchWriter()
        self._lock: locks.CrawlLock | None = None

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """Open a database for reading and writing, at the schema of this version.

        A missing SQLite file, missing tables and an older schema are put right; with *create* false a
        database that has no tables of ours is an error instead.
        """
        database = Database(url)
        if not create:
            _require_file(database)
        store = cls(database, database.engine(read_only=False))
        try:
            store._upgrade(create)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open_readonly(cls, url: str) -> Self:
        """Open a database that exists for reading only; a crawl may be writing to it."""
        database = Database(url)
        _require_file(database)
        store = cls(database, database.engine(read_only=True))
        try:
            with store.reading() as connection:
                if not migrations.check(connection, str(database)):
                    _require_tables(connection, database)
                    raise SchemaError(
                        f"database {database} has an older schema: run 'scrapy freshness db upgrade'"
                    )
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Release the lock and all connections."""
        self.unlock()
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self.database}>"

    # Locking

    def lock(self, spider_name: str | None = None) -> None:
        """Keep other crawls away until `unlock` or `close`; raises `LockedError` if one is there.

        Without a name: keep every crawl away, for maintenance.
        """
        spider_id, purpose = None, "maintenance"
        if spider_name is not None:
            spider_id, purpose = self._spider_id(spider_name), f"crawl of {clean(spider_name)}"
        with our_errors(self.database):
            self._lock = locks.take_lock(self.database, self._engine, spider_id, purpose)

    def unlock(self) -> None:
        """Let other crawls write."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def is_locked(self) -> bool:
        """Whether any crawl is using the database."""
        with self.reading() as connection:
            return locks.is_locked(self.database, connection)

    # Reading

    def load_pages(self, spider_name: str) -> PageColumns:
        """The numbers of all pages of a spider."""
        with self.reading() as connection:
            return reading.load_pages(connection, spider_name)

    def load_records(self, page_ids: Iterable[int]) -> list[PageRecord]:
        """Everything about some pages, in any order; pages that do not exist are left out."""
        with self.reading() as connection:
            return reading.load_records(connection, page_ids)

    def load_hosts(self, only: str | None = None) -> list[HostRecord]:
        """What is kept about hosts, or about one; those of which only the name is known are left out."""
        with self.reading() as connection:
            return reading.load_hosts(connection, only)

    def has_host(self, name: str) -> bool:
        """Whether anything is kept about a host."""
        with self.reading() as connection:
            return reading.has_host(connection, name)

    def load_groups(self, spider_name: str, beginning: str = "") -> dict[str, bytes]:
        """What was learned of groups of pages of a spider, by name; only of those whose names begin so."""
        with self.reading() as connection:
            return reading.load_groups(connection, spider_name, beginning)

    def load_sources(self, spider_name: str) -> list[SourceRecord]:
        """All sources of signals of a spider, without what they said at their last polls."""
        with self.reading() as connection:
            return signal_rows.load_sources(connection, reading.number_of(spider, clean(spider_name)))

    def load_seen(self, page_id: int) -> bytes:
        """What a source of signals said at its last poll, packed."""
        with self.reading() as connection:
            return signal_rows.load_seen(connection, page_id)

    def load_hubs(self, spider_name: str) -> list[HubRecord]:
        """All hubs of a spider."""
        with self.reading() as connection:
            return hub_rows.load_hubs(connection, reading.number_of(spider, clean(spider_name)))

    def load_links(self, spider_name: str, host: str) -> list[tuple[int, bytes]]:
        """The links that were seen on pages of a host, in numbered segments."""
        with self.reading() as connection:
            return hub_rows.load_links(connection, reading.number_of(spider, clean(spider_name)), host)

    def load_waiting_signals(self, spider_name: str) -> WaitingSignals:
        """Signals that no visit has answered yet."""
        with self.reading() as connection:
            return signal_rows.load_waiting(connection, reading.number_of(spider, clean(spider_name)))

    def load_subscriptions(self, spider_name: str) -> list[Subscription]:
        """What hubs were asked to send to the crawl of a spider."""
        with self.reading() as connection:
            return reading.load_subscriptions(connection, spider_name)

    def load_queries(self) -> QueryTerms:
        """All terms that searchers ask for."""
        with self.reading() as connection:
            return query_rows.load_queries(connection)

    def query_version(self) -> tuple[int, float]:
        """Another pair of numbers after queries were imported."""
        with self.reading() as connection:
            return query_rows.version(connection)

    def load_maps(self, spider_name: str) -> TermMaps | None:
        """The maps from scores to ranks of a spider's pages; None if there are none yet."""
        with self.reading() as connection:
            return query_rows.load_maps(connection, reading.number_of(spider, clean(spider_name)))

    @contextmanager
    def stored_terms(self, spider_name: str | None) -> Iterator[Iterator[list[StoredTerms]]]:
        """What pages of a spider (None: all) have of what searchers ask for, some pages at a time."""
        with self.reading() as connection:
            own = None if spider_name is None else reading.number_of(spider, clean(spider_name))
            yield query_rows.stored_terms(connection, own)

    def stored_terms_bytes(self, spider_name: str) -> int:
        """How much that is, in bytes."""
        with self.reading() as connection:
            return query_rows.stored_bytes(connection, reading.number_of(spider, clean(spider_name)))

    def load_imports(self, kind: str) -> list[ImportProgress]:
        """How far files of a kind (clicks, ...) have been imported."""
        with self.reading() as connection:
            return import_rows.load_imports(connection, kind)

    def clicked_pages(self, fingerprints: Iterable[int]) -> list[click_rows.ClickedPage]:
        """The pages, of all spiders, that are known by these numbers."""
        with self.reading() as connection:
            return click_rows.clicked_pages(connection, fingerprints)

    def host_names(self) -> set[str]:
        """All hosts that have, or had, pages."""
        with self.reading() as connection:
            return click_rows.host_names(connection)

    def revision(self, spider_name: str) -> int:
        """A number that grows when somebody else than the crawl has written importances or profits."""
        with self.reading() as connection:
            return estimate_rows.revision_of(connection, spider_name)

    def load_importances(self, spider_name: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Page ids of a spider and their importances."""
        with self.reading() as connection:
            return estimate_rows.load_importances(connection, spider_name)

    def has_clicks(self) -> bool:
        """Whether any clicks on pages were imported."""
        with self.reading() as connection:
            return click_rows.has_clicks(connection)

    def has_estimates(self) -> bool:
        """Whether importances of pages were estimated from clicks, links or feeds."""
        with self.reading() as connection:
            return importance_rows.has_estimates(connection)

    def load_rules(self) -> list[importance_rows.ImportanceRule]:
        """Importances of addresses that no page had, and of all that begin so."""
        with self.reading() as connection:
            return importance_rows.load_rules(connection)

    def load_state(self, spider_name: str) -> CrawlState | None:
        """What the last crawl of a spider said about itself."""
        with self.reading() as connection:
            states = {state.spider: state for state in reading.load_states(connection)}
        return states.get(clean(spider_name))

    def spiders(self) -> list[str]:
        """All spiders that have crawled with the database."""
        with self.reading() as connection:
            return reading.spider_names(connection)

    def page_count(self, spider_name: str) -> int:
        """How many pages of a spider are known."""
        with self.reading() as connection:
            return reading.page_count(connection, spider_name)

    def next_page_id(self, spider_name: str) -> int:
        """The first id for new pages of a spider; those above are free too, and no other spider's."""
        spider_id = self._spider_id(spider_name)
        with self.reading() as connection:
            return reading.next_page_id(connection, spider_id)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one snapshot of the database; for this room only."""
        with our_errors(self.database), self._reading_engine.begin() as connection:
            yield connection

    # Writing

    def save(self, spider_name: str, batch: Batch) -> None:
        """Write a batch, all or nothing; if a page occurs twice the last record counts."""
        with self.writing() as connection:
            spider_id = numbers_of(connection, spider, {clean(spider_name)})[clean(spider_name)]
            self._writer.write(connection, spider_id, batch)

    def clear_queries(self) -> int:
        """Forget all queries and the index of them; returns how many terms there were."""
        with self.writing() as connection:
            return query_rows.clear(connection)

    def save_import(self, progress: ImportProgress, write: Callable[[Connection], T]) -> T:
        """Write what a part of a file said together with how far it has been read, all or nothing.

        A crawl may go on meanwhile: what *write* does should take a fraction of a second.
        """
        number = progress.import_id
        try:
            with self.writing() as connection:
                written = write(connection)
                import_rows.write_import(connection, progress)
            progress.saved_position = progress.position
            return written
        except BaseException:
            progress.import_id = number  # it may be of the transaction that was undone
            raise

    def forget(self, *, url: str | None = None, host: str | None = None) -> int:
        """Remove all pages of a URL or a host, and their visits; returns how many pages."""
        if (url is None) == (host is None):
            raise TypeError("give either url or host")
        with self.writing() as connection:
            if url is not None:
                return maintenance.forget_url(connection, url)
            return maintenance.forget_host(connection, host or "")

    def adopt(self, old_spider: str, new_spider: str) -> int:
        """Give the pages of one spider to another, after a spider was renamed; returns how many pages."""
        with self.writing() as connection:
            return maintenance.adopt(connection, old_spider, new_spider)

    def prune_visits(self, before: float) -> int:
        """Remove older visits, signals and counts per minute, some at each call; returns how many visits.

        What was learned from the visits stays. A crawl may go on meanwhile: after the log was made shorter,
        many calls are needed, but none keeps the database for long.
        """
        pruned = 0
        for _ in range(_PORTIONS_AT_ONCE):
            with self.writing() as connection:
                some = maintenance.prune_some_visits(connection, before)
                more = maintenance.prune_some_signals(connection, before)
                if not some and not more:
                    maintenance.prune_counts(connection, before)
                    break
            pruned += some
        return pruned

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, which must be short; for this room and what estimates from what is in it."""
        with our_errors(self.database):
            if self._lock is not None:
                self._lock.assure()
            with self._writing_engine.begin() as connection:
                yield connection

    def _spider_id(self, name: str) -> int:
        with self.writing() as connection:
            return numbers_of(connection, spider, {clean(name)})[clean(name)]

    def _upgrade(self, create: bool) -> None:
        with self.reading() as connection:
            if migrations.check(connection, str(self.database)):
                return
            is_empty = migrations.current_revision(connection) is None
            if not create:
                _require_tables(connection, self.database)
        if not is_empty:
            self.lock()  # a crawl of an older version may be running
        with self.writing() as connection:
            migrations.upgrade(connection, str(self.database))
        self.unlock()


def _require_file(database: Database) -> None:
    if database.path is not None and not database.path.exists():
        raise StorageError(f"there is no database {database}: check the path, or crawl first")


def _require_tables(connection: Connection, database: Database) -> None:
    if migrations.current_revision(connection) is None:
        raise StorageError(
            f"database {database} has no tables of scrapy-freshness: check the URL, or crawl first"
        )
