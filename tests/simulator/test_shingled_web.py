"""Webs of shingle sets: what a crawler sees of them, and how stale its copies are."""

import numpy as np
import pytest

from scrapy_freshness.content.sketch import divergence
from scrapy_freshness.simulator.regions import Regions, drawn_versions
from scrapy_freshness.simulator.shingled import ShingledWeb
from scrapy_freshness.simulator.versions import PageVersions
from scrapy_freshness.simulator.web import Fetches


def drawn_web(seed: int = 1) -> ShingledWeb:
    rng = np.random.default_rng(seed)
    kinds = (
        Regions(static=20),
        Regions(static=20, churn=30, churn_rate=0.2),
        Regions(static=20, items=6, item_size=4, scroll_rate=0.5),
    )
    return ShingledWeb([drawn_versions(each, 50.0, rng) for each in kinds], sketch_size=16)


def test_staleness_is_the_mean_divergence_over_time() -> None:
    web, rng = drawn_web(), np.random.default_rng(2)
    times = np.sort(rng.uniform(0, 50, 25))
    fetches = Fetches(rng.integers(0, 3, 25), times)

    total = 0.0
    grid = np.linspace(10.0, 40.0, 30_001)[:-1]
    for number, page in enumerate(web.pages):
        visits = np.append(0.0, times[fetches.pages == number])
        copies = page.at(visits[np.searchsorted(visits, grid, side="right") - 1])
        pairs, counts = np.unique(np.stack([copies, page.at(grid)]), axis=1, return_counts=True)
        moved = [page.divergence(int(copy), int(live)) for copy, live in pairs.T]
        total += float(np.dot(moved, counts)) / len(grid)

    assert web.staleness(fetches, 10.0, 40.0) == pytest.approx(total / 3, abs=1e-4)


def test_who_refreshes_at_every_change_is_never_stale_and_who_never_does_ends_on_the_plateau() -> None:
    web = drawn_web()
    pages = np.concatenate([np.full(len(page.times), number) for number, page in enumerate(web.pages)])
    times = np.concatenate([page.times for page in web.pages])
    order = np.argsort(times, kind="stable")
    nothing = Fetches(np.empty(0, np.int64), np.empty(0))

    assert web.staleness(Fetches(pages[order], times[order]), 0.0, 50.0) == pytest.approx(0.0)
    # Static 0; churn 2*30/(20+60); scroll 2*24/(20+48).
    assert web.staleness(nothing, 40.0, 50.0) == pytest.approx((0 + 0.75 + 48 / 68) / 3)


def test_a_fetch_sees_a_sketch_of_the_version_that_is_live() -> None:
    versions = [np.arange(n, n + 100, dtype=np.uint32) for n in (0, 50)]
    web = ShingledWeb([PageVersions(np.array([0.0, 5.0]), versions, 9.0)], sketch_size=8)
    before, after = web.look(0, 4.9), web.look(0, 5.0)

    assert before.content_hash != after.content_hash
    assert before.sketch is not None
    assert after.sketch is not None
    assert before.sketch.tolist() == list(range(8))
    assert divergence(before.sketch, after.sketch, 8) == 1.0
    assert web.look(0, 1.0).content_hash == before.content_hash
