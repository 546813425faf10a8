"""Finds known pages by their addresses."""

from collections.abc import Callable

from scrapy import Request

from scrapy_freshness.planning.planner import Planner


def row_of_url(url: str, planner: Planner, fingerprint: Callable[[Request], int]) -> int | None:
    """Row of the page with this URL; None if there is none, or no request can be made for it."""
    try:
        return planner.known.row_of(fingerprint(Request(url)))
    except ValueError:  # Scrapy is stricter than the readers of sources
        return None
