"""The crawl of one page with noisy signals, event by event: an oracle that knows no formula."""

import numpy as np

from scrapy_freshness.value.contract import FloatArray


def crawl_intervals(
    rng: np.random.Generator, count: int, delta: float, recall: float, nu: float, threshold: float
) -> tuple[FloatArray, FloatArray]:
    """Lengths of intervals between crawls at a threshold on the effective age, and fresh seconds in each.

    Changes come at rate delta, each with a signal or without; false signals at rate nu. The crawler sees the
    signals only. Its clock jumps by beta at each of them, and it crawls when the clock is at the threshold.
    """
    alpha, gamma = (1 - recall) * delta, recall * delta + nu
    beta = np.log(gamma / nu) / alpha
    now, clock, crawled = np.zeros(count), np.zeros(count), np.zeros(count, np.bool_)
    changed_at = np.full(count, np.inf)
    while not crawled.all():
        kinds = rng.random(count)
        wait = rng.exponential(1 / (delta + nu), count)
        reached = threshold - clock <= wait
        step = np.where(crawled, 0.0, np.minimum(wait, threshold - clock))
        now, clock = now + step, clock + step
        happens = ~crawled & ~reached
        crawled = crawled | reached
        changes = happens & (kinds < delta / (delta + nu))
        signals = happens & (kinds >= alpha / (delta + nu))  # silent changes, then signalled ones, then false
        changed_at = np.where(changes, np.minimum(changed_at, now), changed_at)
        clock = np.where(signals, clock + beta, clock)
        crawled = crawled | (clock >= threshold)
    return now, np.minimum(changed_at, now)


def z_score(sample: FloatArray, expected: float) -> float:
    """By how many standard errors the mean of a sample misses what was expected."""
    return float((sample.mean() - expected) / (sample.std() / np.sqrt(len(sample))))
