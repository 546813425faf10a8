"""The books of a crawl: what has become of pages and visits since the writer asked last."""

from scrapy_freshness.model import PageRecord, VisitRecord
from scrapy_freshness.planning.after_visit import updated_record
from scrapy_freshness.planning.visits import Report, Upkeep, visit_record


class Books:
    """Keeps records and visits for the writer, and knows which callbacks are not done yet."""

    def __init__(self, upkeep: Upkeep) -> None:
        self._upkeep = upkeep
        self._updates: dict[int, PageRecord] = {}  #: by page id
        self._log: list[VisitRecord] = []
        self._unfinished: dict[int, PageRecord] = {}  #: by page id; shown again only if the crawl dies now

    def note(self, *records: PageRecord) -> None:
        """Pages have these records from now on."""
        for record in records:
            self._updates[record.page_id] = record

    def close(self, record: PageRecord, report: Report, usual_wait_seconds: float) -> PageRecord:
        """Log a visit; returns the page's record after it, which is not noted yet: it may be learned from."""
        after = updated_record(record, report, self._upkeep, usual_wait_seconds)
        self._unfinished.pop(after.page_id, None)
        if report.is_unfinished and not after.run_callback:
            after.run_callback = True
            self._unfinished[after.page_id] = after
        self._log.append(visit_record(record, report))
        return after

    def suspend(self, record: PageRecord) -> None:
        """Note a page that cannot be processed until the spider yields it again."""
        self._unfinished.pop(record.page_id, None)
        self.note(record)

    def is_unfinished(self, page_id: int) -> bool:
        """Whether the spider has seen a page, but not all that it asked for has been sent."""
        return page_id in self._unfinished

    def finish(self, page_id: int) -> None:
        """All that the spider asked for because of a page has been sent."""
        record = self._unfinished.pop(page_id, None)
        if record is not None:
            record.run_callback = False
            self._updates.setdefault(page_id, record)

    def take(self) -> tuple[list[PageRecord], list[VisitRecord]]:
        """Records and visits that are new since the last call."""
        pages, visits = list(self._updates.values()), self._log
        self._updates, self._log = {}, []
        return pages, visits
