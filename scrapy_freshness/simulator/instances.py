r"""Webs of the noisy-signals paper, section 6: pages drawn at random, their changes and their signals.

Times are in the paper's unit. :math:`\Delta, \mu \sim U(0,1)`, and

=========  =====================================================================================
none       no signals
partial    :math:`\lambda \sim \mathrm{Beta}(.25,.25)`, no false signals
noisy      the same, with false signals at rates :math:`\nu \sim U(.1,.6)`
delayed    as noisy; each signal arrives Poisson(6) ticks late, a tick being 1/R (appendix C, which does
           not say of what unit 6 is; its drop window of 5/R makes sense only for ticks)
corrupted  as noisy; what is believed of precision and recall is mixed with noise (section 6.7)
lying      false signals at rates :math:`\nu \sim U(.1,.6)` and no others (not in the paper)
=========  =====================================================================================

There may be several sources of signals. Source k announces a share :math:`\lambda_k` of the changes, no two
sources the same one, and sends false signals at rate :math:`\nu_k`. The :math:`\lambda_k` are a split of
:math:`\lambda`, uniform among all splits, and of K sources each has :math:`\nu_k \sim U(.1,.6)/K`. Then the
signals of each source and the silent changes are independent Poisson processes, and a copy that has seen
:math:`n_k` signals of each is fresh with probability :math:`e^{-\alpha\tau-\sum b_k n_k}`, where
:math:`b_k=\log(1+\lambda_k\Delta/\nu_k)`.

References
----------
Busa-Fekete et al.: A scalable crawling algorithm utilizing noisy change-indicating signals, section 6.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.table import MOST_WEIGHT, WEIGHTS
from scrapy_freshness.simulator.streams import (
    EventStream,
    delayed,
    divided,
    merged,
    poisson_events,
    together,
)
from scrapy_freshness.value.contract import Beliefs

FloatArray = NDArray[np.float64]

Signals = Literal["none", "partial", "noisy", "delayed", "corrupted", "lying"]
SIGNALS: tuple[Signals, ...] = get_args(Signals)


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """What is true, or believed, of the pages of a web."""

    importance: FloatArray  #: mu, requests per second
    change_rate: FloatArray  #: Delta, changes per second
    recall: FloatArray  #: lambda, share of the changes that a signal announces, of any source
    false_rate: FloatArray  #: nu, false signals per second, of all sources
    source_recall: FloatArray | None = None  #: (K, pages), of each source, disjoint; None: there is one
    source_false_rate: FloatArray | None = None  #: (K, pages)

    @property
    def sources(self) -> list[tuple[FloatArray, FloatArray]]:
        """Recall and false rate of each source."""
        if self.source_recall is None or self.source_false_rate is None:
            return [(self.recall, self.false_rate)]
        return list(zip(self.source_recall, self.source_false_rate, strict=True))

    @property
    def precision(self) -> FloatArray:
        """Share of the signals that announce a change; 0 where there are no signals."""
        true_rate = self.recall * self.change_rate
        rate = true_rate + self.false_rate
        return true_rate / np.where(rate > 0, rate, 1.0)

    @property
    def weights(self) -> dict[str, FloatArray]:
        """What a signal of each source says, b_k/b, in units of a mean signal; empty if there is one source.

        >>> one = drawn_instance(3, "noisy", np.random.default_rng(1))
        >>> two = drawn_instance(3, "noisy", np.random.default_rng(1), sources=2)
        >>> one.weights, list(two.weights)
        ({}, ['weight_0', 'weight_1'])
        """
        if len(self.sources) == 1:
            return {}
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.log1p(self.recall * self.change_rate / self.false_rate)
            own = [np.log1p(recall * self.change_rate / false) for recall, false in self.sources]
            weights = [np.where(np.isinf(mean), 1.0, np.minimum(each / mean, MOST_WEIGHT)) for each in own]
        return {
            name: np.where(recall > 0, weight, 0.0)
            for name, weight, (recall, _) in zip(WEIGHTS, weights, self.sources, strict=False)
        }

    @property
    def beliefs(self) -> Beliefs:
        """The same as beliefs; no signal has arrived yet."""
        return Beliefs(
            importance=self.importance,
            change_rate=self.change_rate,
            recall=self.recall,
            false_rate=self.false_rate,
            signals=np.zeros(len(self.recall)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What happens on a web."""

    changes: EventStream
    signals: EventStream  #: when they arrive, true and false ones; their kinds are their sources


def drawn_instance(pages: int, signals: Signals, rng: np.random.Generator, *, sources: int = 1) -> Instance:
    """Draw the pages of a web; equal generators draw the same pages whatever the signals.

    >>> web = drawn_instance(100, "noisy", np.random.default_rng(1))
    >>> bool(np.all((web.false_rate >= 0.1) & (web.false_rate <= 0.6) & (web.recall <= 1)))
    True
    """
    if signals not in SIGNALS:
        raise ConfigError(f"there are no signals {signals!r}: choose one of {', '.join(SIGNALS)}")
    change_rate, importance = rng.random(pages), rng.random(pages)
    recall, false_rate = rng.beta(0.25, 0.25, pages), rng.uniform(0.1, 0.6, (sources, pages)) / sources
    shares = rng.dirichlet(np.ones(sources), pages).T if sources > 1 else np.ones((1, pages))
    if signals in ("none", "lying"):
        recall = np.zeros(pages)
    if signals in ("none", "partial"):
        false_rate = np.zeros((sources, pages))
    return Instance(
        importance,
        change_rate,
        recall,
        false_rate.sum(axis=0),
        recall * shares if sources > 1 else None,
        false_rate if sources > 1 else None,
    )


def deterministic_instance() -> Instance:
    """A web of 100 pages without random numbers, for known answers.

    >>> deterministic_instance().change_rate[:3]
    array([0.005, 0.015, 0.025])
    """
    number: FloatArray = np.arange(1.0, 101.0)
    return Instance(
        importance=np.modf(0.6180339887498949 * number)[0],
        change_rate=(number - 0.5) / 100,
        recall=np.modf(0.7548776662466927 * number)[0],
        false_rate=0.1 + 0.5 * np.modf(0.5698402909980532 * number)[0],
    )


def drawn_events(
    instance: Instance, horizon: float, rng: np.random.Generator, *, late_by: float = 0.0
) -> Events:
    """Draw changes and signals over [0, horizon].

    A true signal has the very time of its change, plus its delay.

    Parameters
    ----------
    late_by : length of a tick if signals arrive Poisson(6) ticks late, else 0

    >>> events = drawn_events(deterministic_instance(), 50.0, np.random.default_rng(3))
    >>> len(events.changes), len(events.signals)
    (100, 100)
    """
    changes = poisson_events(instance.change_rate, horizon, rng)
    sources = []
    announced = divided(changes, np.array([recall for recall, _ in instance.sources]), rng)
    for true, (_, false_rate) in zip(announced, instance.sources, strict=True):
        signals = merged(true, poisson_events(false_rate, horizon, rng))
        if late_by:
            delays = late_by * rng.poisson(6, len(signals.times)).astype(np.float64)
            signals = delayed(signals, delays, horizon)
        sources.append(signals)
    return Events(changes, together(sources) if len(sources) > 1 else sources[0])


def corrupted(instance: Instance, share: float, rng: np.random.Generator) -> Instance:
    r"""Believe of precision and recall :math:`(1-p)\,x + p\,\xi`, with one :math:`\xi \sim U(0,1)` a page.

    The printed formula for recall lacks the factor p. The false rate is the one that gives the believed
    precision.

    Parameters
    ----------
    share : p, 0 to 1

    >>> web = deterministic_instance()
    >>> same = corrupted(web, 0.0, np.random.default_rng(1))
    >>> np.allclose(same.recall, web.recall) and np.allclose(same.false_rate, web.false_rate)
    True
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"a share of noise must be from 0 to 1, got {share}")
    noise = rng.random(len(instance.recall))
    precision = (1 - share) * instance.precision + share * noise
    recall = (1 - share) * instance.recall + share * noise
    true_rate = recall * instance.change_rate
    with np.errstate(divide="ignore", invalid="ignore"):
        false_rate = np.where(precision > 0, true_rate * (1 - precision) / precision, instance.false_rate)
    return replace(instance, recall=recall, false_rate=false_rate)


def cost_instance(
    pages: int, rng: np.random.Generator, *, period_seconds: float = 86400.0, spread: float = 0.0
) -> Instance:
    """Pages of the cost paper, section 5: all change once in 24 hours on average.

    Parameters
    ----------
    spread : standard deviation of log(period); 0: all have the same

    >>> cost_instance(2, np.random.default_rng(1)).change_rate * 86400
    array([1., 1.])
    """
    periods = period_seconds * np.exp(spread * rng.standard_normal(pages))
    return Instance(np.ones(pages), 1 / periods, np.zeros(pages), np.zeros(pages))
