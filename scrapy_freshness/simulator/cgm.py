r"""CGM: the change rate from visits at regular intervals, and the interval that is freshest for it.

Cho and Garcia-Molina's policy as the longevity paper runs it (section 5.3): :math:`X` of :math:`n` visits at
an interval :math:`I` found a change, from which `estimation/naive.py` has the change rate :math:`\hat\lambda`
[1]_, and a page is visited again when :math:`R_1(\hat\lambda t)/\hat\lambda` reaches the utility threshold,
which for pages that change completely is the freshest way to spend the visits made [2]_. A page whose bound
:math:`1/\hat\lambda` is below the threshold, or that was never seen to change, is not visited again.

References
----------
.. [1] Cho, Garcia-Molina: Estimating frequency of change, ACM TOIT 3(3), 2003.
.. [2] Cho, Garcia-Molina: Effective page refresh policies for web crawlers, ACM TODS 28(4), 2003.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from scrapy_freshness.estimation.naive import regular_rate
from scrapy_freshness.simulator.intervals import IntervalState
from scrapy_freshness.value.contract import Beliefs
from scrapy_freshness.value.greedy import Greedy

#: A page that was never seen to change is believed to change once in 30,000 years.
_SLOWEST = 1e-12


@dataclass(frozen=True, slots=True)
class CgmState(IntervalState):
    """What CGM remembers of a page."""

    seen_at: float  #: seconds, last visit that brought a copy
    visits: int  #: that were compared
    changes: int  #: that they found
    observed_seconds: float  #: sum of their intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgm:
    """Linearly growing intervals while it warms up, then those of the estimated change rate.

    >>> rule = Cgm(threshold_seconds=600.0, warm_up_seconds=600.0, warm_up_visits=3)
    >>> state, minutes = rule.first(0.0), []
    >>> for changed in (True, False, True, True):
    ...     minutes.append(round(state.interval_seconds / 60, 1))
    ...     state = rule.after(state, state.next_at, changed)
    >>> minutes
    [10.0, 20.0, 30.0, 34.1]
    """

    threshold_seconds: float  #: T, utility that is worth a visit, divergence times seconds
    warm_up_seconds: float  #: l, the n-th interval of the warm-up is n times as long
    warm_up_visits: int = 5
    stretch: float = 1.0

    def first(self, now: float) -> CgmState:
        """The first interval of the warm-up."""
        return self._state(CgmState(0.0, 0.0, now, 0, 0, 0.0), now)

    def after(self, state: CgmState, now: float, changed: bool | None, failed: bool = False) -> CgmState:
        """Count what was found."""
        if not failed and changed is not None:
            state = replace(
                state,
                visits=state.visits + 1,
                changes=state.changes + changed,
                observed_seconds=state.observed_seconds + now - state.seen_at,
            )
        return self._state(state if failed else replace(state, seen_at=now), now)

    def scaled(self, factor: float) -> Self:
        """Every interval that comes out is scaled; the threshold remains."""
        return replace(self, stretch=self.stretch * factor)

    def _state(self, state: CgmState, now: float) -> CgmState:
        if state.visits < self.warm_up_visits:
            interval = self.warm_up_seconds * (state.visits + 1)
        else:
            counts = np.array(
                [[state.changes], [state.visits], [state.observed_seconds / state.visits]], float
            )
            rate = np.maximum(regular_rate(*counts), _SLOWEST)
            beliefs = Beliefs(importance=np.ones(1), change_rate=rate)
            interval = float(Greedy().elapsed_at(beliefs, self.threshold_seconds)[0])
        interval *= self.stretch
        return replace(state, interval_seconds=interval, next_at=now + interval)
