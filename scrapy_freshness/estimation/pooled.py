r"""How often does a page change, given how often its siblings do?  Pooled empirical Bayes.

Pages of a host, and more so pages of a host whose addresses look alike, change alike. Each group of pages
has a distribution of log rates (see `rate_grid.py`) that is the average of what is believed about its
members, mixed with that of the group it is part of:

.. math:: \pi_g = \frac{\kappa\,\pi_{parent(g)} + \sum_{i\in g} q_i}{\kappa + n_g} ,

where everything is in the outermost group, whose parent is a broad distribution around the rate at which
pages can be visited: who crawls by the second expects changes by the second. :math:`\pi_g`, without the
page's own part :math:`q_i`, is the prior of a page; one that was never compared has nothing else.

What page :math:`i` adds to its groups, :math:`q_i`, is the log-normal distribution that has the 90 %
interval which was last estimated of it. That interval is kept with the page anyway, so the part can be
taken out exactly when the page is visited again, and a group costs 48 numbers however many members it
has. (Measured on recorded pages, adding the whole posterior instead predicts the next visit no better.)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.change_rate import RateEstimate
from scrapy_freshness.estimation.doubt import doubtful_rates
from scrapy_freshness.estimation.rate_grid import (
    N_RATES,
    bells,
    broad,
    filtered,
    interval,
    matched_rate,
)
from scrapy_freshness.estimation.row_sums import summed_by

FloatArray = NDArray[np.float64]

#: A group's name, from the outside in: (host, pattern of the address).
Group = tuple[str, ...]

_NOTHING, _EVERYTHING = 0, 1  # rows of groups that are not known, and of the one that has all pages


@dataclass(frozen=True, slots=True)
class PooledEstimate(RateEstimate):
    """Change rates of some pages, per second; `rate` is the one to plug into the value of a crawl."""

    mean_rate: FloatArray  #: of the Gamma distribution that stands for what is believed (see `doubt.py`)
    doubt: FloatArray  #: its variance over the square of its mean


class Pooled:
    """Change rates of pages that learn from each other.

    Parameters
    ----------
    strength : kappa, members that the parent's distribution counts for, > 0
    forgetting : chance that a page begins anew before an observation; .02 remembers half of what it saw 35
        observations ago. On recorded pages .02 to .05 predict the next visit best, and nearly alike
    power : to which the likelihood of an observation is taken, above 0 to 1; changes are no Poisson process
    max_groups : pages of further groups use the distribution of the group around theirs

    Examples
    --------
    >>> from scrapy_freshness.estimation.history import extended
    >>> hourly = extended(extended(b"", 3600, True), 3600, False)
    >>> pool, group = Pooled(), ("example.com", "example.com/news/*")
    >>> before = pool.estimate([group], [b""])
    >>> pool.learn([group] * 9, None, pool.estimate([group] * 9, [hourly] * 9))
    >>> after = pool.estimate([group, ("example.org",)], [b"", b""])
    >>> bool(before.rate[0] < after.rate[1] < after.rate[0])
    True
    """

    def __init__(
        self,
        *,
        strength: float = 10.0,
        forgetting: float = 0.02,
        power: float = 0.25,
        max_groups: int = 100_000,
    ) -> None:
        self._strength, self._forgetting, self._power = strength, forgetting, power
        self._max_groups = max_groups
        self._rows: dict[Group, int] = {(): _EVERYTHING}
        self._sums = np.zeros((16, N_RATES))
        self._members = np.zeros(16)

    def estimate(
        self,
        groups: Sequence[Group],
        histories: Sequence[bytes],
        previous: RateEstimate | None = None,
        *,
        first_seconds: float = 86400.0,
    ) -> PooledEstimate:
        """Estimate the change rates of pages; nothing is learned.

        The rate is the one with the expected value of a crawl after *first_seconds* (see `matched_rate`), or
        the end of the interval if that is beyond it.

        Parameters
        ----------
        groups : the innermost group of each page
        histories : what visits saw of each page
        previous : the estimate of each page that was learned last; low = 0, or None, if none was
        first_seconds : when a page is likely to be looked at, about known pages / crawl rate
        """
        seconds = np.full(len(histories), first_seconds)
        _, believed = self.believed(groups, histories, previous, first_seconds=first_seconds)
        low, high = interval(believed)
        rate = np.clip(matched_rate(believed, seconds), low, high)
        return PooledEstimate(rate, low, high, *doubtful_rates(believed, seconds))

    def believed(
        self,
        groups: Sequence[Group],
        histories: Sequence[bytes],
        previous: RateEstimate | None = None,
        *,
        first_seconds: float = 86400.0,
    ) -> tuple[FloatArray, FloatArray]:
        """Distributions of the rates before and after what visits saw; parameters as those of `estimate`."""
        priors = self._priors(groups, previous, first_seconds)
        after = filtered(priors, histories, self._forgetting, self._power)
        after += self._forgetting * (priors - after)  # it may begin anew after the last one, too
        return priors, after

    def learn(
        self, groups: Sequence[Group], previous: RateEstimate | None, present: RateEstimate | None
    ) -> None:
        """Replace what pages have added to their groups.

        Only pages with a history teach anything: the estimate of others is the group's own opinion, which
        would be confirmed by itself. Hand in some hundred pages at a time, not all at once.

        Parameters
        ----------
        groups : the innermost group of each page
        previous : the estimate of each page that was learned last; low = 0, or None, if none was
        present : the estimate to learn; low = 0, or None, to forget the page
        """
        change = _parts(present, len(groups)) - _parts(previous, len(groups))
        n_more = np.rint(change.sum(axis=1))
        for rows in self._levels(groups, create=True):
            named, more = summed_by(rows, change)
            np.add.at(self._members, rows, n_more)
            # Rounding must not leave less than nothing.
            self._sums[named] = np.maximum(self._sums[named] + more, 0)
            self._members[named] = np.maximum(self._members[named], 0)
        self._sums[_NOTHING], self._members[_NOTHING] = 0, 0

    def state(self, groups: Iterable[Group] | None = None) -> dict[Group, bytes]:
        """What was learned of some groups or of all, 196 bytes each: members and sum, as 32-bit floats."""
        chosen = self._rows if groups is None else groups
        rows = {group: self._rows[group] for group in chosen if group in self._rows}
        return {
            group: np.append(self._members[row], self._sums[row]).astype("<f4").tobytes()
            for group, row in rows.items()
        }

    def restore(self, state: Mapping[Group, bytes]) -> None:
        """Take over what was learned elsewhere, in place of what was learned of these groups here."""
        for group, packed in state.items():
            if len(packed) != 4 * (N_RATES + 1):
                continue  # of another version, or damaged
            numbers = np.frombuffer(packed, "<f4").astype(np.float64)
            if (row := self._row(group)) != _NOTHING:
                self._members[row], self._sums[row] = numbers[0], numbers[1:]

    def _priors(
        self, groups: Sequence[Group], previous: RateEstimate | None, first_seconds: float
    ) -> FloatArray:
        """Distribution of each page's group, without the page itself."""
        own = _parts(previous, len(groups))
        is_member = np.rint(own.sum(axis=1))
        prior = np.broadcast_to(broad(first_seconds), own.shape)
        for rows in self._levels(groups, create=False):
            is_known = rows != _NOTHING
            others = np.maximum(self._sums[rows] - own * is_known[:, None], 0)
            n_others = np.maximum(self._members[rows] - is_member * is_known, 0)
            prior = (self._strength * prior + others) / (self._strength + n_others)[:, None]
        normalised: FloatArray = prior / prior.sum(axis=1, keepdims=True)
        return normalised

    def _levels(self, groups: Sequence[Group], *, create: bool) -> list[NDArray[np.intp]]:
        """Rows of the groups that the pages are in, from the outermost in."""
        depth, known = max(map(len, groups), default=0), self._rows.get
        levels = [np.full(len(groups), _EVERYTHING)]
        for level in range(1, depth + 1):
            rows = [known(group[:level], _NOTHING) if level <= len(group) else _NOTHING for group in groups]
            if create and _NOTHING in rows:
                rows = [self._row(group[:level]) if level <= len(group) else _NOTHING for group in groups]
            levels.append(np.array(rows, np.intp))
        return levels

    def _row(self, group: Group) -> int:
        """Row of a group, which is made if there is none and there may be more."""
        row = self._rows.get(group, _NOTHING)
        if row == _NOTHING and len(self._rows) < self._max_groups:
            row = self._rows[group] = len(self._rows) + 1
            if row == len(self._members):
                self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
                self._members = np.concatenate([self._members, np.zeros_like(self._members)])
        return row


def _parts(estimate: RateEstimate | None, n_pages: int) -> FloatArray:
    """What each page adds to its groups."""
    return np.zeros((n_pages, N_RATES)) if estimate is None else bells(estimate)
