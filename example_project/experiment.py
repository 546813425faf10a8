"""Crawl the living site for a while, measure how fresh the copy was, and simulate the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from living_site.freshness import document_fetches, freshness_at, mean_freshness
from living_site.model import Document
from living_site.parameters import WorldParameters
from living_site.running import RunningSite
from living_site.world import World

from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learning import RateLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.simulator.changing import ChangingWeb
from scrapy_freshness.simulator.run import crawl
from scrapy_freshness.simulator.streams import event_stream
from scrapy_freshness.simulator.web import Address

PROJECT = Path(__file__).parent

#: What settings.py tells the crawl about pages that it has not seen.
PRIOR = PriorPoints(changed_after_seconds=1.0, unchanged_after_seconds=10.0)


def world_parameters(seed: int) -> WorldParameters:
    """The world of the demo and of the experiments: 624 documents on 24 hosts.

    Rates reach over more decades than the site's default, as on the real web, and are high enough that
    some minutes show what a policy has learned.
    """
    return WorldParameters(seed=seed, slowest_change_rate=0.00015, fastest_change_rate=4.5)


@dataclass(frozen=True)
class Budget:
    """A number of fetches a second, as a share of the changes a second."""

    share: float = 0.25

    def per_second(self, world: World) -> float:
        return self.share * world.total_change_rate


class LiveCrawl:
    """A real crawl of a running site, in a process of its own; a context manager."""

    def __init__(
        self,
        folder: Path,
        *,
        policy: str,
        per_second: float,
        site_url: str = "",
        spider: str = "everything",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.database_url = f"sqlite:///{folder / 'freshness.db'}"
        self.log_file = folder / "crawl.log"
        all_settings = {
            "FRESHNESS_DATABASE_URL": self.database_url,
            "FRESHNESS_BUDGET": f"{per_second}/s",
            "FRESHNESS_POLICY": policy,
            **(settings or {}),
        }
        options = [part for name, value in all_settings.items() for part in ("-s", f"{name}={value}")]
        paths = str(PROJECT), os.environ.get("PYTHONPATH")
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "scrapy",
                    "crawl",
                    spider,
                    *(("-a", f"site={site_url}") if site_url else ()),
                    *options,
                ],
                cwd=PROJECT,
                # Ctrl-C in the terminal is for the parent, which then ends the crawl properly.
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        """End the crawl as one Ctrl-C would; insist if it does not."""
        if self.is_running:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self) -> LiveCrawl:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def measured_freshness(site: RunningSite, start: float, end: float) -> float:
    """Share of documents whose copy was current, over a time, from the server's log and the truth."""
    return mean_freshness(site.world, document_fetches(site.world, site.log.entries), start, end)


def freshness_now(site: RunningSite) -> float:
    """Share of documents whose copy is current."""
    return freshness_at(site.world, document_fetches(site.world, site.log.entries), site.now())


def visit_times(site: RunningSite, end: float) -> list[float]:
    """When the crawl asked for a document, whatever came of it."""
    world = site.world
    return sorted(
        entry.time
        for entry in site.log.entries
        if entry.time <= end and isinstance(world.page(entry.host, entry.path.partition("?")[0]), Document)
    )


def simulated_freshness(world: World, times: list[float], policy: str, start: float, end: float) -> float:
    """Freshness that the same planner reaches on a manual clock, visiting the same history at *times*."""
    web = ChangingWeb(
        event_stream([np.array(world.change_times(page, 0.0, end)) for page in world.documents]),
        [Address(page.url, page.url.split("/")[2]) for page in world.documents],
    )
    rate = len(times) / max(end, 1.0)
    planner = Planner(
        policy_named(policy),
        Hosts(1.0, 60.0),
        RateLearner(partial(estimate_change_rates, prior=PRIOR)),
        crawls_per_second=rate,
    )
    return web.freshness(crawl(web, planner, np.array(times)), start, end)
