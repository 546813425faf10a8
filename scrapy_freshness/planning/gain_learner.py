"""Learners of the user-centric policies: from what visits gained for searchers to beliefs.

What a visit gained comes with the page's record (`visits.py`); the sums over all visits stay in the
record's beliefs, so that nothing but the record is needed to go on.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.query_impact import GainPool, RefreshSums, noticed_changes
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.learner import AroundRates, Columns, Learner

FloatArray = NDArray[np.float64]

#: Beliefs in which the sums of `RefreshSums` are kept.
_SUMS = ("gain_refreshes", "gain_seconds", "gain_sum", "gain_squares")


class GainLearner(AroundRates):
    """Gains and rates of the changes that searchers notice, for `user-centric`.

    Parameters
    ----------
    inner : learns change rates
    prior_refreshes : kappa, weight of what is believed of a page before its first refresh
    window : refreshes that are remembered; older ones fade. None: all
    """

    def __init__(self, inner: Learner, *, prior_refreshes: float = 0.5, window: int | None = None) -> None:
        super().__init__(inner)
        self._prior_refreshes = prior_refreshes
        self._window = window
        self._pool = GainPool()

    def recall(self, beliefs: Mapping[str, NDArray[np.float32]]) -> None:
        """Learn from the beliefs about all pages that were kept (nan: none) what pages have in common."""
        names = ("page_quality", "gain_sum", "gain_changes")
        if all(name in beliefs for name in names):
            quality, gained, changes = (np.asarray(beliefs[name], np.float64) for name in names)
            measured = np.isfinite(gained) & np.isfinite(changes)
            self._pool.add(quality[measured], gained[measured], changes[measured])

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """Changes are noticed, and cost what they cost a page of mean quality."""
        believed = self._rates.prior(page)
        rate = believed["change_rate"]
        size = float(self._pool.expected(np.array([np.nan]))[0])
        return {**believed, "gain": size * rate, "noticed_rate": rate}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Beliefs after visits, and the sums that they come from."""
        columns = self._rates.learn(pages)
        rate = columns["change_rate"]
        gained, waited = _kept(pages, "quality_gain"), _kept(pages, "waited_seconds")
        quality = _kept(pages, "page_quality", np.nan)
        is_new = np.array(["quality_gain" in page.beliefs for page in pages], np.float64)
        changes = -np.expm1(-rate * waited)
        before = np.stack([_kept(pages, name) for name in (*_SUMS, "gain_changes")])
        if self._window is not None:
            fade = np.minimum(1.0, (self._window - 1) / np.maximum(before[0], 1e-9))
            before = np.where(is_new > 0, before * fade, before)
        *sums, all_changes = before + np.stack([is_new, waited, gained, gained**2, changes])
        self._pool.add(quality, gained, changes)
        noticed = noticed_changes(
            RefreshSums(*sums),
            self._pool.expected(quality),
            rate,
            prior_refreshes=self._prior_refreshes,
        )
        return {
            **columns,
            "gain": noticed.gain,
            "noticed_rate": noticed.rate,
            "page_quality": quality,
            **dict(zip(_SUMS, sums, strict=True)),
            "gain_changes": all_changes,
        }


class LinearGainLearner(AroundRates):
    """The mean of gain over time waited, for `user-centric-linear`.

    Pandey, Olston: User-centric web crawling, WWW 2005, section 6.4. Without a prior this is the paper's
    estimate, and a page whose refreshes gained nothing is not visited again.

    Parameters
    ----------
    inner : learns change rates
    prior_refreshes : refreshes of an average page that every page begins with
    window : refreshes that are remembered; older ones fade. None: all
    """

    def __init__(self, inner: Learner, *, prior_refreshes: float = 0.0, window: int | None = None) -> None:
        super().__init__(inner)
        self._prior_refreshes = prior_refreshes
        self._window = np.inf if window is None else float(window)
        self._refreshes = 0.0
        self._total = 0.0

    @property
    def _mean(self) -> float:
        """Of all refreshes; 1 as long as there are none."""
        return self._total / self._refreshes if self._total > 0 else 1.0

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """An average page."""
        return {**self._rates.prior(page), "gain": self._mean}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Mean gains per second after visits."""
        columns = self._rates.learn(pages)
        waited = _kept(pages, "waited_seconds")
        is_new = waited > 0
        gained = _kept(pages, "quality_gain") / np.where(is_new, waited, 1.0)
        self._refreshes += np.count_nonzero(is_new)
        self._total += float(gained[is_new].sum())
        refreshes, mean = _kept(pages, "gain_refreshes"), _kept(pages, "gain_mean")
        refreshes = refreshes + is_new
        mean = mean + np.where(is_new, (gained - mean) / np.clip(refreshes, 1.0, self._window), 0.0)
        kappa = self._prior_refreshes
        weight = np.where(refreshes + kappa > 0, refreshes + kappa, 1.0)
        believed = np.where(refreshes > 0, (refreshes * mean + kappa * self._mean) / weight, self._mean)
        return {**columns, "gain": believed, "gain_mean": mean, "gain_refreshes": refreshes}


def _kept(pages: Sequence[PageRecord], name: str, missing: float = 0.0) -> FloatArray:
    return np.array([page.beliefs.get(name, missing) for page in pages], np.float64)
