"""The one line in settings.py: ``ADDONS = {"scrapy_freshness.Addon": 500}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy_freshness.config import Config

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

SCHEDULER = "scrapy_freshness.crawl.scheduler.FreshnessScheduler"
#: Setting that keeps the user's own scheduler, which serves requests that are not tracked.
PLAIN_SCHEDULER = "FRESHNESS_PLAIN_SCHEDULER"

_COMPONENTS = {
    "EXTENSIONS": ("scrapy_freshness.crawl.extension.Freshness", 0),
    # Answers reach it decompressed and with redirects followed, before anything is retried.
    "DOWNLOADER_MIDDLEWARES": ("scrapy_freshness.crawl.downloader.FreshnessDownloaderMiddleware", 555),
    # Next to the engine: sees what really leaves the spider.
    "SPIDER_MIDDLEWARES": ("scrapy_freshness.crawl.output.FreshnessSpiderMiddleware", 10),
    "ITEM_PIPELINES": ("scrapy_freshness.crawl.pipeline.FreshnessPipeline", 10),
}


class Addon:
    """Installs all components, unless ``FRESHNESS_ENABLED`` is off or the user placed one himself."""

    def __init__(self, spider_class: type[Spider] | None = None) -> None:
        # `scrapy fetch`, `view` and `shell` bring a spider of Scrapy's own: no crawl to keep fresh.
        self._is_crawl = spider_class is None or spider_class.__module__ != "scrapy.utils.spider"

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.spidercls)

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl's components are built."""
        config = Config.from_settings(settings)
        if not config.enabled or not self._is_crawl:
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


def _same(path: str, component: Any) -> bool:
    """Whether a component named in settings, by path or class, is the one with this path."""
    if isinstance(component, str):
        return component == path
    return f"{component.__module__}.{component.__qualname__}" == path
