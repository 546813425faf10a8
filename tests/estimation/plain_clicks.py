"""Curves of clicks by the definition, a page and a bin at a time, and fits of them without groups."""

from typing import Any

import numpy as np

from scrapy_freshness.estimation.profit import BIN_SECONDS, Profits, fit_grouped_profits


def mean_cumulative_clicks(
    page_ages: np.ndarray, clicked_page: np.ndarray, click_ages: np.ndarray, n_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean clicks that pages had by the end of each age bin, and how many pages are that old.

    A page that is younger than the end of a bin is not yet known there, and does not count.

    Parameters
    ----------
    page_ages : (pages,) array, seconds since each page's birth
    clicked_page : (clicks,) array, index of the page that was clicked
    click_ages : (clicks,) array, age of the page at the click, seconds

    Examples
    --------
    >>> clicks, pages = mean_cumulative_clicks(
    ...     np.array([3000.0, 1500.0]), np.array([0, 0, 1]), np.array([60.0, 1300.0, 60.0]), n_bins=3)
    >>> clicks.tolist(), pages.tolist()
    ([1.0, 2.0, 0.0], [2.0, 1.0, 0.0])
    """
    whole_bins = np.minimum(page_ages / BIN_SECONDS, n_bins).astype(np.int64)
    of_bin = (click_ages / BIN_SECONDS).astype(np.int64)
    is_known = of_bin < whole_bins[clicked_page]
    counts = np.zeros((len(page_ages), n_bins))
    np.add.at(counts, (clicked_page[is_known], of_bin[is_known]), 1)
    is_old_enough = np.arange(n_bins) < whole_bins[:, None]
    pages = is_old_enough.sum(axis=0).astype(np.float64)
    total = (counts.cumsum(axis=1) * is_old_enough).sum(axis=0)
    return total / np.maximum(pages, 1), pages


def fit_profits(clicks: np.ndarray, pages: np.ndarray, **options: Any) -> Profits:
    """P and mu of each source, all sources being of one group."""
    return fit_grouped_profits(clicks, pages, np.zeros(len(clicks), np.intp), 1, **options)[0]
