"""What nobody expects to fail may fail: it is logged and counted, and the rest of the crawl goes on."""

import logging
from collections.abc import Callable

from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

logger = logging.getLogger(__name__)


def guarded(stats: StatsCollector, work: Callable[[], object]) -> None:
    """Do some work; an exception of it is nobody else's matter."""
    try:
        work()
    except Exception:
        stats.inc_value("freshness/internal_errors")
        logger.exception("A part of the crawl has failed; the crawl goes on")


def guarded_loop(stats: StatsCollector, *works: Callable[[], object]) -> AsyncioLoopingCall | LoopingCall:
    """A loop that does some works in turn, each guarded: an exception would end Scrapy's loops for good."""

    def turn() -> None:
        for work in works:
            guarded(stats, work)

    return create_looping_call(turn)
