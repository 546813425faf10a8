"""What imports and clicks tell, taken over by a crawl that runs: importances of pages, profits of sources."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.journal import Loaded
from scrapy_freshness.imports.estimates import refresh_estimates
from scrapy_freshness.planning.importances import Importances
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.table import rows_of
from scrapy_freshness.storage.database import Database
from scrapy_freshness.storage.importance_rows import ImportanceRule
from scrapy_freshness.storage.store import Store

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is new since the last time."""

    revision: int
    rows: NDArray[np.intp]  #: of pages that have another importance
    importances: NDArray[np.float32]  #: these
    groups: dict[str, bytes]
    rules: list[ImportanceRule]


class InBackground(Protocol):
    """Runs what takes long in a thread."""

    def __call__(self, work: Callable[[], T]) -> "Deferred[T]": ...


class Lessons:
    """Asks the database from time to time, in a thread.

    Parameters
    ----------
    in_background : runs what takes long in a thread
    """

    def __init__(
        self,
        config: Config,
        spider: str,
        planner: Planner,
        in_background: InBackground,
    ) -> None:
        self._config = config
        self._spider = spider
        self._planner = planner
        self._in_background = in_background
        self._is_private = Database(config.database_url).is_memory  #: nobody else can import into it
        self._revision = 0
        self._is_asking = False
        self._is_closed = False
        self._estimated_at: float | None = None
        self._has_looked_back = False  #: whether an earlier run has left estimates
        self.importances = Importances()

    def know(self, loaded: Loaded) -> None:
        """Take over what was known when the crawl began."""
        self._revision = loaded.revision
        self._tell(loaded.rules, loaded.groups)

    def ask(self, now: float) -> None:
        """Begin to look for something new; estimates are made anew once in a while."""
        if self._is_asking or self._is_private:
            return
        self._is_asking = True
        if self._estimated_at is None:
            self._estimated_at = now
        is_time = now - self._estimated_at >= self._config.log_push_seconds
        if is_time:
            self._estimated_at = now
        asked = self._in_background(lambda: self._look(refresh=is_time))
        asked.addCallback(self._read).addCallbacks(self._learn, self._failed)

    def close(self) -> None:
        """The crawl ends: nothing more is read."""
        self._is_closed = True

    def _read(self, revision: int) -> "Deferred[Lesson] | None":
        """Begin to read what is new, if anything is."""
        if revision == self._revision or self._is_closed:
            return None
        page_ids, importances = self._planner.told.importances
        return self._in_background(lambda: self._lesson(page_ids, importances))

    def _learn(self, lesson: Lesson | None) -> None:
        self._is_asking = False
        if lesson is None:
            return
        self._revision = lesson.revision
        if len(lesson.rows):
            self._planner.told.importances_are(lesson.rows, lesson.importances)
        self._planner.told.groups_are(lesson.groups)
        self._tell(lesson.rules, lesson.groups)
        logger.info("Importances of %d pages are others now", len(lesson.rows))

    def _tell(self, rules: list[ImportanceRule], groups: dict[str, bytes]) -> None:
        given = {rule.fingerprint: rule.importance for rule in rules if not rule.is_prefix}
        prefixes = [(rule.url, rule.importance) for rule in rules if rule.is_prefix]
        self.importances.be_told(given, prefixes, groups)

    def _failed(self, failure: Failure) -> None:
        self._is_asking = False
        logger.error("What was imported could not be read: %s", failure.getErrorMessage())

    # What follows runs in the thread.

    def _look(self, *, refresh: bool) -> int:
        with Store.open(self._config.database_url, create=False) as store:
            if refresh and self._has_news(store):
                refresh_estimates(store, self._config.importance)
            return store.revision(self._spider)

    def _lesson(self, page_ids: NDArray[np.int64], importances: NDArray[np.float32]) -> Lesson:
        with Store.open(self._config.database_url, create=False) as store:
            revision = store.revision(self._spider)  # before the rest: what comes meanwhile is new again
            known, present = store.load_importances(self._spider)
            groups = store.load_groups(self._spider)
            rules = store.load_rules()
        rows = rows_of(page_ids, known)
        differs = (rows >= 0) & (importances[rows] != present)
        return Lesson(revision, rows[differs], present[differs], groups, rules)

    def _has_news(self, store: Store) -> bool:
        """Whether estimates may differ from those that are stored."""
        if self._config.importance in ("links", "feeds") or store.has_clicks():
            return True
        # An earlier run may have had another setting.
        has_looked_back, self._has_looked_back = self._has_looked_back, True
        return not has_looked_back and store.has_estimates()
