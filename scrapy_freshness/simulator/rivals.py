"""The interval rules of other crawlers, by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.intervals import IntervalRule
from scrapy_freshness.simulator.miniflux import Miniflux
from scrapy_freshness.simulator.nutch import NutchAdaptive
from scrapy_freshness.simulator.plain_rules import Fixed, Proportional
from scrapy_freshness.simulator.stormcrawler import NewsCrawl, StormCrawlerAdaptive

#: A rule as its crawler ships it, for each name.
RULES: Mapping[str, Callable[[], IntervalRule[Any]]] = MappingProxyType(
    {
        "fixed": Fixed,
        "miniflux": Miniflux,
        "news-crawl": NewsCrawl,
        "nutch-adaptive": NutchAdaptive,
        "proportional": Proportional,
        "stormcrawler-adaptive": StormCrawlerAdaptive,
    }
)


def rule_named(name: str) -> IntervalRule[Any]:
    """Return the rule of that name, as its crawler ships it.

    >>> rule_named("nutch-adaptive").first(0.0).interval_seconds / 86400
    30.0
    """
    if name not in RULES:
        raise ConfigError(f"there is no rival {name!r}: choose one of {', '.join(sorted(RULES))}")
    return RULES[name]()
