"""Rules without a budget on equal terms: the common factor of all intervals for a number of fetches."""

import math
from collections.abc import Callable
from dataclasses import dataclass

#: A step outwards is no longer than this.
_WIDEST_STEP = 64.0


@dataclass(frozen=True, slots=True)
class Match:
    """The factor found and the number of fetches that it leads to."""

    factor: float
    fetches: int


def factor_for_fetches(
    run: Callable[[float], int],
    wanted: int,
    *,
    tolerance: float = 0.005,
    max_runs: int = 40,
    least_step: float = 2.0,
) -> Match:
    """Find the factor at which *run* makes the wanted number of fetches.

    Fetches fall as the factor rises, roughly as 1/factor, and may jump and jitter. Two factors, one with more
    fetches than wanted and one with at most as many, are sought outwards from 1; between them steps are taken
    in turn to where the proportion points and to the geometric middle. Between such a pair there is always a
    crossing, so jitter may move the answer but cannot lead the search astray.

    Parameters
    ----------
    run : the number of fetches made with all intervals scaled by the given factor
    wanted : fetches, > 0
    tolerance : share of *wanted* by which the answer may be off
    least_step : factor of a step outwards at least; small, if 1 is a good guess
    max_runs : the best factor so far is returned after this many runs (or when nothing lies in between)

    >>> factor_for_fetches(lambda factor: round(1000 / factor), 250, tolerance=0.0)
    Match(factor=4.0, fetches=250)
    """
    if wanted <= 0:
        raise ValueError(f"a number of fetches must be above 0, got {wanted}")
    low, high = 0.0, math.inf  # more fetches than wanted at low, at most as many at high
    factor, best = 1.0, Match(1.0, -1)
    for turn in range(max_runs):
        made = run(factor)
        if best.fetches < 0 or abs(made - wanted) < abs(best.fetches - wanted):
            best = Match(factor, made)
        if abs(made - wanted) <= tolerance * wanted:
            break
        if made > wanted:
            low = factor
        else:
            high = factor
        pointed_at = factor * max(made, 0.5) / wanted
        if high == math.inf:
            factor = low * min(max(pointed_at / low, least_step), _WIDEST_STEP)
        elif low == 0.0:
            factor = high / min(max(high / pointed_at, least_step), _WIDEST_STEP)
        else:
            factor = pointed_at if turn % 2 and low < pointed_at < high else math.sqrt(low * high)
        if not low < factor < high:
            break
    return best
