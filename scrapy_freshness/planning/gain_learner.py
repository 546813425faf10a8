"""Learners of the user-centric policies: from what visits gained for searchers to beliefs.

What a visit gained comes with the page's record (`visits.py`); the sums over all visits stay in the
record's beliefs, so that nothing but the record is needed to go on.
"""

import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.query_impact import (
    GainPool,
    NoticedChanges,
    RefreshSums,
    noticed_changes,
)
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.learner import AroundRates, Columns, Learner

FloatArray = NDArray[np.float64]

#: Beliefs in which the sums of `RefreshSums` are kept.
_SUMS = ("gain_refreshes", "gain_seconds", "gain_sum", "gain_squares")
#: Names under which is kept what pages have in common.
POOL, _LINEAR_POOL = '["gains"]', '["gains-linear"]'
#: Changes for which what is known of alike pages counts, beside those of the page.
_PRIOR_CHANGES = 1.0
#: Least and largest weight: nobody is forgotten, and nobody takes it all.
_WEIGHTS = (0.01, 1000.0)


class GainRecorder(AroundRates):
    """Keeps what visits gained, whatever the policy: what others have measured is there for who needs it.

    Parameters
    ----------
    inner : learns change rates, and what else the policy needs
    window : refreshes that are remembered; older ones fade. None: all
    """

    def __init__(self, inner: Learner, *, window: int | None = None) -> None:
        super().__init__(inner)
        self._window = window
        self.pool = GainPool()  #: what pages have in common
        self._has_new = False

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """As the inner learner has it."""
        return self._rates.prior(page)

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Beliefs of the inner learner, and the sums of what was measured, if anything was."""
        columns = self._rates.learn(pages)
        if not any(_is_measured(page) for page in pages):
            return columns
        return {**columns, **self._recorded(pages, columns["change_rate"])}

    def take_groups(self) -> Mapping[str, bytes]:
        """Those of the inner learner, and the pool if it has grown."""
        own = {POOL: self.pool.packed()} if self._has_new else {}
        self._has_new = False
        return {**self._rates.take_groups(), **own}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Go on where an earlier run ended."""
        super().restore(groups)
        if POOL in groups:
            self.pool.restore(groups[POOL])

    def _recorded(self, pages: Sequence[PageRecord], rate: FloatArray) -> Columns:
        gained, waited = _kept(pages, "quality_gain"), _kept(pages, "waited_seconds")
        quality = _kept(pages, "page_quality", np.nan)
        is_new = np.array(["quality_gain" in page.beliefs for page in pages], np.float64)
        changes = -np.expm1(-rate * waited)
        before = np.stack([_kept(pages, name) for name in (*_SUMS, "gain_changes")])
        if self._window is not None:
            fade = np.minimum(1.0, (self._window - 1) / np.maximum(before[0], 1e-9))
            before = np.where(is_new > 0, before * fade, before)
        *sums, all_changes = before + np.stack([is_new, waited, gained, gained**2, changes])
        self.pool.add(quality, gained, changes)
        self._has_new = True
        kept = {"page_quality": quality, **dict(zip(_SUMS, sums, strict=True)), "gain_changes": all_changes}
        return {name: column for name, column in kept.items() if np.isfinite(column).any()}


class GainLearner(GainRecorder):
    """Gains and rates of the changes that searchers notice, for `user-centric`.

    Parameters
    ----------
    inner : learns change rates
    prior_refreshes : kappa, weight of what is believed of a page before its first refresh
    window : refreshes that are remembered; older ones fade. None: all
    """

    def __init__(self, inner: Learner, *, prior_refreshes: float = 0.5, window: int | None = None) -> None:
        super().__init__(inner, window=window)
        self._prior_refreshes = prior_refreshes

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """What is believed before any refresh; changes cost what they cost a page of mean quality."""
        believed = self._rates.prior(page)
        rate = np.array([believed["change_rate"]])
        noticed = noticed_by({}, rate, self.pool, prior_refreshes=self._prior_refreshes)
        return {**believed, "gain": float(noticed.gain[0]), "noticed_rate": float(noticed.rate[0])}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Beliefs after visits, and the sums that they come from."""
        columns = self._rates.learn(pages)
        rate = columns["change_rate"]
        recorded = self._recorded(pages, rate)
        noticed = noticed_by(recorded, rate, self.pool, prior_refreshes=self._prior_refreshes)
        return {**columns, "gain": noticed.gain, "noticed_rate": noticed.rate, **recorded}


class ChangeWorthLearner(GainRecorder):
    """What a change of a page costs searchers, in units of the mean page, for `query_weight`.

    Any change counts, noticed or not: this is a weight for models that know of all changes.
    """

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """As the mean page."""
        return {**self._rates.prior(page), "query_weight": 1.0}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """The gain of a change, from those of the page and of pages that are alike."""
        columns = self._rates.learn(pages)
        recorded = self._recorded(pages, columns["change_rate"])
        quality = recorded.get("page_quality", np.full(len(pages), np.nan))
        expected = self.pool.expected(quality)
        total = recorded["gain_sum"] + _PRIOR_CHANGES * expected
        worth = total / (recorded["gain_changes"] + _PRIOR_CHANGES)
        usual = float(self.pool.expected(np.array([np.nan]))[0])
        return {**columns, "query_weight": np.clip(worth / usual, *_WEIGHTS), **recorded}


def noticed_by(
    beliefs: Mapping[str, FloatArray],
    change_rate: FloatArray,
    pool: GainPool,
    *,
    prior_refreshes: float = 0.5,
) -> NoticedChanges:
    """The changes that searchers notice, from the sums that a recorder has kept of some pages."""
    missing = np.zeros(len(change_rate))
    sums = RefreshSums(*(np.nan_to_num(beliefs.get(name, missing)) for name in _SUMS))
    quality = beliefs.get("page_quality", np.full(len(change_rate), np.nan))
    return noticed_changes(sums, pool.expected(quality), change_rate, prior_refreshes=prior_refreshes)


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

    def take_groups(self) -> Mapping[str, bytes]:
        """Those of the rates, and the mean."""
        return {**self._rates.take_groups(), _LINEAR_POOL: struct.pack("<dd", self._refreshes, self._total)}

    def restore(self, groups: Mapping[str, bytes]) -> None:
        """Go on where an earlier run ended."""
        super().restore(groups)
        if len(kept := groups.get(_LINEAR_POOL, b"")) == 16:
            self._refreshes, self._total = struct.unpack("<dd", kept)

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


def _is_measured(page: PageRecord) -> bool:
    known = page.beliefs
    return "quality_gain" in known or "page_quality" in known or "gain_refreshes" in known


def _kept(pages: Sequence[PageRecord], name: str, missing: float = 0.0) -> FloatArray:
    return np.array([page.beliefs.get(name, missing) for page in pages], np.float64)
