"""Repository quality by budget: figure 4 of the paper, for all policies on the same corpora."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.search.scoring import SCORINGS
from scrapy_freshness.simulator.evolving_text import WEEK, TextShape
from scrapy_freshness.simulator.queries_corpus import drawn_corpus
from scrapy_freshness.simulator.queries_world import THRESHOLDS, QueriesRound

FloatArray = NDArray[np.float64]

#: Refreshes of a page per week, on average: three decades.
BUDGETS = tuple(float(budget) for budget in np.logspace(-2.75, 0.25, 7))
KNOWN = ("user-centric", "user-centric-linear", "greedy", "uniform")
LEARNED = ("user-centric", "user-centric-linear", "greedy")
RIVALS = ("sbr", "ebr")
#: These do not look at scores, so that what they fetch is the same for all scoring functions.
_SCORELESS = ("sbr", "greedy", "uniform")


class Key(NamedTuple):
    scoring: str
    policy: str  #: "... (learned)" if it knows only what its visits saw
    budget: float


def qualities(seed: int, shape: TextShape) -> dict[Key, float]:
    """Quality of every policy at every budget, on one corpus; of SBR and EBR with the best threshold."""
    found: dict[Key, float] = {}
    corpus = drawn_corpus(np.random.default_rng(seed), shape)
    rounds = {scoring: QueriesRound(corpus, scoring) for scoring in SCORINGS}
    for budget in BUDGETS:
        rate = budget * shape.pages / WEEK
        for name, learn in entrants():
            fetched = None
            for scoring, played in rounds.items():
                if fetched is None or not name.startswith(_SCORELESS):
                    fetched = played.crawled(name, rate, learn=learn)
                policy = name.split("-0")[0].split("-1")[0] + (" (learned)" if learn else "")
                key = Key(scoring, policy, budget)
                found[key] = max(found.get(key, 0.0), played.quality(fetched))
    return found


def entrants() -> Iterator[tuple[str, bool]]:
    """Policies, and whether they learn."""
    yield from ((name, False) for name in KNOWN)
    yield from ((name, True) for name in LEARNED)
    yield from ((f"{name}-{threshold}", False) for name in RIVALS for threshold in THRESHOLDS)


class Comparison(NamedTuple):
    """A policy against a rival at one budget, over all corpora."""

    difference: float  #: of the qualities
    standard_error: float
    saved: float  #: the rival's budget over that with which the policy is as good; nan: beyond the budgets

    @property
    def verdict(self) -> str:
        if abs(self.difference) <= 2 * self.standard_error:
            return "even"
        return "better" if self.difference > 0 else "worse"


def compared(results: list[dict[Key, float]], scoring: str, policy: str, rival: str) -> list[Comparison]:
    """Compare two policies at every budget."""
    ours, theirs = (curve(results, scoring, name) for name in (policy, rival))
    differences = ours - theirs
    errors = differences.std(axis=0, ddof=1) / np.sqrt(len(results))
    needed = np.array([budget_for(quality, ours.mean(axis=0)) for quality in theirs.mean(axis=0)])
    return [
        Comparison(float(difference), float(error), float(saved))
        for difference, error, saved in zip(
            differences.mean(axis=0), errors, np.array(BUDGETS) / needed, strict=True
        )
    ]


def curve(results: list[dict[Key, float]], scoring: str, policy: str) -> FloatArray:
    """(corpora, budgets) array of qualities."""
    return np.array([[found[Key(scoring, policy, budget)] for budget in BUDGETS] for found in results])


def budget_for(quality: float, reached: FloatArray) -> float:
    """Budget with which a quality is reached, between budgets by the logarithms of budget and loss."""
    if not reached[0] <= quality <= reached[-1]:
        return float("nan")
    return float(np.exp(np.interp(-np.log(1 - quality), -np.log(1 - reached), np.log(BUDGETS))))
