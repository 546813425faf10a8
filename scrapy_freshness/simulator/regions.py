r"""Pages made of static, churning and scrolling regions, as sets of shingles: the web of the longevity paper.

A churn region is replaced as a whole by each of its updates. A scroll region shows its :math:`K` latest
items; an update appends one and drops the oldest. Updates of each region are a Poisson process. After
:math:`k \le K` items and :math:`e` (0 or 1) replacements of the churn region, a page of :math:`S` static,
:math:`C` churning and :math:`c` shingles an item has moved by :math:`2(kc+eC)/(S+Kc+C+kc+eC)`.

References
----------
Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, section 3.3.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.versions import PageVersions

#: Shingles of scrolling items are numbered from here on.
_FIRST_ITEM = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """What a page consists of; sizes in shingles, rates in updates per second."""

    static: int = 50
    churn: int = 0
    churn_rate: float = 0.0
    items: int = 0
    item_size: int = 0
    scroll_rate: float = 0.0


def drawn_versions(regions: Regions, horizon: float, rng: np.random.Generator) -> PageVersions:
    """Draw the versions of a page over [0, horizon]; no shingle ever comes back.

    >>> page = drawn_versions(Regions(churn=25, churn_rate=0.5), 100.0, np.random.default_rng(2))
    >>> round(page.divergence(0, 1), 6), page.fragments[0].size
    (0.5, 75)
    """
    churned, scrolled = (
        np.sort(rng.uniform(0, horizon, rng.poisson(rate * horizon)))
        for rate in (regions.churn_rate, regions.scroll_rate)
    )
    times = np.concatenate([[0.0], np.sort(np.concatenate([churned, scrolled]))])
    replaced = np.searchsorted(churned, times, side="right")
    appended = np.searchsorted(scrolled, times, side="right")
    salt = int(rng.integers(1 << 32))
    static, churn = np.arange(regions.static), regions.static + np.arange(regions.churn)
    items = _FIRST_ITEM + np.arange(regions.items * regions.item_size)
    return PageVersions(
        times,
        [
            _shingles(
                np.concatenate([static, churn + regions.churn * e, items + regions.item_size * k]) + salt
            )
            for e, k in zip(replaced.tolist(), appended.tolist(), strict=True)
        ],
        horizon,
    )


def drawn_regions(pages: int, rng: np.random.Generator, *, updates_per_second: float) -> list[Regions]:
    """Draw pages like those of the paper: half are static, two thirds of the others churn, a third scrolls.

    Rates are log-normal around *updates_per_second* (standard deviation of the logarithm 1).

    >>> found = drawn_regions(1000, np.random.default_rng(4), updates_per_second=1.0)
    >>> 450 < sum(page.churn_rate == page.scroll_rate == 0 for page in found) < 550
    True
    """
    kinds = rng.choice(3, pages, p=(1 / 2, 1 / 3, 1 / 6)).tolist()
    rates = (updates_per_second * np.exp(rng.standard_normal(pages))).tolist()
    sizes = rng.integers(10, 60, pages).tolist()
    items = rng.integers(5, 20, pages).tolist()
    made = {
        0: lambda rate, size, count: Regions(static=50 + size),
        1: lambda rate, size, count: Regions(churn=size, churn_rate=rate),
        2: lambda rate, size, count: Regions(items=count, item_size=max(size // count, 1), scroll_rate=rate),
    }
    return [made[kind](*rest) for kind, *rest in zip(kinds, rates, sizes, items, strict=True)]


def _shingles(numbers: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Ascending hashes of numbered shingles; different numbers (modulo 2^32) have different hashes."""
    hashes = numbers.astype(np.uint32)
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    hashes *= np.uint32(0xC2B2AE35)
    hashes ^= hashes >> np.uint32(16)
    hashes.sort()
    return hashes
