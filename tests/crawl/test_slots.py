"""The delay between two requests to a host is what Scrapy's slots have, whoever has set it."""

from types import SimpleNamespace

from scrapy import Spider
from scrapy.core.downloader import Slot
from scrapy.utils.test import get_crawler

from scrapy_freshness.crawl.slots import DownloadSlots


def slots_of(**delays: float) -> tuple[DownloadSlots, dict[str, Slot]]:
    live = {host: Slot(8, delay, 0) for host, delay in delays.items()}
    crawler = get_crawler(Spider, {"DOWNLOAD_DELAY": 0.5})
    slots = DownloadSlots(crawler)
    crawler.engine = SimpleNamespace(downloader=SimpleNamespace(slots=live))
    return slots, live


def test_before_there_are_slots_it_is_that_of_the_settings() -> None:
    slots, _ = slots_of()

    assert slots.delay_seconds(0.0) == 0.5


def test_it_is_the_mean_of_the_slots() -> None:
    slots, _ = slots_of(a=1.0, b=4.0)

    assert slots.delay_seconds(0.0) == 2.5


def test_it_follows_the_slots_and_stays_when_they_are_gone() -> None:
    """AutoThrottle moves delays; Scrapy drops slots that nobody has used for a minute."""
    slots, live = slots_of(a=1.0)
    assert slots.delay_seconds(0.0) == 1.0

    live["a"].delay = 3.0
    assert slots.delay_seconds(2.0) == 3.0

    live.clear()
    assert slots.delay_seconds(100.0) == 3.0


def test_a_clock_that_is_set_back_does_not_stop_it() -> None:
    slots, live = slots_of(a=1.0)
    slots.delay_seconds(1000.0)
    live["a"].delay = 2.0

    assert slots.delay_seconds(10.0) == 2.0
