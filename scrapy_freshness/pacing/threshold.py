"""Crawl what is worth a fixed price, and only that; the budget is then a limit, not a target."""

from dataclasses import dataclass

from scrapy_freshness.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Threshold:
    """Crawl a page when its value reaches the price.

    >>> Threshold(3.0).floor
    3.0
    """

    floor: float  #: the price of a crawl

    def __post_init__(self) -> None:
        if not self.floor >= 0:
            raise ConfigError(f"the price of a crawl must be at least 0, got {self.floor}")
