"""Keep a Scrapy crawl fresh for ever, under a crawl budget the user chooses."""

from scrapy_freshness.crawl.addon import Addon

__all__ = ["Addon", "__version__"]

__version__ = "0.1.0"
