r"""GREEDY-NCIS in doubt: noisy signals of a page whose change rate nobody knows, which no paper has.

With the notation of `signals.py`, let the rate :math:`\alpha` of changes without a signal be Gamma
distributed with mean :math:`m=(1-\lambda)\bar\Delta` and variance :math:`d\,m^2` (see `expected.py`), and let
a signal be true with a probability that has nothing to do with that. A copy :math:`\tau` seconds old that
has seen :math:`n` signals is then fresh with probability

.. math:: e^{-u}, \qquad u = g(\tau) + bn, \qquad g(\tau) = \log(1+dm\tau)/d .

Crawled whenever :math:`u` reaches a threshold, the page has the marginal value

.. math:: V(u) = \mu\int_0^u e^{-v}\,\psi(v)\,dv, \qquad
   \psi(v) = \frac{1}{\gamma}\sum_{i\ge 0,\ ib<v} R^i(\gamma t_i), \qquad g(t_i) = v-ib :

:math:`v` has not been reached at time :math:`t` if there were few enough signals, :math:`i<(v-g(t))/b`, and
the integral over time of the chance of just :math:`i` is :math:`R^i(\gamma t_i)/\gamma`. No doubt gives
GREEDY-NCIS, no signals give GREEDY in doubt. (`fragments.py` has the same integral with a divergence
of :math:`\tau+\beta n`. There doubt about the rate is doubt about the signals: with :math:`d=3` a
signal that is true in six of seven cases would leave a copy fresh in one of two.)

As long as few signals are expected, :math:`\gamma t<8` with :math:`t=t_0`, it is time that ages the copy.
Without signals :math:`\psi(v)=t`, and the integral is :math:`G(t)` of `expected.py`. So it is
:math:`\int r\,dG` where :math:`r=\psi/t` falls from 1, taken as constant between
:math:`\gamma t = 1/8, 1/4, \dots, 8`. After that it is signals, and :math:`\psi` is taken as constant between
:math:`v/b = 1, 2, 3, 4, 6, 8, 12, \dots`. So V grows for certain, its inverse is that of G or a
logarithm, and if nothing but signals ages the page it is exact for the first few. (Where a
signal is worth less than half of the age at which these pieces begin, that half has the part of :math:`b`.)
In each piece

.. math:: \psi = \frac{1-e^{-\gamma t}}{\gamma} \ (v\le b), \qquad
   \psi = s+\frac{\gamma b^2}{2\kappa^2}, \quad g(s)+\gamma bs = v, \quad
   \kappa = g'(s)+\gamma b \ (v>b),

which is exact if one signal is enough, and else the time at which the mean of :math:`u` is :math:`v` with the
bend of the straight line of `signals.py`. Pages about which there is no doubt have the exact value. The
others are within 12 % of quadrature of the exact sum, and right in the mean (with hardly any doubt also where
a source tells of a change every minute to a page that changes once in years: within 10 %); where rates are
known, copies are as fresh as by the exact value (+.0015, standard error .0014, world `poisson` with noisy
signals).

Where siblings of a page have changed more or less than expected since its last visit, time has passed at
another pace :math:`a` for it (see `estimation/sibling_pace.py`): :math:`\tau` is :math:`a` times the time
that has passed.
"""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.crossing import first_crossing
from scrapy_freshness.value.expected import HORIZON_SECONDS, LEAST_DOUBT, doubtful_gain
from scrapy_freshness.value.ncis import Ncis
from scrapy_freshness.value.signals import HUGE, Rows
from scrapy_freshness.value.silent import column_sums

#: Signals expected at the end of the first piece of time, and of all; each has the length of all before it.
_FIRST, _LAST = 1 / 8, 8.0
_BEGINS = np.array([_FIRST * 2.0**piece for piece in range(6)])[:, None]
#: Pieces of age, in signals, or in halves of the age at which they begin if that is more: ever longer ones
#: after the first few. From some age on all is one.
_EDGES = np.array([0, 1, 2, 3, *(each * 2.0**power for power in range(2, 44) for each in (1.0, 1.5))])
_OLD = 8.0
#: Share of silent changes below which only signals age a page, and doubt about the rest is no matter.
_FEW_SILENT = 1e-9
#: Seconds of freshness that are gained at once, and of waiting that nobody waits.
_NOTHING, _NEVER = 1e-200, 1e250


class ExpectedNcis:
    """V = mu * integral of r dG: GREEDY in doubt, slowed down where signals will come."""

    needs: ClassVar[frozenset[str]] = frozenset(
        {"mean_rate", "doubt", "recall", "false_rate", "signals", "pace"}
    )

    def __init__(self) -> None:
        self._certain = Ncis(last_step=0.1)

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of a crawl.

        >>> page = Beliefs(
        ...     importance=np.ones(2), change_rate=np.full(2, 0.5), mean_rate=np.full(2, 0.5),
        ...     doubt=np.array([0.0, 1.0]), recall=np.full(2, 0.5), false_rate=np.full(2, 0.3),
        ...     signals=np.zeros(2),
        ... )
        >>> ExpectedNcis().value(page, np.full(2, 5.0)).round(4)
        array([0.8099, 0.5341])
        """
        return self._each(self._certain.value, _value, beliefs, _passed(beliefs, elapsed))

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """That of a copy as old as anything that counts."""
        return self._each(self._certain.first_value, _first_value, beliefs)

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Inverse of the value."""
        certain, in_doubt = partial(self._certain.elapsed_at, price=price), partial(_elapsed_at, price=price)
        elapsed = self._each(certain, in_doubt, beliefs)
        return elapsed if beliefs.pace is None else elapsed / beliefs.pace

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """Earlier by a share of the time: a copy in doubt ages ever more slowly, but not by signals."""
        passed = self._each(self._certain.sooner, _sooner, beliefs, _passed(beliefs, elapsed), more)
        return passed if beliefs.pace is None else passed / beliefs.pace

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Expected probability of no change since the last visit, given the signals."""
        return self._each(self._certain.freshness, _freshness, beliefs, _passed(beliefs, elapsed))

    def _each(
        self,
        certain: Callable[..., FloatArray],
        in_doubt: Callable[..., FloatArray],
        beliefs: Beliefs,
        *columns: FloatArray,
    ) -> FloatArray:
        """What the one says of pages about which there is no doubt, and the other of the others."""
        is_certain = beliefs.need("doubt") < LEAST_DOUBT
        is_certain |= 1 - beliefs.need("recall") < _FEW_SILENT
        if not is_certain.any():
            return in_doubt(beliefs, *columns)
        answers = np.empty(len(beliefs))
        for answer, rows in ((certain, is_certain.nonzero()[0]), (in_doubt, (~is_certain).nonzero()[0])):
            answers[rows] = answer(beliefs.at(rows), *(column[rows] for column in columns))
        return answers


def _passed(beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
    """Time that has passed at the pace of siblings."""
    return elapsed if beliefs.pace is None else elapsed * beliefs.pace


class _Pages(NamedTuple):
    """Pages in doubt."""

    rate: FloatArray  #: m, mean rate of changes without a signal
    doubt: FloatArray  #: d
    gamma: FloatArray  #: signals per second; 0 if they say nothing
    b: FloatArray  #: by how much a signal ages the copy

    @classmethod
    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def of(cls, beliefs: Beliefs) -> "_Pages":
        """The pages of which this is believed."""
        recall, nu = beliefs.need("recall"), beliefs.need("false_rate")
        signalled = recall * beliefs.change_rate
        is_heard = signalled > 0
        b = np.where(is_heard, np.minimum(np.log1p(signalled / nu), HUGE), 0.0)
        rate = (1 - recall) * beliefs.need("mean_rate")
        return cls(rate, beliefs.need("doubt"), np.where(is_heard, signalled + nu, 0.0), b)

    def at(self, rows: Rows) -> "_Pages":
        """Some of the pages."""
        return _Pages(*(column[rows] for column in self))

    def age(self, time: FloatArray) -> FloatArray:
        """g, the age of a copy without signals."""
        aged: FloatArray = np.log1p(self.doubt * self.rate * time) / self.doubt
        return aged

    @np.errstate(over="ignore")
    def time(self, age: FloatArray) -> FloatArray:
        """When a copy without signals has an age."""
        time: FloatArray = np.expm1(self.doubt * age) / (self.doubt * self.rate)
        return time

    @property
    @np.errstate(divide="ignore", over="ignore")
    def time_ages_until(self) -> FloatArray:
        """Time after which it is signals that age a copy."""
        return np.minimum(_LAST / self.gamma, HORIZON_SECONDS)

    def gained(self, time: FloatArray) -> FloatArray:
        """G, what a crawl gains if there are no signals."""
        return doubtful_gain(self.rate, self.doubt, time)[0]

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def time_to(self, age: FloatArray, time: FloatArray) -> FloatArray:
        """psi, the mean time until an age is reached, which without signals takes some *time*."""
        drift = self.gamma * self.b
        # One step of Newton's method from where a copy without doubt would be.
        s = age / (age / time + drift)
        x = self.doubt * self.rate * s
        s -= (np.log1p(x) / self.doubt + drift * s - age) / (self.rate / (1 + x) + drift)
        kappa = self.rate / (1 + self.doubt * self.rate * s) + drift
        several = np.minimum(s + drift * self.b / (2 * kappa) / kappa, time)
        return np.where(age <= self.b, -np.expm1(-self.gamma * time) / self.gamma, several)


def _value(beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
    pages = _Pages.of(beliefs)
    age = pages.age(elapsed) + pages.b * beliefs.need("signals")
    return beliefs.importance * _gained(pages, age)


def _first_value(beliefs: Beliefs) -> FloatArray:
    return beliefs.importance * _gained(_Pages.of(beliefs), np.full(len(beliefs), np.inf))


def _gained(pages: _Pages, age: FloatArray) -> FloatArray:
    """V/mu at some age."""
    until = pages.time_ages_until
    time = np.minimum(pages.time(age), until)
    gained = _gained_by_time(pages, time)
    old = ((time == until) & (until < HORIZON_SECONDS)).nonzero()[0]
    if len(old):
        begin, end, psi = _age_pieces(pages.at(old), age[old])
        grown = psi * np.maximum(np.exp(-begin) - np.exp(-np.minimum(end, age[old])), 0.0)
        gained[old] += column_sums(np.where(begin < age[old], grown, 0.0))
    return gained


def _gained_by_time(pages: _Pages, time: FloatArray) -> FloatArray:
    """The integral of r dG."""
    heard = (pages.gamma * time > _FIRST).nonzero()[0]
    gained = pages.gained(time)
    if len(heard):
        begin, before, speed_up = _time_pieces(pages.at(heard))
        now = np.minimum(gained[heard], np.vstack([before[1:], gained[heard]]))
        grown = np.where(begin < time[heard], speed_up * np.maximum(now - before, 0.0), 0.0)
        gained[heard] = before[0] + column_sums(grown)
    return gained


@np.errstate(divide="ignore", over="ignore")
def _time_pieces(pages: _Pages) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Begin of the pieces of time after the first, (pieces, pages), G then, and r in their middle."""
    begin = _BEGINS / pages.gamma
    middle = 1.5 * begin
    return begin, pages.gained(begin), pages.time_to(pages.age(middle), middle) / middle


@np.errstate(over="ignore")
def _age_pieces(pages: _Pages, until: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Begin and end of pieces of age, (pieces, pages), and psi in their middle; the last one has no end.

    Pieces that are empty, or begin after an age *until*, have no psi.
    """
    start = pages.age(pages.time_ages_until)
    unit = np.maximum(pages.b, start / 2)
    edges = _EDGES[: 1 + int(np.searchsorted(_EDGES, _OLD / np.min(unit, initial=_OLD)))]
    begin, end = edges[:, None] * unit, np.append(edges[1:], np.inf)[:, None] * unit
    is_last = end >= np.maximum(_OLD, start + unit)
    end[is_last] = np.inf
    begin = np.maximum(begin, start)
    begin[1:][is_last[:-1]] = np.inf  # there is nothing after the last
    needed = (begin < np.minimum(end, until)).nonzero()
    middle = np.where(np.isinf(end), begin + unit / 2, (begin + end) / 2)[needed]
    pages = pages.at(needed[1])
    psi = np.zeros_like(begin)
    psi[needed] = pages.time_to(middle, pages.time(middle))
    return begin, end, psi


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _elapsed_at(beliefs: Beliefs, price: float) -> FloatArray:
    pages = _Pages.of(beliefs)
    goal = price / beliefs.importance  # of V/mu
    time = _time_without_signals(pages, goal, np.sqrt(2 * goal / pages.rate))
    age = pages.age(time)
    late = (pages.gamma * time > _FIRST).nonzero()[0]
    if len(late):
        age[late] = _late_age(pages.at(late), goal[late])
    elapsed = pages.time(age - pages.b * beliefs.need("signals"))
    return np.where(np.isfinite(age) & (elapsed < _NEVER), np.maximum(elapsed, 0.0), np.inf)


def _time_without_signals(pages: _Pages, goal: FloatArray, guess: FloatArray) -> FloatArray:
    """When G reaches a goal; inf if it does not within the horizon."""

    def growth(rows: Rows, time: FloatArray) -> tuple[FloatArray, FloatArray]:
        gained, slope = doubtful_gain(pages.rate[rows], pages.doubt[rows], time)
        return gained / goal[rows], slope / goal[rows]

    bound = pages.gained(np.full(len(goal), HORIZON_SECONDS)) / goal
    guess = np.where(np.isfinite(guess), np.clip(guess, 1e-250, HORIZON_SECONDS), 1.0)
    time = first_crossing(growth, np.zeros(len(goal)), bound, 1.0, guess)
    time[goal < _NOTHING] = 0.0
    return time


@np.errstate(divide="ignore", invalid="ignore")
def _late_age(pages: _Pages, goal: FloatArray) -> FloatArray:
    """The age at which V/mu is the goal, of pages where that is after the first piece."""
    until = pages.time_ages_until
    by_time = _gained_by_time(pages, until)
    age = np.full(len(goal), np.inf)
    soon = (by_time >= goal).nonzero()[0]
    if len(soon):
        some = pages.at(soon)
        without_signals, guess = _goal_without_signals(some, goal[soon])
        age[soon] = some.age(_time_without_signals(some, without_signals, guess))
    later = ((by_time < goal) & (until < HORIZON_SECONDS)).nonzero()[0]
    if len(later):
        age[later] = _age_after(pages.at(later), goal[later] - by_time[later])
    return age


def _goal_without_signals(pages: _Pages, goal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """G at the time at which V/mu is the goal, while it is time that ages the copy, and about that time."""
    begin, gained, speed_up = _time_pieces(pages)
    grown = np.cumsum(speed_up[:-1] * np.maximum(np.diff(gained, axis=0), 0.0), axis=0)
    begun = np.vstack([gained[:1], gained[0] + grown])
    last = np.maximum(np.count_nonzero(begun < goal, axis=0) - 1, 0)
    columns = np.arange(len(goal))
    there = gained[last, columns] + (goal - begun[last, columns]) / speed_up[last, columns]
    return there, 1.5 * begin[last, columns]


def _age_after(pages: _Pages, goal: FloatArray) -> FloatArray:
    """The age at which so much has been gained since it is signals that age the copy; inf if it never is."""
    begin, end, psi = _age_pieces(pages, np.full(len(goal), np.inf))
    gains = np.where(begin < end, psi * (np.exp(-begin) - np.exp(-end)), 0.0)
    grown = np.cumsum(gains, axis=0)
    begun = np.vstack([np.zeros(len(goal)), grown[:-1]])
    last = np.maximum(np.count_nonzero((begun < goal) & (begin < np.inf), axis=0) - 1, 0)
    columns = np.arange(len(goal))
    missing = (goal - begun[last, columns]) / psi[last, columns]
    left = np.exp(-begin[last, columns]) - missing
    return np.where(left > 0, -np.log(np.maximum(left, _NOTHING)), np.inf)


def _sooner(beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
    pages = _Pages.of(beliefs)
    reached = np.isfinite(elapsed)
    time = np.where(reached, elapsed, 0.0)
    nearer = np.expm1(-pages.doubt * pages.b * more) * (time + 1 / (pages.doubt * pages.rate))
    return np.where(reached, time + nearer, elapsed)


def _freshness(beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
    pages = _Pages.of(beliefs)
    fresh: FloatArray = np.exp(-pages.age(elapsed) - pages.b * beliefs.need("signals"))
    return fresh
