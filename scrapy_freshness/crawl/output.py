"""The spider middleware: knows when a callback has ended, and which items belong to which visit."""

import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.asyncio import call_later

from scrapy_freshness.content.measure import measure_fragments
from scrapy_freshness.crawl.errands import PAGE_KEY, REVISIT_KEY, yielded
from scrapy_freshness.crawl.extension import Freshness
from scrapy_freshness.crawl.visiting import PageVisit, visit_of
from scrapy_freshness.model import Outcome
from scrapy_freshness.planning.comparing import content_outcome

logger = logging.getLogger(__name__)


class FreshnessSpiderMiddleware:
    """Closes the visit when the spider is done with its page.

    With ``FRESHNESS_FRAGMENT_FIELDS`` the items of a page are held until the callback ends, because
    only together they tell whether the page changed.
    """

    def __init__(self, freshness: Freshness, crawler: Crawler) -> None:
        self._freshness = freshness
        self._fields = freshness.config.fragment_fields
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Freshness.of(crawler), crawler)

    def process_spider_input(self, response: Response) -> None:
        page = visit_of(response.request)
        if page is not None:
            page.is_answered = True

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        page = visit_of(response.request)
        if page is None:
            for each in result:
                yield yielded(each, *_page_behind(response))
            return
        held: list[Any] = []
        try:
            for each in result:
                yield from self._passed(page, each, held)
        except Exception:
            yield from self._ended(page, held, failed=True)
            raise
        yield from self._ended(page, held)
        self._close_soon(page)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        page = visit_of(response.request)
        if page is None:
            async for each in result:
                yield yielded(each, *_page_behind(response))
            return
        held: list[Any] = []
        try:
            async for each in result:
                for passed in self._passed(page, each, held):
                    yield passed
        except Exception:
            for passed in self._ended(page, held, failed=True):
                yield passed
            raise
        for passed in self._ended(page, held):
            yield passed
        self._close_soon(page)

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        page = visit_of(response.request)
        if page is not None and not page.output_ended:
            for _ in self._ended(page, [], failed=True):
                pass
            self._close_soon(page)

    def _passed(self, page: PageVisit, each: Any, held: list[Any]) -> Iterator[Any]:
        if isinstance(each, Request):
            page.coming.add(each)
            self._freshness.owners[id(each)] = page
            yield yielded(each, page.visit.record.page_id, page.revisit_at)
        elif each is None:
            yield None
        elif self._fields:
            held.append(each)
        else:
            yield self._counted(page, each)

    def _ended(self, page: PageVisit, held: list[Any], *, failed: bool = False) -> Iterator[Any]:
        """The callback has ended: settle what changed, let held items go."""
        if page.report is not None:
            page.report.callback_failed |= failed  # an item of it may have failed before
            if self._fields and not failed and page.report.outcome not in (Outcome.FAILED, Outcome.GONE):
                self._compare_fields(page, held)
        for item in held:
            yield self._counted(page, item)
        page.output_ended = True

    def _close_soon(self, page: PageVisit) -> None:
        """Close the visit when the engine has had a look at what the callback yielded last."""
        call_later(0, self._freshness.visits.close_if_done, page)

    def _counted(self, page: PageVisit, item: Any) -> Any:
        page.unfinished_items += 1
        self._freshness.owners[id(item)] = page
        return item

    def _compare_fields(self, page: PageVisit, items: list[Any]) -> None:
        report, record = page.report, page.visit.record
        assert report is not None
        try:
            values = [{name: ItemAdapter(item).get(name) for name in self._fields} for item in items]
            measurement = measure_fragments(values, options=self._freshness.content)
        except (TypeError, ValueError) as error:
            self._stats.inc_value("freshness/fields_not_measured")
            logger.warning("Fields of the items of %s cannot be compared: %s", page.url, error)
            return
        changed, moved_by = self._freshness.compared(record, measurement)
        report.measurement, report.divergence = measurement, moved_by
        page.terms = self._freshness.searchers.read(measurement)
        page.visit.changed, page.visit.divergence = changed, moved_by
        if report.outcome is not Outcome.MOVED:
            report.outcome = content_outcome(record, changed=changed)
        self._freshness.visits.judge_audit(page, changed=changed)


def _page_behind(response: Response) -> tuple[int | None, float | None]:
    """Id and revisit of the page from which the spider came to ask for an untracked answer."""
    meta = response.request.meta if response.request is not None else {}
    return meta.get(PAGE_KEY), meta.get(REVISIT_KEY)
