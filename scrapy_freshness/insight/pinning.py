"""Which intervals can pages be pinned to?  For commands and the dashboard."""

from scrapy_freshness.config import Config
from scrapy_freshness.units import durations, parsed

#: A page is pinned to nothing shorter, whatever FRESHNESS_MIN_INTERVAL is, and to nothing longer: ten years.
_LEAST_SECONDS, _MOST_SECONDS = 1e-3, 3650 * 86400.0


def pin_interval(name: str, written: str, config: Config) -> float:
    """The seconds that are meant; `ConfigError` with the name of the option if they cannot be."""
    least = max(config.min_interval_seconds, _LEAST_SECONDS)
    return parsed(name, written, durations(least, _MOST_SECONDS))


def written_interval(seconds: float) -> str:
    """An interval as `pin_interval` reads it.

    >>> written_interval(0.5), written_interval(5000.0), written_interval(3e8)
    ('0.5s', '5000s', '300000000s')
    """
    return f"{seconds:.15g}s"
