r"""What the change profiles of a page teach: its divergence curve, or at least how long it can wait.

Two ways to use the same observations [1]_. The curve learner fits a model of how fragments live, and leaves
it to the value model to say when that is worth a crawl. The bounds learner supposes nothing but that
divergence grows: it doubles or halves a page's period until the utility of a refresh, as far as it can
be told, is the threshold :math:`T`.

Patience is in thresholds: a page waits at most :math:`\rho T`, and at most :math:`l\,n\,T` after :math:`n`
visits while it is new, which is for five visits: the paper does not say when its learning phase ends, but
compares policies after the end of one. Without an end, pages that never change take a third of the refreshes
in the world `longevity`. No period is shorter than :math:`T`, because :math:`U(t)\le t`. So the learners know
no unit of time.

References
----------
.. [1] Olston, Pandey: Recrawl scheduling based on information longevity, WWW 2008, sections 4.2, 4.3 and 4.5.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from scrapy_freshness.estimation.bounds import ProfilePoints, bounds, longest_period, next_period
from scrapy_freshness.estimation.divergence_curve import FittedCurve, fit_curve
from scrapy_freshness.estimation.history import never_changed
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.comparing import readable_profiles
from scrapy_freshness.planning.learner import AroundRates, Columns, Learner

#: Width of a 90 % interval, in standard deviations.
_WIDTH90 = 2 * 1.6448536269514722
#: The curve's rate takes the place of the change rate; what visits alone tell is kept under these names.
_BY_VISITS = {
    "change_rate": "visits_rate",
    "change_rate_low": "visits_rate_low",
    "change_rate_high": "visits_rate_high",
}
#: What the bounds learner remembers of a page, as beliefs.
_TRIAL = ("interval", "reference_at", "seen_at", "threshold")
#: Threshold before the budget has told another one: an hour of complete divergence.
_FIRST_THRESHOLD = 3600.0
#: Visits of the learning phase.
_LEARNING_VISITS = 5
#: Of the log rate of a page that was never compared.
_UNKNOWN_DEVIATION = 3.0


class CurveLearner(AroundRates):
    """Fits the divergence curve of each page around the change rate of another learner."""

    def __init__(self, rates: Learner, *, risk: float = 100.0, learning: float = 4.0) -> None:
        """Let *rates* learn how often pages change.

        Parameters
        ----------
        risk : rho, thresholds that waiting for a page may cost
        learning : l/T, thresholds that a page waits at most after its first visit; inf: no learning phase
        """
        super().__init__(rates)
        self._risk = risk
        self._learning = learning

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """The curve of a page that was never seen to change."""
        known = dict(self._rates.prior(page))
        curve = fit_curve([], known["change_rate"])
        return known | {
            "plateau": curve.plateau,
            "stages": float(curve.stages),
            "patience": patience_after(1, self._risk, self._learning),
        }

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Curves of these pages; the change rate is that of the curve."""
        rates = self._rates.learn([_by_visits(page) for page in pages])
        columns = (rates[name].tolist() for name in _BY_VISITS)
        curves = [
            fit_curve(
                points_of(page),
                rate,
                math.log(high / low) / _WIDTH90 if low else _UNKNOWN_DEVIATION,
                unchanged_visits=page.visits - 1 if never_changed(page.history) else 0,
            )
            for page, rate, low, high in zip(pages, *columns, strict=True)
        ]
        kept = {other: rates[name] for name, other in _BY_VISITS.items()}
        patience = np.array([patience_after(page.visits, self._risk, self._learning) for page in pages])
        return rates | kept | _columns(curves) | {"patience": patience}


def patience_after(visits: int, risk: float, learning: float) -> float:
    """Thresholds that a page waits at most after some visits: rho_n.

    >>> [patience_after(n, risk=100.0, learning=4.0) for n in (1, 2, 5, 6)]
    [4.0, 8.0, 20.0, 100.0]
    """
    return min(risk, learning * visits) if visits <= _LEARNING_VISITS else risk


def _columns(curves: Sequence[FittedCurve]) -> Columns:
    return {
        "change_rate": np.array([curve.rate for curve in curves]),
        "change_rate_low": np.array([curve.rate_low for curve in curves]),
        "change_rate_high": np.array([curve.rate_high for curve in curves]),
        "plateau": np.array([curve.plateau for curve in curves]),
        "stages": np.array([curve.stages for curve in curves], np.float64),
    }


def _by_visits(page: PageRecord) -> PageRecord:
    """The page with the rate that was learned from its visits: a learner may want to know what it said."""
    if not all(name in page.beliefs for name in _BY_VISITS.values()):
        return page
    rate, low, high = (page.beliefs[name] for name in _BY_VISITS.values())
    return replace(page, change_rate=rate, change_rate_low=low, change_rate_high=high)


class BoundsLearner(AroundRates):
    """Finds for each page the period after which a refresh is worth the threshold.

    Without a threshold it is the one at which the budget is spent: while pages are visited later than
    their periods ask for, it rises, and while they are visited earlier, it falls.
    """

    def __init__(
        self, rates: Learner, *, threshold: float = 0.0, risk: float = 100.0, learning: float = 4.0
    ) -> None:
        """Let *rates* learn how often pages change.

        Parameters
        ----------
        threshold : T, divergence * seconds that are worth a refresh; 0: what the budget asks for
        risk : rho, thresholds that waiting for a page may cost
        learning : l/T, thresholds that a page waits at most after its first visit; inf: no learning phase
        """
        super().__init__(rates)
        self._risk = risk
        self._learning = learning
        self._follows_budget = threshold == 0
        self._threshold = threshold or _FIRST_THRESHOLD
        self._is_known = not self._follows_budget  #: whether the threshold is more than a guess
        self._now: float | None = None  #: of the last visit

    def prior(self, page: PageRecord) -> Mapping[str, float]:
        """The shortest period there is."""
        return {**self._rates.prior(page), "interval": self._threshold}

    def learn(self, pages: Sequence[PageRecord]) -> Columns:
        """Periods of these pages, and since when each of them is on trial."""
        columns = self._rates.learn(pages)
        trials = np.array([self._trial(page) for page in pages]).reshape(-1, len(_TRIAL))
        return columns | dict(zip(_TRIAL, trials.T.copy(), strict=True))

    def _trial(self, page: PageRecord) -> tuple[float, float, float, float]:
        """Period, reference time, time of the visit and threshold after a visit."""
        assert page.last_visit_at is not None
        now, known = page.last_visit_at, page.beliefs
        if not all(name in known for name in _TRIAL):
            return self._threshold, now, now, self._threshold
        if self._follows_budget:
            self._follow(known["interval"], now - known["seen_at"], known["threshold"], now)
        period, reference = known["interval"], known["reference_at"]
        if now > reference:
            found = bounds(points_of(page), now - reference)
            period, is_new = next_period(found, self._threshold, now - reference, period)
            reference = now if is_new else reference
        patience = patience_after(page.visits, self._risk, self._learning)
        shortest, longest = self._threshold, longest_period(self._threshold, patience)
        return min(max(period, shortest), longest), reference, now, self._threshold

    def _follow(self, period: float, waited: float, threshold: float, now: float) -> None:
        """Move the threshold towards the one with which this visit would have been in time.

        The period belongs to the threshold of its own time, and grows with it. In the time that a page waits,
        the threshold goes most of the way.
        """
        if not self._is_known:  # after a restart
            self._threshold, self._is_known = threshold, True
        if self._now is not None and waited > 0:
            in_time = threshold * waited / period
            self._threshold *= (in_time / self._threshold) ** min((now - self._now) / waited, 1.0)
        self._now = now


def points_of(page: PageRecord) -> list[ProfilePoints]:
    """Observations of the page's change profiles, the last visit included.

    Profiles do not note a visit that finds what the one before has found, so its divergence is the last one.
    """
    points = []
    for profile in readable_profiles(page.profiles):
        elapsed, moved = profile.elapsed, profile.divergence
        seen = np.float32((page.last_visit_at or 0.0) - profile.base_at)
        if seen > (elapsed[-1] if elapsed.size else 0):
            elapsed = np.append(elapsed, seen)
            moved = np.append(moved, moved[-1] if moved.size else np.float32(0))
        points.append((elapsed, moved))
    return points
