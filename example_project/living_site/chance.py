"""Seeded chance: independent streams of random numbers, and Poisson times drawn from them."""

from collections.abc import Iterator
from math import exp, log
from random import Random


def stream(*key: object) -> Random:
    """Return the random numbers that belong to a key: the same for the same key, in every process.

    >>> stream(1, "/a").random() == stream(1, "/a").random()
    True
    >>> stream(1, "/a").random() == stream(2, "/a").random()
    False
    """
    return Random("\x1f".join(map(str, key)))


def log_uniform(random: Random, low: float, high: float) -> float:
    """Return a number between `low` and `high` whose logarithm is uniform."""
    return exp(random.uniform(log(low), log(high)))


def poisson_times(random: Random, rate: float, start: float = 0.0) -> Iterator[float]:
    """Yield the times after `start` of a Poisson process for ever; nothing at rate 0."""
    if rate > 0:
        time = start
        while True:
            time += random.expovariate(rate)
            yield time
