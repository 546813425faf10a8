"""Hosts: what their pages take and bring, all together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.dashboard.watch import Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSums:
    """One element a host, in the order of the census."""

    pages: NDArray[np.int64]
    copies: NDArray[np.int64]
    never_fetched: NDArray[np.int64]
    due: NDArray[np.int64]
    visits: NDArray[np.int64]
    changes: NDArray[np.int64]
    wasted: NDArray[np.int64]  #: visits after a page's first that found nothing new
    freshness: NDArray[np.float64]  #: mean over the copies by importance; nan without any

    @classmethod
    def of(cls, sight: Sight) -> "HostSums":
        """The sums over all pages of each host."""
        columns, n_hosts = sight.census.columns, len(sight.census.hosts)
        host = columns["host"]

        def count(which: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(host[which], minlength=n_hosts).astype(np.int64)

        def total(amounts: NDArray[np.generic]) -> NDArray[np.int64]:
            return np.bincount(host, weights=amounts.astype(np.float64), minlength=n_hosts).astype(np.int64)

        weights = np.where(sight.has_copy, columns["importance"], 0.0).astype(np.float64)
        fresh = np.bincount(host, weights=weights * np.nan_to_num(sight.freshness), minlength=n_hosts)
        with np.errstate(invalid="ignore", divide="ignore"):
            freshness = fresh / np.bincount(host, weights=weights, minlength=n_hosts)
        was_visited = columns["visits"] > 0
        visits, changes = total(columns["visits"]), total(columns["changes"])
        return cls(
            pages=count(np.ones(len(host), np.bool_)),
            copies=count(sight.has_copy),
            never_fetched=count(sight.is_new),
            due=count(sight.is_due),
            visits=visits,
            changes=changes,
            wasted=np.maximum(visits - changes - count(was_visited), 0),
            freshness=freshness,
        )
