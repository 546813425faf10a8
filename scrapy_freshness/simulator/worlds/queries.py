"""Evolving pages that searchers ask for: the world of the user-centric paper.

Metric `quality`: what searchers have of the answers that the copies give, as a share of what they would have
of perfectly fresh ones (equation 5), exactly, at 24 times. All copies are fresh at the start.

Policies know the rates of the whole history and what each update gains, or, with `--learn`, what their own
visits have changed in an index of the copies. `sbr` and `ebr` are references: they know all updates in
hindsight also where others have to learn, and take the best of ten thresholds, or the one that is named
(`sbr-0.3`). The rules of other crawlers see which fetches found a change.

References
----------
Pandey, Olston: User-centric web crawling, WWW 2005, sections 3 and 6.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scrapy_freshness.config import setting
from scrapy_freshness.search.scoring import SCORINGS
from scrapy_freshness.simulator.contest import RIVAL_NAMES
from scrapy_freshness.simulator.evolving_text import WEEK
from scrapy_freshness.simulator.queries_world import QueriesRound, drawn_round, is_reference
from scrapy_freshness.simulator.worlds.contract import (
    Advance,
    Metric,
    Outcome,
    Size,
    Usual,
    refuse_unknown,
)
from scrapy_freshness.units import choice, positive_int

_OURS = ("greedy", "holistic", "uniform", "user-centric", "user-centric-linear")
_REFERENCES = ("ebr", "sbr")


@dataclass(frozen=True, kw_only=True)
class Queries:
    """Pages whose words come and go, and a log of queries, both with heavy tails."""

    time_unit: ClassVar[str] = "weeks"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("quality", "repository quality, of that of perfectly fresh copies", is_gain=True),
    )
    usual: ClassVar[Usual] = Usual(
        pages=200, rate=25.0, horizon=24.0, repeat=4, policies=(*_OURS, *_REFERENCES)
    )

    scoring: str = setting("tf-idf", choice(*SCORINGS), f"How answers are ranked: {', '.join(SCORINGS)}.")
    queries: int = setting("200", positive_int, "Number of different queries.")

    def policy_names(self) -> tuple[str, ...]:
        """Ours, SBR and EBR (with a threshold: sbr-0.3), and the rules of other crawlers."""
        return (*_OURS, *_REFERENCES, *RIVAL_NAMES)

    def sized(self, size: Size) -> Size:
        """Every size is played as it is."""
        return size

    def check(self, policy: str, size: Size, *, learn: bool) -> None:
        """Refuse unknown policies."""
        if not is_reference(policy):
            refuse_unknown(policy, self.policy_names())

    def draw(self, size: Size, rng: np.random.Generator) -> "SearchersRound":
        """Draw pages, all their versions, and what is asked of them."""
        played = drawn_round(
            rng,
            pages=size.pages,
            horizon_seconds=size.horizon * WEEK,
            scoring=self.scoring,
            queries=self.queries,
        )
        return SearchersRound(played, size)


WORLD = Queries


@dataclass(frozen=True, slots=True)
class SearchersRound:
    """One corpus, and what is asked of it."""

    played: QueriesRound
    size: Size

    def play(self, policy: str, *, learn: bool, advance: Advance) -> Outcome:
        """Let a policy crawl."""
        n_ticks = max(1.0, self.size.rate * self.size.horizon)
        quality, fetches = self.played.play(
            policy,
            self.size.rate / WEEK,
            learn=learn and not is_reference(policy),
            progress=lambda tick: advance(tick / n_ticks),
        )
        return Outcome({"quality": quality}, fetches)
