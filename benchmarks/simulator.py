"""The simulator: how much faster is a crawl than evaluating every page at every tick, and how does it scale?

The world `poisson` with noisy signals, policy `greedy-ncis`, 100 crawls a day, all parameters known.

Part 1 crawls 1,000 pages 100,000 times, and in the same run, in turns with it, by brute force: the value of
every page with numpy at each crawl, and the arg max. Bar: at least 10 times faster.

Part 2 crawls 1,000 and 100,000 pages. Bar: the time of a crawl grows at most 5 times.

Times are CPU seconds; the drawing of the webs is not counted, the first copies of all pages are in part 1.

    python benchmarks/simulator.py [--crawls 100000]
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import Contest, enter
from scrapy_freshness.simulator.instances import Events, Instance, drawn_events, drawn_instance
from scrapy_freshness.value.ncis import Ncis

RATE = 100.0
#: Crawls by brute force at a time, and in how many places of the run.
SLICE, PLACES = 100, 10


def drawn(pages: int, crawls: int, seed: int) -> tuple[Instance, Events, Contest]:
    rng = np.random.default_rng(seed)
    instance = drawn_instance(pages, "noisy", rng)
    events = drawn_events(instance, crawls / RATE, rng)
    contest = Contest(
        web=ChangingWeb(events.changes, numbered(instance.importance)),
        fetches_per_second=RATE,
        start=0.0,
        end=crawls / RATE,
        signals=events.signals,
        truth=instance.beliefs,
    )
    return instance, events, contest


def brute_force(instance: Instance, events: Events) -> Iterator[int]:
    """Crawl the arg max over all pages, tick after tick."""
    order = np.argsort(events.signals.times, kind="stable")
    times, pages = events.signals.times[order], events.signals.owners[order]
    last, signals = np.zeros(len(instance.recall)), np.zeros(len(instance.recall))
    model, heard, tick = Ncis(), 0, 0
    while True:
        tick += 1
        now = tick / RATE
        arrived = int(times.searchsorted(now, side="right"))
        np.add.at(signals, pages[heard:arrived], 1)
        heard = arrived
        values = model.value(replace(instance.beliefs, signals=signals), now - last)
        best = int(values.argmax())
        last[best], signals[best] = now, 0
        yield best


def check_speed(crawls: int) -> bool:
    instance, events, contest = drawn(1000, crawls, seed=1)
    forced = brute_force(instance, events)
    slow_seconds, n_slow = 0.0, 0

    def in_turns(tick: int) -> None:
        nonlocal slow_seconds, n_slow
        if tick % (crawls // PLACES) == 0:
            begin = time.process_time()
            for _ in range(SLICE):
                next(forced)
            slow_seconds, n_slow = slow_seconds + time.process_time() - begin, n_slow + SLICE

    begin = time.process_time()
    fetches = enter(contest, "greedy-ncis", progress=in_turns)
    fast = (time.process_time() - begin - slow_seconds) / len(fetches)
    slow = slow_seconds / n_slow
    fine = slow >= 10 * fast
    print(
        f"1,000 pages, {len(fetches):,} crawls: {1e6 * fast:.0f} us a crawl; every page at every crawl "
        f"{1e6 * slow:.0f} us; {slow / fast:.1f} times faster (bar 10): {'PASS' if fine else 'FAIL'}"
    )
    return fine


def check_scale(crawls: int) -> bool:
    micros = {}
    for pages in (1_000, 100_000):
        _, _, contest = drawn(pages, crawls, seed=2)
        ticks: list[float] = []
        enter(contest, "greedy-ncis", progress=lambda tick, ticks=ticks: ticks.append(time.process_time()))
        # The last two thirds: at the beginning all pages are fresh, and none is worth much.
        third = len(ticks) // 3
        micros[pages] = 1e6 * (ticks[-1] - ticks[third]) / (len(ticks) - 1 - third)
    growth = micros[100_000] / micros[1_000]
    fine = growth <= 5
    print(
        f"A crawl of 1,000 pages {micros[1_000]:.0f} us, of 100,000 pages {micros[100_000]:.0f} us: "
        f"{growth:.2f} times (bar 5): {'PASS' if fine else 'FAIL'}"
    )
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--crawls", type=int, default=100_000)
    options = parser.parse_args()
    results = [check_speed(options.crawls), check_scale(max(options.crawls // 5, 1000))]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
