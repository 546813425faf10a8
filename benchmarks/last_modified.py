"""Would it help to know when a page has changed, not only that it has?  The best that Last-Modified could do.

Every page of a world tells at each visit when it changed last, and it is always true. Then a visit that finds
a change has seen the exact age of the page: a change at that time, and none since [1]_. The same planner
crawls the same world with and without this knowledge, on a manual clock, and freshness is compared.

    python benchmarks/last_modified.py [--seeds 10]

References
----------
.. [1] Cho and Garcia-Molina: Estimating frequency of change, ACM TOIT 3(3), 2003, section 5.
"""

import argparse
import sys
from pathlib import Path
from statistics import mean, stdev
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent.parent / "example_project"))

from living_site.freshness import mean_freshness
from living_site.parameters import Character, WorldParameters
from living_site.world import World
from twin import EPOCH, AnnouncedWeb, twin_crawl

from scrapy_freshness.estimation.history import extended
from scrapy_freshness.planning import visits
from scrapy_freshness.simulator.web import Look

SECONDS = 900.0
POLICIES = ("greedy", "holistic")
#: Fetches a second, as shares of the changes a second.
BUDGETS = (0.25, 0.7, 2.0)


class DatedWeb(AnnouncedWeb):
    """Remembers the age of the page that was looked at last."""

    age = 0.0

    def look(self, page: int, now: float) -> Look:
        """As without dates."""
        if page < len(self._world.documents):
            changed_at = self._world.changed_at(self._world.documents[page], now - EPOCH)
            type(self).age = now - EPOCH - changed_at
        return super().look(page, now)


def extended_by_date(history: bytes, elapsed_seconds: float, changed: bool) -> bytes:
    """As `extended`, but of a change it is known when it was: none since, one in a moment before that."""
    age = max(DatedWeb.age, 1e-3)
    if not changed or age >= elapsed_seconds:
        return extended(history, elapsed_seconds, changed)
    return extended(extended(history, age, changed=False), age / 1000, changed=True)


def freshness(world: World, policy: str, per_second: float, *, by_date: bool) -> float:
    """Freshness of a crawl after a third of the time."""
    settings = {"FRESHNESS_POLICY": policy, "FRESHNESS_SIGNALS": False}
    with (
        patch("twin.AnnouncedWeb", DatedWeb),
        patch.object(visits, "extended", extended_by_date if by_date else extended),
    ):
        crawled = twin_crawl(world, settings, per_second, SECONDS)
    return mean_freshness(world, crawled.fetches, SECONDS / 3, SECONDS)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print("budget    policy      without dates   gain by dates (standard error)")
    for share in BUDGETS:
        for policy in POLICIES:
            without, gains = [], []
            for seed in range(301, 301 + options.seeds):
                parameters = WorldParameters(
                    seed=seed,
                    characters=(Character.ANNOUNCING,),
                    pages_per_host=300,
                    slowest_change_rate=0.0005,
                    fastest_change_rate=0.05,
                )
                world = World(parameters)
                rate = share * world.total_change_rate
                without.append(freshness(world, policy, rate, by_date=False))
                gains.append(freshness(world, policy, rate, by_date=True) - without[-1])
            error = stdev(gains) / len(gains) ** 0.5
            print(
                f"{share:<9} {policy:<11} {mean(without):<15.4f} {mean(gains):+.4f} ({error:.4f})", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
