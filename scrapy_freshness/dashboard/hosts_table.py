"""Hosts: what their pages take and bring, all together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.insight.waste import Waste
from scrapy_freshness.model import are_polled
from scrapy_freshness.storage.reports import HostTaken

_NOTHING = HostTaken(fetches=0, redirects=0, retries=0, fruitful=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSums:
    """One element a host, in the order of the census."""

    pages: NDArray[np.int64]  #: sitemaps and feeds left out
    never_fetched: NDArray[np.int64]
    due: NDArray[np.int64]
    visits: NDArray[np.int64]
    changes: NDArray[np.int64]
    fetches: NDArray[np.int64]  #: requests sent, with redirects, retries, audits and robots.txt
    redirects: NDArray[np.int64]
    retries: NDArray[np.int64]
    wasted: NDArray[np.int64]  #: fetches that brought no first copy, no change and no signal of worth
    freshness: NDArray[np.float64]  #: mean over the copies by importance; nan without any

    @property
    def waste(self) -> Waste:
        """Of all hosts together."""
        return Waste(
            fetches=int(self.fetches.sum()),
            wasted=int(self.wasted.sum()),
            redirects=int(self.redirects.sum()),
            retries=int(self.retries.sum()),
        )

    @classmethod
    def of(
        cls,
        columns: Mapping[str, NDArray[Any]],
        names: Sequence[str],
        taken: Mapping[str, HostTaken],
        *,
        freshness: NDArray[np.float64],
        is_new: NDArray[np.bool_],
        is_due: NDArray[np.bool_],
    ) -> "HostSums":
        """The sums over all pages of each host; *freshness* is nan where there is no copy."""
        host, n_hosts = columns["host"], len(names)
        counts = [taken.get(name, _NOTHING) for name in names]

        def count(which: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(host[which], minlength=n_hosts).astype(np.int64)

        def total(amounts: NDArray[Any]) -> NDArray[np.int64]:
            return np.bincount(host, weights=amounts, minlength=n_hosts).astype(np.int64)

        has_copy = ~np.isnan(freshness)
        weights = np.where(has_copy, columns["importance"], 0.0)
        fresh = np.bincount(host, weights=weights * np.where(has_copy, freshness, 0.0), minlength=n_hosts)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = fresh / np.bincount(host, weights=weights, minlength=n_hosts)

        def counted(name: str) -> NDArray[np.int64]:
            return np.array([getattr(each, name) for each in counts], np.int64)

        return cls(
            pages=count(~are_polled(columns["kind"])),
            never_fetched=count(is_new),
            due=count(is_due),
            visits=total(columns["visits"]),
            changes=total(columns["changes"]),
            fetches=counted("fetches"),
            redirects=counted("redirects"),
            retries=counted("retries"),
            wasted=np.maximum(counted("fetches") - counted("fruitful"), 0),
            freshness=mean,
        )
