"""Crawls without a budget on equal terms: the one factor, or the one price, for a number of fetches."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

#: A step outwards is no longer than this.
_WIDEST_STEP = 64.0
#: How fetches fall with the price, as a power of it: values grow with the square of time at first, and later
#: they hardly grow; the first is the usual guess, the others are the ends of what is believed.
_USUAL_POWER, _FLATTEST, _STEEPEST = -0.5, -0.2, -3.0
#: Two prices with more and fewer fetches: the next is at least this share of the way from either.
_LEAST_SHARE = 0.1
#: Logarithm of the ratio of two prices between which it is of no use to look for a third.
_NEAR = 5e-4


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


@dataclass(frozen=True, slots=True)
class PriceMatch:
    """The price found and the number of fetches that it leads to."""

    price: float
    fetches: int


def price_for_fetches(
    run: Callable[[float], int],
    wanted: int,
    guess: float,
    *,
    tolerance: float = 0.005,
    max_runs: int = 20,
) -> PriceMatch:
    """Find the price at which *run* makes the wanted number of fetches.

    Fetches fall as the price rises, about as a power of it that is not known, and jitter: the secant through
    the two closest tries on either side, in logarithms, points to the next. If these are so close to each
    other that only jitter is left, others in their neighbourhood are tried.

    Parameters
    ----------
    run : the number of fetches made if each has to be worth the given price
    wanted : fetches, > 0
    guess : the price to begin with, > 0
    tolerance : share of *wanted* by which the answer may be off
    max_runs : the best price so far is returned after this many runs

    >>> price_for_fetches(lambda price: round(1000 * price**-0.7), 250, 1.0, tolerance=0.0).fetches
    250
    """
    if wanted <= 0:
        raise ValueError(f"a number of fetches must be above 0, got {wanted}")
    tried: list[_Try] = []
    best, log_price = PriceMatch(guess, -1), math.log(guess)
    for _ in range(max_runs):
        made = run(math.exp(log_price))
        if best.fetches < 0 or abs(made - wanted) < abs(best.fetches - wanted):
            best = PriceMatch(math.exp(log_price), made)
        if abs(made - wanted) <= tolerance * wanted:
            break
        tried.append(_Try(log_price, math.log(max(made, 0.5) / wanted)))
        log_price = _next_price(tried)
    return best


class _Try(NamedTuple):
    """Logarithms of a price, and of the fetches that it led to over those that were wanted."""

    price: float
    excess: float


def _next_price(tried: Sequence[_Try]) -> float:
    """Between the closest tries on either side; beyond the last one if all are on the same."""
    many = max((each for each in tried if each.excess > 0), default=None)
    few = min((each for each in tried if each.excess <= 0), default=None)
    if many is None or few is None:
        power = _USUAL_POWER
        if len(tried) > 1 and tried[-1].price != tried[-2].price:
            power = (tried[-1].excess - tried[-2].excess) / (tried[-1].price - tried[-2].price)
        step = -tried[-1].excess / min(max(power, _STEEPEST), _FLATTEST)
        widest = math.log(_WIDEST_STEP)
        return tried[-1].price + min(max(step, -widest), widest)
    if abs(few.price - many.price) < _NEAR:
        return many.price + _NEAR * (len(tried) if len(tried) % 2 else -len(tried))
    share = many.excess / (many.excess - few.excess)
    return many.price + min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE) * (few.price - many.price)
