"""The one line in settings.py: ``ADDONS = {"scrapy_freshness.Addon": 500}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.refusing import refusals_logged

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

SCHEDULER = "scrapy_freshness.crawl.scheduler.FreshnessScheduler"
#: Setting that keeps the user's own scheduler, which serves requests that are not tracked.
PLAIN_SCHEDULER = "FRESHNESS_PLAIN_SCHEDULER"

#: Scrapy's, and what stands in its place.
_ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
_OUR_ROBOTS = "scrapy_freshness.crawl.robots.FreshRobotsTxtMiddleware"

_COMPONENTS = {
    "EXTENSIONS": ("scrapy_freshness.crawl.extension.Freshness", 0),
    # Answers reach it decompressed and with redirects followed, before anything is retried.
    "DOWNLOADER_MIDDLEWARES": ("scrapy_freshness.crawl.downloader.FreshnessDownloaderMiddleware", 555),
    # Next to the engine, before all that count from 0: sees what really leaves the spider.
    "SPIDER_MIDDLEWARES": ("scrapy_freshness.crawl.output.FreshnessSpiderMiddleware", -100),
    "ITEM_PIPELINES": ("scrapy_freshness.crawl.pipeline.FreshnessPipeline", 10),
}


def is_crawl(crawler: Crawler) -> bool:
    """Whether a crawler was made to crawl, and not by another command of Scrapy to look at something.

    `scrapy parse`, `check`, `fetch`, `view` and `bench` put a ``start`` of their own in the place of the
    spider's, and `scrapy shell` drives the engine itself, without ``Crawler.crawl``.
    """
    start = getattr(crawler.spidercls, "start", None)
    return crawler.crawling and not str(getattr(start, "__module__", "")).startswith("scrapy.commands.")


class Addon:
    """Installs all components, unless ``FRESHNESS_ENABLED`` is off or the user placed one himself.

    Stays away from all commands of Scrapy but `crawl` and `runspider`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl's components are built."""
        if not is_crawl(self._crawler):
            return
        with refusals_logged():
            config = Config.from_settings(settings)
        if not config.enabled:
            return
        if settings["SCHEDULER"] != SCHEDULER:
            priority = max(settings.getpriority("SCHEDULER") or 0, 15)
            settings.set(PLAIN_SCHEDULER, settings["SCHEDULER"], priority=priority)
            settings.set("SCHEDULER", SCHEDULER, priority=priority)
        for setting, (component, place) in _COMPONENTS.items():
            placed: dict[Any, Any] = settings.getdict(setting)
            if not any(_same(component, other) for other in placed):
                settings.set(
                    setting, placed | {component: place}, priority=settings.getpriority(setting) or 0
                )
        _replace_robots(settings)


def _replace_robots(settings: BaseSettings) -> None:
    """Put our reader of robots.txt in the place of Scrapy's, unless the user has put another there."""
    name = "DOWNLOADER_MIDDLEWARES"
    own: dict[Any, Any] = settings.getdict(name)
    place = None
    for component, at in [*settings.getdict(f"{name}_BASE").items(), *own.items()]:
        if _same(_OUR_ROBOTS, component):
            return
        if _same(_ROBOTS, component):
            place = at
    if place is not None:
        others = {component: at for component, at in own.items() if not _same(_ROBOTS, component)}
        replaced = others | {_ROBOTS: None, _OUR_ROBOTS: place}
        settings.set(name, replaced, priority=settings.getpriority(name) or 0)


def _same(path: str, component: Any) -> bool:
    """Whether a component named in settings, by path or class, is the one with this path."""
    if isinstance(component, str):
        return component == path
    return f"{component.__module__}.{component.__qualname__}" == path
