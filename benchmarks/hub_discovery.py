"""Are the hubs of a web found?  A real crawl of the press, which knows the names of 150 hosts and no more.

Each host has a front page, 19 sections one hop away, pages one hop away that list nothing (imprint, contact),
and links that are not to be followed: to another host, to what robots.txt forbids, with rel=nofollow. Hubs
and other old pages say in `Last-Modified` that they are 30 days old; a hub has to be 3 days old. Days are
compressed. After the first one:

* recall: of the true hubs, the share that the crawl polls as hubs (bar .95),
* precision: of what it takes for hubs, the share that are true hubs; and how many fetches the others get,
* requests to other hosts, to what robots.txt forbids and along nofollow links (bar 0).

    python benchmarks/hub_discovery.py [--hosts 150] [--day 200] [--days 2] [--per-second 0.1] [--patience 10]
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "example_project"))

from experiment import LiveCrawl
from press.parameters import DAY_SECONDS, PressParameters
from press.profit import found_hubs, outside_requests
from press.running import RunningPress

from scrapy_freshness.model import HubState
from scrapy_freshness.storage.hub_reports import hubs
from scrapy_freshness.storage.store import Store

HUB_AGE_DAYS = 3.0
RECALL_BAR = 0.95


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=150)
    parser.add_argument("--day", type=float, default=200.0, help="seconds that a day takes")
    parser.add_argument("--days", type=float, default=2.0)
    parser.add_argument("--per-second", type=float, default=0.1, help="fetches per second of the site's time")
    parser.add_argument("--patience", type=int, default=10, help="FRESHNESS_HUB_PATIENCE")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    parameters = PressParameters(
        seed=options.seed, hosts=options.hosts, seconds_per_day=options.day, days=options.days + 0.5
    )
    per_second = options.per_second * DAY_SECONDS / options.day * options.hosts / 150
    with tempfile.TemporaryDirectory() as folder, RunningPress(parameters) as site:
        settings = {
            "FRESHNESS_HUBS": "True",
            "FRESHNESS_HOSTS": ",".join(site.root_urls),
            "FRESHNESS_HUB_AGE": f"{HUB_AGE_DAYS * options.day}s",
            "FRESHNESS_HUB_REFRESH": f"{options.day / 10}s",
            "FRESHNESS_HUB_PATIENCE": str(options.patience),
            "FRESHNESS_GONE_RECHECK": f"{options.day}s",
            "FRESHNESS_PROFIT_LIFE": f"{options.day}s",
            "FRESHNESS_MIN_INTERVAL": "0s",
            "FRESHNESS_SIGNALS": "False",
            "CONCURRENT_REQUESTS": "64",
            "LOG_LEVEL": "WARNING",
        }
        print(
            f"{len(site.world.hubs)} hubs on {options.hosts} hosts, {per_second:.1f} fetches a second, "
            f"a day takes {options.day:g} s"
        )
        with LiveCrawl(
            Path(folder), policy="holistic", per_second=per_second, spider="press", settings=settings
        ) as crawl:
            recall = 0.0
            for day in (0.5, 1.0, *range(2, int(options.days) + 1)):
                while site.now() < day * options.day:
                    time.sleep(0.2)
                    if not crawl.is_running:
                        raise RuntimeError(f"the crawl ended by itself: {crawl.log_file.read_text()}")
                found = _report(site, crawl.database_url, day)
                recall = found if day == 1 else recall
        # The outsider's robots.txt would be asked for, too, if anything of it were.
        outside = outside_requests(site.world, site.log.entries)
        nofollow = [entry for entry in site.log.entries if entry.path.startswith("/partners")]
        print(f"requests outside: {len(outside)}, along nofollow links: {len(nofollow)} (bar 0)")
        troubles = [line for line in crawl.log_file.read_text().splitlines() if "ERROR" in line]
        print(f"errors in the log: {len(troubles)}", *troubles[:3])
    return int(recall < RECALL_BAR or bool(outside) or bool(nofollow))


def _report(site: RunningPress, database_url: str, day: float) -> float:
    with Store.open_readonly(database_url) as store:
        reports = hubs(store)
    states = {state: [hub.url for hub in reports if hub.state is state] for state in HubState}
    polled = found_hubs(site.world, states[HubState.ACTIVE])
    known = found_hubs(site.world, [hub.url for hub in reports])
    fetches = [entry for entry in site.log.entries if entry.path != "/robots.txt"]
    stories = sum("/story/" in entry.path for entry in fetches)
    old = set(site.world.old_paths())
    barren = sum(entry.path in old for entry in fetches)
    print(
        f"day {day:g}: recall {polled.recall:.4f} (known {known.recall:.4f}), "
        f"precision {polled.precision:.4f}; "
        f"{len(states[HubState.ACTIVE])} active, {len(states[HubState.TRIAL])} on trial, "
        f"{len(states[HubState.RETIRED])} retired; {len(fetches)} fetches, {stories} of stories, "
        f"{barren} of pages that list nothing",
        flush=True,
    )
    return polled.recall


if __name__ == "__main__":
    sys.exit(main())
