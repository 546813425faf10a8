r"""Maximum likelihood of what leaves a page unchanged.

An observation with positive amounts :math:`x` (of time, of signals) finds the page unchanged with probability
:math:`e^{-\eta}`, :math:`\eta=\theta\cdot x`. The log-likelihood

.. math:: \sum_{changed}\log(1-e^{-\eta}) - \sum_{unchanged}\eta

is concave in :math:`\theta`, which Newton's method finds for many groups of observations at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_MAX_STEPS = 60
_TOLERANCE = 1e-8
_LEAST = 1e-150  # eta of an observation of nothing
#: Share of the way to the edge, where a parameter is 0, that a step may go at most.
_TO_THE_EDGE = 0.9


class Observations(NamedTuple):
    """What was seen, one row an observation, or several that are alike."""

    x: FloatArray  #: (N, d), amounts, >= 0
    changed: FloatArray  #: (N,), how many found a change
    unchanged: FloatArray  #: (N,), how many found none
    group: NDArray[np.int64]  #: (N,), the group that each belongs to
    starts: NDArray[np.int64] | None = None  #: (g,), the first row of each group, if they are in order

    def with_prior(self, shares: FloatArray, weight: float | FloatArray, n_groups: int) -> "Observations":
        """These observations and, for each parameter and group, *weight* of one unit of its amount alone.

        The share in *shares* of them, one a parameter or one a group and parameter, found a change. They
        keep the parameters above 0. The weight may be one for all, or one a group and parameter.
        """
        n_parameters = shares.shape[-1]
        found = np.broadcast_to(shares, (n_groups, n_parameters)).ravel()
        weight = np.broadcast_to(weight, (n_groups, n_parameters)).ravel()
        return Observations(
            np.concatenate([self.x, np.tile(np.eye(n_parameters), (n_groups, 1))]),
            np.concatenate([self.changed, weight * found]),
            np.concatenate([self.unchanged, weight * (1 - found)]),
            np.concatenate([self.group, np.repeat(np.arange(n_groups), n_parameters)]),
        )

    def per_group(self, amounts: FloatArray, n_groups: int) -> FloatArray:
        """Sums over the rows of each group, for every column."""
        if self.starts is not None:
            return np.add.reduceat(amounts, self.starts, axis=0)
        columns = [np.bincount(self.group, each, n_groups) for each in amounts.T]
        return np.stack(columns, axis=1).astype(np.float64, copy=False)

    def in_order(self, n_groups: int) -> "Observations":
        """The same, group after group, each of which must have some: sums are four times as fast."""
        order = np.argsort(self.group, kind="stable")
        group = self.group[order]
        starts = np.searchsorted(group, np.arange(n_groups))
        return Observations(self.x[order], self.changed[order], self.unchanged[order], group, starts)

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Of each group's observations."""
        eta = np.einsum("ij,ij->i", self.x, theta[self.group])
        log_changed = np.log(-np.expm1(-np.maximum(eta, _LEAST)))
        return self.per_group((self.changed * log_changed - self.unchanged * eta)[:, None], len(theta))[:, 0]

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and negative Hessian of the log-likelihood."""
        eta = np.clip(np.einsum("ij,ij->i", self.x, theta[self.group]), _LEAST, 700.0)
        odds = 1 / np.expm1(eta)  # of "unchanged"
        gradient = self.per_group((self.changed * odds - self.unchanged)[:, None] * self.x, len(theta))
        curvature = self.changed * odds * (1 + odds)
        rows, columns = np.triu_indices(self.x.shape[1])
        upper = self.per_group(curvature[:, None] * self.x[:, rows] * self.x[:, columns], len(theta))
        hessian = np.empty((len(theta), self.x.shape[1], self.x.shape[1]))
        hessian[:, rows, columns] = hessian[:, columns, rows] = upper
        return gradient, hessian


def fit_unchanged(seen: Observations, n_groups: int) -> tuple[FloatArray, FloatArray]:
    """Parameters of the largest likelihood of each group, and their covariance.

    Every group needs, for each parameter, a change that nothing else explains: see `with_prior`.

    Examples
    --------
    >>> two_of_three = Observations(np.ones((1, 1)), np.array([2.0]), np.array([1.0]), np.zeros(1, int))
    >>> fit_unchanged(two_of_three, 1)[0].round(6)  # log 3
    array([[1.098612]])
    """
    seen = seen.in_order(n_groups)
    theta = np.ones((n_groups, seen.x.shape[1]))
    first = seen.per_group(seen.x[:, :1] * (seen.changed + seen.unchanged)[:, None], n_groups)[:, 0]
    theta[:, 0] = seen.per_group(seen.changed[:, None], n_groups)[:, 0] / first
    best = seen.log_likelihood(theta)
    for _ in range(_MAX_STEPS):
        gradient, hessian = seen.derivatives(theta)
        step: FloatArray = np.linalg.solve(hessian, gradient[..., None])[..., 0].astype(np.float64)
        shrink = np.max(-step / theta, axis=1, initial=0.0)
        step /= np.maximum(shrink / _TO_THE_EDGE, 1.0)[:, None]
        found = seen.log_likelihood(theta + step)
        while (is_worse := found < best - _TOLERANCE * np.maximum(np.abs(best), 1)).any():
            step[is_worse] /= 2
            found = seen.log_likelihood(theta + step)
        theta, best = theta + step, found
        if np.all(np.abs(step) <= _TOLERANCE * theta):
            break
    return theta, np.linalg.inv(seen.derivatives(theta)[1]).astype(np.float64)
