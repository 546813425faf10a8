"""The item pipeline: tells items what is known about their page, and stops those seen before."""

import logging
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from scrapy_freshness.crawl.extension import Freshness

logger = logging.getLogger(__name__)


class FreshnessPipeline:
    """Drops items of unchanged pages, unless ``FRESHNESS_EMIT_UNCHANGED`` is on."""

    def __init__(self, freshness: Freshness, crawler: Crawler) -> None:
        self._owners = freshness.owners
        self._field = freshness.config.item_field
        self._emit_unchanged = freshness.config.emit_unchanged
        self._stats = crawler.stats
        self._complained = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Freshness.of(crawler), crawler)

    def process_item(self, item: Any) -> Any:
        page = self._owners.pop(id(item), None)
        if page is None or not page.is_open:
            return item  # not of a tracked page
        if page.changed is False and not self._emit_unchanged and not page.visit.record.run_callback:
            self._stats.inc_value("freshness/items_unchanged")
            raise DropItem(f"{page.url} has not changed", log_level="DEBUG")
        if self._field:
            self._describe(item, page.describe())
        return item

    def _describe(self, item: Any, known: dict[str, Any]) -> None:
        try:
            ItemAdapter(item)[self._field] = known
        except (KeyError, AttributeError, TypeError) as error:
            self._stats.inc_value("freshness/item_field_missing")
            if not self._complained:
                self._complained = True
                logger.warning(
                    "FRESHNESS_ITEM_FIELD: %s has no field %r: %s", type(item).__name__, self._field, error
                )
