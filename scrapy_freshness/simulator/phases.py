"""The same contest, begun at several times: so much of a result is not the luck of a moment.

A rule that fetches all pages in step may do so just before or just after most of them change, and on a short
record that decides. Who begins a little later is out of step with who began before.
"""

from collections.abc import Callable, Sequence

import numpy as np

from scrapy_freshness.simulator.replay import Outcome, Replay
from scrapy_freshness.simulator.uncertainty import Parts

#: Beginnings of a contest at most, and fetches that are enough, over all of them.
MOST_PHASES, ENOUGH_FETCHES = 4, 4_000


def usual_phases(fetches: float) -> int:
    """How often a contest with so many fetches should be begun.

    >>> usual_phases(200), usual_phases(2_000), usual_phases(50_000)
    (4, 2, 1)
    """
    return int(np.clip(ENOUGH_FETCHES // max(fetches, 1.0), 1, MOST_PHASES))


def at_phases(
    replay: Replay, fetches_per_second: float, phases: int, run: Callable[[Replay], Outcome]
) -> Outcome:
    """The outcome over contests that begin within the mean time between two fetches of a page, evenly."""
    between = len(replay.web.pages) / fetches_per_second
    return together([run(replay.later(phase / phases * between)) for phase in range(phases)])


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """The mean of several outcomes; their parts are added up, page by page and block by block."""
    if len(outcomes) == 1:
        return outcomes[0]
    fetches = [outcome.fetches for outcome in outcomes if outcome.fetches is not None]
    return Outcome(
        round(float(np.mean(fetches))) if fetches else None,
        {name: _mean([outcome.measures[name] for outcome in outcomes]) for name in outcomes[0].measures},
        _sum([outcome.freshness for outcome in outcomes]),
        _sum([outcome.profit for outcome in outcomes]),
        by_price=all(outcome.by_price for outcome in outcomes),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.mean(known)) if known else None


def _sum(parts: Sequence[Parts | None]) -> Parts | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return Parts(
        np.sum([part.had for part in known], axis=0), np.sum([part.possible for part in known], axis=0)
    )
