"""A crawl that cannot start says why in one line."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from scrapy_freshness.errors import FreshnessError

logger = logging.getLogger(__name__)


@contextmanager
def refusals_logged() -> Iterator[None]:
    """Log what keeps the crawl from starting, if something does, and pass it on."""
    try:
        yield
    except FreshnessError as error:
        logger.error("The crawl cannot start: %s", error)
        raise error.with_traceback(None) from None  # Scrapy prints what it gets, and that line says all
