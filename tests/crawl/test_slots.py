"""The delay between two requests to a host is what Scrapy's slots have, whoever has set it."""

from types import SimpleNamespace
from typing import Any

from scrapy import Request, Spider
from scrapy.core.downloader import Slot
from scrapy.utils.test import get_crawler

from scrapy_freshness.crawl.slots import DownloadSlots


def slots_of(**delays: float) -> tuple[DownloadSlots, dict[str, Slot]]:
    live = {host: Slot(8, delay, 0) for host, delay in delays.items()}
    return new_slots(live, DOWNLOAD_DELAY=0.5), live


def new_slots(live: dict[str, Slot], **settings: Any) -> DownloadSlots:
    crawler = get_crawler(Spider, settings)
    slots = DownloadSlots(crawler)
    crawler.engine = SimpleNamespace(downloader=SimpleNamespace(slots=live, active=set()))
    return slots


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


def test_a_request_that_arrives_does_not_stand_for_an_older_one_that_waits_for_robots_txt() -> None:
    slots = new_slots({}, ROBOTSTXT_OBEY=True)
    known = Request("http://a.example:81/")
    slots.reached(known)

    slots.sent("a.example", Request("http://a.example:82/"), 10.0)
    slots.sent("a.example", known, 10.01)
    slots.arrived("a.example", 10.01)
    assert slots.free_at("a.example", 10.02) > 10.02

    slots.arrived("a.example", 10.0)
    assert slots.free_at("a.example", 10.02) == 10.02
