"""What was imported is taken back: pages and sources are what they would be without it."""

from scrapy_freshness.imports.estimates import refresh_estimates
from scrapy_freshness.storage import click_rows, importance_rows
from scrapy_freshness.storage.store import Store

_CLEAR = {click_rows.KIND: click_rows.clear, importance_rows.KIND: importance_rows.clear}


def clear(store: Store, kind: str, importance: str) -> int:
    """Forget all clicks or importances, while no crawl runs; returns of how many pages.

    Parameters
    ----------
    importance : the setting by which importances are estimated anew
    """
    with store.writing() as connection:
        n_pages = _CLEAR[kind](connection)
    refresh_estimates(store, importance)
    return n_pages
